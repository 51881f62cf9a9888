"""TCP connections of storage on a Linux machine, from iproute2."""

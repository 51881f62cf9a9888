"""TCP connections of storage on a Linux machine, by iproute2."""

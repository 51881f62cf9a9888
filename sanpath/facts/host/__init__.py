"""Facts of the hosts under test: processors, control groups, virtual disks, and the ports of hosts."""

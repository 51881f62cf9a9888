"""Facts of the hosts under test: block devices, multipath, planes of latency, virtual disks, processors."""

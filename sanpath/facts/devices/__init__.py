"""Facts of the block devices under test: queue depths, multipath, and the planes at which clocks time their I/Os."""

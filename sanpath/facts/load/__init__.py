"""Facts of the load: throughput, latency, outstanding I/Os, and whether the test is valid."""

"""Facts of the load: throughput, latency, outstanding I/Os, and what a test is good for."""

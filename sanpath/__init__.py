"""Says where the bottleneck of a storage load test is, why, and what to do, while the test runs."""

__version__ = "0.1.0"

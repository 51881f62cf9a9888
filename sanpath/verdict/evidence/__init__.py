"""What the facts of a step prove: full links, flat throughput, a settled or a healthy test."""

"""What the facts of a step prove: full links, flat throughput, a steady or a healthy test."""

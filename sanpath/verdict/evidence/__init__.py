"""What the facts of a step prove: full links, flat throughput, a steady test. And how likely each reading is."""

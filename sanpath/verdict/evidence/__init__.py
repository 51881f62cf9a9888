"""What the facts of a step prove: full links, flat throughput, a steady test; and how likely a reading is."""

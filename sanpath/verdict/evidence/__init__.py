"""What the facts of a step prove, such as full links, flat throughput or a steady test, and how likely each reading
is."""

"""The control groups that a load runs in, and the limits of their I/O."""

"""The control groups of a load, and the limits of their I/O."""

"""What the test would reach with another configuration: ceilings of all elements, queueing, and `whatif`."""

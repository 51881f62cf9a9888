"""What a simulated vCenter answers."""

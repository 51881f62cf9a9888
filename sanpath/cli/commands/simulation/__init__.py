"""The commands of the simulated SAN."""

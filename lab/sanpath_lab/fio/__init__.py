"""A double of fio, and how it starts the simulated load."""

"""Probes: which experiment comes next, what it may cost, and when to stop. Pure: nothing here runs a load."""

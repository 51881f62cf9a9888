"""The physics of the simulated SAN: events, I/Os, links, switches, hosts, array and load."""

"""Sweeps: a plan of load steps over a matrix, their command lines, and how far one has come. Pure."""

"""Sweeps: a plan of load steps over a matrix, their command lines and their progress. Pure."""

"""Imports result files and histories into a recording."""

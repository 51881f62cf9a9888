"""Samples become rates, means and time lines: counters, gauges, their windows, computed in partitions."""

"""The processes that a command starts and follows: recorder, sweep, lab, live view, exporter."""

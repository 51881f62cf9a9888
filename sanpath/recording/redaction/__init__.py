"""Copies of a recording that are safe to send."""

"""A copy of a recording that is safe to send."""

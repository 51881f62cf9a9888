"""Several runs side by side, at equal outstanding I/Os and at equal latency."""

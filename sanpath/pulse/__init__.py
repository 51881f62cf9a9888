"""The pulse of a run: its current state, from the newest samples alone, in a few milliseconds, without a verdict."""

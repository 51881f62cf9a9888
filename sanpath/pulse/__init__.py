"""The pulse of a run: what happens now, from the newest samples alone, in a few milliseconds. It judges nothing."""

"""The sources of a run: each is polled on its own grid, with deadlines."""

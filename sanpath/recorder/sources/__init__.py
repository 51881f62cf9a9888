"""The sources of a run: each polled on its grid, with deadlines, beside the others."""

"""The verdict: what limits the test, what was cleared, what was not measured, and what would limit next."""

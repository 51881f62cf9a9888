"""The verdict: what limits the test, what was cleared, what could not be seen, what comes next."""

"""A Linux machine over SSH: log-in, host keys, and the shell that answers all requests."""

"""A Linux machine over SSH: login, host keys, and the shell that answers all requests."""

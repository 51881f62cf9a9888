"""The commands of `sanpath`, one in each module."""

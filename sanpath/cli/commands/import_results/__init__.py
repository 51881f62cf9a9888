"""The commands that add results of other tools to a recording."""

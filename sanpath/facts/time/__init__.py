"""Where things belong in time: load steps, the clock of each source, imported files, recorders that came and went."""

"""Places everything in time: load steps, the clock of each source, imported files, recorders that started or stopped
during the run."""

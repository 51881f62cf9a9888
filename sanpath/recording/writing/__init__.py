"""Writing a recording: segments, their compaction, marks, and the clock of the recorder."""

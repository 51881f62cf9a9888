"""Reading a recording, finished or still growing: rows, writers, one clock, the newest rows for viewers."""

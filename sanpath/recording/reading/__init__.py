"""Reading a recording, finished or still growing: rows, writers, aligned clocks, and new rows for viewers."""

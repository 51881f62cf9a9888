"""The storage of recordings, and the only module that opens DuckDB on it."""

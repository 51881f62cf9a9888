"""Recordings: the rows of every source as Parquet segments in a folder. Only this package opens DuckDB on files."""

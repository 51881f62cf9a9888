"""Recordings: what each source said, as Parquet segments in a folder. The one place that opens DuckDB on files."""

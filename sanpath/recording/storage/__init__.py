"""Where a recording is stored, and the one place that opens DuckDB over it."""

"""Where recordings are stored: folders and object stores, checksums, and the one module that opens DuckDB on them."""

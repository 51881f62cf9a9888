"""The one way to open DuckDB."""

from __future__ import annotations

import os

import duckdb


def connect() -> duckdb.DuckDBPyConnection:
    """An in-memory connection that is gentle to a machine under load test.

    At most 1 GB and two threads, no spill to disk (the disk may be the device under test), no progress bar (DuckDB
    turns it on in processes without a main file and writes over the screen). Close it: one that is alive at exit
    beside a daemon thread prints a leak report.
    """
    connection = duckdb.connect(
        config={
            "memory_limit": "1GB",
            "threads": min(2, os.cpu_count() or 1),
            "max_temp_directory_size": "0GB",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
    )
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET python_enable_replacements = false")
    return connection

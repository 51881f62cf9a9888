"""The one way to open DuckDB."""

from __future__ import annotations

import os

import duckdb


def connect(threads: int = 2) -> duckdb.DuckDBPyConnection:
    """An in-memory connection that is gentle to a machine under load test.

    At most 1 GB and two threads, no spill to disk (the disk may be the device under test), no progress bar (DuckDB
    turns it on in processes without a main file and writes over the screen). Close it: one that is alive at exit
    beside a daemon thread prints a leak report. `threads` 1: one of two that work side by side, with half of each.
    """
    connection = duckdb.connect(
        config={
            "memory_limit": f"{threads * 512}MB",
            "threads": min(threads, os.cpu_count() or 1),
            "max_temp_directory_size": "0GB",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
    )
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET python_enable_replacements = false")
    return connection

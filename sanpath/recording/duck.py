"""The one way to open DuckDB."""

from __future__ import annotations

import atexit
import os
from functools import cache

import duckdb

_LIMIT = "1GB"


def connect(threads: int = 2) -> duckdb.DuckDBPyConnection:
    """A connection to the in-memory database of this process, for what is read and computed; nothing but temporary
    tables belongs there, which are the connection's own. Close it.

    Databases are gentle to a machine under load test: at most 1 GB and two threads, no spill to disk (the disk may be
    the device under test). `threads` 1: of a query; several connections may ask side by side.
    """
    # To open a database costs as much as a dozen small queries (10 ms, measured), a connection to one nothing.
    return _gentle(_database(os.getpid(), threads).cursor())


def separate(threads: int = 2) -> duckdb.DuckDBPyConnection:
    """A connection to a database of its own: what records has its memory whatever is computed beside it, a store is
    made known to a whole database. Close it."""
    return _gentle(_opened(threads))


@cache
def _database(process: int, threads: int) -> duckdb.DuckDBPyConnection:
    """One a process: a fork has none of the threads of its parent's."""
    database = _opened(threads)
    # One that is alive at exit beside a daemon thread prints a leak report.
    atexit.register(lambda: database.close() if os.getpid() == process else None)
    return database


def _opened(threads: int) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(
        config={
            "memory_limit": _LIMIT,
            "threads": min(threads, os.cpu_count() or 1),
            "max_temp_directory_size": "0GB",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
    )


def _gentle(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    # In a process without a main file DuckDB draws a progress bar, over the screen.
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET python_enable_replacements = false")
    return connection

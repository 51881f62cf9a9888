"""The one way to open DuckDB, and to name things in its SQL.

Who sends a recording chooses its names and its files. So a database reaches only the folders that it was opened for,
loads no extension, and its configuration is locked; a name from outside stands in SQL only in quotes.
"""

from __future__ import annotations

import atexit
import os
import weakref
from functools import lru_cache
from typing import TYPE_CHECKING

import duckdb

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_LIMIT = "1GB"
_KEPT = 4
"""Databases that stay open for the next connection: a reader has one or two recordings open."""


def quoted(identifier: str) -> str:
    """A name as SQL takes it, whatever it holds."""
    return '"' + identifier.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as SQL takes it, whatever it holds."""
    return "'" + text.replace("'", "''") + "'"


PARQUET = "hive_partitioning = false"
"""How every segment is read: a folder called source=x is a folder, and no column."""


def connect(threads: int = 2, folders: tuple[str, ...] = (), setup: str = "") -> duckdb.DuckDBPyConnection:
    """A connection to the in-memory database that this process has for some folders, for what is read and computed;
    nothing but temporary tables belongs there, which are the connection's own. Close it. `folders`: absolute paths,
    all that it can reach; `setup`: settings of the caller's, before they are locked.

    Databases are gentle to a machine under load test: at most 1 GB and two threads, no spill to disk (the disk may be
    the device under test). `threads` 1: of a query; several connections may ask side by side.
    """
    # To open a database costs as much as a dozen small queries (10 ms, measured), a connection to one nothing.
    return _database(os.getpid(), threads, folders, setup).cursor()


def separate(
    threads: int = 2, folders: tuple[str, ...] = (), store: AbstractFileSystem | None = None, setup: str = ""
) -> duckdb.DuckDBPyConnection:
    """A connection to a database of its own: what records has its memory whatever is computed beside it, a store is
    made known to a whole database. `folders`: all that it can reach, also URLs of `store`; `setup`: settings of the
    caller's, before they are locked. Close it."""
    return _opened(threads, folders, store, setup)


@lru_cache(maxsize=_KEPT)
def _database(process: int, threads: int, folders: tuple[str, ...], setup: str) -> duckdb.DuckDBPyConnection:
    """One a process: a fork has none of the threads of its parent's. A database that is no longer kept lives as long
    as its connections."""
    database = _opened(threads, folders, None, setup)
    # One that is alive at exit beside a daemon thread prints a leak report. A weak reference keeps none alive.
    left = weakref.ref(database)
    atexit.register(lambda: _close(left(), process))
    return database


def _close(database: duckdb.DuckDBPyConnection | None, process: int) -> None:
    if database is not None and os.getpid() == process:
        database.close()


def _opened(
    threads: int, folders: tuple[str, ...], store: AbstractFileSystem | None, setup: str
) -> duckdb.DuckDBPyConnection:
    database = duckdb.connect(
        config={
            "memory_limit": _LIMIT,
            "threads": min(threads, os.cpu_count() or 1),
            "max_temp_directory_size": "0GB",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_community_extensions": "false",
        }
    )
    if store is not None:
        database.register_filesystem(store)
    # In a process without a main file DuckDB draws a progress bar, over the screen.
    database.execute("SET enable_progress_bar = false")
    database.execute("SET python_enable_replacements = false")
    if setup:
        database.execute(setup)
    database.execute(f"SET allowed_directories = [{', '.join(literal(folder) for folder in folders)}]")
    database.execute("SET enable_external_access = false")
    database.execute("SET lock_configuration = true")
    return database

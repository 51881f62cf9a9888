"""The only module that opens DuckDB, and quotes names in its SQL.

A recording is untrusted: its sender chooses its names and files. Therefore a database can access only the folders
that it was opened for, loads no extension, and has a locked configuration. Foreign names appear in SQL only in
quotes.
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

_MEMORY_LIMIT = "1GB"
_MAX_DATABASES = 4
"""Databases kept for the next connection: a reader has one or two recordings open."""


def quoted(identifier: str) -> str:
    """Return a name as a quoted SQL identifier, whatever it contains."""
    return '"' + identifier.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as an SQL literal, whatever it contains."""
    return "'" + text.replace("'", "''") + "'"


PARQUET = "hive_partitioning = false"
"""The option for reading every segment: a folder called source=x must not become a column."""


def connect(threads: int = 2, folders: tuple[str, ...] = (), setup: str = "") -> duckdb.DuckDBPyConnection:
    """Return a connection to the in-memory database that this process shares for some folders.

    It is meant for reading and computing; create only temporary tables, which belong to the connection. The caller
    closes it. `folders`: absolute paths, all that it can access. `setup`: SQL settings applied before the
    configuration is locked. `threads`: threads per query; several connections may run queries at the same time.

    Databases spare a machine under load test: at most 1 GB and two threads, and no spill to disk, because the disk
    may be the device under test.
    """
    # Opening a database costs as much as a dozen small queries (10 ms, measured), a further connection nothing.
    return _database(os.getpid(), threads, folders, setup).cursor()


def connect_separately(
    threads: int = 2, folders: tuple[str, ...] = (), store: AbstractFileSystem | None = None, setup: str = ""
) -> duckdb.DuckDBPyConnection:
    """Return a connection to a separate database. The caller closes it.

    A recorder needs one so that its memory does not depend on other computations; a store is registered for a whole
    database. `folders`: all that it can access, including URLs of `store`. `setup`: SQL settings applied before the
    configuration is locked.
    """
    return _opened(threads, folders, store, setup)


@lru_cache(maxsize=_MAX_DATABASES)
def _database(process: int, threads: int, folders: tuple[str, ...], setup: str) -> duckdb.DuckDBPyConnection:
    """Return the cached database of a process: a fork does not inherit its parent's threads.

    After it has left the cache, a database lives as long as its connections.
    """
    database = _opened(threads, folders, None, setup)
    # A database that is open at exit together with a daemon thread prints a leak report. The weak reference keeps
    # no database alive.
    reference = weakref.ref(database)
    atexit.register(lambda: _close(reference(), process))
    return database


def _close(database: duckdb.DuckDBPyConnection | None, process: int) -> None:
    if database is not None and os.getpid() == process:
        database.close()


def _opened(
    threads: int, folders: tuple[str, ...], store: AbstractFileSystem | None, setup: str
) -> duckdb.DuckDBPyConnection:
    database = duckdb.connect(
        config={
            "memory_limit": _MEMORY_LIMIT,
            "threads": min(threads, os.cpu_count() or 1),
            "max_temp_directory_size": "0GB",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_community_extensions": "false",
        }
    )
    if store is not None:
        database.register_filesystem(store)
    # In a process without a main file DuckDB draws a progress bar over the screen.
    database.execute("SET enable_progress_bar = false")
    database.execute("SET python_enable_replacements = false")
    if setup:
        database.execute(setup)
    database.execute(f"SET allowed_directories = [{', '.join(literal(folder) for folder in folders)}]")
    database.execute("SET enable_external_access = false")
    database.execute("SET lock_configuration = true")
    return database

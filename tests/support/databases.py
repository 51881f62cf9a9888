"""Databases that many tests share: to open one takes as long as a dozen queries, and a diagnosis needs two."""

from __future__ import annotations

import atexit
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb

from sanpath.recording.storage import duck

_FOLDER = Path(tempfile.gettempdir()).resolve()
_MOST_USES = 100
"""Until another is opened: a database keeps in memory what it has read of files."""

_open = duck._opened


@dataclass(slots=True)
class _Database:
    """`uses`: how many connections it has given."""

    connection: duckdb.DuckDBPyConnection
    uses: int = 0


_databases: dict[tuple[int, int, str], _Database] = {}
"""(process, threads, settings) → the one that is open."""


@contextmanager
def shared_databases() -> Iterator[None]:
    """Whatever opens a database for temporary folders is connected to one that can access all of them."""
    with patch.object(duck, "_opened", _shared):
        yield


def _shared(threads: int, folders: tuple[str, ...], store: Any, setup: str) -> duckdb.DuckDBPyConnection:
    if store is not None or not folders or not all(Path(folder).is_relative_to(_FOLDER) for folder in folders):
        return _open(threads, folders, store, setup)
    key = os.getpid(), threads, setup  # A process that was forked does not inherit its parent's threads.
    database = _databases.get(key)
    if database is None or database.uses == _MOST_USES or _is_broken(database.connection):
        database = _databases[key] = _Database(_open(threads, (str(_FOLDER),), None, setup))
    database.uses += 1
    return database.connection.cursor()


def _is_broken(connection: duckdb.DuckDBPyConnection) -> bool:
    try:
        connection.execute("SELECT 1")
    except duckdb.Error:
        return True
    return False


@atexit.register
def _close() -> None:
    """One that is open at exit may print a leak report."""
    for (process, *_), database in _databases.items():
        if process == os.getpid():
            database.connection.close()

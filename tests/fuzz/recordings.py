"""A recording with one file of it changed: what reads it, copies it without names, or adds a mark to it."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Sequence
from functools import cache
from multiprocessing.util import Finalize
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import duckdb

from sanpath.errors import SanpathError
from sanpath.recording.reading.recording import Recording
from sanpath.recording.redaction.redact import redact
from sanpath.recording.storage import duck
from sanpath.recording.writing.mark import add_mark
from tests.fuzz.mutation import mutated
from tests.support.stories import recorded

_MEMORY = Path("/dev/shm")
_SAMPLES = ("load",)
_LARGEST = 16 << 10
"""Of the files that are changed: a segment of a table has some kilobytes."""


@cache
def _origin() -> Path:
    """A short one, with one table of samples: all are of one form. In memory, where there is such a place."""
    folder = _place() / "origin.sanpath"
    shutil.copytree(Path(recorded("too_short").folder), folder)
    for table in (folder / "samples").iterdir():
        if table.name not in _SAMPLES:
            shutil.rmtree(table)
    return folder


@cache
def _temporary() -> TemporaryDirectory[str]:
    made = TemporaryDirectory(prefix="sanpath-fuzz-", dir=_MEMORY if _MEMORY.is_dir() else None)
    Finalize(None, made.cleanup, exitpriority=1)  # A process of a pool ends without what atexit would do.
    return made


def _place() -> Path:
    return Path(_temporary().name)


def seeds() -> list[bytes]:
    """Every file of a recording, behind its path."""
    return [
        json.dumps(str(path.relative_to(_origin()))).encode() + b"\n" + path.read_bytes()
        for path in sorted(_origin().rglob("*"))
        if path.is_file() and path.stat().st_size <= _LARGEST
    ]


def drawn(random: Random, given: Sequence[bytes]) -> bytes:
    """One of them changed: its documents mostly, for a segment that was changed is told by its checksum."""
    documents = [seed for seed in given if seed.startswith(b'"') and b'.json"\n' in seed[:200]]
    head, _, body = random.choice(documents if random.random() < 0.7 else given).partition(b"\n")
    return head + b"\n" + mutated(random, (body,))


def taken(given: bytes) -> None:
    """Read everything of it, redact it, and mark it."""
    head, _, body = given.partition(b"\n")
    folder, copy = _place() / "r.sanpath", _place() / "copy.sanpath"
    for left in (folder, copy):
        shutil.rmtree(left, ignore_errors=True)
    shutil.copytree(_origin(), folder, copy_function=_linked)
    changed = folder / json.loads(head)
    changed.unlink()
    changed.write_bytes(body)
    with patch.object(duck, "_opened", _opened_once):
        _used(folder, copy)


def _used(folder: Path, copy: Path) -> None:
    with contextlib.suppress(SanpathError):
        redact(folder, copy)
    with contextlib.suppress(SanpathError):
        add_mark(folder, 1_700_000_000_000_000, "changed")
    recording = Recording(folder)
    recording.endings()
    for kind in recording.sample_kinds():
        recording.columns(kind)
    for read in (recording.inventory, recording.events, recording.polls):
        read()


_open = duck._opened


def _opened_once(threads: int, folders: tuple[str, ...], store: Any, setup: str) -> duckdb.DuckDBPyConnection:
    """A connection to a database that is kept from input to input, of one thread: to open one takes longer than to
    read a table. One that has broken is replaced."""
    del threads
    if store is not None:
        return _open(1, folders, store, setup)
    try:
        _kept(folders, setup).execute("SELECT 1")
    except duckdb.Error:
        _kept.cache_clear()
    return _kept(folders, setup).cursor()


@cache
def _kept(folders: tuple[str, ...], setup: str) -> duckdb.DuckDBPyConnection:
    return _open(1, folders, None, setup)


def _linked(origin: str, copy: str) -> None:
    """Only what is changed needs a copy."""
    Path(copy).hardlink_to(origin)

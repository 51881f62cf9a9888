"""A recording with one file of it changed: what reads it, copies it without names, or adds a mark to it."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from sanpath.errors import SanpathError
from sanpath.recording.reading.recording import Recording
from sanpath.recording.redaction.redact import redact
from sanpath.recording.writing.mark import add_mark
from tests.fuzz.mutation import mutated
from tests.support.stories import recorded

_LARGEST = 16 << 10
"""Of the files that are changed: a segment of a table has some kilobytes."""


@cache
def _origin() -> Path:
    return Path(recorded("published").folder)


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
    with TemporaryDirectory() as place:
        folder = Path(shutil.copytree(_origin(), Path(place) / "r.sanpath", copy_function=_linked))
        changed = folder / json.loads(head)
        changed.unlink()
        changed.write_bytes(body)
        with contextlib.suppress(SanpathError):
            redact(folder, Path(place) / "copy.sanpath")
        with contextlib.suppress(SanpathError):
            add_mark(folder, 1_700_000_000_000_000, "changed")
        recording = Recording(folder)
        recording.endings()
        for kind in recording.sample_kinds():
            recording.columns(kind)
        for read in (recording.inventory, recording.events, recording.polls):
            read()


def _linked(origin: str, copy: str) -> None:
    """Only what is changed needs a copy."""
    Path(copy).hardlink_to(origin)

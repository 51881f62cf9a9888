"""A second process reads while a writer flushes and compacts far faster than a recorder, and is killed."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sanpath.recording.format import layout
from sanpath.recording.reading.recording import Recording
from tests.recording.support import ROOT, files, numbers

Start = Callable[[str], "subprocess.Popen[bytes]"]
READ_SECONDS = 8.0
ROUNDS = 12
COMPACTED = 10
"""Segments: a compaction every few tenths of a second."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    layout.create(tmp_path / "r.sanpath")
    return tmp_path / "r.sanpath"


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """A writer process that compacts all the time and keeps nothing of what it has compacted."""
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.recording.support", str(folder), name, str(COMPACTED)]
        started.append(subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def without_gap(found: list[int]) -> bool:
    return found == list(range(1, len(found) + 1))


@pytest.mark.slow
def test_a_reader_sees_every_row_once_whatever_the_writer_does(folder: Path, start: Start) -> None:
    process = start("host.1")
    assert process.stdout is not None
    process.stdout.readline()
    end, reads, rows = time.monotonic() + READ_SECONDS, 0, [0, 0, 0]
    # The view of the samples is read after it was made: its files are kept for a minute, which is not so here.
    while time.monotonic() < end or rows[0] < 5 * COMPACTED:
        tables = numbers(Recording(folder))
        found = [next(tables) for _ in rows]
        assert all(map(without_gap, found))
        assert all(len(now) >= before for now, before in zip(found, rows, strict=True))
        rows, reads = [len(now) for now in found], reads + 1
    assert process.poll() is None
    assert "host.1-00000001-00000001.parquet" not in files(folder), "it was compacted meanwhile"
    assert reads > 1


@pytest.mark.slow
def test_a_killed_writer_leaves_a_recording_that_opens_with_every_row_once(folder: Path, start: Start) -> None:
    moments = random.Random(7)
    for number in range(ROUNDS):
        process = start(f"host.{number}")
        assert process.stdout is not None
        reported = process.stdout.readline()
        # Some are killed among their first segments, some while they compact.
        for _ in range(moments.choice((3, 8, 9, 10, 18, 19, 29))):
            reported = process.stdout.readline()
        time.sleep(moments.random() * 0.03)
        process.kill()
        rest = process.communicate()[0].split()
        acknowledged = int(rest[-1] if rest else reported)
        alone = folder.with_name(f"alone{number}.sanpath")
        layout.create(alone)
        for path in folder.glob(f"**/host.{number}-*"):
            moved = alone / path.relative_to(folder)
            moved.parent.mkdir(parents=True, exist_ok=True)
            path.rename(moved)
        recording = Recording(alone)
        for found in numbers(recording):
            assert without_gap(found)
            assert acknowledged <= len(found) <= acknowledged + 1
        assert not recording.unreadable

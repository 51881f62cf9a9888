"""Whoever reads while a flush is written sees no I/O of a load without the marks of its steps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sanpath.recording.format import layout
from sanpath.recording.reading.recording import Recording
from sanpath.recording.writing.writer import Writer
from tests.recording.support import flush, numbers


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    layout.create(tmp_path / "r.sanpath")
    return tmp_path / "r.sanpath"


def marked_and_sampled(recording: Recording) -> tuple[list[int], list[int]]:
    """Numbers of the flushes whose events are read, and of those whose samples are."""
    tables = list(numbers(recording))
    return tables[0], tables[3] if len(tables) > 3 else []


def test_marks_are_written_before_the_samples_of_their_flush(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moments: list[tuple[list[int], list[int]]] = []
    written = Writer._segment

    def write_and_read(self: Writer, table: str, *arguments: Any) -> None:
        written(self, table, *arguments)
        moments.append(marked_and_sampled(Recording(folder)))

    monkeypatch.setattr(Writer, "_segment", write_and_read)
    writer = Writer(folder, "host.1")
    for number in (1, 2, 3):
        flush(writer, number)
    assert len(moments) == 12, "four tables in each flush"
    assert all(set(sampled) <= set(marked) for marked, sampled in moments)
    assert moments[-1] == ([1, 2, 3], [1, 2, 3])


@pytest.mark.parametrize("flushed", [(1,), (1, 2)])
def test_samples_that_are_flushed_after_the_marks_were_read_are_not_read(
    flushed: Sequence[int], folder: Path
) -> None:
    writer = Writer(folder, "host.1")
    for number in flushed:
        flush(writer, number)
    recording = Recording(folder)
    recording.events()
    flush(writer, 9)
    assert marked_and_sampled(recording) == ([*flushed], [*flushed])

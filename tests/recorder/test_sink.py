"""A recording that cannot be written for long: memory is bounded, and what was lost is told afterwards."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sanpath.model import Rows
from sanpath.recorder.sink import Sink
from sanpath.recording.format import layout
from sanpath.recording.reading.recording import Recording
from sanpath.recording.writing.clock import RecorderClock
from sanpath.recording.writing.writer import Writer
from tests.recorder.support import PORT


class FullDisk(Writer):
    """A disk without room, for as long as it is said to have none."""

    full = True

    def flush(self) -> None:
        """Refuse as the system does."""
        if self.full:
            raise OSError(28, "No space left on device")
        super().flush()


def test_what_waits_for_room_is_bounded_and_what_was_lost_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sanpath.recorder.sink.FULL_ROWS", 50)
    monkeypatch.setattr("sanpath.recorder.sink.LIMIT_ROWS", 100)
    layout.create(tmp_path / "r.sanpath")
    writer = FullDisk(tmp_path / "r.sanpath", "test.1")

    async def run() -> None:
        clock = RecorderClock()
        sink = Sink(writer, clock)
        for number in range(1000):
            sink.take("s", number, Rows(PORT, ["p"], [number], {"link_up": [1]}))
            if number % 10 == 0:
                await sink.flush()
        assert sink.full
        assert writer.rows_waiting <= 100 + 1
        assert sink.waiting == 1000
        writer.full = False
        await sink.flush()
        assert not sink.full
        await sink.flush()
        assert sink.close() == ""

    asyncio.run(run())
    writer.close()
    events = Recording(tmp_path / "r.sanpath").events()
    assert [(source, event.name, event.detail["text"]) for source, event in events] == [
        ("recorder", "data-warning", "899 rows lost: the recording could not be written for too long")
    ]
    assert capsys.readouterr().err.count("No space left on device") == 1

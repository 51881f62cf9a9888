"""Writes a person's mark, such as "changed to round robin", into a growing recording."""

from __future__ import annotations

import os

import duckdb

from sanpath.errors import RecordingError
from sanpath.model import MARK, Event
from sanpath.recording.format.documents import Ending
from sanpath.recording.format.layout import RECORDER
from sanpath.recording.reading.recording import Recording
from sanpath.recording.storage.store import Location, store_at
from sanpath.recording.writing.clock import RecorderClock
from sanpath.recording.writing.store_clock import StoreClock
from sanpath.recording.writing.writer import Writer

SOURCE = "person"
"""The source of marks."""
_MAX_CHARACTERS = 200
"""Maximum characters of a mark: it is a short remark, not a report."""


def add_mark(folder: Location, seen_us: int, text: str) -> None:
    """Write a mark as an additional writer that begins and ends at once; recorders do not notice.

    `seen_us`: time of the mark in microseconds since the epoch. Raises RecordingError if the mark cannot be written,
    or the recording has ended: a later mark does not belong to it.
    """
    recording = Recording(folder)
    if recording.ended:
        raise RecordingError(f"{folder}: has ended; a mark belongs to a test under way")
    writer = Writer(folder, f"{SOURCE}.{seen_us:x}.{os.getpid():x}")
    try:
        writer.begin(recording.manifest.run_id, seen_us)
        writer.event(SOURCE, Event(seen_us, MARK, {"text": text[:_MAX_CHARACTERS]}))
        clock = StoreClock(store_at(folder), writer.name, RecorderClock())
        if (compared := clock.compare()) is not None:
            writer.event(RECORDER, compared)
        writer.end(Ending(ended_us=seen_us, load_exit_code=None, recorder_cpu_seconds=0.0))
    except (OSError, duckdb.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error).partition("\n")[0]
        raise RecordingError(f"{folder}: the mark cannot be written: {reason}") from error
    finally:
        writer.close()

"""Finds expired segments of earlier starts of a recorder, which the current start deletes like its own."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import cached_property

from sanpath.recording.format import layout
from sanpath.recording.format.compaction import Retention, TrackedSegment
from sanpath.recording.format.layout import Segment
from sanpath.recording.format.recorder_starts import Start, starts
from sanpath.recording.storage.store import Store

SILENT_SECONDS = 300.0
"""A recorder that has not written for so long was killed or cut off.

A running recorder writes several times a minute, at least clock comparisons.
"""
_SIGNS = ("events", "polls")


class PreviousStarts:
    """The segments of a recorder's other starts. `writer`: the current writer, whose header has just been written.

    The age of a segment is the age of its last flush on the store's clock. If the store reports no times, nothing
    expires.
    """

    def __init__(self, store: Store, writer: str, recorder: str) -> None:
        self._store, self._writer, self._recorder = store, writer, recorder
        self._began = time.monotonic()
        self._gone: set[Segment] = set()

    def expired(self, retention: Retention) -> list[TrackedSegment]:
        """Return the segments of samples and polls whose rows are all too old, superseded ones first.

        Each segment is returned once. Segments of starts that may still be writing are never returned. Raises
        OSError.
        """
        same_recorder = [start for start in starts(self._store, set()) if start.header.recorder == self._recorder]
        old = [
            start
            for start in same_recorder
            if start.writer != self._writer and self._age_seconds(_header(start)) > retention.seconds
        ]
        dead = {start.writer for start in old} - self._find_writing(old)
        if not dead:
            return []
        expired: list[TrackedSegment] = []
        for table in (*(f"samples/{kind}" for kind in layout.sample_kinds(self._store)), "polls"):
            segments = layout.list_all_segments(self._store, table)
            for writer in sorted(dead):
                expired += self._expired([segment for segment in segments if segment.writer == writer], retention)
        self._gone.update(segment.segment for segment in expired)
        return expired

    def _find_writing(self, starts: Sequence[Start]) -> set[str]:
        """Return the writers among these starts that may still be writing."""
        open_ended = [start for start in starts if start.ending is None]
        newest = {start.writer: {"writers": _header(start)} for start in open_ended}
        for segment in (segment for table in _SIGNS if newest for segment in layout.segments(self._store, table)):
            if segment.writer in newest:
                newest[segment.writer][segment.table] = segment.name
        return {
            writer
            for writer, names in newest.items()
            if min(map(self._age_seconds, names.values())) <= SILENT_SECONDS
        }

    def _expired(self, segments: Sequence[Segment], retention: Retention) -> Iterator[TrackedSegment]:
        """Yield the expired segments of one start in one table."""
        for segment in layout.drop_superseded(segments):
            age = self._age_seconds(segment.name)
            if age <= retention.seconds:
                return  # Later segments are younger.
            last_us = retention.now_us() - round(age * 1e6)
            inside = [inner for inner in segments if segment.first <= inner.first and inner.last <= segment.last]
            for inner in sorted(inside, key=lambda segment: segment.last - segment.first):
                if inner not in self._gone:
                    yield TrackedSegment(inner, 0, last_us, last_us)

    def _age_seconds(self, name: str) -> float:
        """Return the minimum age of a file; 0: the store does not report it."""
        written_seconds = self._store.written(name)
        if written_seconds is None or self._began_store_seconds is None:
            return 0.0
        return self._began_store_seconds[0] + time.monotonic() - self._began - written_seconds[1]

    @cached_property
    def _began_store_seconds(self) -> tuple[float, float] | None:
        """When the current start began, on the store's clock: (earliest, latest) in seconds since the epoch."""
        return self._store.written(f"writers/{self._writer}.json")


def _header(start: Start) -> str:
    return f"writers/{start.writer}.json"

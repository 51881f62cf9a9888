"""Decides which segments of a table are compacted and which have expired, so that their number stays small."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sanpath.recording.format.layout import Segment

COMPACTED_SEGMENTS = 60
"""This many flushes are merged into one segment: 5 minutes of flushes every 5 s."""
MERGED_SEGMENTS = 12
"""This many compacted segments are merged again: 5 minutes become an hour, hours become half a day."""
MERGED_VALUES = 6_000_000
"""A segment with this many values (rows times columns) is not merged further: sorting it takes 0.3 GB (measured)."""
SEGMENTS_PER_RETENTION = 8
"""Samples expire by segment, so no segment spans more than this fraction (1 / n) of the retention."""
DROPPED = "samples-dropped"
"""The event that samples and polls have expired.

Its details are `before`, the time in microseconds on the recorder's clock up to which they were deleted, and
`keep_seconds`.
"""
LEFT_OUT = "samples-left-out"
"""The event of a reader that reads only the end of a recording; its detail is `before`, as above."""
_MAX_TRIES = 3
"""A failed compaction is retried when twice as many segments wait, at most this often."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How long samples and polls are retained. `now_us` returns the recorder's clock in microseconds."""

    seconds: float
    now_us: Callable[[], int]


@dataclass(frozen=True, slots=True)
class TrackedSegment:
    """A segment as its writer tracks it.

    `values`: rows times columns. `first_us` and `last_us`: when its first and last flush were written, in
    microseconds of the recorder's clock.
    """

    segment: Segment
    values: int
    first_us: int = 0
    last_us: int = 0


@dataclass(slots=True)
class _Level:
    segments: list[TrackedSegment]
    needed: int
    failures: int = 0


class SegmentLevels:
    """The segments of one writer in one table, in levels by how often they were compacted.

    `widest_us`: the longest time that a segment may span, in microseconds; None: no limit.
    """

    def __init__(self, widest_us: float | None) -> None:
        self._levels: list[_Level] = []
        self._widest_us = widest_us
        # Segments that are large enough, or that could not be compacted.
        self._settled: list[TrackedSegment] = []

    def add(self, segment: TrackedSegment, level: int = 0) -> None:
        """Add a segment to a level; a segment of level 0 holds one flush."""
        if segment.values >= MERGED_VALUES:
            self._settled.append(segment)
            return
        if level == len(self._levels):
            self._levels.append(_empty(level))
        self._levels[level].segments.append(segment)

    def due(self) -> Iterator[tuple[int, list[TrackedSegment]]]:
        """Yield (level, segments) to be merged. The caller calls `done` or `failed` before it takes the next pair."""
        number = 0
        while number < len(self._levels):
            level = self._levels[number]
            large = not level.failures and sum(segment.values for segment in level.segments) >= MERGED_VALUES
            wide = self._widest_us is not None and number and _span_us(level.segments) > self._widest_us
            if (large or len(level.segments) >= level.needed) and not wide:
                yield number, level.segments
            number += 1

    def done(self, level: int, merged: TrackedSegment) -> None:
        """Record that the segments of a level were merged."""
        self._levels[level] = _empty(level)
        self.add(merged, level + 1)

    def failed(self, level: int) -> None:
        """Record that the segments of a level could not be merged."""
        current = self._levels[level]
        current.failures += 1
        current.needed = 2 * len(current.segments)
        if current.failures == _MAX_TRIES:
            self._settled += current.segments
            self._levels[level] = _empty(level)

    def expired(self, before_us: int) -> list[TrackedSegment]:
        """Remove and return the segments whose rows are all older than `before_us`."""
        expired = []
        for segments in (self._settled, *(level.segments for level in self._levels)):
            expired += [segment for segment in segments if segment.last_us < before_us]
            segments[:] = [segment for segment in segments if segment.last_us >= before_us]
        return expired


def merged_segment(segments: list[TrackedSegment]) -> TrackedSegment:
    """Return the segment that results from merging consecutive segments."""
    first, last = segments[0], segments[-1]
    segment = Segment(first.segment.table, first.segment.writer, first.segment.first, last.segment.last)
    return TrackedSegment(segment, sum(segment.values for segment in segments), first.first_us, last.last_us)


def _empty(level: int) -> _Level:
    return _Level([], MERGED_SEGMENTS if level else COMPACTED_SEGMENTS)


def _span_us(segments: list[TrackedSegment]) -> int:
    return segments[-1].last_us - segments[0].first_us if segments else 0

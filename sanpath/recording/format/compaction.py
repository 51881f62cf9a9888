"""Which segments of a table become one, and which are too old to stay: however long a writer writes, they are few."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sanpath.recording.format.layout import Segment

COMPACTED_SEGMENTS = 60
"""So many flushes become one segment: of 5 s each, 5 minutes."""
MERGED_SEGMENTS = 12
"""So many compacted segments become one again: 5 minutes an hour, hours half a day."""
MERGED_VALUES = 6_000_000
"""Rows times columns from which on a segment is large enough: sorting them takes the writer 0.3 GB (measured)."""
PARTS_OF_RETENTION = 8
"""Samples go a segment at a time: none becomes wider than this part of the time that they are kept."""
DROPPED = "samples-dropped"
"""The event that says what a retention has cost: `before`, microseconds on the recorder's clock: samples and accounts
of polls that are older are gone; `keep_seconds`."""
LEFT_OUT = "samples-left-out"
"""The same of a reader that reads the end of a recording only: `before`."""
_TRIES = 3
"""A compaction that fails is tried again when twice as many segments wait; then they stay as they are."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How long samples and accounts of polls are kept. `now_us`: the recorder's clock, microseconds."""

    seconds: float
    now_us: Callable[[], int]


@dataclass(frozen=True, slots=True)
class Part:
    """A segment that its writer knows of. `values`: rows times columns; `first_us`, `last_us`: when its first and its
    last flush were written, recorder's clock."""

    segment: Segment
    values: int
    first_us: int = 0
    last_us: int = 0


@dataclass(slots=True)
class _Level:
    parts: list[Part]
    needed: int
    failures: int = 0


class Parts:
    """The segments of one writer in one table, by how often they were compacted.

    `widest_us`: no segment becomes wider, microseconds; None: whatever it holds.
    """

    def __init__(self, widest_us: float | None = None) -> None:
        self._levels: list[_Level] = []
        self._widest_us = widest_us
        # Large enough, or not to be compacted: they stay as they are.
        self._settled: list[Part] = []

    def add(self, part: Part, level: int = 0) -> None:
        """A new segment. `level`: 0, it holds one flush."""
        if part.values >= MERGED_VALUES:
            self._settled.append(part)
            return
        if level == len(self._levels):
            self._levels.append(_empty(level))
        self._levels[level].parts.append(part)

    def due(self) -> Iterator[tuple[int, list[Part]]]:
        """(level, segments) that are to become one; `done` or `failed` is called before the next is asked for."""
        number = 0
        while number < len(self._levels):
            level = self._levels[number]
            large = not level.failures and sum(part.values for part in level.parts) >= MERGED_VALUES
            wide = self._widest_us is not None and number and _width_us(level.parts) > self._widest_us
            if (large or len(level.parts) >= level.needed) and not wide:
                yield number, level.parts
            number += 1

    def done(self, level: int, merged: Part) -> None:
        """The segments of a level are one."""
        self._levels[level] = _empty(level)
        self.add(merged, level + 1)

    def failed(self, level: int) -> None:
        """The segments of a level could not be written as one."""
        own = self._levels[level]
        own.failures += 1
        own.needed = 2 * len(own.parts)
        if own.failures == _TRIES:
            self._settled += own.parts
            self._levels[level] = _empty(level)

    def expired(self, before_us: int) -> list[Part]:
        """Forget, and return, the segments in which everything is older."""
        gone = []
        for parts in (self._settled, *(level.parts for level in self._levels)):
            gone += [part for part in parts if part.last_us < before_us]
            parts[:] = [part for part in parts if part.last_us >= before_us]
        return gone


def joined(parts: list[Part]) -> Part:
    """What consecutive segments become together."""
    first, last = parts[0], parts[-1]
    segment = Segment(first.segment.table, first.segment.writer, first.segment.first, last.segment.last)
    return Part(segment, sum(part.values for part in parts), first.first_us, last.last_us)


def _empty(level: int) -> _Level:
    return _Level([], MERGED_SEGMENTS if level else COMPACTED_SEGMENTS)


def _width_us(parts: list[Part]) -> int:
    return parts[-1].last_us - parts[0].first_us if parts else 0

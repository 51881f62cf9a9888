"""What earlier starts of a recorder have left: who has taken its place drops it by age, as it drops its own."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import cached_property

from sanpath.recording.format import layout
from sanpath.recording.format.compaction import Part, Retention
from sanpath.recording.format.layout import Segment
from sanpath.recording.format.writers import Start, starts
from sanpath.recording.storage.store import Store

SILENT_SECONDS = 300.0
"""A recorder that lives writes several times a minute, were it only that clocks were compared. One that has not ended
and has not written for so long was killed, or cut off."""
_SIGNS = ("events", "polls")


class Earlier:
    """The segments of a recorder's other starts. `writer`: the one that asks, whose header has just been written.

    Their age is told by the store's clock: a segment was written when its last flush was. Of a store that does not
    tell, nothing is dropped.
    """

    def __init__(self, store: Store, writer: str, recorder: str) -> None:
        self._store, self._writer, self._recorder = store, writer, recorder
        self._began = time.monotonic()
        self._gone: set[Segment] = set()

    def expired(self, retention: Retention) -> list[Part]:
        """Segments of samples and polls in which everything is too old, each before the one that supersedes it; every
        one is told once. None of a start that may still be writing. Raises OSError."""
        others = [s for s in starts(self._store, set()) if s.header.recorder == self._recorder]
        old = [s for s in others if s.writer != self._writer and self._age_seconds(_header(s)) > retention.seconds]
        dead = {start.writer for start in old} - self._writing(old)
        if not dead:
            return []
        found: list[Part] = []
        for table in (*(f"samples/{kind}" for kind in layout.sample_kinds(self._store)), "polls"):
            there = layout.every_segment(self._store, table)
            for writer in sorted(dead):
                found += self._expired([segment for segment in there if segment.writer == writer], retention)
        self._gone.update(part.segment for part in found)
        return found

    def _writing(self, told: Sequence[Start]) -> set[str]:
        """Which of these starts may still be writing."""
        open_ended = [start for start in told if start.ending is None]
        newest = {start.writer: {"writers": _header(start)} for start in open_ended}
        for segment in (s for table in _SIGNS if newest for s in layout.segments(self._store, table)):
            if segment.writer in newest:
                newest[segment.writer][segment.table] = segment.name
        return {w for w, names in newest.items() if min(map(self._age_seconds, names.values())) <= SILENT_SECONDS}

    def _expired(self, there: Sequence[Segment], retention: Retention) -> Iterator[Part]:
        """Of one start in one table."""
        for segment in layout.not_superseded(there):
            age = self._age_seconds(segment.name)
            if age <= retention.seconds:
                return  # Those after it are younger.
            last_us = retention.now_us() - round(age * 1e6)
            inside = [s for s in there if segment.first <= s.first and s.last <= segment.last]
            for one in sorted(inside, key=lambda s: s.last - s.first):
                if one not in self._gone:
                    yield Part(one, 0, last_us, last_us)

    def _age_seconds(self, name: str) -> float:
        """How long ago a file was written, at the least; 0: the store does not tell."""
        told = self._store.written(name)
        if told is None or self._began_there is None:
            return 0.0
        return self._began_there[0] + time.monotonic() - self._began - told[1]

    @cached_property
    def _began_there(self) -> tuple[float, float] | None:
        """When we began, by the store's clock."""
        return self._store.written(f"writers/{self._writer}.json")


def _header(start: Start) -> str:
    return f"writers/{start.writer}.json"

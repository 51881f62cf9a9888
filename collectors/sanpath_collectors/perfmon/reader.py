"""Reads a log of counters, whole or while it grows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

from sanpath.plugin import CollectorError, Failure, Item, ResultClock, ResultReader, SourceEntity, text_of, warning
from sanpath_collectors.perfmon import columns, pdh
from sanpath_collectors.perfmon.parse import Columns, Form, Long, Oddity, Part, Row, Wide, long_header
from sanpath_collectors.perfmon.plan import Plan

_HEADER_WITHIN = 10
"""Lines of other text may stand before the header."""


class CounterLog(ResultReader):
    """A log of counters of whatever system: what its columns tell is for a subclass to say.

    Times are UTC where the header tells the zone, else local. Every warning is told once. `said`: code → text of all
    that there were so far.
    """

    clock: ResultClock = "local"

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._lines = pdh.Lines()
        self._form: Form | None = None
        self._plan: Plan | None = None
        self._shift_us = 0
        self._before: int | None = None
        self._samples = 0
        self.said: dict[str, str] = {}
        self._known: set[object] = set()
        self._untold: list[tuple[str, str]] = []

    @abstractmethod
    def plan(self, header: Columns) -> Plan:
        """What the columns tell."""

    @property
    @abstractmethod
    def wanted(self) -> str:
        """What to collect, for a log that holds nothing of use."""

    def feed(self, added: bytes) -> Iterator[Item]:
        """Samples of the rows that are complete now."""
        yield from self._fed(self._lines.feed(added))

    def finish(self) -> Iterator[Item]:
        """The end. Raises CollectorError(UNREADABLE) when there were no samples."""
        last = self._lines.rest().strip(b"\r\0 ")
        if last.endswith(b'"'):
            yield from self._fed([last])
        elif pdh.is_row(last):
            self._warn("cut-file", "the last row is cut and left out")
        if self._form is not None:
            yield from self._parts(self._form.finish())
        yield from self._warnings(self._before or 0)
        if not self._samples:
            raise CollectorError(Failure.UNREADABLE, self._nothing())

    def _fed(self, lines: list[bytes]) -> Iterator[Item]:
        for number, line in enumerate(lines if self._form is None else ()):
            if pdh.is_header(line) or long_header(line) is not None:
                self._form, lines = Wide() if pdh.is_header(line) else Long(), lines[number:]
                break
        if self._form is not None:
            yield from self._parts(self._form.lines(lines))

    def _parts(self, parts: Iterator[Part]) -> Iterator[Item]:
        for part in parts:
            match part:
                case Row():
                    yield from self._row(part)
                case Columns():
                    yield from self._columns(part)
                case Oddity():
                    self._warn(part.code, part.text)

    def _columns(self, header: Columns) -> Iterator[Item]:
        self._plan, self._before = self.plan(header), None
        self._shift_us = (header.zone_minutes or 0) * 60_000_000
        self.clock = "local" if header.zone_minutes is None else "utc"
        if header.zone_minutes is None:
            self._warn("unknown-zone", "the zone is not told: times are local ones of the machine")
        for code, text in self._plan.warnings:
            self._warn(code, text)
        for item in self._plan.items:
            key = (item.kind, item.local_id) if isinstance(item, SourceEntity) else item
            if key not in self._known:
                self._known.add(key)
                yield item

    def _row(self, row: Row) -> Iterator[Item]:
        assert self._plan is not None, "a form gives its columns before its rows"  # noqa: S101 - for the type checker
        seen, before = row.time_us + self._shift_us, self._before
        if before is not None and seen <= before:
            self._warn("clock-went-back", "times go back, as where summer time ends: an interval there is left out")
            before = None
        self._before = seen
        yield from self._warnings(seen)
        for rows in self._plan.rows(seen, before, row.cells):
            self._samples += 1
            yield rows

    def _warn(self, code: str, text: str) -> None:
        if (code, text) not in self._known:
            self._known.add((code, text))
            self._untold.append((code, text))
            self.said.setdefault(code, text)

    def _warnings(self, seen: int) -> Iterator[Item]:
        """They wait for a row, which tells the time."""
        for code, text in self._untold:
            yield warning(seen, code, text)
        self._untold.clear()

    def _nothing(self) -> str:
        if self._plan is None:
            return "no log of counters: there is no header"
        if not self._plan.series:
            why = "".join(f"; {text}" for _, text in self._plan.warnings)
            return f"none of its counters is of use: collect {self.wanted}{why}"
        return (
            "no interval is complete: rates take two rows with their times; a spreadsheet that saved the log again "
            "has cut them: import the original"
        )


class PerfMonLog(CounterLog):
    """A log of Windows' counters. `host`: what the machine is called; None: as the log says."""

    def __init__(self, load: str, host: str | None = None) -> None:
        super().__init__(load)
        self._host = host

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:  # noqa: ARG003 - the base class' signature
        """By its header: that of PDH, or time, path and value."""
        lines = text_of(head)[0].splitlines()[:_HEADER_WITHIN]
        return any(pdh.is_header(line.encode()) or long_header(line.encode()) is not None for line in lines)

    def plan(self, header: Columns) -> Plan:
        """What the columns tell."""
        return columns.plan(header.names, self.load, self._host)

    @property
    def wanted(self) -> str:
        """What a diagnosis reads."""
        return r"\PhysicalDisk(*)\*, \Processor Information(*)\*, \System\*"

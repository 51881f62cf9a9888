"""The reader of a log of counters, complete or while it grows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import ClassVar

from sanpath.plugin import (
    Check,
    CollectorError,
    Context,
    Failure,
    FollowedFile,
    Item,
    ResultClock,
    ResultReader,
    text_of,
    warning,
)
from sanpath_collectors.perfmon import columns, pdh
from sanpath_collectors.perfmon.block import Block
from sanpath_collectors.perfmon.parse import (
    EXPORT_ADVICE,
    MIN_BLOCK_ROWS,
    Columns,
    Format,
    LogItem,
    LongFormat,
    Remark,
    Row,
    WideFormat,
    parse_long_header,
)
from sanpath_collectors.perfmon.plan import Plan

_MAX_LINES_TO_HEADER = 10
"""Number of lines in which the header is searched. Other text may precede it."""

_BINARY_MARK, _BINARY_HEADER_BYTES = bytes(4), 64
"""Zero bytes in the first bytes of a binary log. Text has at most one zero in a row, in UTF-16."""

_RELOG = "relog NAME.blg -f csv -o NAME.csv"


class CounterLog(ResultReader):
    """A log of counters of any system. A subclass creates the plan for its columns.

    Times are UTC if the header contains the zone, otherwise local. Each warning is reported once. `host`: name of the
    machine; None: the name in the log. `messages`: code → text of all warnings so far.
    """

    clock: ResultClock = "local"

    def __init__(self, load: str, host: str | None = None) -> None:
        super().__init__(load)
        self._host = host
        self._lines = pdh.Lines()
        self._format: Format | None = None
        self._plan: Plan | None = None
        self._shift_us = 0
        self._last_row_us: int | None = None
        self._samples = 0
        self.messages: dict[str, str] = {}
        self._reported: set[tuple[str, str]] = set()
        self._pending: list[tuple[str, str]] = []

    @abstractmethod
    def build_plan(self, header: Columns) -> Plan:
        """Return the plan for the columns."""

    @property
    @abstractmethod
    def wanted_counters(self) -> str:
        """The counters to collect, for the message about a log without useful ones."""

    def feed(self, added: bytes) -> Iterator[Item]:
        """Yield the samples of the rows that are now complete."""
        yield from self._read(self._lines.feed(added))

    def finish(self) -> Iterator[Item]:
        """Yield the remaining items. Raises CollectorError(UNREADABLE) when there were no samples."""
        last = self._lines.last_line().strip(b"\r\0 ")
        if last.endswith(b'"'):
            yield from self._read(last)
        elif pdh.is_row(last):
            self._warn("cut-file", "the last row is cut and left out")
        if self._format is not None:
            yield from self._convert(self._format.finish())
        yield from self._warnings(self._last_row_us or 0)
        if not self._samples:
            raise CollectorError(Failure.UNREADABLE, self._no_samples_text())

    def _read(self, text: bytes) -> Iterator[Item]:
        at = 0
        for line in text.split(b"\n") if self._format is None else ():
            if pdh.is_header(line) or parse_long_header(line) is not None:
                self._format = WideFormat() if pdh.is_header(line) else LongFormat()
                break
            at += len(line) + 1
        if self._format is not None:
            yield from self._convert(self._format.read(text[at:]))

    def _convert(self, log_items: Iterator[LogItem]) -> Iterator[Item]:
        for log_item in log_items:
            match log_item:
                case Row():
                    yield from self._convert_row(log_item.time_us + self._shift_us, log_item.cells)
                case Block():
                    yield from self._convert_block(log_item.shifted(self._shift_us))
                case Columns():
                    yield from self._begin_log(log_item)
                case Remark():
                    self._warn(log_item.code, log_item.text)

    def _begin_log(self, header: Columns) -> Iterator[Item]:
        self._plan, self._last_row_us = self.build_plan(header), None
        self._shift_us = (header.zone_minutes or 0) * 60_000_000
        self.clock = "local" if header.zone_minutes is None else "utc"
        for code, text in self._plan.warnings:
            self._warn(code, text)
        yield from chain.from_iterable(self._plan.items)

    def _convert_block(self, block: Block) -> Iterator[Item]:
        """Yield the samples of rows, all at once if possible."""
        assert self._plan is not None, "a format gives its columns before its rows"  # noqa: S101 - for the type checker
        if len(block) <= MIN_BLOCK_ROWS:
            for time_us, cells in block.rows():
                yield from self._convert_row(time_us, cells)
            return
        samples = None
        if self._last_row_us is not None and self._plan.is_steady:
            samples = self._plan.block(block, self._last_row_us)
        if samples is None:  # Some rows must be read one by one: the first of a log, and those with blanks.
            for half in block.halves():
                yield from self._convert_block(half)
            return
        yield from self._warnings(int(block.times_us[0]))
        self._last_row_us = int(block.times_us[-1])
        self._samples += len(samples)
        yield from samples

    def _convert_row(self, time_us: int, cells: Sequence[bytes]) -> Iterator[Item]:
        assert self._plan is not None, "a format gives its columns before its rows"  # noqa: S101 - for the type checker
        previous_us = self._last_row_us
        if previous_us is not None and time_us <= previous_us:
            self._warn("clock-went-back", "times go back, as at the end of summer time: one interval is left out")
            previous_us = None
        self._last_row_us = time_us
        yield from self._warnings(time_us)
        for rows in self._plan.rows(time_us, previous_us, cells):
            self._samples += 1
            yield rows
        if self._plan.has_doubtful_commas:
            text = "numbers whose comma may be one of decimals or of thousands, as in 1,234, are left out"
            self._warn("doubtful-commas", f"{text}: {EXPORT_ADVICE}")

    def _warn(self, code: str, text: str) -> None:
        if (code, text) not in self._reported:
            self._reported.add((code, text))
            self._pending.append((code, text))
            self.messages.setdefault(code, text)

    def _warnings(self, time_us: int) -> Iterator[Item]:
        """Yield the pending warnings with the time of a row."""
        for code, text in self._pending:
            yield warning(time_us, code, text, columns.COUNTERS_ADVICE if code == columns.MISSING_COUNTERS else None)
        self._pending.clear()

    def _no_samples_text(self) -> str:
        if self._plan is None:
            return "not a counter log: it has no header"
        if not self._plan.series:
            reasons = "".join(f"; {text}" for _, text in self._plan.warnings)
            return f"none of its counters can be used: collect {self.wanted_counters}{reasons}"
        return (
            "no interval is complete: rates take two rows with their times. The log has one, or a spreadsheet that "
            "saved it again has truncated the times: import the original"
        )


class PerfMonLog(CounterLog):
    """A log of Windows' counters."""

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """Recognise the file by a PDH header or the columns time, path and value, and a binary file by its name."""
        if name.lower().endswith(".blg"):
            return True
        lines = text_of(head)[0].splitlines()[:_MAX_LINES_TO_HEADER]
        return any(pdh.is_header(line.encode()) or parse_long_header(line.encode()) is not None for line in lines)

    def feed(self, added: bytes) -> Iterator[Item]:
        """Yield the samples of the rows that are now complete. Raises CollectorError: the log is binary."""
        if self._format is None and _BINARY_MARK in added[:_BINARY_HEADER_BYTES]:
            text = f"a binary log is not read: {_RELOG} turns it into one that is"
            raise CollectorError(Failure.UNREADABLE, text)
        yield from super().feed(added)

    def _no_samples_text(self) -> str:
        text = super()._no_samples_text()
        return text if self._plan is not None else f"{text}; {_RELOG} turns a binary log into one"

    def build_plan(self, header: Columns) -> Plan:
        """Return the plan for the columns."""
        return columns.build_plan(header.names, self.load, self._host)

    @property
    def wanted_counters(self) -> str:
        """The counters that a diagnosis reads."""
        return r"\PhysicalDisk(*)\*, \Processor Information(*)\*, \System\*"


class FollowedCounterLog(FollowedFile):
    """A log of counters that another program is writing. `check` reports the defects of its header."""

    reader: ClassVar[type[CounterLog]]

    def _new_reader(self) -> CounterLog:
        return self.reader(self.config.name, self.config.host)

    async def check(self, ctx: Context) -> Check:
        """Report whether the file exists, and which counters are missing in it."""
        check = await super().check(ctx)
        assert isinstance(self._reader, CounterLog)  # noqa: S101 - for the type checker
        return replace(check, unreadable=(*check.unreadable, *self._reader.messages.values()))


class PerfMonFile(FollowedCounterLog):
    """A log of typeperf, logman or Get-Counter."""

    reader = PerfMonLog

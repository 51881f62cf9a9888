"""What iostat wrote as block devices and their counters: its rates, summed up over its intervals."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from sanpath.plugin import CollectorError, Decoder, Failure, Item, ResultReader, SourceEntity, text_of, warning
from sanpath_collectors.iostat.counters import Counters, plan
from sanpath_collectors.iostat.parse import TITLE, TextReports, header
from sanpath_collectors.iostat.parse_json import JsonReports
from sanpath_collectors.iostat.report import Report, Values
from sanpath_collectors.iostat.tables import Rate

_SECOND_US = 1_000_000
_LONGEST_US = 86_400 * _SECOND_US
_MARK = 4
"""Bytes that tell the encoding."""
_HOW = "run iostat -xty 1 -o JSON"
_JSON = re.compile(r'\s*\{\s*"sysstat"\s*:')


class IostatResult(ResultReader):
    """Reads text or JSON of every generation of sysstat.

    The first report of each iostat is that of the time since the host was booted, and left out.
    """

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._decoder = Decoder()
        self._form: TextReports | JsonReports | None = None
        self._text = ""
        self._first: Report | None = None
        self._placed = False
        self._ended: int | None = None
        self._read_any = False
        self._said: set[str] = set()
        self._known: set[str] = set()
        self._counters = Counters()
        self._plans: dict[tuple[str, ...], Mapping[str, Rate]] = {}

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:  # noqa: ARG003 - the content tells
        """By the head of a table of devices, or the begin of the JSON; iostat may not have written more yet than the
        title that the programs of sysstat share."""
        text = text_of(head)[0]
        if _JSON.match(text):
            return '"sysdata-version"' not in text  # which sadf, of sysstat too, writes
        lines = [line for line in text.splitlines() if line.strip()]
        return any(header(line) for line in lines) or (len(lines) == 1 and TITLE.match(lines[0]) is not None)

    def feed(self, added: bytes) -> Iterable[Item]:
        """Intervals that are complete now."""
        yield from self._read(self._decoder.feed(added), last=False)

    def finish(self) -> Iterable[Item]:
        """The last interval. Raises UNREADABLE when there was none."""
        yield from self._read(self._decoder.feed(b"", last=True), last=True)
        if self._first is not None:
            yield from self._alone(self._first)
        if not self._read_any:
            raise CollectorError(Failure.UNREADABLE, f"no report of a block device in it: {_HOW}")

    def _read(self, text: str, last: bool) -> Iterator[Item]:
        self._text += text
        if self._form is None and not self._text.strip() and not last:
            return
        if self._form is None:
            self._form = JsonReports() if self._text.lstrip().startswith("{") else TextReports()
        text, self._text = self._text, ""
        for part in (self._form.feed(text), self._form.finish() if last else ()):
            for report in part:
                yield from self._report(report)
        for code, words in self._form.notes.items():
            yield from self._warn(code, words)

    def _report(self, report: Report) -> Iterator[Item]:
        if not self._placed:
            self._placed = True
            self.clock = "elapsed" if report.stamp is None else "utc" if report.stamp.zoned else "local"
        yield from self._things(report)
        if report.first:
            if self._first is not None:
                yield from self._alone(self._first)
            self._first = report
            self._counters.restart()
            return
        if self._first is not None:
            first, self._first = self._first, None
            if first.stamp is not None and self.clock != "elapsed":
                self._ended = max(first.stamp.us, self._ended or 0)
            text = "the first report is left out: it is of the time since the host was booted, unless -y was given"
            yield from self._warn("since-boot", text)
        yield from self._interval(report)

    def _things(self, report: Report) -> Iterator[SourceEntity]:
        for name in [name for name in report.whole_devices if name not in self._known]:
            self._known.add(name)
            label = f"{report.node}/{name}" if report.node else name
            yield SourceEntity("lun", name, label, {"device": (name,)})

    def _alone(self, report: Report) -> Iterator[Item]:
        self._first = None
        yield from self._interval(report)
        text = f"there is one report only, of the time since the host was booted unless -y was given: {_HOW}"
        yield from self._warn("since-boot", text)

    def _interval(self, report: Report) -> Iterator[Item]:
        begin, end = self._limits(report)
        if end < begin:
            yield from self._warn(
                "clock-moved", "the clock was set back: reports are left out until it has caught up"
            )
        if end <= begin:
            return
        if end - begin > _LONGEST_US:
            begin = end - _SECOND_US
            self._counters.restart()
            yield from self._warn("reports-missing", "there is more than a day between two reports: it is left out")
        unknown, self._ended = report.stamp is None or self._ended is None, end
        devices = report.whole_devices
        if not devices:
            return
        yield from self._samples(report, devices, begin, end)
        if unknown:
            text = "how long an interval was is not told and taken for a second: run iostat with -t"
            yield from self._warn("interval-unknown", text)
        if report.stamp is not None and report.stamp.ambiguous:
            text = "whether the month or the day comes first in a time is not sure: run it with S_TIME_FORMAT=ISO"
            yield from self._warn("ambiguous-date", text)

    def _limits(self, report: Report) -> tuple[int, int]:
        """Begin and end of the interval. Stamps are whole seconds: one that is no later than that before adds
        nothing, and its time is in the next."""
        begin = self._ended
        if report.stamp is None or self.clock == "elapsed":
            return begin or 0, (begin or 0) + _SECOND_US
        return report.stamp.us - _SECOND_US if begin is None else begin, report.stamp.us

    def _samples(self, report: Report, devices: dict[str, Values], begin: int, end: int) -> Iterator[Item]:
        self._read_any = True
        columns = report.columns
        rates = self._plans.get(columns) or self._plans.setdefault(columns, plan(columns))
        if (zeros := self._counters.begun(devices, rates, begin)) is not None:
            yield zeros
        yield self._counters.add(devices, end, (end - begin) / 1e6)
        if "ops_read_total" not in rates:
            text = f"reads and writes are not told apart: {_HOW}"
            yield from self._warn("no-directions", text)
        elif "r_await" not in columns and "await" in columns:
            text = "this version tells one latency for reads and writes together: it is taken for both"
            yield from self._warn("await-of-both", text)

    def _warn(self, code: str, text: str) -> Iterator[Item]:
        """Once a file."""
        if code not in self._said:
            self._said.add(code)
            yield warning(self._ended or 0, code, text)

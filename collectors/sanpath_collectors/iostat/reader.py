"""Turns the output of iostat or sar into entities and samples of block devices, network ports and processors.

The counters of devices and ports are rates, summed up over the intervals.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from sanpath.plugin import (
    CollectorError,
    Decoder,
    Failure,
    FollowedFile,
    Item,
    ResultReader,
    Rows,
    SourceEntity,
    SourceLink,
    rows_of,
    text_of,
    warning,
)
from sanpath_collectors.iostat.directions import lacks_directions, split_operations
from sanpath_collectors.iostat.parse import TITLE, TextReports, parse_header
from sanpath_collectors.iostat.parse_json import STATISTICS, JsonReports
from sanpath_collectors.iostat.parse_sadf import SadfJsonReports, SadfReports
from sanpath_collectors.iostat.parse_sadf import parse_header as parse_sadf_header
from sanpath_collectors.iostat.parse_sar import SarReports, parse_mean_header
from sanpath_collectors.iostat.parse_sar import parse_header as parse_sar_header
from sanpath_collectors.iostat.ports import estimate_link_speed
from sanpath_collectors.iostat.rates_to_counters import Counters, choose_rates
from sanpath_collectors.iostat.report import Report, Values, busiest_core, busy_ratio, unanswered
from sanpath_collectors.iostat.stacks import Traffic, is_map
from sanpath_collectors.iostat.tables import HBA, HOST, LUN, Rate
from sanpath_collectors.iostat.times import Stamp

_SECOND_US = 1_000_000
_ALL = "all"
"""All processors together, as sar calls them."""
_MAX_INTERVAL_US = 86_400 * _SECOND_US
"""A day. A longer time between two reports is a gap, or the clock was set."""
_ADVICE = "run iostat -xty 1 -o JSON"
_NO_LOAD_CODES = ("no-directions", "no-latency")
"""Codes of warnings about missing columns without which a device cannot show the load."""
_JSON = re.compile(r'\{\s*"sysstat"\s*:')
_SADF = re.compile(r'"(?:sysdata-version|file-utc-time)"\s*:')
"""Keys in the JSON of sadf, which exports the daily files of sar with other names of devices and columns."""
_AMBIGUOUS_DATE = "ambiguous-date"
_MAX_TEXT_BEFORE = 1 << 16
"""Number of characters within which the header of a report has to appear."""


class IostatResult(ResultReader):
    """Reads text or JSON of iostat, of all versions of sysstat, and the tables of block devices, network interfaces
    and processors of sar.

    The first report of each iostat covers the time since boot, and is left out. sar does not print such a report.
    """

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._decoder = Decoder()
        self._form: TextReports | JsonReports | SarReports | SadfReports | None = None
        self._text = ""
        self._first: Report | None = None
        self._clock_is_set = False
        self._end_us: dict[str, int] = {}
        # Kind of table → (last time stamp, microseconds added to time stamps since the clock was set back).
        self._stamps: dict[str, tuple[int, int]] = {}
        self._has_samples = False
        self._is_since_boot = False
        self._warned_codes: set[str] = set()
        self._yielded_devices: set[tuple[str, str]] = set()
        self._counters = {table.kind: Counters(table) for table in (LUN, HBA)}
        self._traffic = Traffic()
        self._rates_by_columns: dict[tuple[str, ...], Mapping[str, Rate]] = {}

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:  # noqa: ARG003 - the content is sufficient
        """Whether a file is output of iostat or sar. It is recognised by the header of a table of devices, network
        interfaces or processors, or by the begin of JSON; other text may precede.

        A file with only the title is accepted, because iostat may have written no more so far, although other
        programs of sysstat write the same title.
        """
        text = text_of(head)[0]
        if _JSON.search(text):
            return True
        lines = [line for line in text.splitlines() if line.strip()]
        headers = (parse_header, parse_sar_header, parse_mean_header, parse_sadf_header)
        return any(parse(line) for line in lines for parse in headers) or (
            len(lines) == 1 and TITLE.match(lines[0]) is not None
        )

    @classmethod
    def has_ambiguous_dates(cls, head: bytes) -> bool:
        """Whether one of the first reports has a date that may have the month first (American) or the day
        (British)."""
        trial = cls("trial")
        with contextlib.suppress(CollectorError):
            for _ in trial.feed(head):
                pass
        return _AMBIGUOUS_DATE in trial._warned_codes

    def feed(self, added: bytes) -> Iterable[Item]:
        """Yields the items of intervals that are complete now."""
        yield from self._read(self._decoder.feed(added), last=False)

    def finish(self) -> Iterable[Item]:
        """Yields the items of the last interval. Raises UNREADABLE when there was none."""
        yield from self._read(self._decoder.feed(b"", last=True), last=True)
        if self._first is not None:
            yield from self._use_only_report(self._first)
        if self._form is not None:
            yield from self._warn_all(self._form.remarks)
        if not self._has_samples:
            remarks = self._form.remarks if self._form is not None else {}
            cut = remarks.get("damaged-line")
            reason = remarks.get("horizontal") or (f"{cut}; copy whole lines" if cut else _ADVICE)
            what = "it contains no report of a block device, network port or processor"
            if self._is_since_boot:
                what = "its only report covers the time since the host was booted, as that of sar 0 and of mpstat"
            raise CollectorError(Failure.UNREADABLE, f"{what}: {reason}")
        for lower, upper in self._traffic.find_parts():
            yield SourceLink("member_of", ("lun", lower), ("lun", upper), "their bytes in each interval")

    def _read(self, text: str, last: bool) -> Iterator[Item]:
        self._text += text
        if self._form is None:
            self._form = self._choose_form(last)
        if self._form is None:
            return
        text, self._text = self._text, ""
        for reports in (self._form.feed(text), self._form.finish() if last else ()):
            for report in reports:
                yield from self._add_report(report)
                yield from self._warn_if_begun(self._form.remarks)
        yield from self._warn_if_begun(self._form.remarks)

    def _choose_form(self, last: bool) -> TextReports | JsonReports | SarReports | SadfReports | None:
        """Chooses the parser for the text so far, which may begin with other text. None: not known yet."""
        if _JSON.search(self._text):
            if (begin := STATISTICS.search(self._text)) is None and not last:
                return None
            head = self._text[: begin.start()] if begin else self._text
            return SadfJsonReports() if _SADF.search(head) else JsonReports()
        lines = self._text.splitlines()
        if any(map(parse_sadf_header, lines)):
            return SadfReports()
        tables = [columns for line in lines if (columns := parse_sar_header(line))]
        # iostat and sar write the same title.
        is_text = any(map(parse_header, lines))
        if is_text and tables and not any("DEV" in columns for columns in tables):
            form: TextReports | SarReports = TextReports()  # Beside mpstat, it has the block devices.
            form.remarks["several-programs"] = "the tables of mpstat or sar are left out: give each a file"
            return form
        if tables:
            form = SarReports()
            if is_text:
                form.remarks["several-programs"] = (
                    "the tables of iostat are left out beside those of sar: give each a file"
                )
            return form
        if last and not is_text and any(map(parse_mean_header, lines)):
            return SarReports()
        return TextReports() if is_text or last or len(self._text) > _MAX_TEXT_BEFORE else None

    def _add_report(self, report: Report) -> Iterator[Item]:
        if report.stamp is not None and not report.stamp.has_zone:
            report.stamp = self._continue_local_time(report.stamp, report.table.kind)
        if not self._clock_is_set:
            self._clock_is_set = True
            self.clock = "elapsed" if report.stamp is None else "utc" if report.stamp.has_zone else "local"
        yield from self._entities(report)
        if report.first:
            if self._first is not None:
                yield from self._use_only_report(self._first)
            self._first = report
            self._counters[LUN.kind].restart()
            return
        if self._first is not None:
            first, self._first = self._first, None
            if first.stamp is not None and self.clock != "elapsed":
                self._end_us[LUN.kind] = max(first.stamp.us, self._end_us.get(LUN.kind, 0))
            text = "the first report is left out: unless -y was given, it covers the time since the host was booted"
            yield from self._warn("since-boot", text)
        yield from self._add_interval(report)

    def _continue_local_time(self, stamp: Stamp, kind: str) -> Stamp:
        """The time of a report, corrected as if the clock had not been set back at the end of summer time."""
        if self.day_first and stamp.day_first_us is not None:
            stamp = Stamp(stamp.day_first_us, has_zone=False)
        previous_us, added_us = self._stamps.get(kind, (stamp.us, 0))
        back_us = previous_us - stamp.us - added_us
        if back_us > 0 and back_us <= (set_back_us := self.set_back_us(stamp.us)):
            self.continues_us = stamp.us if self.continues_us is None else self.continues_us
            added_us += set_back_us
        self._stamps[kind] = stamp.us + added_us, added_us
        return replace(stamp, us=stamp.us + added_us)

    def _entities(self, report: Report) -> Iterator[Item]:
        kind, node = report.table.kind, report.node
        names = [node] if report.table is HOST else report.used_devices
        new_names = [name for name in names if (kind, name) not in self._yielded_devices]
        if node and new_names:
            yield SourceEntity("host", node, node, {"name": (node,)}, {"os": "Linux", "cores": report.cores})
        if report.table is HOST:
            self._yielded_devices |= {(kind, name) for name in new_names}
            return
        for name in new_names:
            self._yielded_devices.add((kind, name))
            label = f"{node}/{name}" if node else name
            if report.table is HBA:
                yield SourceEntity(kind, name, label, {"name": (label,)} if node else {}, {"technology": "ethernet"})
            else:
                attributes = {"map": name} if is_map(name) else {}
                yield SourceEntity(kind, name, label, {"device": (name,)}, attributes)
            if node:
                yield SourceLink("attached_to", (kind, name), ("host", node), "the machine in its title")

    def _use_only_report(self, report: Report) -> Iterator[Item]:
        self._first = None
        yield from self._add_interval(report)
        text = (
            f"there is only one report; unless -y was given, it covers the time since the host was booted: {_ADVICE}"
        )
        yield from self._warn("since-boot", text)

    def _add_interval(self, report: Report) -> Iterator[Item]:
        begin_us, end_us = self._interval_limits(report)
        if end_us < begin_us:
            yield from self._warn(
                "clock-moved",
                "the clock was set back: reports are left out until it has caught up, unless --utc-offset names a "
                "zone whose summer time ended then",
            )
        if end_us <= begin_us:
            self._is_since_boot = self._is_since_boot or (end_us == begin_us and bool(report.devices))
            return
        if report.only_begin:
            if report.table.kind in self._end_us and report.table is not HOST:
                self._counters[report.table.kind].restart()
            self._end_us[report.table.kind] = end_us
            return
        if end_us - begin_us > _MAX_INTERVAL_US:
            begin_us = end_us - _SECOND_US
            if report.table is not HOST:
                self._counters[report.table.kind].restart()
            yield from self._warn("reports-missing", "there is more than a day between two reports: it is left out")
        unknown_interval = report.stamp is None or report.table.kind not in self._end_us
        self._end_us[report.table.kind] = end_us
        devices = report.used_devices
        if not devices:
            return
        if report.table is HOST:
            yield from self._processor_samples(report.node, devices, begin_us, end_us)
        else:
            yield from self._device_samples(report, devices, begin_us, end_us)
        if unknown_interval:
            text = "the length of an interval is not reported and taken for a second: run iostat with -t"
            yield from self._warn("interval-unknown", text)
        if report.stamp is not None and report.stamp.day_first_us is not None:
            text = "whether the month or the day comes first in a time is not sure: run it with S_TIME_FORMAT=ISO"
            yield from self._warn(_AMBIGUOUS_DATE, text)

    def _interval_limits(self, report: Report) -> tuple[int, int]:
        """Begin and end of the interval in microseconds.

        Time stamps have a resolution of a second. An interval whose end equals the previous one is left out, and its
        time is part of the next interval.
        """
        begin_us = self._end_us.get(report.table.kind)
        if report.stamp is None or self.clock == "elapsed":
            return begin_us or 0, (begin_us or 0) + _SECOND_US
        return report.stamp.us - _SECOND_US if begin_us is None else begin_us, report.stamp.us

    def _device_samples(
        self, report: Report, devices: dict[str, Values], begin_us: int, end_us: int
    ) -> Iterator[Item]:
        self._has_samples = True
        columns = report.columns
        if lacks_directions(report):
            columns = (*columns, "r/s", "w/s")
            yield from self._add_operations(devices)
        rates = self._rates_by_columns.get(columns) or self._rates_by_columns.setdefault(
            columns, choose_rates(columns)
        )
        counters = self._counters[report.table.kind]
        if (zeros := counters.begin_devices(devices, rates, begin_us)) is not None:
            yield zeros
        seconds = (end_us - begin_us) / 1e6
        yield counters.add(devices, end_us, seconds)
        if report.table is HBA:
            yield from _link_speeds(devices, end_us)
            return
        if hanging := {name: count for name, values in devices.items() if (count := unanswered(values))}:
            name = max(hanging, key=lambda name: hanging[name])
            noun = "I/O" if round(hanging[name]) == 1 else "I/Os"
            text = f"{name} had {hanging[name]:.0f} {noun} outstanding for a whole interval and completed none"
            text += ": it, or what is behind it, does not answer; look into the kernel's log"
            yield from self._warn("no-answer", text)
        self._traffic.add(devices, rates, seconds)
        yield from self._processor_samples(report.node, {_ALL: report.processors}, begin_us, end_us)
        if "ops_read_total" not in rates:
            yield from self._warn("no-directions", f"reads and writes are not separated: {_ADVICE}")
        elif "r_await" not in columns and "await" in columns:
            text = "this version reports one latency for reads and writes together: it is taken for both"
            yield from self._warn("await-of-both", text)

    def _processor_samples(
        self, node: str, processors: Mapping[str, Values], begin_us: int, end_us: int
    ) -> Iterator[Item]:
        """Yields the utilisation of a machine's processors in an interval, if the name of the machine is known."""
        values = busiest_core(processors)
        if (busy := busy_ratio(processors.get(_ALL, {}))) is not None:
            values["cpu_busy_ratio"] = busy
        if node and values:
            self._has_samples = True
            yield Rows(
                HOST,
                [node],
                [end_us],
                {metric: [value] for metric, value in values.items()},
                covers_seconds=[(end_us - begin_us) / 1e6],
            )

    def _add_operations(self, devices: dict[str, Values]) -> Iterator[Item]:
        """Adds the operations of each direction to `devices`, if the bytes show them. Yields warnings."""
        yield from self._warn("no-latency", f"without -x, iostat does not tell how long I/Os take: {_ADVICE}")
        for values in devices.values():
            found = split_operations(values)
            values |= found or {}
            if found is None:
                text = f"without -x, the operations of a device that reads and writes are not separated: {_ADVICE}"
                yield from self._warn("no-directions", text)

    def _warn_if_begun(self, remarks: Mapping[str, str]) -> Iterator[Item]:
        """Yields warnings once there is an interval, and thus a time at which they are seen."""
        if self._end_us:
            yield from self._warn_all(remarks)

    def _warn_all(self, remarks: Mapping[str, str]) -> Iterator[Item]:
        for code, message in remarks.items():
            yield from self._warn(code, message)

    def _warn(self, code: str, text: str) -> Iterator[Item]:
        """Yields a warning, once for each code."""
        if code not in self._warned_codes:
            self._warned_codes.add(code)
            advice = f"repeat the test, and {_ADVICE} beside it" if code in _NO_LOAD_CODES else None
            yield warning(max(self._end_us.values(), default=0), code, text, advice)


def _link_speeds(ports: Mapping[str, Values], end_us: int) -> Iterator[Rows]:
    """Yields the link speeds of ports, if they can be estimated from an interval."""
    speeds = {name: speed for name, values in ports.items() if (speed := estimate_link_speed(values)) is not None}
    if speeds:
        yield rows_of(HBA, {name: {"link_speed_bits_per_second": speed} for name, speed in speeds.items()}, end_us)


class Iostat(FollowedFile):
    """Follows the file that iostat or sar is writing, on the host of the block devices."""

    reader = IostatResult

"""Parses the tables of block devices, network interfaces and processors that sadf exports from daily files. Pure.

sadf -d, one header for each table:

    # hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;dkB/s;areq-sz;aqu-sz;await;%util
    db1;10;2026-11-28 01:18:20 UTC;vda;41857.00;333800.00;236.00;384.00;7.99;2.90;0.07;87.60

sadf -j, one object for each interval:

    {"sysstat": {"hosts": [{"nodename": "db1", ..., "file-date": "2026-11-28", ..., "statistics": [
        {"timestamp": {"date": "2026-11-28", "time": "01:18:20", "tz": "UTC", "interval": 10},
         "disk": [{"disk-device": "vda", "tps": 41857.00, "rkB": 333800.00, ..., "util-percent": 87.60}],
         "network": {"net-dev": [{"iface": "eth0", "rxkB": 144531.25, ..., "ifutil-percent": 11.84}]}},
        ...

The columns are those of sar. Times are UTC, with -T or -t local, and with -U seconds since the epoch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from sanpath.plugin import Table, json_objects
from sanpath_collectors.iostat.parse_json import JsonReports
from sanpath_collectors.iostat.parse_sar import TABLES, add_row, columns_of, new_report
from sanpath_collectors.iostat.report import Report
from sanpath_collectors.iostat.tables import HBA, HOST, LUN
from sanpath_collectors.iostat.times import Stamp, parse_stamp

_HEADER = re.compile(r"#\s*hostname;interval;timestamp;(.+)")
_ALL_PROCESSORS = "-1"
_SEVERAL = "[...]"
"""In the header of sadf -h, which puts all devices of an interval into one line."""
_MAX_LINE_LENGTH = 1 << 16
_US = 1_000_000
_MAX_INTERVAL_SECONDS = 86_400
_JSON_COLUMNS = {
    "disk-device": "DEV",
    "iface": "IFACE",
    "cpu": "CPU",
    "rd_sec": "rsec/s",
    "wr_sec": "wsec/s",
    **{key: f"{key}/s" for key in ("rkB", "wkB", "dkB", "rxkB", "txkB", "rxpck", "txpck")},
    "util-percent": "%util",
    "ifutil-percent": "%ifutil",
}
"""Key in JSON → the column of sar. The shares of a processor are those that are left."""


def parse_header(line: str) -> list[str] | None:
    """The columns in the header of sadf -d, without those of host and time; None: another line."""
    match = _HEADER.match(line)
    return match[1].split(";") if match else None


class SadfReports:
    """Splits a growing output of sadf -d into reports. `remarks`: code → text of a warning about the file."""

    def __init__(self) -> None:
        self.remarks: dict[str, str] = {}
        self._buffer = ""
        self._columns: list[str] | None = None
        self._table = LUN
        self._begin = _Begin()
        self._report: Report | None = None
        self._head: list[str] = []

    def feed(self, text: str) -> Iterator[Report]:
        """Yields the reports that are complete now."""
        *lines, self._buffer = (self._buffer + text).split("\n")
        if len(self._buffer) > _MAX_LINE_LENGTH:
            lines, self._buffer = [*lines, self._buffer], ""
        for line in lines:
            yield from self._read_line(line.strip())

    def finish(self) -> Iterator[Report]:
        """Yields the last report."""
        last_line, self._buffer = self._buffer.strip(), ""
        yield from self._read_line(last_line)
        yield from self._end_report()

    def _read_line(self, line: str) -> Iterator[Report]:
        if (words := parse_header(line)) is not None:
            yield from self._end_report()
            several = any(_SEVERAL in word for word in words)
            if several:
                self.remarks["horizontal"] = "all devices are in one line: run sadf without -h"
            self._columns = None if several else columns_of(words)
            if self._columns is not None:
                self._table = next(table for name, table in TABLES.items() if name in self._columns)
        elif line:
            yield from self._read_row(line.split(";"))

    def _read_row(self, cells: list[str]) -> Iterator[Report]:
        columns = self._columns
        if columns is None or len(cells) < 4 or cells[1].startswith("-"):
            return  # A comment or a restart has the interval -1.
        if len(cells) != len(columns) + 3:
            text = f"a line has {len(cells) - 3} values for {len(columns)} columns: {';'.join(cells)[:80]!r}"
            self.remarks["damaged-line"] = text
            return
        if self._report is None or cells[:3] != self._head:
            yield from self._end_report()
            self._head = cells[:3]
            stamp = _parse_time(cells[2])
            self._report = new_report(cells[0], stamp, columns, self._table, None)
            yield from self._begin.of(self._report, cells[1])
        by_column = dict(zip(columns, cells[3:], strict=True))
        if by_column.get("CPU") == _ALL_PROCESSORS:
            by_column["CPU"] = "all"
        add_row(self._report, by_column, self.remarks)

    def _end_report(self) -> Iterator[Report]:
        report, self._report = self._report, None
        if report is not None:
            yield report


class SadfJsonReports(JsonReports):
    """Splits a growing document of sadf -j into reports."""

    def __init__(self) -> None:
        super().__init__()
        self._begin_of = _Begin()

    def _reports(self, parsed: Mapping[str, Any]) -> Iterator[Report]:
        time = parsed.get("timestamp")
        if not isinstance(time, dict):
            return
        zone = "UTC" if time.get("tz") == "UTC" or time.get("utc") == 1 else ""
        stamp = _parse_time(f"{time.get('date')} {time.get('time')} {zone}")
        network = parsed.get("network")
        ports = network.get("net-dev") if isinstance(network, dict) else None
        processors = parsed.get("cpu-load", parsed.get("cpu-load-all"))
        tables: tuple[tuple[Table, Any], ...] = ((LUN, parsed.get("disk")), (HBA, ports), (HOST, processors))
        for table, rows in tables:
            by_row = [_sar_columns(row) for row in json_objects(rows)]
            by_row = [row for row in by_row if any(name in row for name, kind in TABLES.items() if kind is table)]
            if by_row:
                report = new_report(self._node, stamp, by_row[0], table, self._cores)
                yield from self._begin_of.of(report, str(time.get("interval")))
                for row in by_row:
                    add_row(report, row, self.remarks)
                yield report


def _sar_columns(row: Mapping[str, Any]) -> dict[str, str]:
    """A row of JSON with the columns of sar."""
    if "rkB" in row:  # The same bytes once more, in sectors.
        row = {key: value for key, value in row.items() if key not in ("rd_sec", "wr_sec")}
    columns = dict(_JSON_COLUMNS)
    if "cpu" in row:
        columns |= {key: f"%{key}" for key in row if key != "cpu"}
    return {columns.get(key, key): str(value) for key, value in row.items()}


class _Begin:
    """The begin of an interval that does not follow the one before, as after a restart of the machine."""

    def __init__(self) -> None:
        self._end_us: dict[str, int] = {}

    def of(self, report: Report, interval: str) -> Iterator[Report]:
        """Yields the begin of the report's interval, if it is known. `interval`: its seconds."""
        if report.stamp is None:
            return
        end_us, self._end_us[report.table.kind] = self._end_us.get(report.table.kind), report.stamp.us
        seconds = int(interval) if interval.isdecimal() and len(interval) < 6 else 0
        begin_us = report.stamp.us - seconds * _US
        if 0 < seconds <= _MAX_INTERVAL_SECONDS and begin_us > (0 if end_us is None else end_us + _US):
            yield replace(report, stamp=replace(report.stamp, us=begin_us), devices={}, only_begin=True)


def _parse_time(text: str) -> Stamp | None:
    """Parses a time of sadf; None: it is none.

    >>> _parse_time("2026-11-28 01:18:20 UTC") == _parse_time("1795828700"), _parse_time("2026-11-28 01:18:20 CET")
    (True, Stamp(us=1795828700000000, has_zone=False, day_first_us=None))
    """
    text = text.strip()
    if text.isdecimal() and len(text) == 10:
        return Stamp(int(text) * _US, has_zone=True)
    stamp = parse_stamp(text.removesuffix(" UTC"))
    return replace(stamp, has_zone=True) if stamp is not None and text.endswith(" UTC") else stamp

"""Parses the tables of block devices, network interfaces and processors that sar of sysstat prints. Pure.

sar -d:

    Linux 6.1.0-13-amd64 (db1)      2026-11-28      _x86_64_        (2 CPU)

    01:18:19      DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
    01:18:20      vda  41857.00 333800.00    236.00    384.00      7.99      2.90      0.07     87.60
    Average:      vda  42790.75 341362.00    223.00    355.00      7.99      2.91      0.07     86.70

sar -n DEV:

    01:18:19    IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s   rxcmp/s   txcmp/s  rxmcst/s   %ifutil
    01:18:20     eth0  98021.00  12406.00 144531.25    800.12      0.00      0.00      0.00     11.84

sar -u, and one row for each processor with -P ALL; mpstat prints the same:

    01:18:19        CPU     %user     %nice   %system   %iowait    %steal     %idle
    01:18:20        all     16.58      0.00      7.54      2.01      0.50     73.37

With -p the device is the last column. Up to sysstat 11, bytes are in sectors (rd_sec/s), and other columns have other
names. Old versions count network interfaces in bytes (rxbyt/s), and up to 10.1 there is no %ifutil. Each row has the
time at which its interval ends. sar prints all tables in each interval. From a daily file (-f) it prints one table
after the other, so each table has its own times. Other tables of sar are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from sanpath.plugin import LineSplitter, Table
from sanpath_collectors.iostat.directions import split_operations
from sanpath_collectors.iostat.parse import CORES, TITLE
from sanpath_collectors.iostat.report import Report, Values, impossible_remark, is_possible
from sanpath_collectors.iostat.tables import HBA, HOST, LUN
from sanpath_collectors.iostat.times import Stamp, StampReader

_TIME_SEPARATOR = r"(?:[:.]|[^\W\d_] ?)"
_ROW = re.compile(
    rf"(\d{{1,2}}{_TIME_SEPARATOR}\d\d{_TIME_SEPARATOR}\d\d[^\W\d_]?(?: [AP]M(?: [A-Z]{{2,5}}(?=\s\s))?)?)\s+(\S.*)"
)
"""Groups: the time, and the columns. Chinese, Japanese and Korean have words for hours, minutes and seconds
(01時18分19秒), and India's English a time zone (01:18:19 AM IST)."""
_MEAN_ROW = re.compile(r"[^\W\d][^\d:：]{0,30}[:：]\s+(\S.*)")
"""A row of the means that sar prints at its end: "Average:", in the words of a language."""
_CURRENT_NAMES = {"rd_sec/s": "rsec/s", "wr_sec/s": "wsec/s"}
_READS, _WRITES = ("rkB/s", "rsec/s"), ("wkB/s", "wsec/s")
_USED_COLUMNS = frozenset(
    (*_READS, *_WRITES, "aqu-sz", "avgqu-sz", "%util", "rxkB/s", "txkB/s", "rxbyt/s", "txbyt/s", "%ifutil")
)
_MARKER_COLUMNS = {"DEV": "tps", "IFACE": "rxpck/s", "CPU": "%idle"}
"""Name column of a table → a column that distinguishes it from other tables with this name column (sar -n EDEV, -m
CPU)."""
TABLES = {"DEV": LUN, "IFACE": HBA, "CPU": HOST}
"""Name column of a table → its kind."""
_DEVICE_NUMBER = re.compile(r"dev([78])-(\d{1,3})")
"""A device as sar prints it without -p: a disk from sda to sdp, which has block major 8 and 16 minors, or a loop
device, which has major 7 (Linux, Documentation/admin-guide/devices.txt)."""
_MINORS_OF_DISK = 16


def parse_header(line: str) -> list[str] | None:
    """The columns in the header of one of these tables, without its time; None: another line."""
    match = _ROW.fullmatch(line.strip())
    return columns_of(match[2].split()) if match else None


def parse_mean_header(line: str) -> list[str] | None:
    """The columns in the header of the means of one of these tables; None: another line."""
    match = _MEAN_ROW.fullmatch(line.strip())
    return columns_of(match[1].split()) if match else None


def columns_of(words: Sequence[str]) -> list[str] | None:
    """The columns of a header by their current names; None: of another table."""
    is_table = any(column in words and names in (words[0], words[-1]) for names, column in _MARKER_COLUMNS.items())
    return [_CURRENT_NAMES.get(word, word) for word in words] if is_table else None


class SarReports:
    """Splits a growing text into reports. `remarks`: code → text of a warning about the file.

    The means at the end are used only if nothing else was copied. Of each table, those of one run are used: means are
    no intervals that follow each other.
    """

    def __init__(self) -> None:
        self.remarks: dict[str, str] = {}
        self._lines = LineSplitter()
        self._node = ""
        self._date = ""
        self._cores: int | None = None
        self._stamps: dict[str, StampReader] = {}
        self._table = LUN
        self._columns: list[str] = []
        self._time = ""
        self._report: Report | None = None
        self._report_remarks: dict[str, str] = {}
        self._means: list[Report] = []
        self._mean_report: Report | None = None
        self._mean_columns: list[str] = []
        self._has_more_means = False

    def feed(self, text: str) -> Iterator[Report]:
        """Yields the reports that are complete now."""
        for line in self._lines.feed(text):
            yield from self._read_line(line.strip())

    def finish(self) -> Iterator[Report]:
        """Yields the last report."""
        last_line = self._lines.last_line().strip()
        yield from self._read_line(last_line)
        yield from self._end_report()
        if self._means and not self._stamps:
            self.remarks |= self._report_remarks
            self.remarks["only-means"] = "only sar's means are in it: its changes in time are not known"
            if self._has_more_means:
                text = "sar's means of several runs are in it: only the first are used"
                self.remarks["several-means"] = f"{text}; give each run a file"
            yield from self._means

    def _read_line(self, line: str) -> Iterator[Report]:
        if "(" in line and (title := TITLE.match(line)):
            yield from self._end_report()
            self._node, self._date, self._columns, self._stamps = title[1], title[2] or "", [], {}
            self._cores = int(cores[1]) if (cores := CORES.search(line)) else None
        elif columns := parse_header(line):
            yield from self._end_report()
            self._columns, self._table = columns, next(table for name, table in TABLES.items() if name in columns)
            if self._table.kind not in self._stamps:
                self._stamps[self._table.kind] = StampReader(self._date)
            # The next interval begins at the time of the header, also after a restart of the machine.
            yield replace(self._begin_report(line), only_begin=True)
        elif (row := _ROW.fullmatch(line)) is None:
            self._columns = [] if not line else self._columns
            if not self._stamps and (mean := _MEAN_ROW.fullmatch(line)):
                self._read_mean(mean[1])
        elif self._columns:
            if self._report is None or row[1] != self._time:
                yield from self._end_report()
                self._report = self._begin_report(line)
            self._read_row(self._report, row[2].split(), self._columns)

    def _read_mean(self, text: str) -> None:
        """Reads a row of means, or the header above them. A table or a device that is there already is of another
        run."""
        if columns := columns_of(text.split()):
            table = next(table for name, table in TABLES.items() if name in columns)
            self._mean_columns, self._mean_report = columns, None
            if any(report.table is table for report in self._means):
                self._has_more_means = True
            else:
                self._mean_report = self._new_report(None, columns, table)
                self._means.append(self._mean_report)
        elif (report := self._mean_report) is not None:
            row = replace(report, devices={})
            self._read_row(row, text.split(), self._mean_columns)
            if row.devices.keys().isdisjoint(report.devices):
                report.devices |= row.devices
            else:
                self._has_more_means, self._mean_report = True, None

    def _begin_report(self, line: str) -> Report:
        """A new report with the time of a line."""
        row = _ROW.fullmatch(line)
        self._time = row[1] if row else ""
        stamp = self._stamps[self._table.kind].read(f"Time: {self._time}")
        return self._new_report(stamp, self._columns, self._table)

    def _new_report(self, stamp: Stamp | None, columns: list[str], table: Table) -> Report:
        return new_report(self._node, stamp, columns, table, self._cores)

    def _end_report(self) -> Iterator[Report]:
        report, self._report = self._report, None
        if report is not None:
            self.remarks |= self._report_remarks
            yield report

    def _read_row(self, report: Report, words: list[str], columns: list[str]) -> None:
        if len(words) != len(columns):
            text = f"a line has {len(words)} values for {len(columns)} columns: {' '.join(words)[:80]!r}"
            self._report_remarks["damaged-line"] = text
            return
        add_row(report, dict(zip(columns, words, strict=True)), self._report_remarks)


def new_report(node: str, stamp: Stamp | None, columns: Iterable[str], table: Table, cores: int | None) -> Report:
    """An empty report of a table with these columns, by their current names."""
    used = tuple(column for column in columns if column in _USED_COLUMNS)
    derived = ("r/s", "w/s", "r_await", "w_await") if table is LUN else ()
    return Report(False, node, stamp, (*derived, *used), cores=cores, table=table)


def add_row(report: Report, by_column: Mapping[str, str], remarks: dict[str, str]) -> None:
    """Adds the row of a device, port or processor to its report. `by_column`: column, by its current name → value."""
    numbers = {column: number for column, word in by_column.items() if (number := _parse_number(word)) is not None}
    values = {column: number for column, number in numbers.items() if is_possible(column, number)}
    name_column = next(column for column, table in TABLES.items() if table is report.table)
    name = by_column[name_column]
    for column in numbers.keys() - values.keys() - {name_column}:
        if numbers[column] > 0:
            remarks["impossible"] = impossible_remark(name, column, numbers[column])
    used = {column: value for column, value in values.items() if column in _USED_COLUMNS}
    if report.table is HBA:
        report.devices[name] = used
        return
    if report.table is HOST:
        report.devices[name] = {column[1:]: value for column, value in values.items() if column.startswith("%")}
        return
    # The latency is used only for a direction with operations, and then it is the latency of that direction.
    latency = {f"{kind}_await": values["await"] for kind in "rw" if "await" in values}
    report.devices[_kernel_name(name)] = used | latency | _operations(values, remarks)


def _operations(values: Values, remarks: dict[str, str]) -> Values:
    """Rates of reads and writes, if nearly all bytes are of one direction. Empty: the directions are mixed."""
    found = split_operations(values)
    if found is None:
        remarks["no-directions"] = (
            "sar counts reads and writes together: where a device does both, their operations are not known; "
            "run iostat -xty 1 -o JSON"
        )
    return found or {}


def _parse_number(word: str) -> float | None:
    """Parses a number, also with a decimal comma. None: not a number."""
    try:
        return float(word.replace(",", "."))
    except ValueError:
        return None


def _kernel_name(device: str) -> str:
    """The kernel's name of a device, if its number shows it; else the name that was printed.

    >>> [_kernel_name(device) for device in ("dev8-16", "dev8-17", "dev7-3", "dev253-0", "nvme0n1")]
    ['sdb', 'sdb1', 'loop3', 'dev253-0', 'nvme0n1']
    """
    match = _DEVICE_NUMBER.fullmatch(device)
    if match is None or int(match[2]) >= 16 * _MINORS_OF_DISK:
        return device
    if match[1] == "7":
        return f"loop{match[2]}"
    disk, partition = divmod(int(match[2]), _MINORS_OF_DISK)
    return f"sd{chr(ord('a') + disk)}{partition or ''}"

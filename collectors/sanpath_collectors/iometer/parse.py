"""Parses results and updates of Iometer line by line into tests and updates. Pure.

Lines that begin with `'` are labels of the following lines. Iometer appends every run and each of its tests:

    'Test Type,Test Description
    0,random read over eight LUNs
    'Version
    1.1.0
    'Time Stamp
    2026-03-02 09:28:04:211                                  (local time; the run begins)
    'Access specifications
    'Access specification name,default assignment
    64K random read,0
    'size,% of size,% reads,% random,delay,burst,align,reply
    65536,100,100,100,0,1,65536,0,
    'End access specifications
    'Results
    'Target Type,Target Name,Access Specification Name,# Managers,...
    ALL,All,64K random read,1,2,4,6250.110000,...
    MANAGER,HOST-A,64K random read,,2,4,6250.110000,...
    PROCESSOR,CPU 0,,...
    WORKER,Worker 1,64K random read,,,2,3125.000000,...
    DISK,1: "ARRAY LUN 0001",,,,,1562.500000,...
    'Time Stamp
    2026-03-02 09:29:14:871                                  (the test has ended)

The file of updates (1.1.0, with `inst` before the name of the results) has the same structure, with a time stamp
before each row. In each update it has one row for each target, of the kind WORKER with the worker's name. At the end
it has the means of the complete test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sanpath.errors import CollectorError, Failure
from sanpath_collectors.iometer.numbers import parse_local_us
from sanpath_collectors.iometer.rows import Columns, Row, split_cells, unquote
from sanpath_collectors.iometer.specification import AccessLine, Specification, parse_access_line

_MAX_LINES = 100
"""Largest number of lines of a specification (a limit of Iometer)."""
_MAX_ROWS = 100_000
"""Largest number of rows of one test: 128 workers with 512 targets each have fewer."""

Specifications = Mapping[str, Specification]


@dataclass(frozen=True, slots=True)
class Test:
    """A completed test, with its rows in the order of the file."""

    __test__ = False  # pytest would collect it as a test

    version: str | None
    specifications: Specifications
    rows: tuple[Row, ...]
    end_us: int


@dataclass(frozen=True, slots=True)
class Update:
    """The figures of one target since the previous update."""

    version: str | None
    specifications: Specifications
    row: Row


@dataclass(frozen=True, slots=True)
class UpdatesEnded:
    """The end of the test to which the updates belong."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark about the file, for people. `code`: in kebab case."""

    code: str
    text: str


Record = Test | Update | UpdatesEnded | Remark


@dataclass(slots=True)
class ResultText:
    """Parses a text line by line. `time_us`: the last time stamp of a run or a test; 0: none was read yet."""

    time_us: int = 0
    _label: str = ""
    _delimiter: str = ","
    _version: str | None = None
    _columns: Columns | None = None
    _access: dict[str, list[AccessLine]] = field(default_factory=dict)
    _specification_name: str = ""
    _specifications: Specifications = field(default_factory=dict)
    _rows: list[Row] | None = None
    _updating: bool = False
    _reported_codes: set[str] = field(default_factory=set)

    def read_line(self, line: str) -> Iterator[Record]:
        """Yield the records that this line completes. Raises CollectorError if a test has too many rows."""
        line = line.strip(" \t\0")
        if line.startswith(("'", "TimeStamp")):
            yield from self._read_label(line)
        elif line.startswith("Aborted test"):
            yield Remark("aborted", "a test was stopped by hand: its figures cover a shorter run")
        elif line:
            yield from self._read_value(line)

    def end(self) -> Iterator[Record]:
        """Yield the remaining records at the end of the text."""
        yield from self._drop_test("the file ends before the test does")

    def _read_label(self, line: str) -> Iterator[Record]:
        yield from self._detect_delimiter(line)
        header = split_cells(line, self._delimiter)
        self._label = header[0].lstrip("'").strip().casefold()
        match self._label:
            case "version" if self._rows is not None:
                # The label of the new run was lost with the truncated row.
                yield from self._drop_test("another run begins before the test ends")
                self._columns, self._access = None, {}
            case "test type":
                yield from self._drop_test("another run begins before the test ends")
                self._version, self._columns, self._access = None, None, {}
            case "access specifications":
                self._access = {}
            case "results":
                yield from self._drop_test("another test begins before it ends")
                self._rows = []
                self._specifications = {n: Specification(n, tuple(lines)) for n, lines in self._access.items()}
            case "target type" | "timestamp":
                yield from self._read_header(header)

    def _detect_delimiter(self, line: str) -> Iterator[Remark]:
        # No label of Iometer contains a semicolon.
        if ";" in line and "," not in line and self._delimiter != ";":
            self._delimiter = ";"
            yield Remark(
                "localised-file",
                "a spreadsheet has saved the file again, with ';' between the cells: it may have shortened numbers",
            )
        elif "," in line and ";" not in line:
            self._delimiter = ","

    def _read_header(self, header: list[str]) -> Iterator[Record]:
        columns = Columns(header, self._delimiter)
        self._columns = columns if columns.is_complete else None
        self._updating = columns.has_time_stamps
        if self._columns is None:
            yield Remark("header-unreadable", "a header line lacks columns that are needed: its rows are left out")

    def _read_value(self, line: str) -> Iterator[Record]:
        match self._label:
            case "target type" | "timestamp":
                yield from self._read_row(line)
            case "version":
                self._version = split_cells(line, self._delimiter)[0]
            case "time stamp":
                yield from self._read_time_stamp(split_cells(line, self._delimiter)[0])
            case "access specification name":
                # The name may contain commas, but not the assignment after it. A spreadsheet adds empty cells.
                name, _, assigned = line.rstrip(self._delimiter).rpartition(self._delimiter)
                self._specification_name = unquote(name or assigned)
                self._access[self._specification_name] = []
            case "size" if self._specification_name in self._access:
                access = parse_access_line(split_cells(line, self._delimiter))
                if access is not None and len(self._access[self._specification_name]) < _MAX_LINES:
                    self._access[self._specification_name].append(access)

    def _read_row(self, line: str) -> Iterator[Record]:
        try:
            row = self._columns.parse_row(line) if self._columns is not None else None
        except ValueError:
            if "row" not in self._reported_codes:
                self._reported_codes.add("row")
                yield Remark("row-unreadable", f"rows are cut or damaged and left out, the first: {line[:60]!r}")
            return
        if row is None:
            return
        if self._updating:
            if row.stamp_us is not None:
                self.time_us = row.stamp_us
                yield Update(self._version, self._specifications, row)
        elif self._rows is not None:
            if len(self._rows) >= _MAX_ROWS:
                text = f"more than {_MAX_ROWS:,} rows without an end of the test: give the file as Iometer wrote it"
                raise CollectorError(Failure.UNREADABLE, text)
            self._rows.append(row)

    def _read_time_stamp(self, text: str) -> Iterator[Record]:
        time_us = parse_local_us(text)
        self._label = ""
        if time_us is None:
            yield from self._drop_test(f"the time at its end cannot be read: {text[:40]!r}")
            return
        self.time_us = time_us
        if self._updating and self._rows is not None:
            yield UpdatesEnded()
        elif self._rows:
            yield Test(self._version, self._specifications, tuple(self._rows), time_us)
        self._rows = None

    def _drop_test(self, reason: str) -> Iterator[Record]:
        if self._updating and self._rows is not None:
            yield UpdatesEnded()
        if self._rows is not None:
            yield Remark("not-finished", f"a test is incomplete: {reason}")
        self._rows, self._updating = None, False

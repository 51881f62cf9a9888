"""Parses iostat's JSON (-o JSON) into reports while it is still being written. Pure.

    {"sysstat": {"hosts": [{"nodename": "db1", ..., "statistics": [
        {"timestamp": "2026-11-20T02:55:16+0000", "avg-cpu": {...},
         "disk": [{"disk_device": "sda", "r/s": 4902.00, ..., "aqu-sz": 1.08, "util": 85.60}]},
        ...

The document is complete only if iostat ended by its count or was interrupted by SIGINT.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sanpath.plugin import json_objects, read_json
from sanpath_collectors.iostat.report import Report, impossible_remark, is_possible
from sanpath_collectors.iostat.times import parse_stamp

STATISTICS = re.compile(r'"statistics"\s*:\s*\[')
_CORES = re.compile(r'"number-of-cpus"\s*:\s*(\d{1,6})')
_NODE = re.compile(r'"nodename"\s*:\s*"([^"]{0,255})"')
_BRACE = re.compile(r"[{}\]]")
_NUMBERS = (float, int)
_MAX_LENGTH = 1 << 26
"""Largest number of characters of a report. One with ten thousand devices has some millions."""


class JsonReports:
    """Splits a growing document into reports. `remarks`: code → text of a warning about the file."""

    def __init__(self) -> None:
        self.remarks: dict[str, str] = {}
        self._text = ""
        self._begin = 0
        self._position = 0
        self._depth = 0
        self._in_array = False
        self._node = ""
        self._cores: int | None = None
        self._is_first = True

    def feed(self, text: str) -> Iterator[Report]:
        """Yields the reports that are complete now."""
        self._text += text
        while self._in_array or self._enter_array():
            for element in self._complete_elements():
                yield from self._parse_report(element)
            if self._in_array:
                break
        self._text, self._position, self._begin = self._text[self._begin :], self._position - self._begin, 0
        if len(self._text) > _MAX_LENGTH:
            self.remarks["damaged-json"] = "a part of more than 64 MiB is not a report: it is left out"
            self._text, self._position, self._depth, self._in_array = "", 0, 0, False

    def finish(self) -> Iterator[Report]:
        """Yields nothing, because a truncated report is not used."""
        if self._in_array:
            self.remarks["cut-file"] = "the JSON is incomplete: iostat was killed, or is still writing"
        yield from ()

    def _enter_array(self) -> bool:
        """Moves to the next array "statistics". Returns False if there is none yet."""
        match = STATISTICS.search(self._text, self._begin)
        if match is None:
            return False
        node = _NODE.search(self._text, self._begin, match.start())
        self._node = node[1] if node else ""
        cores = _CORES.search(self._text, self._begin, match.start())
        self._cores = int(cores[1]) if cores else None
        self._begin = self._position = match.end()
        self._depth = 0
        self._in_array = self._is_first = True
        return True

    def _complete_elements(self) -> Iterator[str]:
        """Yields the elements of the array that are complete now."""
        for brace in _BRACE.finditer(self._text, self._position):
            if brace[0] == "{":
                if self._depth == 0:
                    self._begin = brace.start()
                self._depth += 1
            elif brace[0] == "}":
                self._depth = max(0, self._depth - 1)
                if self._depth == 0:
                    begin, self._begin = self._begin, brace.end()
                    yield self._text[begin : self._begin]
            elif self._depth == 0:
                self._begin = self._position = brace.end()
                self._in_array = False
                return
        self._position = len(self._text)

    def _parse_report(self, element: str) -> Iterator[Report]:
        try:
            parsed = read_json(element)
        except ValueError:
            parsed = None
        if not isinstance(parsed, dict):
            self.remarks["damaged-json"] = f"a report cannot be read and is left out: {element[:80]!r}"
            return
        yield from self._reports(parsed)

    def _reports(self, parsed: Mapping[str, Any]) -> Iterator[Report]:
        """Yields the reports of an element of the array."""
        first, self._is_first = self._is_first, False
        report = Report(first, self._node, parse_stamp(str(parsed.get("timestamp", ""))), cores=self._cores)
        processors = parsed.get("avg-cpu")
        if isinstance(processors, dict):
            report.processors = {state: value for state, value in processors.items() if type(value) in _NUMBERS}
        for disk in json_objects(parsed.get("disk")):
            name = disk.get("disk_device")
            if isinstance(name, str) and not name.startswith(" "):  # A leading space marks the sum of a group (-g).
                report.columns = report.columns or tuple(disk)
                numbers = {column: value for column, value in disk.items() if type(value) in _NUMBERS}
                values = {column: value for column, value in numbers.items() if is_possible(column, value)}
                report.devices[name] = values
                for column in (column for column, value in numbers.items() if value > 0 and column not in values):
                    self.remarks["impossible"] = impossible_remark(name, column, numbers[column])
        yield report

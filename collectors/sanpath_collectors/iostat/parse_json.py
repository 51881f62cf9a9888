"""iostat's JSON (-o JSON) → reports, while it is still being written. Pure: text in, reports out.

    {"sysstat": {"hosts": [{"nodename": "db1", ..., "statistics": [
        {"timestamp": "2026-11-20T02:55:16+0000", "avg-cpu": {...},
         "disk": [{"disk_device": "sda", "r/s": 4902.00, ..., "aqu-sz": 1.08, "util": 85.60}]},
        ...

The document is whole only when iostat ended by its count or was interrupted by SIGINT.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sanpath.plugin import read_json
from sanpath_collectors.iostat.report import MOST, Report
from sanpath_collectors.iostat.times import stamp

STATISTICS = re.compile(r'"statistics"\s*:\s*\[')
_NODE = re.compile(r'"nodename"\s*:\s*"([^"]{0,255})"')
_BRACE = re.compile(r"[{}\]]")
_NUMBERS = (float, int)
_LARGEST = 1 << 26


class JsonReports:
    """Cuts a growing document into reports. `notes`: code and text of what a person should know of it."""

    def __init__(self) -> None:
        self.notes: dict[str, str] = {}
        self._text = ""
        self._begin = 0
        self._at = 0
        self._depth = 0
        self._inside = False
        self._node = ""
        self._fresh = True

    def feed(self, text: str) -> Iterator[Report]:
        """The reports that are complete now."""
        self._text += text
        while self._inside or self._entered():
            for element in self._elements():
                yield from self._report(element)
            if self._inside:
                break
        self._text, self._at, self._begin = self._text[self._begin :], self._at - self._begin, 0
        if len(self._text) > _LARGEST:
            self.notes["damaged-json"] = "a part of more than 64 MiB is no report: it is passed over"
            self._text, self._at, self._depth, self._inside = "", 0, 0, False

    def finish(self) -> Iterator[Report]:
        """Nothing more: a report that is cut is none."""
        if self._inside:
            self.notes["cut-file"] = "the JSON ends before its end: iostat was killed, or is still writing"
        yield from ()

    def _entered(self) -> bool:
        """Whether there is another array "statistics"."""
        found = STATISTICS.search(self._text, self._begin)
        if found is None:
            return False
        node = _NODE.search(self._text, self._begin, found.start())
        self._node = node[1] if node else ""
        self._begin = self._at = found.end()
        self._depth = 0
        self._inside = self._fresh = True
        return True

    def _elements(self) -> Iterator[str]:
        """Its elements that are complete now."""
        for brace in _BRACE.finditer(self._text, self._at):
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
                self._begin = self._at = brace.end()
                self._inside = False
                return
        self._at = len(self._text)

    def _report(self, element: str) -> Iterator[Report]:
        try:
            parsed = read_json(element)
        except ValueError:
            parsed = None
        if not isinstance(parsed, dict):
            self.notes["damaged-json"] = f"a report cannot be read and is left out: {element[:80]!r}"
            return
        first, self._fresh = self._fresh, False
        report = Report(first, self._node, stamp(str(parsed.get("timestamp", ""))))
        disks = parsed.get("disk")
        for disk in disks if isinstance(disks, list) else []:
            name = disk.get("disk_device") if isinstance(disk, dict) else None
            if isinstance(name, str) and not name.startswith(" "):  # as the sum of a group (-g) does
                report.columns = report.columns or tuple(disk)
                report.devices[name] = {
                    column: value for column, value in disk.items() if type(value) in _NUMBERS and 0 <= value < MOST
                }
        yield report

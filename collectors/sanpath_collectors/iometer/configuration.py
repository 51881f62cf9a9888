"""Configuration files (.icf), line by line → what was to be done. Pure.

Values stand below their label, with a tabulator before them; any section may be missing:

    Version 1.1.0
    'TEST SETUP ====================================================================
    'Run Time
    '       hours      minutes    seconds
            0          1          0
    'Ramp Up Time (s)
            10
    'Test Type
            NORMAL
    'ACCESS SPECIFICATIONS =========================================================
    'Access specification name,default assignment
            64K random read,NONE
    'size,% of size,% reads,% random,delay,burst,align,reply
            65536,100,100,100,0,1,65536,0
    'MANAGER LIST ==================================================================
    'Manager ID, manager name
            1,HOST-A
    'Worker
            Worker 1
    'Worker type
            DISK
    'Number of outstanding IOs,test connection rate,transactions per connection,use fixed seed,fixed seed value
            8,DISABLED,1,DISABLED,0
    'Disk maximum size,starting sector,Data pattern
            2097152,0,2
    'Assigned access specs
            64K random read
    'Target
            1: "ARRAY LUN 0001"
    Version 1.1.0
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from sanpath.errors import CollectorError, Failure
from sanpath_collectors.iometer.numbers import count
from sanpath_collectors.iometer.specification import Specification, access_line

_MOST_LINES = 1_000_000
_MOST_ACCESS_LINES = 100
_FILL: dict[str, Literal["repeating", "random"]] = {"0": "repeating", "1": "repeating", "2": "random"}
"""Data pattern: one byte again and again; one random buffer again and again; random (IOGrunt.cpp of 1.1.0)."""


@dataclass(slots=True)
class Worker:
    """A worker with what is assigned to it. `queue_depth`: 1 unless it is told. `sectors`: None: not told."""

    manager: str
    name: str
    kind: str = "DISK"
    queue_depth: int | None = 1
    sectors: int | None = None
    fill: Literal["repeating", "random"] | None = None
    specifications: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Configuration:
    """A file, taken in line by line. `test_type`: "NORMAL", or what changes from test to test."""

    version: str = ""
    closed: bool = False
    seconds: int | None = None
    ramp_seconds: int | None = None
    test_type: str = "NORMAL"
    specifications: dict[str, Specification] = field(default_factory=dict)
    workers: list[Worker] = field(default_factory=list)
    _label: str = ""
    _manager: str = ""
    _specification: str = ""
    _lines: int = 0

    def line(self, line: str) -> None:
        """Take in one line. Raises CollectorError: there are too many."""
        self._lines += 1
        if self._lines > _MOST_LINES:
            raise CollectorError(Failure.UNREADABLE, "more lines than any configuration of Iometer : check the file")
        if line.startswith("Version "):
            self.closed = bool(self.version)
            self.version = line.removeprefix("Version ").strip()
        elif line.startswith("'\t"):
            return  # the names of the columns below a label
        elif line.startswith("'"):
            self._label = line[1:].strip().casefold()
        elif line.strip():
            self._value(line.strip())

    def _value(self, value: str) -> None:
        first = value.split(",")[0].strip()
        words = [count(word) for word in value.split()]
        match self._label:
            case "run time" if len(words) >= 3:
                hours, minutes, seconds = (word or 0 for word in words[:3])
                self.seconds = (hours * 60 + minutes) * 60 + seconds
            case "test type":
                self.test_type = value
            case "access specification name,default assignment":
                self._specification = value.rpartition(",")[0].strip() or value
                self.specifications[self._specification] = Specification(self._specification)
            case "manager id, manager name":
                self._manager = value.partition(",")[2].strip() or value
            case "worker":
                self.workers.append(Worker(self._manager, value))
            case label if label.startswith("ramp up time"):
                self.ramp_seconds = words[0]
            case label if label.startswith("size,"):
                self._access(value)
            case label if self.workers:
                _assign(self.workers[-1], label, value, first)

    def _access(self, value: str) -> None:
        before, read = self.specifications.get(self._specification), access_line(value.split(","))
        if before is not None and read is not None and len(before.lines) < _MOST_ACCESS_LINES:
            self.specifications[self._specification] = Specification(before.name, (*before.lines, read))


def _assign(worker: Worker, label: str, value: str, first: str) -> None:
    match label:
        case "worker type":
            worker.kind = first.upper()
        case "assigned access specs":
            worker.specifications.append(value)
        case "target":
            worker.targets.append(value)
        case _ if label.startswith("number of outstanding ios"):
            worker.queue_depth = count(first)
        case _ if label.startswith("disk maximum size"):
            told = value.split(",")
            worker.sectors = count(first)
            worker.fill = _FILL.get(told[2].strip()) if len(told) > 2 else None

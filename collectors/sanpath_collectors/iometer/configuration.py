"""Parses configuration files (.icf) line by line. Pure.

Values follow their label, after a tab. Any section may be missing:

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
from sanpath_collectors.iometer.numbers import parse_count
from sanpath_collectors.iometer.specification import Specification, parse_access_line

_MAX_LINES = 1_000_000
"""Larger files are not configurations."""
_MAX_ACCESS_LINES = 100
"""Largest number of lines of a specification: their shares, in whole per cent, add up to 100 %."""
_FILL: dict[str, Literal["repeating", "random"]] = {"0": "repeating", "1": "repeating", "2": "random"}
"""Number of the data pattern → content of writes: a repeated byte, a repeated random buffer, random (IOGrunt.cpp of
1.1.0)."""


@dataclass(slots=True)
class Worker:
    """A worker and its assignments. `queue_depth`: I/Os in flight on each target, 1 by default. `sectors`: size of
    the tested area; None: unknown."""

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
    """The content of a file, parsed line by line.

    `complete`: the file has its last line. `seconds`, `ramp_seconds`: run time and ramp; None: missing. `test_type`:
    "NORMAL", or the settings that change between tests.
    """

    version: str = ""
    complete: bool = False
    seconds: int | None = None
    ramp_seconds: int | None = None
    test_type: str = "NORMAL"
    specifications: dict[str, Specification] = field(default_factory=dict)
    workers: list[Worker] = field(default_factory=list)
    _label: str = ""
    _manager: str = ""
    _specification: str = ""
    _lines: int = 0

    def read_line(self, line: str) -> None:
        """Parse the next line. Raises CollectorError when there are too many."""
        self._lines += 1
        if self._lines > _MAX_LINES:
            raise CollectorError(Failure.UNREADABLE, "more lines than any configuration of Iometer: check the file")
        if line.startswith("Version "):
            self.complete = bool(self.version)
            self.version = line.removeprefix("Version ").strip()
        elif line.startswith("'\t"):
            return  # The names of the columns below a label.
        elif line.startswith("'"):
            self._label = line[1:].strip().casefold()
        elif line.strip():
            self._read_value(line.strip())

    def _read_value(self, value: str) -> None:
        first = value.split(",")[0].strip()
        numbers = [parse_count(word) for word in value.split()]
        match self._label:
            case "run time" if len(numbers) >= 3:
                hours, minutes, seconds = (word or 0 for word in numbers[:3])
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
                self.ramp_seconds = numbers[0]
            case label if label.startswith("size,"):
                self._read_access_line(value)
            case label if self.workers:
                _read_worker_setting(self.workers[-1], label, value, first)

    def _read_access_line(self, value: str) -> None:
        specification, access = self.specifications.get(self._specification), parse_access_line(value.split(","))
        if specification is not None and access is not None and len(specification.lines) < _MAX_ACCESS_LINES:
            self.specifications[self._specification] = Specification(
                specification.name, (*specification.lines, access)
            )


def _read_worker_setting(worker: Worker, label: str, value: str, first: str) -> None:
    match label:
        case "worker type":
            worker.kind = first.upper()
        case "assigned access specs":
            worker.specifications.append(value)
        case "target":
            worker.targets.append(value)
        case _ if label.startswith("number of outstanding ios"):
            worker.queue_depth = parse_count(first)
        case _ if label.startswith("disk maximum size"):
            fields = value.split(",")
            worker.sectors = parse_count(first)
            worker.fill = _FILL.get(fields[2].strip()) if len(fields) > 2 else None

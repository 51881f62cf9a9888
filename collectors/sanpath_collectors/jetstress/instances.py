"""Figures of the database instances of a report, and of their log files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sanpath.model import DIRECTIONS, Direction
from sanpath_collectors.jetstress.document import Row
from sanpath_collectors.jetstress.parse import find_decimal_mark, parse_measure, parse_number

_VOLUME = re.compile(r"(Database|Log)\s*\((.+)\)", re.IGNORECASE)
_HEADINGS = ("transactionalioperformance", "disksubsystemperformance")
"""Headings of the tables with the test's I/O: by instance since 2010, by volume in 2007. Other tables contain the I/O
of checksums, maintenance and log replication."""


@dataclass(slots=True)
class Flow:
    """The I/O of one direction. None: not reported."""

    ops_per_second: float = 0.0
    bytes_per_op: float | None = None
    latency_seconds: float | None = None


@dataclass(slots=True)
class Instance:
    """A database or its log files, which are separate loads. `name`: as in the report."""

    name: str
    is_log: bool
    flows: dict[Direction, Flow] = field(default_factory=lambda: {direction: Flow() for direction in DIRECTIONS})

    @property
    def local_id(self) -> str:
        """The local id, without the id of its load."""
        name = self.name.replace(",", ";")  # A comma separates the loads of a step.
        return f"{name} log" if self.is_log else name

    @property
    def ops_per_second(self) -> float:
        """Reads and writes together."""
        return sum(flow.ops_per_second for flow in self.flows.values())


def parse_instances(rows: Sequence[Row]) -> tuple[list[Instance], bool]:
    """Parse the databases and logs that had I/O. Returns them, and whether the decimal mark is certain."""
    measured = [
        row for row in rows if any(parse_measure(column) for column in row.cells) and "checksum" not in row.section
    ]
    transactional = [row for row in measured if any(heading in row.section for heading in _HEADINGS)]
    # If no heading is known, the first table is that of the test.
    selected = transactional or [row for row in measured if row.section == measured[0].section]
    mark, is_certain = find_decimal_mark(text for row in selected for text in row.cells.values())
    by_id: dict[str, Instance] = {}
    for row in selected:
        for instance in _parse_row(row, mark):
            if instance.ops_per_second:
                by_id.setdefault(instance.local_id, instance)
    return list(by_id.values()), is_certain


def _parse_row(row: Row, mark: Literal[".", ","]) -> Iterator[Instance]:
    volume = _VOLUME.fullmatch(row.name.strip())
    name = volume[2] if volume else row.name.strip()
    database_and_log = {is_log: Instance(name, is_log) for is_log in (False, True)}
    for column, text in row.cells.items():
        column_measure, value = parse_measure(column), parse_number(text, mark)
        if column_measure is None or value is None:
            continue
        is_log = column_measure.is_log
        if is_log is None:
            is_log = bool(volume and volume[1].lower() == "log")
        flow = database_and_log[is_log].flows[column_measure.direction]
        match column_measure.quantity:
            case "ops":
                flow.ops_per_second = value
            case "bytes":
                flow.bytes_per_op = value
            case "latency":
                flow.latency_seconds = value * column_measure.scale
    yield from database_and_log.values()

"""Figures of the database instances of a report, and of their log files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sanpath.model import DIRECTIONS, Direction
from sanpath_collectors.jetstress.document import Row
from sanpath_collectors.jetstress.parse import decimal_mark, measure, number

_VOLUME = re.compile(r"(Database|Log)\s*\((.+)\)", re.IGNORECASE)
_WANTED = ("transactionalioperformance", "disksubsystemperformance")
"""Headings of the test's own I/O: since 2010 by instance, in 2007 by volume. Of checksums, maintenance and log
replication there are others."""


@dataclass(slots=True)
class Flow:
    """One direction: operations a second, bytes of each, seconds each. None: not told."""

    ops: float = 0.0
    bytes: float | None = None
    latency: float | None = None


@dataclass(slots=True)
class Part:
    """A database, or its log files: a load of its own. `name` as Jetstress calls it."""

    name: str
    log: bool
    flows: dict[Direction, Flow] = field(default_factory=lambda: {direction: Flow() for direction in DIRECTIONS})

    @property
    def local_id(self) -> str:
        """Below its load."""
        name = self.name.replace(",", ";")  # A comma would part it from the next load of the step.
        return f"{name} log" if self.log else name

    @property
    def ops(self) -> float:
        """Reads and writes a second."""
        return sum(flow.ops for flow in self.flows.values())


def parts(rows: Sequence[Row]) -> tuple[list[Part], bool]:
    """What each database and each log did, those without any I/O left out; and whether it is certain which mark is
    the decimal one."""
    told = [row for row in rows if any(measure(column) for column in row.cells) and "checksum" not in row.section]
    named = [row for row in told if any(heading in row.section for heading in _WANTED)]
    # Under headings that are not known the first table is that of the test.
    wanted = named or [row for row in told if row.section == told[0].section]
    mark, certain = decimal_mark(text for row in wanted for text in row.cells.values())
    found: dict[str, Part] = {}
    for row in wanted:
        for part in _parts(row, mark):
            if part.ops:
                found.setdefault(part.local_id, part)
    return list(found.values()), certain


def _parts(row: Row, mark: Literal[".", ","]) -> Iterator[Part]:
    volume = _VOLUME.fullmatch(row.name.strip())
    name = volume[2] if volume else row.name.strip()
    both = {log: Part(name, log) for log in (False, True)}
    for column, text in row.cells.items():
        told, value = measure(column), number(text, mark)
        if told is None or value is None:
            continue
        log = told.log if told.log is not None else bool(volume and volume[1].lower() == "log")
        flow = both[log].flows[told.direction]
        match told.what:
            case "ops":
                flow.ops = value
            case "bytes":
                flow.bytes = value
            case "latency":
                flow.latency = value * told.scale
    yield from both.values()

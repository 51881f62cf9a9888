"""fio's terse lines (--output-format=terse, --minimal), versions 3 to 5 → statuses. Pure: lines in, statuses out.

    3;fio-3.33;rr;0;0;357260;89292;22323;4001;2;17739;10.58;158.81;26;35663;347.22;824.62;1.000000%=101;...

A line is a job: version, fio, name, group, error; then for reads, writes and, from version 4 on, trims: KiB, KiB/s,
operations per second, run time in ms, submission, completion, 20 percentiles, total latency, bandwidth [version 5:
and operations per second]; cpu, depths, shares of latencies; nine fields a disk (fio HOWTO, "Terse output").
Microseconds. No options, no time. What is rounded: bytes down to KiB, operations a second down to whole ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sanpath.model import DIRECTIONS, Direction
from sanpath.plugin import LoadProfile
from sanpath_collectors.fio.status import JobStatus, Number, Status, integer, milliseconds, told_apart

LINE = re.compile(r"(?:<[^>]+> )?[345];fio-\d[^;]*;")
_HEAD = 5
_FIELDS = {"3": (41, 2), "4": (41, 3), "5": (47, 3)}
"""Version → fields a direction, directions."""
_BETWEEN = 5 + 7 + 10 + 12
"""CPU, depths, and latencies in microseconds and milliseconds: what lies between directions and disks."""
_DISK = 9
_US_TO_NS = 1000
_SMALLEST_BLOCK = 512
_APART_MS = 100
"""Processes of one job that run for a time end with less between them."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line, with what stands on it of the disks: the same on all lines of one status."""

    fields: Sequence[str]
    disks: Sequence[str]

    def is_later(self, first: _Line) -> bool:
        """Whether it is of a later status than one that begins with `first`: the disks have moved on, or the job has.

        Processes of one job move the same number of bytes, or run equally long.
        """
        if self.disks != first.disks:
            return True
        same = self.fields[2:4] == first.fields[2:4]
        return same and self.moved > first.moved and self.runtime_ms >= first.runtime_ms + _APART_MS

    @property
    def moved(self) -> int:
        """KiB read and written."""
        return sum(integer(self.fields[at], 0) for at in self._directions)

    @property
    def runtime_ms(self) -> int:
        """The longer of its run times."""
        return max(milliseconds(self.fields[at + 3]) for at in self._directions)

    @property
    def _directions(self) -> tuple[int, int]:
        return _HEAD, _HEAD + _FIELDS[self.fields[0]][0]


class TerseText:
    """Takes the lines one by one. `damaged` counts those that are none of fio's, or were cut."""

    def __init__(self) -> None:
        self._lines: list[_Line] = []
        self.damaged = 0

    def line(self, line: str) -> Status | None:
        """The status that this line ends, if it does: the first one of the next."""
        fields = re.sub(r"^<[^>]+> ", "", line).split(";")
        width, directions = _FIELDS[fields[0]]
        disks_at = _HEAD + width * directions + _BETWEEN
        if len(fields) < disks_at or fields[2] == "All clients":
            self.damaged += len(fields) < disks_at
            return None
        done = None
        new = _Line(fields, fields[disks_at:])
        if self._lines and new.is_later(self._lines[0]):
            done = self.finish()
        self._lines.append(new)
        return done

    def finish(self) -> Status | None:
        """The status that was read last."""
        lines, self._lines = self._lines, []
        if not lines:
            return None
        names = told_apart([line.fields[2] for line in lines])
        return Status(
            time_us=None,
            jobs=tuple(_job(line.fields, name) for line, name in zip(lines, names, strict=True)),
            disks=_disks(lines[0].disks),
            version=_version(lines[0].fields),
        )


def _job(fields: Sequence[str], name: str) -> JobStatus:
    width, directions = _FIELDS[fields[0]]
    samples: dict[str, Number] = {}
    runtimes = []
    for number, direction in enumerate(DIRECTIONS):
        body = fields[_HEAD + width * number : _HEAD + width * (number + 1)]
        samples |= _direction(body, direction)
        runtimes.append(milliseconds(body[3]))
    cpu = fields[_HEAD + width * directions :][:2]
    samples["in_flight_configured"] = None
    samples["cpu_ratio"] = sum(_number(share) for share in cpu)
    return JobStatus(
        name=name,
        group=integer(fields[3], 0),
        profile=LoadProfile(engine="fio", engine_version=_version(fields)),
        runtime_ms=max(runtimes),
        ops=sum(int(samples[f"ops_{direction}_total"] or 0) for direction in DIRECTIONS),
        error=integer(fields[4], 0),
        samples=samples,
    )


def _direction(body: Sequence[str], direction: Direction) -> dict[str, Number]:
    moved, per_second = integer(integer(body[0], 0) * 1024, 0), integer(body[2], 0)
    ops = integer(operations(moved, per_second, milliseconds(body[3]) / 1000), 0)
    percentiles = dict(field.split("%=", 1) for field in body[12:32] if "%=" in field)
    told = {p: percentiles.get(f"{p}.000000") for p in (50, 95, 99)}
    return {
        f"ops_{direction}_total": ops,
        f"bytes_{direction}_total": moved,
        f"latency_seconds_{direction}_total": integer(ops * _number(body[34]) * _US_TO_NS, 0),
        f"latency_seconds_max_{direction}": integer(body[33], 0) * _US_TO_NS if ops else None,
        **{
            f"latency_seconds_p{p}_{direction}": integer(value, 0) * _US_TO_NS if ops and value else None
            for p, value in told.items()
        },
    }


def operations(moved: int, per_second: int, seconds: float) -> int:
    """I/Os that moved so many bytes at [per_second, per_second + 1) I/Os a second.

    Exact where one power of two fits as their size; else the middle of what fits.
    """
    least, most = per_second * seconds, (per_second + 1) * seconds
    if not moved or most <= 0:
        return round(least)
    size = _SMALLEST_BLOCK
    fitting = []
    while size * least <= moved:
        if moved % size == 0 and least <= moved // size < most:
            fitting.append(moved // size)
        size *= 2
        if size > moved:
            break
    return fitting[0] if len(fitting) == 1 else round((least + most) / 2)


def _disks(fields: Sequence[str]) -> dict[str, dict[str, Number]]:
    told: dict[str, dict[str, Number]] = {}
    for at in range(0, len(fields) - _DISK + 1, _DISK):
        name, *counts, busy = fields[at : at + _DISK]
        if not name or not busy.strip().endswith("%"):
            break
        numbers = [integer(count, 0) for count in counts]
        told[name] = {
            "ops_read_total": numbers[0],
            "ops_write_total": numbers[1],
            "latency_seconds_read_total": numbers[4],
            "latency_seconds_write_total": numbers[5],
            "in_flight_seconds_total": numbers[6],
        }
    return told


def _version(fields: Sequence[str]) -> str:
    return fields[1].removeprefix("fio-")


def _number(text: str) -> float:
    try:
        number = float(text.strip().rstrip("%"))
    except ValueError:
        return 0.0
    return number if 0 <= number < 1e15 else 0.0

"""Parses fio's terse lines (--output-format=terse, --minimal), versions 3 to 5, into statuses. Pure.

    3;fio-3.33;rr;0;0;357260;89292;22323;4001;2;17739;10.58;158.81;26;35663;347.22;824.62;1.000000%=101;...

A line describes a job: version, fio, name, group, error; then for reads, writes and, from version 4 on, trims: KiB,
KiB/s, operations per second, run time in ms, submission, completion, 20 percentiles, total latency, bandwidth
[version 5: and operations per second]; then CPU, depths, shares of latencies; nine fields for each disk (fio HOWTO,
"Terse output"). Latencies are in microseconds. There are no options and no time. Bytes are rounded down to KiB, and
operations per second to integers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sanpath.model import DIRECTIONS, Direction
from sanpath.plugin import LoadProfile
from sanpath_collectors.fio.jobs.job_profile import unified_remark
from sanpath_collectors.fio.jobs.latency import PERCENTS, Latency, latency_remarks
from sanpath_collectors.fio.jobs.status import (
    JobStatus,
    Number,
    Status,
    estimate_operations,
    integer,
    milliseconds,
    unique_names,
)
from sanpath_collectors.fio.parse import disk_values

LINE = re.compile(r"(?:<[^>]+> )?[345];(?:fio-)?\d+\.\d[^;]*;")
_HEADER_FIELDS = 5
_FIELDS = {"3": 41, "4": 41, "5": 47}
"""Version → number of fields of a direction."""
_MAX_DIRECTIONS = 4
"""Reads, writes, trims, and their sum (unified_rw_reporting=both)."""
_CPU_FIELDS = 5
_DEPTH_FIELDS = 7
_FIELDS_BETWEEN = _CPU_FIELDS + _DEPTH_FIELDS + 10 + 12
"""Fields between directions and disks: CPU, depths, and latencies in microseconds and milliseconds."""
_DISK_FIELDS = 9
_US_TO_NS = 1000
_MIN_COMMON_DEPTHS = 0.5
"""Lines of processes of one job have at least this share of their I/O depths in common."""
_MAX_END_DIFFERENCE_MS = 100
"""Processes of one job with a fixed run time end within this time."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line. `cpu_at`: index of the first field after the last direction."""

    fields: Sequence[str]
    cpu_at: int

    @classmethod
    def parse(cls, text: str) -> _Line | None:
        """Parses a line. None: it is truncated.

        unified_rw_reporting changes the number of directions: with 1 only their sum is written, with `both` the sum
        is added at the end. The two shares of CPU time after the last direction, with "%", show how many there are.
        """
        fields = re.sub(r"^<[^>]+> ", "", text).split(";")
        width = _FIELDS[fields[0]]
        for count in range(1, _MAX_DIRECTIONS + 1):
            cpu_at = _HEADER_FIELDS + width * count
            if all(field.endswith("%") for field in fields[cpu_at : cpu_at + 2]):
                return cls(fields, cpu_at) if len(fields) >= cpu_at + _FIELDS_BETWEEN else None
        return None

    @property
    def disks(self) -> Sequence[str]:
        """The fields of the disks, which are equal in all lines of one status."""
        return self.fields[self.cpu_at + _FIELDS_BETWEEN :]

    @property
    def depths(self) -> Sequence[float]:
        """Share of the I/Os, in per cent, that were issued at each depth."""
        start = self.cpu_at + _CPU_FIELDS
        return [_parse_number(share) for share in self.fields[start : start + _DEPTH_FIELDS]]

    @property
    def direction_fields(self) -> Sequence[Sequence[str]]:
        """The fields of each direction: reads and writes, or only their sum."""
        starts = range(_HEADER_FIELDS, self.cpu_at, _FIELDS[self.fields[0]])
        return [self.fields[start : start + _FIELDS[self.fields[0]]] for start in starts][: len(DIRECTIONS)]

    def is_later(self, first: _Line) -> bool:
        """Whether it belongs to a later status than the one that begins with `first`: the disks or the job
        progressed.

        Processes of one job transfer the same number of bytes, or have the same run time. They have the same depth.
        """
        if self.disks != first.disks:
            return True
        if self.fields[2:4] != first.fields[2:4]:
            return False
        common = sum(map(min, self.depths, first.depths))
        if common < _MIN_COMMON_DEPTHS * min(sum(self.depths), sum(first.depths)):
            return True
        return self.moved_kib > first.moved_kib and self.runtime_ms >= first.runtime_ms + _MAX_END_DIFFERENCE_MS

    @property
    def moved_kib(self) -> int:
        """KiB read and written."""
        return sum(integer(body[0], 0) for body in self.direction_fields)

    @property
    def runtime_ms(self) -> int:
        """The longer of the run times of reads and writes."""
        return max(milliseconds(body[3]) for body in self.direction_fields)


class TerseText:
    """Reads the text line by line. `damaged_lines`: number of lines that are truncated or not of fio."""

    def __init__(self) -> None:
        self._lines: list[_Line] = []
        self.damaged_lines = 0

    def read_line(self, line: str) -> Status | None:
        """Reads a line. Returns the previous status if this line begins the next one, else None."""
        new_line = _Line.parse(line)
        if new_line is None or new_line.fields[2] == "All clients":
            self.damaged_lines += new_line is None
            return None
        completed = None
        if self._lines and (new_line.is_later(self._lines[0]) or self._is_repeated(new_line)):
            completed = self.finish()
        self._lines.append(new_line)
        return completed

    def _is_repeated(self, line: _Line) -> bool:
        """Whether a line repeats a job that has ended, in a later status: it is equal to the first line, but other
        jobs are printed between. Lines of the processes of one job follow each other."""
        first, last = self._lines[0], self._lines[-1]
        return line.fields == first.fields and last.fields[2:4] != first.fields[2:4]

    def finish(self) -> Status | None:
        """Returns the last status; None: there is none."""
        lines, self._lines = self._lines, []
        if not lines:
            return None
        names = unique_names([line.fields[2] for line in lines])
        return Status(
            time_us=None,
            jobs=tuple(_parse_job(line, name) for line, name in zip(lines, names, strict=True)),
            disks=_parse_disks(lines[0].disks),
            version=_parse_version(lines[0].fields),
        )


def _parse_job(line: _Line, name: str) -> JobStatus:
    fields = line.fields
    direction_fields = [*line.direction_fields, ["0"] * _FIELDS[fields[0]]][: len(DIRECTIONS)]
    samples: dict[str, Number] = {}
    latencies = []
    for body, direction in zip(direction_fields, DIRECTIONS, strict=True):
        moved, latency = _parse_direction(body, direction, line.runtime_ms)
        latencies.append(latency)
        samples |= moved | latency.samples(direction)
    samples["in_flight_configured"] = None
    samples["cpu_ratio"] = sum(_parse_number(ratio) for ratio in fields[line.cpu_at : line.cpu_at + 2])
    unified = len(line.direction_fields) < len(DIRECTIONS)
    return JobStatus(
        name=name,
        group=integer(fields[3], 0),
        profile=LoadProfile(engine="fio", engine_version=_parse_version(fields)),
        runtime_ms=line.runtime_ms,
        ops=sum(latency.ops for latency in latencies),
        error=integer(fields[4], 0),
        samples=samples,
        remarks=[*latency_remarks(name, latencies), *([unified_remark(name)] if unified else [])],
    )


def _parse_direction(body: Sequence[str], direction: Direction, runtime_ms: int) -> tuple[dict[str, Number], Latency]:
    moved_bytes, per_second = integer(integer(body[0], 0) * 1024, 0), integer(body[2], 0)
    ops = integer(estimate_operations(moved_bytes, per_second, milliseconds(body[3]) / 1000), 0)
    printed = dict(field.split("%=", 1) for field in body[12:32] if "%=" in field) if ops else {}
    percentiles = {p: printed.get(f"{p}.000000") for p in PERCENTS}
    latency = Latency(
        mean_ns=_parse_number(body[34]) * _US_TO_NS,
        max_ns=integer(body[33], 0) * _US_TO_NS if ops else None,
        completion_ns=_parse_number(body[10]) * _US_TO_NS,
        percentiles={p: integer(value, 0) * _US_TO_NS for p, value in percentiles.items() if value},
        ops=ops,
        runtime_ms=runtime_ms,
    )
    return {f"ops_{direction}_total": ops, f"bytes_{direction}_total": moved_bytes}, latency


def _parse_disks(fields: Sequence[str]) -> dict[str, dict[str, Number]]:
    values: dict[str, dict[str, Number]] = {}
    for start in range(0, len(fields) - _DISK_FIELDS + 1, _DISK_FIELDS):
        name, *counts, busy = fields[start : start + _DISK_FIELDS]
        if not name or not busy.strip().endswith("%"):
            break
        numbers = [integer(count, 0) for count in counts]
        values[name] = disk_values([*numbers[:2], *numbers[4:7]])
    return values


def _parse_version(fields: Sequence[str]) -> str:
    return fields[1].removeprefix("fio-")


def _parse_number(text: str) -> float:
    try:
        number = float(text.strip().rstrip("%"))
    except ValueError:
        return 0.0
    return number if 0 <= number < 1e15 else 0.0

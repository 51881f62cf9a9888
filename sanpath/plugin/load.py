"""Load generators: wrapping their command, describing their jobs, and marking their steps."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal

from sanpath.model import DIRECTIONS, Column, Direction, Event, Scalar
from sanpath.plugin.collector import Item
from sanpath.plugin.unknown_values import without_none

_NS = 1e-9
"""A nanosecond in seconds: the unit of latencies in load samples."""
_BLOCK_DEVICE = re.compile(
    r"/dev/(?:(?:sd|hd|vd|xvd|dasd|fio)[a-z]+\d*|nvme\d+n\d+(?:p\d+)?"
    r"|(?:dm-|md|rbd|nbd|zd|drbd|pmem|nullb|loop|bcache|ublkb|mmcblk)\d+(?:p\d+)?"
    r"|(?:disk/by-[a-z]+|mapper|md|rbd)/(?!control$)[^.].*)"
    r"|\\\\\.\\(?:PhysicalDrive\d+|[A-Z]:)|#\d+",
    re.IGNORECASE | re.ASCII,
)
"""Names of block devices on Linux and Windows, including DiskSpd's number of a drive. Logical volumes as
/dev/GROUP/NAME are missing, because they look like files in /dev/shm."""

LOAD_COUNTERS = tuple(
    Column(metric, 64, _NS if "seconds" in metric else 1.0)
    for metric in (f"{quantity}_{d}_total" for quantity in ("ops", "bytes", "latency_seconds") for d in DIRECTIONS)
)
"""Counters that every load generator reports, since the load began; sums of latencies are in nanoseconds."""

LOAD_PERCENTILES = tuple(
    Column(f"latency_seconds_{statistic}_{d}", 0, _NS)
    for d in DIRECTIONS
    for statistic in ("p50", "p95", "p99", "max")
)
"""Percentiles and maximum since the load began, in nanoseconds."""


class Totals:
    """Counters of one load, summed from its intervals as if the engine itself had counted.

    `values` are values of LOAD_COUNTERS. After a missing latency (None) the latency sum of that direction stays None,
    because it can never be complete.
    """

    def __init__(self) -> None:
        self._sums: dict[str, float] = {column.metric: 0.0 for column in LOAD_COUNTERS}
        self._incomplete: set[str] = set()

    def add(self, direction: Direction, ops: float, bytes_moved: float, latency_seconds: float | None) -> None:
        """Add one interval: the I/Os and bytes completed in it, and their mean latency (None: not reported)."""
        self._sums[f"ops_{direction}_total"] += ops
        self._sums[f"bytes_{direction}_total"] += bytes_moved
        latency_metric = f"latency_seconds_{direction}_total"
        if latency_seconds is not None:
            self._sums[latency_metric] += ops * latency_seconds / _NS
        elif ops:
            self._incomplete.add(latency_metric)

    @property
    def values(self) -> dict[str, int | float | None]:
        """The current integer value of each metric."""
        return {name: None if name in self._incomplete else round(total) for name, total in self._sums.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadProfile:
    """The configuration of a load, in the same terms for every generator. None: unknown.

    `in_flight`: outstanding I/Os that it maintains, over all threads and targets. `asked_in_flight`: the requested
    number, if the engine cannot reach it. `random_ratio`, `read_ratio`: share of the I/Os. `working_set_bytes`: size
    of all files or devices that it accesses. `direct`: bypasses the operating system's file cache. `write_through`: a
    write completes only once the storage has it, though it may go through that cache (O_SYNC, O_DSYNC).
    `block_devices`: it accesses block devices without a file system. `over_network`: it reaches its storage over the
    network itself, not through block devices of its machine. `synchronous`: a thread waits for each I/O, whatever
    queue depth was requested. `fill`: the data written: zeros, a repeating pattern, or random. `rate_limited`:
    configured with a maximum rate or with think time between I/Os. `requested_ops_per_second`: that rate, reads and
    writes together.
    """

    engine: str
    engine_version: str | None = None
    in_flight: float | None = None
    asked_in_flight: float | None = None
    block_bytes: float | None = None
    read_ratio: float | None = None
    random_ratio: float | None = None
    threads: int | None = None
    files: int | None = None
    working_set_bytes: float | None = None
    direct: bool | None = None
    write_through: bool | None = None
    block_devices: bool | None = None
    over_network: bool | None = None
    synchronous: bool | None = None
    fill: Literal["zeros", "repeating", "random"] | None = None
    seconds: float | None = None
    warmup_seconds: float | None = None
    rate_limited: bool | None = None
    requested_ops_per_second: float | None = None

    @property
    def attributes(self) -> Mapping[str, Scalar]:
        """Attributes of a `load` entity; unknown ones are left out."""
        attributes = {field.name: getattr(self, field.name) for field in fields(self)}
        attributes["in_flight_configured"] = attributes.pop("in_flight")
        return without_none(attributes)


def is_block_device(name: str) -> bool:
    """Return whether a target of a load is a block device of Linux or Windows, and not a file.

    >>> is_block_device("/dev/sdb"), is_block_device("/dev/shm/file"), is_block_device("/mnt/file")
    (True, False, False)
    """
    return _BLOCK_DEVICE.fullmatch(name) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadStep:
    """One load step as the load itself reports it; `event` marks its beginning and end.

    `loads`: local ids of the load entities that run in it. `group`: distinguishes simultaneous steps of one load.
    `offered`: total I/Os in flight of all of them. `summary`: the load reports one figure for the entire step and no
    series. `error`: the load's error number. `planned_seconds`: the configured duration with the ramp; None: until
    the work is done. `random_ratio`, `read_ratio`: share of the I/Os; `align_bytes`: alignment of their addresses;
    each common to all of its loads, None: they differ, or it is unknown. A load that runs in several steps may have
    different values in each.
    """

    name: str
    loads: tuple[str, ...]
    offered: float | None
    block_bytes: float | None = None
    rate_limited: bool = False
    group: int = 0
    summary: bool = False
    error: int = 0
    planned_seconds: float | None = None
    random_ratio: float | None = None
    read_ratio: float | None = None
    align_bytes: float | None = None

    def event(
        self,
        name: Literal["step-begin", "ramp-end", "step-end"],
        seen_us: int,
        device_time_us: int | None = None,
        *,
        final: bool = False,
    ) -> Event:
        """Return the event that marks the beginning, the end of the ramp, or the end of the step.

        `final`: the load has said when the ramp ended; other ends of it do not count.

        `device_time_us`: its time on the load's own clock, which places it among the load's samples. None: the same
        as `seen_us`.
        """
        details: dict[str, Scalar] = {
            "step": self.name,
            "group": self.group,
            "loads": ",".join(self.loads),
            "offered": self.offered,
            "block_bytes": self.block_bytes,
            "rate_limited": self.rate_limited,
            "error": self.error,
        }
        details |= {"summary": True} if self.summary else {}
        details |= {"final": True} if final else {}
        for detail in ("planned_seconds", "random_ratio", "read_ratio", "align_bytes"):
            details |= {detail: value} if (value := getattr(self, detail)) is not None else {}
        details |= {"device_time": device_time_us} if device_time_us is not None else {}
        return Event(seen_us, name, details)


def histogram(seen_us: int, load: str, direction: Direction, buckets: Sequence[tuple[float | None, float]]) -> Event:
    """Return the event with the latency distribution of a load until `seen_us`.

    `buckets`, in ascending order: the upper bound in seconds (None: unbounded), and the share of the I/Os in the
    bucket.
    """
    text = " ".join(f"{'inf' if upper is None else f'{upper:.9g}'}:{share:.6g}" for upper, share in buckets)
    return Event(seen_us, "latency-histogram", {"load": load, "direction": direction, "buckets": text})


@dataclass(frozen=True, slots=True)
class WrappedCommand:
    """A load command with the status output that its reader needs.

    `output_file`: the file for the generator's output according to the user's options; None: standard output.
    Relative to the working directory of the command.
    """

    argv: tuple[str, ...]
    output_file: str | None = None


class LoadReader(ABC):
    """Reads the output of a load generator that the recorder started.

    The recorder stores the output in the recording, with secrets masked, and feeds what was appended. There is one
    reader for each execution. `load`: the name of the load; the recorder gives one if a load runs on several hosts,
    otherwise the reader uses its default. Samples of the machine have `load` as their entity.
    """

    def __init__(self, load: str | None = None) -> None:
        self.load = load or ""

    @classmethod
    @abstractmethod
    def wrap(cls, argv: Sequence[str]) -> WrappedCommand:
        """Add the status output that the reader needs to the user's command. Raises UsageError."""

    @abstractmethod
    def feed(self, added: bytes, seen_us: int) -> Iterable[Item]:
        """Parse the output since the last call. `seen_us`: the recorder's clock when it was read."""

    @abstractmethod
    def finish(self, seen_us: int) -> Iterable[Item]:
        """End what is still open after the generator has ended."""

    @abstractmethod
    def passthrough(self) -> bytes:
        """Return the generator's output for people since the last call, without the added status documents."""

"""The files of control groups: which group a process is in, the limits of a group and what its members did. No I/O.

Version 2, /proc/PID/cgroup, io.max, io.stat and io.pressure (Documentation/admin-guide/cgroup-v2.rst):

    0::/system.slice/load.service
    253:0 rbps=max wbps=10485760 riops=800 wiops=max
    253:0 rbytes=98304 wbytes=0 rios=24 wios=0 dbytes=0 dios=0
    some avg10=94.29 avg60=44.12 avg300=11.92 total=41218723

Version 1, /proc/PID/cgroup, blkio.throttle.read_iops_device and blkio.throttle.io_serviced
(Documentation/admin-guide/cgroup-v1/blkio-controller.rst):

    7:blkio:/load
    253:0 800
    253:0 Read 24
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from sanpath.plugin import INTEGER_LIMIT
from sanpath_collectors.linux_host.parse import number
from sanpath_collectors.linux_host.snapshot import Snapshot

Values = dict[str, int]
"""Metric of tables.CGROUP → value. A limit that is not set is missing."""

MOUNTS: Mapping[int, tuple[str, ...]] = {
    1: ("/sys/fs/cgroup/blkio",),
    2: ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"),
}
"""Version → mount points of its hierarchy by systemd and container engines; the last one next to version 1."""
_MAX_LEVELS, _MAX_LETTERS = 64, 1024
"""Limits of a path below the mount of a hierarchy; each level is searched for limits."""
_CONTAINER = re.compile(r"[0-9a-f]{64}")
_SHOWN_LETTERS = 12
"""Letters of a container's id that container engines display."""
_PSI = re.compile(r"(some|full)\b.*\btotal=(\d+)")

LIMITS: Mapping[str, tuple[str, str]] = {
    "limit_bytes_per_second_read": ("rbps", "blkio.throttle.read_bps_device"),
    "limit_bytes_per_second_write": ("wbps", "blkio.throttle.write_bps_device"),
    "limit_ops_per_second_read": ("riops", "blkio.throttle.read_iops_device"),
    "limit_ops_per_second_write": ("wiops", "blkio.throttle.write_iops_device"),
}
"""Metric → key of io.max, and file of version 1."""
COUNTERS: Mapping[str, tuple[str, str, str]] = {
    "ops_read_total": ("rios", "blkio.throttle.io_serviced", "Read"),
    "ops_write_total": ("wios", "blkio.throttle.io_serviced", "Write"),
    "bytes_read_total": ("rbytes", "blkio.throttle.io_service_bytes", "Read"),
    "bytes_write_total": ("wbytes", "blkio.throttle.io_service_bytes", "Write"),
}
"""Metric → key of io.stat, and file and key of version 1."""
PRESSURE: Mapping[str, str] = {
    "io_pressure_some_seconds_total": "some",
    "io_pressure_full_seconds_total": "full",
}
"""Metric → line of io.pressure."""


@dataclass(frozen=True, slots=True)
class Group:
    """A control group. `holds_load`: processes of the load are directly in it, not only in a group below."""

    version: int
    path: str
    holds_load: bool

    def files(self) -> list[str]:
        """Its files, at every place where they may be."""
        if self.version == 1:
            names = dict.fromkeys((*(v1 for _, v1 in LIMITS.values()), *(v1 for _, v1, _ in COUNTERS.values())))
        else:
            names = dict.fromkeys(("io.max", "io.stat", "io.pressure"))
        return [f"{folder}/{name}" for folder in self._folders() for name in names]

    def values(self, snapshot: Snapshot) -> dict[str, Values]:
        """Device number → the limits for the device, and what the group's members did there. {}: nothing is read."""
        by_device: dict[str, Values] = {}
        for folder in self._folders():
            found = _parse_version_1(snapshot, folder) if self.version == 1 else _parse_version_2(snapshot, folder)
            for device, metric, value in found:
                by_device.setdefault(device, {})[metric] = value
        pressure = {name: total for folder in self._folders() for name, total in _pressure(snapshot, folder)}
        return {device: {**values, **pressure} for device, values in by_device.items()}

    @property
    def label(self) -> str:
        """Its path without the slash in front; the ids of containers as engines shorten them.

        >>> Group(2, "/system.slice/docker-" + 8 * "0123456a" + ".scope", True).label
        'system.slice/docker-0123456a0123.scope'
        """
        return _CONTAINER.sub(lambda match: match[0][:_SHOWN_LETTERS], self.path.lstrip("/")) or "/"

    @property
    def unit(self) -> str | None:
        """Its systemd unit; None: it is none."""
        name = PurePosixPath(self.path).name
        return name if name.endswith((".service", ".scope", ".slice")) else None

    @property
    def manager(self) -> str:
        """The program that created the group and sets its limits, as far as its path shows.

        >>> Group(2, "/kubepods.slice/kubepods-pod1.slice/cri-containerd-2.scope", True).manager
        'kubernetes'
        """
        if "kubepods" in self.path:
            return "kubernetes"
        if _CONTAINER.search(self.path):
            return "container"
        return "systemd" if self.unit is not None else "other"

    def _folders(self) -> list[str]:
        return [f"{mount}{self.path}".rstrip("/") for mount in MOUNTS[self.version]]


def groups_of(content: str) -> Iterator[Group]:
    """The groups whose limits apply to a process, from /proc/PID/cgroup.

    A process of version 2 is under the limits of all groups above it; of version 1 only under those of its own
    (blkio-controller.rst: throttling has no hierarchy without sane_behavior). Groups that this machine cannot name,
    outside of its own namespace, are left out.

    >>> [group.path for group in groups_of("7:blkio:/a/b\\n0::/c/d\\n")]
    ['/a/b', '/c/d', '/c', '/']
    """
    for controllers, levels in levels_of(content):
        if controllers == [""]:
            yield Group(2, str(levels), True)
            yield from (Group(2, str(level), False) for level in levels.parents)
        elif "blkio" in controllers:
            yield Group(1, str(levels), True)


def levels_of(content: str) -> Iterator[tuple[list[str], PurePosixPath]]:
    """The controllers of each hierarchy and the process's group in it, from /proc/PID/cgroup.

    >>> list(levels_of("4:cpu,cpuacct:/a/b\\n0::/c\\n"))
    [(['cpu', 'cpuacct'], PurePosixPath('/a/b')), ([''], PurePosixPath('/c'))]
    """
    for line in content.splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if not path.startswith("/") or len(path) > _MAX_LETTERS or set(path) & set("*?[\n\0"):
            continue
        levels = PurePosixPath(path)
        if ".." not in levels.parts and len(levels.parts) <= _MAX_LEVELS:
            yield controllers.split(","), levels


def _parse_version_2(snapshot: Snapshot, folder: str) -> Iterator[tuple[str, str, int]]:
    limits, counters = (dict(_parse_keyed(snapshot.text(f"{folder}/{name}"))) for name in ("io.max", "io.stat"))
    for device, words in limits.items():
        yield from ((device, m, limit) for m, (key, _) in LIMITS.items() if (limit := _limit(words.get(key, ""))))
    for device, words in counters.items():
        for metric, (key, *_) in COUNTERS.items():
            if (value := counter(words.get(key, ""))) is not None:
                yield device, metric, value


def _parse_version_1(snapshot: Snapshot, folder: str) -> Iterator[tuple[str, str, int]]:
    for metric, (_, file) in LIMITS.items():
        for words in map(str.split, snapshot.text(f"{folder}/{file}").splitlines()):
            if len(words) == 2 and (limit := _limit(words[1])):
                yield words[0], metric, limit
    for metric, (_, file, key) in COUNTERS.items():
        for words in map(str.split, snapshot.text(f"{folder}/{file}").splitlines()):
            if len(words) == 3 and words[1] == key and (value := counter(words[2])) is not None:
                yield words[0], metric, value


def _parse_keyed(content: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Device number → its words KEY=VALUE. Idle devices may come before the next: `7:1 7:0 253:0 rbytes=4096`."""
    for line in content.splitlines():
        words = line.split()
        devices = [word for word in words if "=" not in word]
        if devices:
            yield devices[-1], dict(word.split("=", 1) for word in words if "=" in word)


def _pressure(snapshot: Snapshot, folder: str) -> Iterator[tuple[str, int]]:
    totals = {match[1]: counter(match[2]) for match in _PSI.finditer(snapshot.text(f"{folder}/io.pressure"))}
    for metric, line in PRESSURE.items():
        if (total := totals.get(line)) is not None:
            yield metric, total


def _limit(word: str) -> int | None:
    """A limit; None for "max" and other values that limit nothing."""
    return counter(word) or None


def counter(word: str) -> int | None:
    """An integer that fits a recording; None for anything else."""
    value = number(word)
    return value if value is not None and value < INTEGER_LIMIT else None

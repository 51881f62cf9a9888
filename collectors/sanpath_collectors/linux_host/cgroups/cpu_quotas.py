"""The processor time that a control group may use, and has used. No I/O.

Version 2, cpu.max (a quota for each period, both in microseconds) and cpu.stat (cgroup-v2.rst; sched-bwc.rst):

    50000 100000
    usage_usec 8412345
    nr_periods 170
    nr_throttled 168
    throttled_usec 8390112

Version 1, cpu.cfs_quota_us, cpu.cfs_period_us, cpu.stat and cpuacct.usage, in nanoseconds but for the first two:

    50000
    100000
    nr_periods 170
    nr_throttled 168
    throttled_time 8390112543
    8412345678
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sanpath_collectors.linux_host.cgroups.files import MOUNTS, Group, Values, counter, levels_of
from sanpath_collectors.linux_host.snapshot import Snapshot

QUOTA = "cpu_quota_cores"
CPU_COUNTERS: Mapping[str, tuple[str, str]] = {
    "cpu_used_seconds_total": ("usage_usec", ""),
    "cpu_periods_total": ("nr_periods", "nr_periods"),
    "cpu_throttled_periods_total": ("nr_throttled", "nr_throttled"),
    "cpu_throttled_seconds_total": ("throttled_usec", "throttled_time"),
}
"""Metric → key of cpu.stat in version 2, and in version 1. Seconds are in microseconds."""
_MOUNTS: Mapping[int, tuple[str, ...]] = {
    # systemd links the second and the third to the first.
    1: ("/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpuacct"),
    2: MOUNTS[2][:1],  # Next to version 1, the processors belong to that.
}
_QUOTA_FILES: Mapping[int, tuple[str, ...]] = {1: ("cpu.cfs_quota_us", "cpu.cfs_period_us"), 2: ("cpu.max",)}
_COUNTER_FILES: Mapping[int, tuple[str, ...]] = {1: ("cpu.stat", "cpuacct.usage"), 2: ("cpu.stat",)}
_NANOSECONDS = 1000
"""Nanoseconds per microsecond."""


def quota_groups_of(content: str) -> Iterator[Group]:
    """The groups whose quotas apply to a process, from /proc/PID/cgroup: its own, and all above it, also in version 1
    (sched-bwc.rst, hierarchical considerations).

    >>> [group.path for group in quota_groups_of("4:cpu,cpuacct:/a/b\\n7:blkio:/d\\n")]
    ['/a/b', '/a', '/']
    """
    for controllers, levels in levels_of(content):
        if controllers == [""] or "cpu" in controllers:
            version = 2 if controllers == [""] else 1
            yield Group(version, str(levels), True)
            yield from (Group(version, str(level), False) for level in levels.parents)


def quota_files(group: Group, with_counters: bool = True) -> list[str]:
    """Return the files with a group's quota, wherever they may be; `with_counters`: also those of its usage."""
    quota = _QUOTA_FILES[group.version]
    names = (*quota, *_COUNTER_FILES[group.version]) if with_counters else quota
    return [f"{folder}/{name}" for folder in _folders(group) for name in names]


def quota_values(snapshot: Snapshot, group: Group) -> tuple[float | None, Values]:
    """Return a group's quota in cores, None: it has none; and its usage, by metric."""
    quota, values = None, Values()
    for folder in _folders(group):
        quota = _quota(snapshot, folder, group.version) or quota
        lines = (line.split() for line in snapshot.text(f"{folder}/cpu.stat").splitlines())
        counters = {
            words[0]: value for words in lines if len(words) == 2 and (value := counter(words[1])) is not None
        }
        if group.version == 1:
            if "throttled_time" in counters:
                counters["throttled_time"] //= _NANOSECONDS
            if (used := counter(snapshot.text(f"{folder}/cpuacct.usage"))) is not None:
                values["cpu_used_seconds_total"] = used // _NANOSECONDS
        for metric, keys in CPU_COUNTERS.items():
            if (value := counters.get(keys[group.version == 1])) is not None:
                values[metric] = value
    return quota, values


def _quota(snapshot: Snapshot, folder: str, version: int) -> float | None:
    words = snapshot.text(f"{folder}/cpu.max").split()
    if version == 1:
        words = [snapshot.text(f"{folder}/cpu.cfs_{name}_us") for name in ("quota", "period")]
    quota, period = (counter(word) for word in words) if len(words) == 2 else (None, None)
    return quota / period if quota and period else None


def _folders(group: Group) -> list[str]:
    return [f"{mount}{group.path}".rstrip("/") for mount in _MOUNTS[group.version]]

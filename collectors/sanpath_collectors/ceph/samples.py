"""Turns the replies of one poll into rows. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sanpath.plugin import Rows, complete_sum, rows_of
from sanpath_collectors.ceph import parse
from sanpath_collectors.ceph.cluster import Osd
from sanpath_collectors.ceph.tables import ARRAY, CLUSTER, HOST, OSD, VOLUME
from sanpath_collectors.linux_host import parse as host_parse
from sanpath_collectors.linux_host.snapshot import Snapshot
from sanpath_collectors.qemu.processes import cpu_times

Section = Mapping[str, Any]
Values = Mapping[str, int | None]
_NANOSECONDS_IN_MICROSECOND = 1000


def array(name: str, sections: Sequence[Section], seen_us: int) -> Rows:
    """One row: sums over the OSDs. A counter that one of them does not report is None."""
    return rows_of(ARRAY, {name: _sums([parse.client_operations(section) for section in sections])}, seen_us)


def images(reply: Any, known: Collection[str], seen_us: int) -> Rows | None:
    """One row for each image of the inventory. `reply`: of `ceph rbd perf image counters`. None: no image."""
    rows = {image: row for image, row in parse.image_counters(reply).items() if image in known}
    return rows_of(VOLUME, rows, seen_us) if rows else None


def cluster(name: str, sections: Sequence[Section], seen_us: int) -> Rows:
    """One row: the data that all OSDs pushed to restore or move copies."""
    pushed = [{"resync_bytes_read_total": parse.counter(section, "push_out_bytes")} for section in sections]
    return rows_of(CLUSTER, {name: _sums(pushed)}, seen_us)


def osds(sections: Mapping[Osd, Section], machines: Sequence[Snapshot], seen_us: int) -> Rows:
    """One row for each OSD. `machines`: the files of each host."""
    rows = {
        osd.name: {**parse.own_operations(section), **_thread_times(osd, machines[osd.machine], seen_us)}
        for osd, section in sections.items()
    }
    return rows_of(OSD, rows, seen_us)


def hosts(machines: Mapping[str, Snapshot], seen_us: int) -> Rows:
    """One row for the TCP connections of each host. `machines`: name → its files."""
    return rows_of(
        HOST,
        {name: host_parse.tcp_segments(files.content("/proc/net/snmp")) for name, files in machines.items()},
        seen_us,
    )


def _thread_times(osd: Osd, machine: Snapshot, seen_us: int) -> Values:
    """Return how long the threads for operations ran or waited to run, and could have run at most; None: unknown.

    A thread that waits for a processor is as busy as one that has it: either way the processors limit it.
    """
    ready = [sum(times) for thread in osd.threads if (times := cpu_times(machine, thread)) is not None]
    known = bool(ready) and len(ready) == len(osd.threads)
    return {
        "cpu_busy_seconds_total": sum(ready) // _NANOSECONDS_IN_MICROSECOND if known else None,
        "cpu_seconds_total": len(ready) * seen_us if known else None,
    }


def _sums(rows: Sequence[Values]) -> Values:
    metrics = dict.fromkeys(metric for row in rows for metric in row)
    return {metric: complete_sum(row.get(metric) for row in rows) for metric in metrics}

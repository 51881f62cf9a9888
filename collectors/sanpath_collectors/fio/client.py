"""The document of fio --client → the statuses that it holds. Pure.

    { "timestamp" : 1795143898, "global options" : {},
      "client_stats" : [
        { "jobname" : "cs", "groupid" : 0, "job options" : {...}, "job_runtime" : 893, ..., "hostname" : "h1" },
        { "jobname" : "All clients", ... },
        { "jobname" : "cs", ..., "job_runtime" : 1893, ..., "hostname" : "h1" }, ... ],
      "disk_util" : [ { "name" : "vda", ..., "hostname" : "h1", "port" : 8765 }, ... ] }

It is written once, at the end: every status interval has appended an entry for each job of each client. Those of "All
clients" are sums of the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from sanpath_collectors.fio.options import whole
from sanpath_collectors.fio.parse import disk_samples, job, version_of
from sanpath_collectors.fio.status import JobStatus, Number, Status, integer, mapping, milliseconds, told_apart


def statuses(document: Mapping[str, Any]) -> Iterator[Status]:
    """One a status interval. Their times are told by the run times: the document has that of its end only."""
    series: dict[tuple[str, int, str, int], list[Mapping[str, Any]]] = defaultdict(list)
    for entry in document["client_stats"]:
        if isinstance(entry, dict) and isinstance(entry.get("read"), dict) and not _is_sum(entry):
            client = str(entry.get("hostname", "")), integer(entry.get("port"), 0)
            series[*client, str(entry.get("jobname", "?")), integer(entry.get("groupid"), 0)].append(entry)
    several = len({(host, port) for host, port, _, _ in series}) > 1
    version = version_of(document)
    names: list[str] = []
    told: list[list[JobStatus]] = []
    for (host, _, name, _), entries in series.items():
        grouped, processes = _processes(entries[-1])
        count = processes if not grouped and len(entries) % processes == 0 else 1
        for number in range(count):
            names.append(f"{host}/{name}" if several else name)
            statuses = [job(entry, names[-1], {}, version, grouped=grouped) for entry in entries[number::count]]
            told.append([replace(status, host=host) for status in statuses])
    apart = [
        [replace(status, name=name) for status in job] for name, job in zip(told_apart(names), told, strict=True)
    ]
    yield from _rounds(apart, document, version)


def _is_sum(entry: Mapping[str, Any]) -> bool:
    return entry.get("jobname") == "All clients" and "job options" not in entry


def _processes(entry: Mapping[str, Any]) -> tuple[bool, int]:
    """Whether an entry stands for all processes of its job, and how many they are."""
    processes = whole(mapping(entry.get("job options")).get("numjobs"), 1)
    wall_ms = max(milliseconds(mapping(entry.get(d)).get("runtime")) for d in ("read", "write", "trim"))
    summed = wall_ms > 0 and milliseconds(entry.get("job_runtime")) > 1.5 * wall_ms
    return processes == 1 or summed, processes


def _rounds(
    told: Sequence[Sequence[JobStatus]], document: Mapping[str, Any], version: str | None
) -> Iterator[Status]:
    count = max((len(statuses) for statuses in told), default=0)
    rounds = [tuple(statuses[min(number, len(statuses) - 1)] for statuses in told) for number in range(count)]
    steps = [
        [job.runtime_ms - earlier.runtime_ms for earlier, job in zip(before, jobs, strict=True)]
        for before, jobs in pairwise(rounds)
    ]
    # The counters start again when the ramp ends; how long it took is not told: what came before is left out.
    first = max((number + 1 for number, grown in enumerate(steps) if min(grown) < 0), default=0)
    end_us = integer(document.get("timestamp_ms"), 0) * 1000 or integer(document.get("timestamp"), 0) * 1_000_000
    for number in range(first, count):
        time_us = end_us - 1000 * sum(max(grown) for grown in steps[number:])
        yield Status(
            time_us=time_us if 0 < time_us < 2**62 else None,
            whole_seconds=True,
            jobs=rounds[number],
            disks=_disks(document) if number == count - 1 else {},
            version=version,
        )


def _disks(document: Mapping[str, Any]) -> dict[str, Mapping[str, Number]]:
    """The last that each client has told of its disks."""
    listed = document.get("disk_util")
    found: dict[str, Mapping[str, Number]] = {}
    for disk in listed if isinstance(listed, list) else []:
        if isinstance(disk, dict) and "name" in disk:
            host = str(disk.get("hostname", ""))
            found[f"{host}/{disk['name']}" if host else str(disk["name"])] = disk_samples(disk)
    return found

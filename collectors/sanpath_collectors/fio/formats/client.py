"""Parses the document of fio --client into statuses. Pure.

    { "timestamp" : 1795143898, "global options" : {},
      "client_stats" : [
        { "jobname" : "cs", "groupid" : 0, "job options" : {...}, "job_runtime" : 893, ..., "hostname" : "h1" },
        { "jobname" : "All clients", ... },
        { "jobname" : "cs", ..., "job_runtime" : 1893, ..., "hostname" : "h1" }, ... ],
      "disk_util" : [ { "name" : "vda", ..., "hostname" : "h1", "port" : 8765 }, ... ] }

fio writes it once, at its end, with an entry for each status interval and each job of each client. Entries of "All
clients" are sums of the clients' entries, and are read only if there are no others. An entry has no options if its
server did not send them. Its configuration is then unknown, even if the document has global options.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from sanpath.plugin import json_object, json_objects
from sanpath_collectors.fio.jobs.options import positive_count
from sanpath_collectors.fio.jobs.phases import split_phases
from sanpath_collectors.fio.jobs.status import JobStatus, Number, Status, integer, milliseconds, unique_names
from sanpath_collectors.fio.parse import disk_samples, has_figures, parse_job, parse_version


def parse_statuses(document: Mapping[str, Any]) -> Iterator[Status]:
    """Yields a status for each status interval. Their times are computed from the run times, because the document
    only contains the time of its end."""
    series: dict[tuple[str, int, str, int], list[Mapping[str, Any]]] = defaultdict(list)
    with_figures = [entry for entry in document["client_stats"] if has_figures(entry)]
    for entry in [entry for entry in with_figures if not _is_sum(entry)] or with_figures:
        # A sum names the client that answered last, so its host is not used.
        client = ("", 0) if _is_sum(entry) else (str(entry.get("hostname", "")), integer(entry.get("port"), 0))
        series[*client, str(entry.get("jobname", "?")), integer(entry.get("groupid"), 0)].append(entry)
    defaults = {str(name): str(value) for name, value in json_object(document.get("global options")).items()}
    several_clients = len({(host, port) for host, port, _, _ in series}) > 1
    version = parse_version(document)
    names: list[str] = []
    series_by_job: list[list[JobStatus]] = []
    for (host, _, name, _), entries in series.items():
        grouped, processes = _count_processes(entries[-1], defaults)
        count = processes if not grouped and len(entries) % processes == 0 else 1
        for number in range(count):
            names.append(f"{host}/{name}" if several_clients else name)
            job_statuses = [
                parse_job(entry, names[-1], defaults if "job options" in entry else {}, version, grouped=grouped)
                for entry in entries[number::count]
            ]
            series_by_job.append([replace(status, host=host) for status in job_statuses])
    renamed = [
        [replace(status, name=name) for status in job]
        for name, job in zip(unique_names(names), series_by_job, strict=True)
    ]
    yield from _statuses_by_interval(renamed, document, version)


def _is_sum(entry: Mapping[str, Any]) -> bool:
    return entry.get("jobname") == "All clients" and "job options" not in entry


def _count_processes(entry: Mapping[str, Any], defaults: Mapping[str, str]) -> tuple[bool, int]:
    """(whether an entry is the sum of all processes of its job, number of processes)."""
    options = {**defaults, **json_object(entry.get("job options"))}
    processes = positive_count(options.get("numjobs"), 1)
    wall_ms = max(milliseconds(json_object(entry.get(d)).get("runtime")) for d in ("read", "write", "mixed", "trim"))
    is_sum = wall_ms > 0 and milliseconds(entry.get("job_runtime")) > 1.5 * wall_ms
    return processes == 1 or is_sum, processes


def _statuses_by_interval(
    series_by_job: Sequence[Sequence[JobStatus]], document: Mapping[str, Any], version: str | None
) -> Iterator[Status]:
    count = max((len(statuses) for statuses in series_by_job), default=0)
    intervals = [
        tuple(statuses[min(number, len(statuses) - 1)] for statuses in series_by_job) for number in range(count)
    ]
    steps = [
        [job.runtime_ms - previous.runtime_ms for previous, job in zip(previous_jobs, jobs, strict=True)]
        for previous_jobs, jobs in pairwise(intervals)
    ]
    # The counters restart when the ramp ends. The ramp's length is not reported: earlier statuses are left out.
    first = max((number + 1 for number, increases_ms in enumerate(steps) if min(increases_ms) < 0), default=0)
    end_us = integer(document.get("timestamp_ms"), 0) * 1000 or integer(document.get("timestamp"), 0) * 1_000_000
    for number in range(first, count):
        time_us = end_us - 1000 * sum(max(increases_ms) for increases_ms in steps[number:])
        yield Status(
            time_us=time_us if 0 < time_us < 2**62 else None,
            time_in_seconds=True,
            jobs=tuple(split_phases(intervals[number])),
            disks=_parse_disks(document) if number == count - 1 else {},
            version=version,
        )


def _parse_disks(document: Mapping[str, Any]) -> dict[str, Mapping[str, Number]]:
    """The last values that each client reported for its disks."""
    disks: dict[str, Mapping[str, Number]] = {}
    for disk in json_objects(document.get("disk_util")):
        if "name" in disk:
            host = str(disk.get("hostname", ""))
            disks[f"{host}/{disk['name']}" if host else str(disk["name"])] = disk_samples(disk)
    return disks

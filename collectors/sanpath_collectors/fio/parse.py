"""Parses fio's JSON documents (documents.py) into statuses of jobs. Pure.

    {
      "fio version" : "fio-3.33",
      "timestamp_ms" : 1795150709122,
      "jobs" : [ { "jobname" : "t1", "groupid" : 0, ... } ]
    }

All values are cumulative from the start of the job. They reset once, when its ramp ends (fio 3.33, measured).
Before 3.0 latencies are in microseconds and `io_bytes` in KiB. The oldest versions have no time, no options and no
numbers of I/Os.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sanpath.model import DIRECTIONS, Direction
from sanpath.plugin import complete_sum, json_object, json_objects, without_none
from sanpath_collectors.fio.jobs import throughput
from sanpath_collectors.fio.jobs.flushes import ProcessTimes, flushes_between, flushes_between_remark
from sanpath_collectors.fio.jobs.job_profile import (
    Figures,
    Remark,
    depth_not_reached_remark,
    is_depth_unreached,
    is_submission_the_io,
    profile_of_job,
    unified_remark,
)
from sanpath_collectors.fio.jobs.latency import MAX_WAIT_MS, PERCENTS, Latency, latency_remarks
from sanpath_collectors.fio.jobs.options import parse_duration_seconds, positive_count, read_ratio
from sanpath_collectors.fio.jobs.phases import is_write_job, sequential_runtimes, split_phases
from sanpath_collectors.fio.jobs.status import (
    JobStatus,
    Number,
    Status,
    estimate_operations,
    finite_number,
    integer,
    milliseconds,
    unique_names,
)

_RUNTIME_PRECISION_MS = 100
"""Precision of run times, in milliseconds."""
_ETA_UNKNOWN = 2**31 - 1
"""What fio prints where it has no estimate (INT_MAX)."""
_MIN_TIMED_OPS = 1000
"""This many I/Os take at least a millisecond together, the unit of a device's times."""
_KIB_OR_BYTES = 32
"""Halfway between KiB and bytes, as a ratio: the square root of 1024."""
_MAX_OPS_PER_SECOND = 1e12
"""Larger rates are damaged."""
_COUNT_KEYS = frozenset(("io_bytes", "io_kbytes", "bw", "iops", "total_ios", "N"))
_CPU_KEYS = ("usr_cpu", "sys_cpu")
_STATUS_MS = 1_500
"""One and a half status intervals."""
_IDLE = Latency(mean_ns=0.0, max_ns=None, completion_ns=None, ops=0, runtime_ms=0)
"""The latency of a job that has done no I/O in a direction."""


def parse_status(document: Mapping[str, Any]) -> Status:
    """Parses a status document. Malformed entries are left out."""
    entries = [entry for entry in document["jobs"] if has_figures(entry)]
    defaults = _parse_options(document.get("global options"))
    keys = [(integer(entry.get("groupid"), 0), str(entry.get("jobname", "?"))) for entry in entries]
    entry_counts = Counter(keys) if len(keys) > 1 else dict.fromkeys(keys, 1)
    names = unique_names([name for _, name in keys])
    version = parse_version(document)
    jobs = [
        parse_job(entry, name, defaults, version, grouped=entry_counts[key] == 1)
        for entry, name, key in zip(entries, names, keys, strict=True)
    ]
    in_milliseconds, in_seconds = document.get("timestamp_ms"), document.get("timestamp")
    return Status(
        time_us=_time_us(in_milliseconds, 1_000) or _time_us(in_seconds, 1_000_000),
        time_in_seconds=_time_us(in_milliseconds, 1_000) is None,
        jobs=tuple(split_phases(jobs)),
        disks={
            str(disk["name"]): disk_samples(disk)
            for disk in json_objects(document.get("disk_util"))
            if "name" in disk
        },
        version=version,
        elapsed_seconds=max((integer(entry.get("elapsed"), 0) for entry in entries), default=0) or None,
        running=any(map(_is_running, entries, jobs)),
    )


def has_figures(entry: Any) -> bool:
    """Whether a value is an entry of a job with figures."""
    return isinstance(entry, dict) and any(isinstance(entry.get(key), dict) for key in ("read", "mixed"))


def _is_running(entry: Mapping[str, Any], job: JobStatus) -> bool:
    """Whether a job has not ended. In the first seconds fio has no estimate of the time left (2147483647)."""
    seconds_left = 0 if job.error else integer(entry.get("eta"), 0)
    if seconds_left < _ETA_UNKNOWN:
        return seconds_left > 0
    return 1000 * (job.profile.seconds or 0) > job.runtime_ms + _RUNTIME_PRECISION_MS


def parse_version(document: Mapping[str, Any]) -> str | None:
    """The version of fio: "3.33". None: not in the document."""
    return str(document["fio version"]).removeprefix("fio-") if "fio version" in document else None


def parse_job(
    entry: Mapping[str, Any], name: str, defaults: Mapping[str, str], version: str | None, *, grouped: bool
) -> JobStatus:
    """Parses an entry of `jobs`.

    `grouped`: there is no other entry of the same job, so it may be the sum of all processes of the job.
    """
    options = {**defaults, **_parse_options(entry.get("job options"))}
    # With group_reporting one entry is the sum of all processes of the job. Without it each process has its entry,
    # and each entry still contains numjobs.
    processes = positive_count(options.get("numjobs"), 1) if grouped else 1
    bodies, unified = _direction_entries(entry, name, options)
    trim = json_object(entry.get("trim"))
    runtime_ms = max([milliseconds(body.get("runtime")) for body in (*bodies.values(), trim)])
    summed_ms = milliseconds(entry.get("job_runtime"))
    ramp_ms = round(1000 * (parse_duration_seconds(options.get("ramp_time")) or 0))
    samples, latencies = _direction_samples(bodies, runtime_ms + ramp_ms, processes)
    figures = Figures(
        runtime_ms,
        summed_ms,
        _mean_in_flight(samples, runtime_ms),
        [d for d in DIRECTIONS if samples[f"ops_{d}_total"]],
    )
    load_profile, mixed, remarks = profile_of_job(name, options, processes, version, figures, grouped=grouped)
    own_ms = {direction: milliseconds(body.get("runtime")) for direction, body in bodies.items()}
    has_phases = not mixed and is_write_job(options) and options.get("verify", "0") != "0"
    if not mixed and options and not has_phases:
        runtime_ms = max(runtime_ms, summed_ms // processes) if runtime_ms else 0
    remarks += [*latency_remarks(name, latencies.values()), *unified]
    trims = integer(trim.get("total_ios"), 0)
    if trims:
        remarks.append(("trims", f"{name} has trimmed {trims:,} times; trims are not read"))
    samples |= _flush_samples(json_object(entry.get("sync")))
    waited_ns = _waited_ns(samples)
    times = ProcessTimes(runtime_ms, summed_ms, *(finite_number(entry.get(key)) for key in _CPU_KEYS))
    if "sync" not in entry and (
        flushes := flushes_between(options, load_profile, samples["ops_write_total"], waited_ns, times)
    ):
        samples |= flushes
        remarks.append(flushes_between_remark(name))
    samples["cpu_ratio"] = cpu_percent = _cpu_percent(entry)
    levels = _depth_levels(entry)
    if is_depth_unreached(load_profile, processes, levels, cpu_percent, figures.in_flight):
        remarks.append(depth_not_reached_remark(name, load_profile, processes, levels))
        load_profile = replace(load_profile, in_flight=None, asked_in_flight=load_profile.in_flight)
    if is_submission_the_io(load_profile, latencies.values()):
        load_profile = replace(load_profile, synchronous=True)
    samples["in_flight_configured"] = load_profile.in_flight
    submitted = sum([_submitted(body) for body in bodies.values()])
    return JobStatus(
        name=name,
        group=integer(entry.get("groupid"), 0),
        profile=load_profile,
        options=options,
        mixed=mixed,
        runtime_ms=runtime_ms,
        ops=submitted,
        error=integer(entry.get("error"), 0),
        counted_errors=integer(entry.get("total_err"), 0),
        samples=samples,
        ramping=bool(submitted) and _is_ramping(entry, options, runtime_ms, load_profile.warmup_seconds),
        started_us=_time_us(entry.get("job_start"), 1_000),
        bins={
            direction: bins
            for direction, body in bodies.items()
            if latencies[direction].has_distribution and (bins := _latency_bins(body))
        },
        remarks=remarks,
        runtimes_ms=sequential_runtimes(options, own_ms, summed_ms // processes) if has_phases else {},
    )


def _direction_samples(
    bodies: Mapping[Direction, Mapping[str, Any]], runtime_ms: int, processes: int
) -> tuple[dict[str, Number], dict[Direction, Latency]]:
    """The samples of reads and writes, and their latencies. `runtime_ms`: run time of the job including its ramp."""
    samples: dict[str, Number] = {}
    latencies: dict[Direction, Latency] = {}
    for direction, body in bodies.items():
        moved, latencies[direction] = _parse_direction(body, direction, runtime_ms)
        samples |= moved | latencies[direction].samples(direction) | _throughput_samples(body, direction, processes)
    return samples, latencies


def _cpu_percent(entry: Mapping[str, Any]) -> float | None:
    """CPU time of the job, user and system, in per cent of a core. None: not reported."""
    shares = [share for key in _CPU_KEYS if (share := finite_number(entry.get(key))) is not None]
    return sum(shares) if shares else None


def _depth_levels(entry: Mapping[str, Any]) -> dict[int, float]:
    """Depth → share of the I/Os, in per cent, that were started at this depth or more, up to the next one."""
    levels = json_object(entry.get("iodepth_level"))
    printed = {integer(str(level).removeprefix(">="), 0): finite_number(share) for level, share in levels.items()}
    return {level: share for level, share in printed.items() if level and share is not None}


def _direction_entries(
    entry: Mapping[str, Any], name: str, options: Mapping[str, str]
) -> tuple[Mapping[Direction, Mapping[str, Any]], Sequence[Remark]]:
    """The figures of reads and writes, and a remark if fio reports only their sum (unified_rw_reporting)."""
    if isinstance(entry.get("read"), dict):
        return {direction: json_object(entry.get(direction)) for direction in DIRECTIONS}, []
    mixed, reads = json_object(entry.get("mixed")), read_ratio(options) if options else None
    if reads is None:
        return {"read": mixed, "write": {}}, [unified_remark(name)]
    text = f"{name} reports reads and writes together: they are divided as it is configured"
    bodies: Mapping[Direction, Mapping[str, Any]] = {
        "read": _scale_counts(mixed, reads),
        "write": _scale_counts(mixed, 1 - reads),
    }
    return bodies, [("unified", text)] if 0 < reads < 1 else []


def _scale_counts(body: Mapping[str, Any], ratio: float) -> Mapping[str, Any]:
    """Return the figures with all counts multiplied by a ratio. Empty for the ratio 0."""
    shared: dict[str, Any] = {}
    for key, value in body.items() if ratio > 0 else ():
        number = finite_number(value) if key in _COUNT_KEYS else None
        shared[key] = _scale_counts(value, ratio) if isinstance(value, dict) else value
        if number is not None:
            shared[key] = round(ratio * number)
    return shared


def _flush_samples(body: Mapping[str, Any]) -> dict[str, Number]:
    """Number of the flushes that a job waited for (fsync, fdatasync; reported since fio 3.6), and the sum of their
    latencies in nanoseconds."""
    latency = json_object(body.get("lat_ns"))
    number, mean = integer(latency.get("N"), 0), finite_number(latency.get("mean"))
    if mean is None or (not number and integer(body.get("total_ios"), 0)):  # With gtod_reduce they are not timed.
        return {}
    return {"ops_flush_total": number, "latency_seconds_flush_total": round(number * mean)}


def _parse_options(raw: Any) -> dict[str, str]:
    return {str(k): str(v) for k, v in raw.items()} if isinstance(raw, dict) else {}


def _mean_in_flight(samples: Mapping[str, Number], runtime_ms: int) -> float | None:
    """Mean number of outstanding I/Os. None: not every direction has a latency."""
    latency_ns = _waited_ns(samples)
    return latency_ns / (1e6 * runtime_ms) if runtime_ms and latency_ns is not None else None


def _waited_ns(samples: Mapping[str, Number]) -> float | None:
    """Sum of the latencies of reads and writes. None: one of the directions has none."""
    return complete_sum(samples[f"latency_seconds_{direction}_total"] for direction in DIRECTIONS)


def _is_ramping(
    entry: Mapping[str, Any], options: Mapping[str, str], runtime_ms: int, warmup_seconds: float | None
) -> bool:
    """Whether the figures of a job are those of its ramp, in which fio counts no latencies.

    A ramp ends with an I/O, so it may be longer than configured. If a job has no latencies at all, only its run time
    shows the ramp, and the remaining time (eta), which is 0 only after the ramp.
    """
    has_no_latencies = bool({"disable_lat", "gtod_reduce"} & options.keys())
    if not warmup_seconds or (has_no_latencies and entry.get("eta") == 0):
        return False
    slack_ms = _STATUS_MS if has_no_latencies else MAX_WAIT_MS
    return runtime_ms < 1000 * warmup_seconds + slack_ms and not _has_latencies(entry)


def _has_latencies(entry: Mapping[str, Any]) -> bool:
    latencies = [_total_latency(json_object(entry.get(direction)))[0] for direction in DIRECTIONS]
    return any(
        integer(latency["N"], 0) if "N" in latency else finite_number(latency.get("mean")) for latency in latencies
    )


def _total_latency(body: Mapping[str, Any]) -> tuple[Mapping[str, Any], int]:
    """Total latency, and its unit in nanoseconds: fio before 3.0 wrote "lat" in microseconds."""
    return (json_object(body["lat_ns"]), 1) if "lat_ns" in body else (json_object(body.get("lat")), 1000)


def _latency_bins(body: Mapping[str, Any]) -> Mapping[str, Any]:
    return json_object(_total_latency(body)[0].get("bins")) or json_object(
        json_object(body.get("clat_ns")).get("bins")
    )


def _parse_direction(
    body: Mapping[str, Any], direction: Direction, runtime_ms: int
) -> tuple[dict[str, Number], Latency]:
    """Operations and bytes of a direction, and their latency. `runtime_ms`: run time of the job including its
    ramp."""
    total, scale = _total_latency(body)
    moved_bytes, submitted = _moved_bytes(body), _submitted(body)
    count = integer(total.get("N"), submitted)
    # total_ios counts submissions and is not updated in the last document (fio 3.33, measured). Latencies and
    # io_bytes count completions. There are no latencies during the ramp, or with disable_lat.
    ops = count or (submitted if moved_bytes else 0)
    moved: dict[str, Number] = {f"ops_{direction}_total": ops, f"bytes_{direction}_total": moved_bytes}
    if not count:
        return moved, replace(_IDLE, mean_ns=None) if moved_bytes else _IDLE
    completion = json_object(body.get("clat_ns") or body.get("clat"))
    of_completion = not json_object(total.get("percentile"))
    percentiles = json_object((completion if of_completion else total).get("percentile"))
    scaled = {p: _scale(percentiles.get(f"{p}.000000"), scale) for p in PERCENTS}
    latency = Latency(
        mean_ns=_scale(total.get("mean"), scale) or 0.0,
        max_ns=_scale(total.get("max"), scale),
        completion_ns=_scale(completion.get("mean"), scale),
        percentiles=without_none(scaled),
        of_completion=of_completion,
        ops=count,
        runtime_ms=runtime_ms,
    )
    return moved, latency


def _throughput_samples(body: Mapping[str, Any], direction: Direction, processes: int) -> dict[str, Number]:
    """The variation of the throughput of one direction over time."""
    mean, deviation, most = (finite_number(body.get(f"bw_{what}")) for what in ("mean", "dev", "max"))
    windows = integer(body["bw_samples"], 0) if "bw_samples" in body else None
    runtime_ms = milliseconds(body.get("runtime"))
    return throughput.samples(direction, mean, deviation, most, windows, runtime_ms, processes)


def _moved_bytes(body: Mapping[str, Any]) -> int:
    """Payload in bytes. Before 3.0 fio had no `io_kbytes`, and `io_bytes` were KiB, as `bw` always is."""
    moved, kib_per_second = integer(body.get("io_bytes"), 0), finite_number(body.get("bw"))
    if "io_kbytes" in body or kib_per_second is None:
        return moved
    max_kib = (kib_per_second + 1) * milliseconds(body.get("runtime")) / 1000
    return 1024 * moved if moved < _KIB_OR_BYTES * max_kib else moved


def _submitted(body: Mapping[str, Any]) -> int:
    """Number of submitted I/Os. Before 2.2 fio reports only IOPS, from which it is estimated."""
    if "total_ios" in body:
        return integer(body["total_ios"], 0)
    per_second, seconds = finite_number(body.get("iops")) or 0.0, milliseconds(body.get("runtime")) / 1000
    return (
        estimate_operations(_moved_bytes(body), int(per_second), seconds)
        if 0 <= per_second < _MAX_OPS_PER_SECOND
        else 0
    )


_DISK_FIELDS = {
    "ops_read_total": "read_ios",
    "ops_write_total": "write_ios",
    "latency_seconds_read_total": "read_ticks",
    "latency_seconds_write_total": "write_ticks",
    "in_flight_seconds_total": "in_queue",
}


def disk_samples(body: Mapping[str, Any]) -> dict[str, Number]:
    """Parses an entry of `disk_util` into values of tables.LUN."""
    sectors = [body.get(f"{direction}_sectors") for direction in DIRECTIONS]
    counts = [integer(body.get(field), 0) for field in _DISK_FIELDS.values()]
    return disk_values(counts, [integer(value, 0) for value in sectors if value is not None])


def disk_values(counts: Sequence[int], sectors: Sequence[int] = ()) -> dict[str, Number]:
    """Metric of tables.LUN → value.

    `counts`: reads, writes, their times in milliseconds, and the time weighted by I/Os in flight. `sectors`: sectors
    read and written, which fio reports since 3.36; else empty.

    Times are left out if all are 0 for many I/Os. Then the kernel does not measure them, which is so for md and
    device mapper before Linux 5.10.
    """
    moved: dict[str, Number] = {f"bytes_{d}_total": value for d, value in zip(DIRECTIONS, sectors, strict=False)}
    values = dict(zip(_DISK_FIELDS, counts, strict=True))
    if sum(counts[:2]) >= _MIN_TIMED_OPS and not any(counts[2:]):
        return moved | {metric: value for metric, value in values.items() if metric.startswith("ops_")}
    return moved | values


def _scale(value: Any, scale: int) -> float | None:
    number = finite_number(value)
    return number * scale if number is not None and number >= 0 else None


def _time_us(value: Any, unit_us: int) -> int | None:
    """A time in microseconds. None: it does not fit a recording's 64-bit times. `unit_us`: unit of `value`."""
    fits = isinstance(value, int) and 0 < value < 2**62 // unit_us
    return value * unit_us if fits else None

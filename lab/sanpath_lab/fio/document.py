"""A status document as fio 3.33 prints it with --output-format=json: same keys, same order, same units."""

from __future__ import annotations

import json
import time
from bisect import bisect_left
from collections.abc import Sequence
from math import ceil, inf
from typing import Any

Json = dict[str, Any]

FIO_VERSION = "fio-3.33"
ETA_UNKNOWN = 2147483647
PERCENTILES = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
DEPTHS = (1, 2, 4, 8, 16, 32)
BATCHES = (0, 4, 8, 16, 32, 64)
BELOW_MICROSECOND = (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)
MILLISECONDS = (*BELOW_MICROSECOND, 2000)


def render(document: Json) -> str:
    """The text of a document: fio indents by two and puts a blank on both sides of the colon."""
    return json.dumps(document, indent=2, separators=(",", " : ")) + "\n"


def document(status: Json) -> Json:
    """The document that describes a LoadStatus."""
    now_ms = status["now_ms"]
    return {
        "fio version": FIO_VERSION,
        "timestamp": now_ms // 1000,
        "timestamp_ms": now_ms,
        "time": time.strftime("%a %b %d %H:%M:%S %Y", time.localtime(now_ms / 1000)),
        "jobs": [_job(status, number) for number in range(len(status["jobs"]))],
        "disk_util": [_disk(disk, status["elapsed_seconds"]) for disk in status["disks"]],
    }


def job_options(status: Json, number: int) -> dict[str, str]:
    """Return the options of a job. fio prints every option as a string."""
    load, job = status["load"], status["jobs"][number]
    options = {
        "ioengine": "libaio",
        "direct": "1" if load["direct"] else "0",
        "rw": "randrw" if load["direction"] == "mixed" else f"rand{load['direction']}",
        "bs": f"{load['block_bytes'] // 1024}k",
        "iodepth": str(load["outstanding_per_thread"]),
        "numjobs": str(job["threads"]),
        "ramp_time": f"{load['ramp_seconds']:g}",
        "runtime": f"{load['measured_seconds']:g}",
        "filename": f"/dev/{job['disk']}",
    }
    if load["ios_per_second"]:
        # fio's rate is that of each process.
        processes = job["threads"] * load["jobs"]
        options["rate_iops"] = f"{load['ios_per_second'] / processes:.0f}"
    if load["direction"] == "mixed":
        options["rwmixread"] = f"{100 * (1 - (load['write_ratio'] or 0.5)):.0f}"
    if load["zeros"]:
        options["zero_buffers"] = "1"
    if load["working_set_bytes"]:
        options["size"] = str(load["working_set_bytes"])
    if job["group"] and load["gap_seconds"]:
        options["exec_prerun"] = f"sleep {load['gap_seconds']:g}"
    return options


def _job(status: Json, number: int) -> Json:
    load, job = status["load"], status["jobs"][number]
    ramping = status["jobs"][0]["phase"] == "ramp"
    started = job["phase"] != "waiting"
    thread_ms = round((job["runtime_seconds"] if started else status["elapsed_seconds"]) * 1000) * job["threads"]
    ios = _ios(job)
    directions = {
        direction: _direction(status, job, direction if load["direction"] in (direction, "mixed") else None)
        for direction in ("read", "write")
    }
    directions["trim"] = _direction(status, job, None)
    return {
        "jobname": job["name"],
        "groupid": job["group"],
        "error": 0,
        "eta": ETA_UNKNOWN if ramping else ceil(status["remaining_seconds"]),
        "elapsed": ceil(status["elapsed_seconds"]) or 1,
        "job options": job_options(status, number),
        **directions,
        "sync": {"total_ios": 0, "lat_ns": _latency(None, 0)},
        "job_runtime": thread_ms,
        "usr_cpu": _percent(ios * load["user_seconds_per_io"], thread_ms / 1000),
        "sys_cpu": _percent(ios * load["system_seconds_per_io"], thread_ms / 1000),
        "ctx": ios,
        "majf": 0,
        "minf": 14 * job["threads"] if started else 0,
        "iodepth_level": _depths(load["outstanding_per_thread"] if ios else None, DEPTHS),
        "iodepth_submit": _depths(4 if ios else None, BATCHES),
        "iodepth_complete": _depths(4 if ios else None, BATCHES),
        **_latency_shares([job["read"]["latency"], job["write"]["latency"]]),
        "latency_depth": load["outstanding_per_thread"],
        "latency_target": 0,
        "latency_percentile": 100.0,
        "latency_window": 0,
    }


def _percent(count: float, total: float) -> float:
    return round(100 * count / total, 6) if total else 0.0


def _ios(job: Json) -> int:
    """I/Os of both directions."""
    return int(job["read"]["ios"] + job["write"]["ios"])


def _direction(status: Json, job: Json, direction: str | None) -> Json:
    """One direction of a job, all zero for None."""
    block = status["load"]["block_bytes"]
    counted = job[direction] if direction else None
    ios = counted["ios"] if counted else 0
    runtime = job["runtime_seconds"] if counted else 0.0
    iops = ios / runtime if runtime else 0.0
    samples = counted["iops_samples"] if counted else []
    submit_ns = round(status["submit_seconds"] * 1e9)
    latency = counted["latency"] if counted else None
    return {
        "io_bytes": ios * block,
        "io_kbytes": ios * block // 1024,
        "bw_bytes": int(iops * block),
        "bw": int(iops * block / 1024),
        "iops": round(iops, 6),
        "runtime": round(runtime * 1000),
        "total_ios": ios,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": _constant_latency(latency["count"] if latency else 0, submit_ns),
        "clat_ns": _latency(latency, submit_ns, with_percentiles=True),
        "lat_ns": _latency(latency, 0),
        **_samples("bw", [sample * block / 1024 for sample in samples]),
        **_samples("iops", samples),
    }


def _samples(name: str, samples: Sequence[float]) -> Json:
    """The statistics of the half-second samples; only bandwidth has a share of the group."""
    mean = sum(samples) / len(samples) if samples else 0.0
    deviation = (sum((s - mean) ** 2 for s in samples) / len(samples)) ** 0.5 if samples else 0.0
    share = {"bw_agg": 100.0 if samples else 0.0} if name == "bw" else {}
    return {
        f"{name}_min": int(min(samples, default=0)),
        f"{name}_max": int(max(samples, default=0)),
        **share,
        f"{name}_mean": round(mean, 6),
        f"{name}_dev" if name == "bw" else f"{name}_stddev": round(deviation, 6),
        f"{name}_samples": len(samples),
    }


def _constant_latency(count: int, ns: int) -> Json:
    if not count:
        return _latency(None, 0)
    return {"min": ns, "max": ns, "mean": float(ns), "stddev": 0.0, "N": count}


def _latency(latency: Json | None, offset_ns: int, with_percentiles: bool = False) -> Json:
    """`offset_ns` is taken off: completion latency is total latency without submission."""
    if latency is None or not latency["count"]:
        return {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
    block = {
        "min": latency["minimum"] - offset_ns,
        "max": latency["maximum"] - offset_ns,
        "mean": round(latency["mean"] - offset_ns, 6),
        "stddev": round(latency["deviation"], 6),
        "N": latency["count"],
    }
    if with_percentiles:
        block["percentile"] = _percentiles(latency, offset_ns)
    return block


def _percentiles(latency: Json, offset_ns: int) -> dict[str, int]:
    percentiles: dict[str, int] = {}
    wanted = iter(PERCENTILES)
    percentile = next(wanted, inf)
    cumulative = 0
    for ns, count in latency["buckets"]:
        cumulative += count
        while percentile != inf and cumulative >= latency["count"] * percentile / 100:
            percentiles[f"{percentile:.6f}"] = ns - offset_ns
            percentile = next(wanted, inf)
    return percentiles


def _depths(depth: int | None, steps: tuple[int, ...]) -> dict[str, float]:
    """All I/O at one depth; None: no I/O yet."""
    shares = dict.fromkeys([*(str(step) for step in steps), ">=64"], 0.0)
    if depth is not None:
        shares[">=64" if depth >= 64 else str(max(step for step in steps if step <= depth))] = 100.0
    return shares


def _latency_shares(latencies: Sequence[Json]) -> Json:
    """Percent of the I/Os by latency, each in the unit in which it has at most three digits."""
    nanoseconds = [0] * len(BELOW_MICROSECOND)
    microseconds = [0] * len(BELOW_MICROSECOND)
    milliseconds = [0] * (len(MILLISECONDS) + 1)
    for ns, count in (bucket for latency in latencies for bucket in latency["buckets"]):
        if ns < 1000:
            nanoseconds[bisect_left(BELOW_MICROSECOND, ns)] += count
        elif ns < 1_000_000:
            microseconds[bisect_left(BELOW_MICROSECOND, ns // 1000)] += count
        else:
            milliseconds[bisect_left(MILLISECONDS, ns // 1_000_000)] += count
    total = sum(latency["count"] for latency in latencies)
    below = [str(limit) for limit in BELOW_MICROSECOND]
    in_ms = [*(str(limit) for limit in MILLISECONDS), ">=2000"]
    return {
        "latency_ns": {key: _percent(n, total) for key, n in zip(below, nanoseconds, strict=True)},
        "latency_us": {key: _percent(n, total) for key, n in zip(below, microseconds, strict=True)},
        "latency_ms": {key: _percent(n, total) for key, n in zip(in_ms, milliseconds, strict=True)},
    }


def _disk(disk: Json, elapsed_seconds: float) -> Json:
    return {
        "name": disk["name"],
        "read_ios": disk["ios"][0],
        "write_ios": disk["ios"][1],
        "read_merges": 0,
        "write_merges": 0,
        "read_ticks": int(disk["ticks_seconds"][0] * 1000),
        "write_ticks": int(disk["ticks_seconds"][1] * 1000),
        "in_queue": int(disk["in_flight_seconds"] * 1000),
        "util": _percent(disk["busy_seconds"], elapsed_seconds),
    }


def summary(status: Json) -> str:
    """Return fio's normal output, shortened to one line per job."""
    lines = []
    for job in status["jobs"]:
        runtime = job["runtime_seconds"]
        iops = _ios(job) / runtime if runtime else 0.0
        latencies = [job["read"]["latency"], job["write"]["latency"]]
        counted = sum(latency["count"] for latency in latencies) or 1
        mean = sum(latency["mean"] * latency["count"] for latency in latencies) / counted
        lines.append(
            f"{job['name']}: (groupid={job['group']}, jobs={job['threads']}): err= 0: {status['load']['direction']}: "
            f"IOPS={iops:.0f}, BW={iops * status['load']['block_bytes'] / 2**20:.0f}MiB/s, "
            f"lat avg={mean / 1e6:.2f} msec\n"
        )
    return "".join(lines)

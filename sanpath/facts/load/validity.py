"""Facts about the validity of a test: how it was configured, and whether it was steady."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import sqrt

import numpy as np

from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import FactRow, FactValue
from sanpath.model import Scalar
from sanpath.topology.paths import machines_of, targets_of
from sanpath.topology.topology import Topology
from sanpath.units import percent

_SERIALISING = "posixaio"
"""fio's engine that uses POSIX AIO. glibc serves the requests of a file by one thread (glibc, rt/aio_misc.c)."""
_SERIALISING_THE_CACHE = "libaio"
"""fio's engine that uses the AIO of Linux: io_submit returns only once an I/O through the file cache is done (fio
documentation, I/O engine: queued behaviour only with direct=1)."""
_MIN_WINDOWS = 8
"""With fewer windows a trend may be chance."""
_SIGNIFICANT_ERRORS = 3.0
"""A slope within this many standard errors of zero may be chance."""
_KIND_OF_LOAD = {"in_flight_configured", "block_bytes", "read_ratio", "random_ratio", "synchronous"}
"""Attributes that distinguish the loads of one file."""
_JUMP_RATIO = 0.5
"""Values jump if their squared distances from the best jump are less than this share of those from the best line:
sanpath's own choice. If values jump in the middle, the former are 0, and the latter a sixteenth of the jump's square
for each value."""


def validity_facts(topology: Topology, load: LoadFacts, both_directions: Sequence[LoadFacts]) -> FactRow:
    """Return the configuration of a load's jobs as facts of the load's row. None: not every job reports it.

    `both_directions`: the loads of its step, to which it belongs.
    """
    attributes_of_jobs = [_attributes(topology, job, is_only=len(load.jobs) == 1) for job in load.jobs]

    def every(name: str) -> list[Scalar] | None:
        values = [attributes.get(name) for attributes in attributes_of_jobs]
        return values if values and all(value is not None for value in values) else None

    # A file of several runs describes its load once: another run has other threads.
    described = _number(every("in_flight_configured"), sum)
    is_described = None in (described, load.in_flight_configured) or described == load.in_flight_configured
    trends = trend(load.series), trend(load.latency_series)
    return {
        "working_set_bytes": _number(every("working_set_bytes"), sum),
        "cache_bytes": _cache(topology, load),
        "memory_bytes": _memory(topology, load),
        "direct": (direct := _truth(every("direct"), all)),
        "file_cache_answers": _file_cache_answers(load, direct, _truth(every("write_through"), all)),
        "block_devices": _truth(every("block_devices"), all),
        "synchronous": _truth(every("synchronous"), any),
        "engine_serialises": _engine_serialises(attributes_of_jobs),
        "asked_in_flight": _number(every("asked_in_flight"), sum),
        "requested_ops_per_second": _number(every("requested_ops_per_second"), sum),
        "threads": _number(every("threads"), sum) if is_described else None,
        "files": _number(every("files"), sum),
        "fill": _common_value(every("fill")),
        "preconditioned": _truth(every("preconditioned"), all),
        "rate_limited": _is_rate_limited(topology, both_directions),
        "one_figure": load.summary,
        "step_seconds": load.seconds or _number(every("seconds"), min),
        "held_throughput": load.held_throughput,
        "throughput_trend": trends[0],
        "latency_trend": trends[1],
        "change_in_step": change_in_words(*trends, load.held_throughput),
    }


def _is_rate_limited(topology: Topology, loads: Sequence[LoadFacts]) -> bool | None:
    """Return whether a rate was set for any job of a step. The outstanding I/Os of both directions are compared with
    those configured, and jobs of the other direction may be the ones with a rate. None: not every job tells."""
    jobs = list(dict.fromkeys(job for load in loads for job in load.jobs))
    reported = [_attributes(topology, job, is_only=len(jobs) == 1).get("rate_limited") for job in jobs]
    return any(reported) or (None if None in reported or not reported else False)


def _file_cache_answers(load: LoadFacts, direct: bool | None, write_through: bool | None) -> bool | None:
    """Return whether the file cache may answer a load's I/Os of its direction. None: not known of one of its jobs."""
    if load.direction == "write" and write_through:
        return False
    return None if direct is None else not direct


def _engine_serialises(attributes_of_jobs: Sequence[Mapping[str, Scalar]]) -> bool | None:
    """Return whether the engine of all jobs serves their I/Os one after another. None: not known of one of them."""
    each: list[bool | None] = []
    for attributes in attributes_of_jobs:
        engine, direct = attributes.get("ioengine"), attributes.get("direct")
        if engine == _SERIALISING_THE_CACHE:
            each.append(not direct if isinstance(direct, bool) else None)
        else:
            each.append(None if engine is None else engine == _SERIALISING)
    return None if None in each or not each else all(each)


def _attributes(topology: Topology, job: str, *, is_only: bool) -> Mapping[str, Scalar]:
    """The attributes of a job. For the only job of a load, also those of the load's description, such as a file of
    parameters. A description that contradicts the job belongs to another run in the same file, and is ignored."""
    if job not in topology.entities:
        return {}
    own = {k: v for k, v in topology.entities[job].attributes.items() if v is not None}
    for whole in topology.related(job, "member_of", "load") if is_only else ():
        described = {k: v for k, v in topology.entities[whole].attributes.items() if v is not None}
        if all(described.get(name, own.get(name)) == own.get(name) for name in own.keys() & _KIND_OF_LOAD):
            return described | own
    return own


def trend(series: Sequence[tuple[float, float]]) -> float | None:
    """Return the change over the second half of a series of (value, seconds), relative to the beginning of that half.
    0.0: it may be chance. None: too few windows.

    It is the change along the least-squares line through the middles of the windows. A jump does not fit a line: then
    it is the change from the mean before the jump to the mean after it. A halving is -50 % in either case, so
    throughput and latency agree, and so do a change and the remaining share.
    """
    half = series[len(series) // 2 :]
    if len(series) < _MIN_WINDOWS:
        return None
    middles, elapsed_seconds = [], 0.0
    for _, seconds in half:
        middles.append(elapsed_seconds + seconds / 2)
        elapsed_seconds += seconds
    values = [value for value, _ in half]
    mean_middle, mean = _mean(middles), _mean(values)
    spread = sum((middle - mean_middle) ** 2 for middle in middles)
    if not mean or not spread:
        return None
    points = list(zip(middles, values, strict=True))
    slope = sum((middle - mean_middle) * (value - mean) for middle, value in points) / spread
    residual = sum((value - mean - slope * (middle - mean_middle)) ** 2 for middle, value in points)
    error = sqrt(residual / max(1, len(half) - 2) / spread)
    if abs(slope) <= _SIGNIFICANT_ERRORS * error:
        return 0.0
    first, last = (mean + slope * (at - mean_middle) for at in (0.0, elapsed_seconds))
    residual_of_jump, before, after = _jump(values)
    if residual_of_jump < residual * _JUMP_RATIO or min(first, last) <= 0:
        first, last = before, after
    return last / first - 1 if first else None


def _jump(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the means before and after the jump that fits values best, after their squared distances from them."""
    centred = np.asarray(values) - _mean(values)
    sums = np.cumsum(centred)[:-1]
    at = np.arange(1, len(values))
    # Because the sum of all is 0, both parts have the same sum; subtracting their means leaves the rest.
    explained = sums**2 / at + sums**2 / (len(values) - at)
    best = int(np.argmax(explained))
    residual = max(0.0, float(np.sum(centred**2) - explained[best]))
    return residual, _mean(values[: best + 1]), _mean(values[best + 1 :])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def change_in_words(
    throughput_trend: float | None, latency_trend: float | None, held_throughput: float | None
) -> str | None:
    """Return how a load changed within a step, as a clause. A change that may be chance does not count. None: nothing
    changed."""
    trends = {"throughput": throughput_trend, "mean latency": latency_trend}
    words = [
        f"{name} {'rises' if change > 0 else 'falls'} by {percent(abs(change))}"
        for name, change in trends.items()
        if change
    ]
    clauses = [f"over the second half of the step {' and '.join(words)}"] if words else []
    if held_throughput is not None and held_throughput < 1:
        clauses.append(f"the last quarter of the step has {percent(held_throughput)} of the throughput of the first")
    return "; ".join(clauses) or None


def _cache(topology: Topology, load: LoadFacts) -> float | None:
    """Return the total size of the known caches below the load: those of its arrays and of the media of its
    volumes."""
    ports, volumes = targets_of(topology, *load.roots)
    arrays = {array for end in (*ports, *volumes) for array in topology.related(end, "member_of", "array")}
    caches = arrays | {media for volume in volumes for media in topology.related(volume, "backed_by", "media")}
    sizes = [topology.entities[entity].attributes.get("cache_bytes") for entity in caches]
    return _number([size for size in sizes if size is not None] or None, sum)


def _memory(topology: Topology, load: LoadFacts) -> float | None:
    """Return the memory of the machines that the load runs on, which a file cache may use."""
    machines = {machine for root in load.roots for machine in machines_of(topology, root)}
    sizes = [
        topology.entities[machine].attributes.get("memory_bytes") if machine is not None else None
        for machine in machines
    ]
    return _number(sizes if None not in sizes else None, sum)


def _number(values: Iterable[Scalar] | None, combine: Callable[[list[float]], float]) -> float | None:
    if values is None:
        return None
    numbers = [float(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    return combine(numbers) if numbers else None


def _truth(values: Sequence[Scalar] | None, combine: Callable[[Iterable[bool]], bool]) -> bool | None:
    if values is None:
        return None
    # A text such as "0" is not a truth value, but would count as True.
    truths = [value for value in values if isinstance(value, bool)]
    return combine(truths) if len(truths) == len(values) else None


def _common_value(values: Sequence[Scalar] | None) -> FactValue:
    return str(values[0]) if values and len(set(values)) == 1 else None

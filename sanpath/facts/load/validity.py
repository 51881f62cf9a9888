"""Facts of what a test is good for: what it was told to do, and whether it had settled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import sqrt

from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import FactRow, FactValue
from sanpath.model import Scalar
from sanpath.topology.identity import Topology
from sanpath.topology.paths import machines_of, targets_of

_WINDOWS = 8
"""Fewer windows tell no trend from chance."""
_CERTAIN = 3.0
"""A slope within so many standard errors of nothing is chance."""


def validity_facts(topology: Topology, load: LoadFacts) -> FactRow:
    """What the jobs of a load were told, as facts of the row of the load. None: not every job tells."""
    told = [topology.entities[job].attributes if job in topology.entities else {} for job in load.jobs]

    def every(name: str) -> list[Scalar] | None:
        values = [attributes.get(name) for attributes in told]
        return values if values and all(value is not None for value in values) else None

    return {
        "working_set_bytes": _number(every("working_set_bytes"), sum),
        "cache_bytes": _cache(topology, load),
        "memory_bytes": _memory(topology, load),
        "direct": _truth(every("direct"), all),
        "synchronous": _truth(every("synchronous"), any),
        "asked_in_flight": _number(every("asked_in_flight"), sum),
        "requested_ops_per_second": _number(every("requested_ops_per_second"), sum),
        "threads": _number(every("threads"), sum),
        "files": _number(every("files"), sum),
        "fill": _same(every("fill")),
        "preconditioned": _truth(every("preconditioned"), all),
        "rate_limited": _truth(every("rate_limited"), any),
        "one_figure": load.summary,
        "step_seconds": load.seconds or _number(every("seconds"), min),
        "held_throughput": load.held_throughput,
        "throughput_trend": trend(load.series),
        "latency_trend": trend(load.latency_series),
    }


def trend(series: Sequence[tuple[float, float]]) -> float | None:
    """Change over the second half of a series of (value, seconds), as a share of its mean there; 0 when it may be
    chance, None when there are too few windows to tell. Least squares over the middle of each window.
    """
    half = series[len(series) // 2 :]
    if len(series) < _WINDOWS:
        return None
    moments, at = [], 0.0
    for _, seconds in half:
        moments.append(at + seconds / 2)
        at += seconds
    values = [value for value, _ in half]
    mean_moment, mean = sum(moments) / len(half), sum(values) / len(half)
    spread = sum((moment - mean_moment) ** 2 for moment in moments)
    if not mean or not spread:
        return None
    slope = sum((m - mean_moment) * (v - mean) for m, v in zip(moments, values, strict=True)) / spread
    rest = sum((v - mean - slope * (m - mean_moment)) ** 2 for m, v in zip(moments, values, strict=True))
    error = sqrt(rest / max(1, len(half) - 2) / spread)
    return slope * at / mean if abs(slope) > _CERTAIN * error else 0.0


def _cache(topology: Topology, load: LoadFacts) -> float | None:
    """The caches that are known below the load: of its arrays and of what their volumes lie on."""
    ports, volumes = targets_of(topology, *load.roots)
    arrays = {array for end in (*ports, *volumes) for array in topology.related(end, "member_of", "array")}
    below = arrays | {media for volume in volumes for media in topology.related(volume, "backed_by", "media")}
    sizes = [topology.entities[entity].attributes.get("cache_bytes") for entity in below]
    return _number([size for size in sizes if size is not None] or None, sum)


def _memory(topology: Topology, load: LoadFacts) -> float | None:
    """Memory of the machines that the load runs on: what a file cache may take."""
    machines = {machine for root in load.roots for machine in machines_of(topology, root)}
    sizes = [topology.entities[m].attributes.get("memory_bytes") if m is not None else None for m in machines]
    return _number(sizes if None not in sizes else None, sum)


def _number(values: Iterable[Scalar] | None, how: Callable[[list[float]], float]) -> float | None:
    if values is None:
        return None
    numbers = [float(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    return how(numbers) if numbers else None


def _truth(values: Sequence[Scalar] | None, how: Callable[[Iterable[bool]], bool]) -> bool | None:
    if values is None:
        return None
    # A text such as "0" is no truth, and would count as one.
    told = [value for value in values if isinstance(value, bool)]
    return how(told) if len(told) == len(values) else None


def _same(values: Sequence[Scalar] | None) -> FactValue:
    return str(values[0]) if values and len(set(values)) == 1 else None

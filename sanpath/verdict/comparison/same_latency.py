"""How much throughput runs reach at the same latency, read off their own curves and never beyond them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isclose
from operator import attrgetter

from sanpath.verdict.model import Curve, CurvePoint, Diagnosis
from sanpath.verdict.units import duration

_SAME_SIZE = 0.05


@dataclass(frozen=True, slots=True)
class AtLatency:
    """Throughput of each run at one latency, in the order of the runs; None: the run was not tested there, and `said`
    tells where it was. `latency_seconds` None: no latency was tested in all of them."""

    direction: str
    operation_bytes: float | None
    latency_seconds: float | None
    ops_per_second: tuple[float | None, ...]
    said: str = ""


def at_latency(runs: Sequence[Diagnosis], seconds: float | None) -> list[AtLatency]:
    """One entry a direction and block size that all runs have. `seconds` None: the highest latency that all of them
    were tested at."""
    found = []
    for curve in runs[0].verdict.curves:
        others = [next((c for c in run.verdict.curves if _same(c, curve)), None) for run in runs]
        together = [other for other in others if other is not None]
        if len(together) < len(runs):
            continue
        ranges = [_range(c.points) for c in together]
        low, high = max(r[0] for r in ranges), min(r[1] for r in ranges)
        told = "; ".join(f"{_letter(n)} from {duration(a)} to {duration(b)}" for n, (a, b) in enumerate(ranges))
        wanted = seconds if seconds is not None else high if low <= high else None
        values = [None if wanted is None else interpolated(c.points, wanted) for c in together]
        said = f"tested: {told}; nothing is extrapolated" if None in values else ""
        found.append(AtLatency(curve.direction, curve.operation_bytes, wanted, tuple(values), said))
    return found


def interpolated(points: Sequence[CurvePoint], seconds: float) -> float | None:
    """Operations a second at a latency, on the straight line between two steps that have it between them, next to
    each other by what is in flight or by latency (past a collapse the two differ); the highest where several have.
    None: no two steps have."""
    found = [p.ops_per_second for p in points if isclose(p.latency_seconds, seconds, rel_tol=1e-9)]
    for order in (attrgetter("in_flight"), attrgetter("latency_seconds")):
        for a, b in pairwise(sorted(points, key=order)):
            low, high = sorted((a.latency_seconds, b.latency_seconds))
            if low < seconds < high:
                part = (seconds - a.latency_seconds) / (b.latency_seconds - a.latency_seconds)
                found.append(a.ops_per_second + part * (b.ops_per_second - a.ops_per_second))
    return max(found, default=None)


def _range(points: Sequence[CurvePoint]) -> tuple[float, float]:
    latencies = [point.latency_seconds for point in points]
    return min(latencies), max(latencies)


def _same(one: Curve, other: Curve) -> bool:
    sizes = one.operation_bytes or 0.0, other.operation_bytes or 0.0
    return one.direction == other.direction and isclose(*sizes, rel_tol=_SAME_SIZE)


def _letter(number: int) -> str:
    return chr(ord("A") + number) if number < 26 else str(number + 1)

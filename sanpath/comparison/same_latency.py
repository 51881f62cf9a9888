"""The throughput of runs at the same latency, read off their own curves and never beyond them, and its cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isclose
from operator import attrgetter
from typing import Protocol

from sanpath.comparison.performance_changes import SAME_SIZE
from sanpath.diagnosis.model import CurvePoint, Diagnosis
from sanpath.units import duration


@dataclass(frozen=True, slots=True)
class Cost:
    """The price of everything in a run over its I/Os a second in one direction. `low`, `high`: equal unless a price
    was entered as a range."""

    currency: str
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class AtLatency:
    """Throughput of each run at one latency, in the order of the runs.

    None: the run was not tested at this latency, and `said` gives its range. `latency_seconds` None: no latency was
    tested in all of them. `costs`: of each run; None: it has no throughput at this latency, no price, or prices in
    several currencies. Empty: no run has one. `flushes`: whether the loads also wait for flushes (fsync). `pattern`:
    as in Curve.
    """

    direction: str
    operation_bytes: float | None
    latency_seconds: float | None
    ops_per_second: tuple[float | None, ...]
    said: str = ""
    costs: tuple[Cost | None, ...] = ()
    flushes: bool = False
    pattern: str = ""


class Io(Protocol):
    """The I/O that a curve, or a point of several curves, is about."""

    @property
    def direction(self) -> str:
        """Read or write."""
        ...

    @property
    def operation_bytes(self) -> float | None:
        """Mean size of an I/O; None: unknown."""
        ...

    @property
    def flushes(self) -> bool:
        """Whether the load also waits for flushes (fsync)."""
        ...

    @property
    def pattern(self) -> str:
        """As in Curve."""
        ...


def compare_at_latency(runs: Sequence[Diagnosis], seconds: float | None) -> list[AtLatency]:
    """An entry for each direction and block size that all runs have.

    `seconds` None: the highest latency at which all of them were tested.
    """
    result = []
    prices = [_prices(run) for run in runs]
    for curve in runs[0].verdict.curves:
        candidates = [
            next((candidate for candidate in run.verdict.curves if same_io(candidate, curve)), None) for run in runs
        ]
        peers = [curve_found for curve_found in candidates if curve_found is not None]
        if len(peers) < len(runs):
            continue
        ranges = [_range(candidate.points) for candidate in peers]
        low, high = max(bounds[0] for bounds in ranges), min(bounds[1] for bounds in ranges)
        ranges_text = "; ".join(
            f"{name} from {duration(a)} to {duration(b)}" if a < b else f"{name} at {duration(a)}"
            for name, (a, b) in zip(_names(len(runs)), ranges, strict=True)
        )
        latency = seconds if seconds is not None else high if low <= high else None
        values = [None if latency is None else interpolated(candidate.points, latency) for candidate in peers]
        words = f"tested: {ranges_text}; nothing is extrapolated" if None in values else ""
        costs = tuple(_cost(price, value) for price, value in zip(prices, values, strict=True))
        costs = costs if any(costs) else ()
        others = (curve.direction, curve.operation_bytes, latency, tuple(values), words, costs)
        result.append(AtLatency(*others, flushes=curve.flushes, pattern=curve.pattern))
    return result


def _prices(run: Diagnosis) -> Mapping[str, tuple[float, float]]:
    """Currency → the price of all entities that have one, as a range."""
    prices: dict[str, tuple[float, float]] = {}
    for figure in run.figures:
        if figure.quantity == "price" and "/" not in figure.unit:
            low, high = prices.get(figure.unit, (0.0, 0.0))
            values = figure.values
            prices[figure.unit] = low + min(value.low for value in values), high + max(value.high for value in values)
    return prices


def _cost(prices: Mapping[str, tuple[float, float]], ops_per_second: float | None) -> Cost | None:
    if not ops_per_second or len(prices) != 1:
        return None
    ((currency, (low, high)),) = prices.items()
    return Cost(currency, low / ops_per_second, high / ops_per_second)


def interpolated(points: Sequence[CurvePoint], seconds: float) -> float | None:
    """Operations a second at a latency, on the straight line between two steps on either side of it. None: there are
    none.

    The two steps are neighbours by I/Os in flight or by latency, because past a collapse the two orders differ. If
    several pairs match, the highest value counts.
    """
    values = [p.ops_per_second for p in points if isclose(p.latency_seconds, seconds, rel_tol=1e-9)]
    for order in (attrgetter("in_flight"), attrgetter("latency_seconds")):
        for a, b in pairwise(sorted(points, key=order)):
            low, high = sorted((a.latency_seconds, b.latency_seconds))
            if low < seconds < high:
                fraction = (seconds - a.latency_seconds) / (b.latency_seconds - a.latency_seconds)
                values.append(a.ops_per_second + fraction * (b.ops_per_second - a.ops_per_second))
    return max(values, default=None)


def _range(points: Sequence[CurvePoint]) -> tuple[float, float]:
    latencies = [point.latency_seconds for point in points]
    return min(latencies), max(latencies)


def same_io(first: Io, second: Io) -> bool:
    """Whether two runs did the same I/O, as far as both report it: not every source knows the pattern."""
    sizes = first.operation_bytes or 0.0, second.operation_bytes or 0.0
    same_kind = (first.direction, first.flushes) == (second.direction, second.flushes)
    same_kind &= len({first.pattern, second.pattern} - {""}) < 2
    return same_kind and isclose(*sizes, rel_tol=SAME_SIZE)


def _names(number: int) -> Sequence[str]:
    """Names of the runs in views: before and after; A, B, C for more than two."""
    if number == 2:
        return "before", "after"
    return [chr(ord("A") + n) if n < 26 else str(n + 1) for n in range(number)]

"""Three or more systems side by side, at the same number of I/Os in flight and at the same latency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isclose

from sanpath.comparison.drift import Drift, drift
from sanpath.comparison.performance_changes import SAME_IN_FLIGHT
from sanpath.comparison.same_latency import AtLatency, compare_at_latency, same_io
from sanpath.diagnosis.experiment import VerdictKind
from sanpath.diagnosis.model import Curve, CurvePoint, Diagnosis


@dataclass(frozen=True, slots=True)
class Row:
    """One direction, block size and number of I/Os in flight, with the matching step of each system; None: the system
    has none. `flushes`: whether the load also waits for flushes (fsync). `pattern`: as in Curve."""

    direction: str
    operation_bytes: float | None
    in_flight: float
    steps: tuple[CurvePoint | None, ...]
    flushes: bool = False
    pattern: str = ""


@dataclass(frozen=True, slots=True)
class System:
    """One of the runs: its name, and its limit."""

    name: str
    kind: VerdictKind
    headline: str
    limits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """The systems in the given order, the points at which at least two of them were tested, and the throughput of all
    at one latency.

    `drifts`: steps that became slower or faster from recording to recording.
    """

    systems: tuple[System, ...]
    rows: tuple[Row, ...]
    same_latency: tuple[AtLatency, ...]
    drifts: tuple[Drift, ...] = ()
    schema: str = "sanpath.systems/1"


def side_by_side(names: Sequence[str], runs: Sequence[Diagnosis], latency_seconds: float | None) -> SideBySide:
    """Compare runs side by side. `latency_seconds` None: the highest at which all of them were tested."""
    systems = [
        System(name, run.verdict.kind, run.verdict.headline, _limits(run))
        for name, run in zip(names, runs, strict=True)
    ]
    rows: list[Row] = []
    for run in runs:
        for curve in run.verdict.curves:
            for point in curve.points:
                if not any(_matches(row, curve, point) for row in rows):
                    steps = tuple(_peer(other_run, curve, point) for other_run in runs)
                    of_all = (curve.direction, curve.operation_bytes, point.in_flight, steps)
                    rows.append(Row(*of_all, curve.flushes, curve.pattern))
    shared = [row for row in rows if sum(step is not None for step in row.steps) > 1]
    shared.sort(key=lambda row: (row.direction, row.operation_bytes or 0.0, row.flushes, row.pattern, row.in_flight))
    drifts = [drift(row.direction, row.operation_bytes, row.in_flight, runs, row.steps) for row in shared]
    latencies = tuple(compare_at_latency(runs, latency_seconds))
    return SideBySide(tuple(systems), tuple(shared), latencies, tuple(entry for entry in drifts if entry is not None))


def _limits(run: Diagnosis) -> tuple[str, ...]:
    """The entities that limit, in either direction."""
    return tuple(dict.fromkeys(bottleneck.entity for bottleneck in run.verdict.bottlenecks))


def _matches(row: Row, curve: Curve, point: CurvePoint) -> bool:
    return same_io(row, curve) and _close(row.in_flight, point.in_flight, SAME_IN_FLIGHT)


def _peer(run: Diagnosis, like: Curve, point: CurvePoint) -> CurvePoint | None:
    for curve in run.verdict.curves:
        if same_io(curve, like):
            candidates = [p for p in curve.points if _close(p.in_flight, point.in_flight, SAME_IN_FLIGHT)]
            if candidates:
                return min(candidates, key=lambda p: abs(p.in_flight - point.in_flight))
    return None


def _close(first: float | None, second: float | None, tolerance: float) -> bool:
    return isclose(first or 0.0, second or 0.0, rel_tol=tolerance)

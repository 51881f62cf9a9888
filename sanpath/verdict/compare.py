"""Two runs side by side: only steps with the same I/O and as many in flight may be compared.

More in flight raises latency and may raise throughput with nothing changed; other block sizes change both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import hypot, isclose
from typing import Literal

from sanpath.verdict.model import Diagnosis, DirectionResult, Interval, StepResult

Outcome = Literal["FIXED", "MOVED", "NO CHANGE", "WORSE", "BETTER"]

_SAME_IN_FLIGHT = 0.05
_SAME_SIZE = 0.05
_LEAST_CHANGE = 0.03
"""A change below this is none, however steady the runs were: the same test repeated differs by as much."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One direction of a step of each run, with as many I/Os of one size in flight.

    Changes are ratios, 0.1 for a tenth more. `spread`: how far the two means may differ by chance, from the windows
    of both steps (two standard errors of the difference), at least 3 %.
    """

    direction: str
    in_flight: float
    before_step: str
    after_step: str
    before: DirectionResult
    after: DirectionResult
    throughput_change: float
    latency_change: float
    spread: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed between two runs. `predicted_ops_per_second`: what the run before had predicted for the relief of
    its bottleneck, None without a prediction; `unmatched`: steps that have no peer in the other run."""

    outcome: Outcome | None
    headline: str
    pairs: tuple[Pair, ...]
    unmatched: tuple[str, ...]
    predicted_ops_per_second: Interval | None


def compare(before: Diagnosis, after: Diagnosis) -> Comparison:
    """Compare two runs. `outcome` is None when no step of one has a peer in the other."""
    pairs = tuple(_pairs(before, after))
    matched = {("before", p.before_step) for p in pairs} | {("after", p.after_step) for p in pairs}
    unmatched = tuple(
        f"{step.name} ({when})"
        for when, run in (("before", before), ("after", after))
        for step in run.steps
        if (when, step.name) not in matched
    )
    outcome = _outcome(before, after, pairs)
    following = before.verdict.next
    predicted = following.predicted_ops_per_second if following else None
    return Comparison(outcome, _headline(after, pairs, outcome), pairs, unmatched, predicted)


def _pairs(before: Diagnosis, after: Diagnosis) -> Iterator[Pair]:
    taken: set[tuple[str, str]] = set()
    for old in before.steps:
        for direction, was in old.directions.items():
            for new in after.steps:
                now = new.directions.get(direction)
                key = (new.name, direction)
                if now is None or key in taken or not _same(old, was, new, now):
                    continue
                taken.add(key)
                yield _pair(direction, old, was, new, now)
                break


def _same(old: StepResult, was: DirectionResult, new: StepResult, now: DirectionResult) -> bool:
    flights = old.in_flight.configured, new.in_flight.configured
    if None in flights:
        flights = old.in_flight.measured, new.in_flight.measured
    if flights[0] is None or flights[1] is None or not isclose(flights[0], flights[1], rel_tol=_SAME_IN_FLIGHT):
        return False
    sizes = was.bytes_per_second / was.ops_per_second, now.bytes_per_second / now.ops_per_second
    return isclose(*sizes, rel_tol=_SAME_SIZE)


def _pair(direction: str, old: StepResult, was: DirectionResult, new: StepResult, now: DirectionResult) -> Pair:
    chance = 2 * hypot(was.throughput_spread or 0.0, now.throughput_spread or 0.0)
    return Pair(
        direction,
        new.in_flight.configured or new.in_flight.measured or 0.0,
        old.name,
        new.name,
        was,
        now,
        now.ops_per_second / was.ops_per_second - 1,
        now.latency_seconds.mean / was.latency_seconds.mean - 1,
        max(_LEAST_CHANGE, chance),
    )


def _outcome(before: Diagnosis, after: Diagnosis, pairs: tuple[Pair, ...]) -> Outcome | None:
    """Told from the pair with the most I/Os in flight: there a bottleneck shows most."""
    if not pairs:
        return None
    top = max(pairs, key=lambda pair: pair.in_flight)
    if top.throughput_change < -top.spread:
        return "WORSE"
    if top.throughput_change <= top.spread:
        return "NO CHANGE"
    old = {b.entity for b in before.verdict.bottlenecks}
    if not old:
        return "BETTER"
    new = {b.entity for b in after.verdict.bottlenecks}
    return "MOVED" if new - old else "BETTER" if new else "FIXED"


def _headline(after: Diagnosis, pairs: tuple[Pair, ...], outcome: Outcome | None) -> str:
    if not pairs or outcome is None:
        return "No step of one run has as many I/Os of the same size in flight as a step of the other."
    top = max(pairs, key=lambda pair: pair.in_flight)
    change = f"{top.throughput_change:+.1%} throughput and {top.latency_change:+.1%} latency"
    moved = f" to {after.verdict.bottlenecks[0].entity}" if outcome == "MOVED" else ""
    return (
        f"{outcome}{moved}: {change} at {top.in_flight:g} in flight, {top.direction} "
        f"(differences below {top.spread:.1%} are chance)."
    )

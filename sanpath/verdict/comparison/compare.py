"""Two runs side by side: only steps with the same I/O and as many in flight may be compared.

More in flight raises latency and may raise throughput with nothing changed; other block sizes change both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import hypot, isclose
from typing import Literal

from sanpath.errors import UsageError
from sanpath.facts.compute import Facts
from sanpath.verdict.comparison.differences import (
    Difference,
    FindingOutcome,
    differences,
    moved_wait,
    outcomes,
    seen_entities,
)
from sanpath.verdict.comparison.same_latency import AtLatency, at_latency
from sanpath.verdict.model import Bottleneck, Diagnosis, DirectionResult, Interval, Next, StepResult
from sanpath.verdict.prediction.predict import Check, checked
from sanpath.verdict.prediction.settings import settable
from sanpath.verdict.step_judgement import Judgement
from sanpath.verdict.units import bandwidth
from sanpath.verdict.whatif import what_if

Outcome = Literal["FIXED", "MOVED", "NO CHANGE", "WORSE", "BETTER"]

_OWN_CEILING = ("link", "lun", "vdisk")
"""Kinds of bottlenecks whose ceiling does not follow from what the test reached."""
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
    its bottleneck, None without a prediction; `unmatched`: steps that have no peer in the other run.

    `moved`: waits that are elsewhere and as long. `checks`: what the model makes of the run before with the settings
    of the run after, held against what came; `next`: what it says comes next.
    """

    outcome: Outcome | None
    headline: str
    pairs: tuple[Pair, ...]
    unmatched: tuple[str, ...]
    predicted_ops_per_second: Interval | None
    differences: tuple[Difference, ...] = ()
    findings: tuple[FindingOutcome, ...] = ()
    same_latency: tuple[AtLatency, ...] = ()
    moved: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    next: Next | None = None


def compare(before: Diagnosis, after: Diagnosis, latency_seconds: float | None = None) -> Comparison:
    """Compare two runs. `outcome` is None when no step of one has a peer in the other. `latency_seconds`: at which
    throughput is compared as well, None: the highest that both were tested at."""
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
    waits = (
        (p, moved_wait(before, after, (p.before_step, p.after_step), p.direction, max(p.spread, _LEAST_CHANGE)))
        for p in pairs
    )
    return Comparison(
        outcome,
        _headline(before, after, pairs, outcome),
        pairs,
        unmatched,
        predicted,
        tuple(differences(before, after)),
        (*_bottlenecks(before, after, outcome), *outcomes(before, after)),
        tuple(at_latency((before, after), latency_seconds)),
        tuple(f"{pair.after_step} {pair.direction}: {said}" for pair, said in waits if said is not None),
        next=after.verdict.next,
    )


def with_checks(comparison: Comparison, facts: Facts, judgements: Sequence[Judgement]) -> Comparison:
    """The comparison with what the model makes of the run before under the settings of the run after, held against
    what came. `facts` and `judgements`: of the run before."""
    written = [
        f"{d.entity}.{d.setting}={_written(d.after)}"
        for d in comparison.differences
        if settable(d.entity, d.setting) and not (d.after is None and d.setting in ("speed", "queue_depth"))
    ]
    if not written or not judgements:
        return comparison
    try:
        told = what_if(facts, judgements, written, relieve=False).steps
    except UsageError:
        # What a device said of itself is no setting that could be asked for: then nothing was predicted.
        return comparison
    found = []
    for pair in comparison.pairs:
        step = next((s for s in told if (s.step, s.direction) == (pair.before_step, pair.direction)), None)
        if step is not None and (check := checked(step, pair.after.ops_per_second, pair.spread)) is not None:
            found.append(check)
    return replace(comparison, checks=tuple(found))


def _written(value: object) -> str:
    return "none" if value is None else f"{value:.0f}" if isinstance(value, float) else str(value)


def _bottlenecks(before: Diagnosis, after: Diagnosis, outcome: Outcome | None) -> Iterator[FindingOutcome]:
    """What became of each bottleneck, by what came at as many I/Os in flight."""
    new = [b.entity for b in after.verdict.bottlenecks]
    for bottleneck in before.verdict.bottlenecks:
        unseen = outcome is None or bottleneck.entity not in seen_entities(after)
        told: str = "CANNOT TELL" if unseen else outcome or ""
        to = None
        if outcome in ("FIXED", "MOVED", "BETTER"):
            if outcome == "MOVED":
                told, to = "MOVED", new[0]
            elif new:
                told = "NO CHANGE"
            else:
                told = "CANNOT TELL" if after.verdict.kind == "cannot_tell" else "FIXED"
        yield FindingOutcome("bottleneck", bottleneck.entity, bottleneck.direction, told, to)


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
    old = before.verdict.bottlenecks
    if not old:
        return "BETTER"
    new = after.verdict.bottlenecks
    return "MOVED" if any(_elsewhere(b, old) for b in new) else "BETTER" if new else "FIXED"


def _elsewhere(bottleneck: Bottleneck, old: Sequence[Bottleneck]) -> bool:
    """Whether this is another limit than those before: another element, or the same one with a higher ceiling."""
    same = [b for b in old if bottleneck.entity in (b.entity, *b.coincident) and b.direction == bottleneck.direction]
    if not same:
        return bottleneck.entity not in {b.entity for b in old}
    was, now = same[0].ceiling_ops_per_second, bottleneck.ceiling_ops_per_second
    return (
        bottleneck.kind in _OWN_CEILING and bool(was) and bool(now) and (now or 0) > (1 + _LEAST_CHANGE) * (was or 0)
    )


def _where(before: Diagnosis, after: Diagnosis) -> str:
    """What limits now, with all that limits beside it; what did before, with the ceiling that it has got."""
    old = before.verdict.bottlenecks
    new = next(b for b in after.verdict.bottlenecks if _elsewhere(b, old))
    same = any(new.entity == b.entity for b in old)
    ceiling = new.ceiling_bytes_per_second
    if same and ceiling:
        return f"{new.entity} at its new ceiling of {bandwidth(ceiling)}"
    return " and ".join([", ".join((new.entity, *new.coincident[:-1])), *new.coincident[-1:]])


def _headline(before: Diagnosis, after: Diagnosis, pairs: tuple[Pair, ...], outcome: Outcome | None) -> str:
    if not pairs or outcome is None:
        return "No step of one run has as many outstanding I/Os of the same size as a step of the other."
    top = max(pairs, key=lambda pair: pair.in_flight)
    change = f"{top.throughput_change:+.1%} throughput and {top.latency_change:+.1%} latency"
    moved = f" to {_where(before, after)}" if outcome == "MOVED" else ""
    return (
        f"{outcome}{moved}: {change} at {top.in_flight:g} in flight, {top.direction} "
        f"(differences below {top.spread:.1%} are chance)."
    )

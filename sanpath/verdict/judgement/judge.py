"""The judgement of every step and direction: which of the claims made of it is believed, and how surely.

Where I/O waits is not what limits it: a full queue above a saturated element is a throttle, and the weighing books
its wait to that element. Nothing is asked in turn: all claims compete over one table of places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp

from sanpath.facts.compute import Facts
from sanpath.facts.host.vm_placement import moves_in
from sanpath.facts.load.loads import LoadFacts
from sanpath.verdict.evidence.healthy import not_healthy, rate_met
from sanpath.verdict.evidence.steady_state import as_far_as_steady
from sanpath.verdict.evidence.step import not_seen
from sanpath.verdict.judgement.experiment import decide, name_of
from sanpath.verdict.judgement.posterior import Suspicion, weighed
from sanpath.verdict.model import Grade, Kind, Suspect
from sanpath.verdict.places.scaling import in_words
from sanpath.verdict.places.table import PlaceTable, place_tables
from sanpath.verdict.step_judgement import Judgement
from sanpath.verdict.units import percent

_NAMED = 0.5
"""Probability from which on a suspect is named: it is more probable than all others together."""
_EXCLUDED = 0.55
"""The same for what no reading speaks for, but that nothing else accounts for the wait."""
_ACQUITS = 0.8
"""The same for saying that nothing limits: whoever reads that stops looking."""
_SURE: Sequence[tuple[float, int, Grade]] = ((0.97, 4, "A"), (0.85, 4, "B"))
"""Probability and whole windows of the slowest source from which on a verdict has a grade."""
_COINCIDENT = 0.1
"""Links whose probability is at least this share of the most probable one's are full with it."""
_QUEUEING = 0.2
"""Share of the latency that may wait or be unexplained where nothing is said to limit."""
_LISTED = 0.005
_MENTIONED = 0.05
_TELLING = ("link", "data_sheet")
"""Kinds of claims whose reading says how far what is known is used."""
_COUNTED = 2.0
"""Log-likelihood ratio of a reading that is evidence by itself."""
_ALONE = 0.9
"""What one step is worth that nothing confirms."""
_MOST = 8


def judge_all(facts: Facts, loads: Sequence[LoadFacts]) -> list[Judgement]:
    """One judgement a load, on the host that it ran on in its step."""
    tables = place_tables(facts, loads)
    return [_judge(table, found) for table, found in zip(tables, weighed(tables), strict=True)]


def _judge(table: PlaceTable, found: Sequence[Suspicion]) -> Judgement:
    facts, load = table.facts, table.load
    groups = _grouped(found)
    suspects = tuple(_suspect(load, group) for group in groups[:_MOST] if _together(group) >= _LISTED)
    first = groups[0]
    kind, why_not = _kind(table, first)
    alone = 1.0 if _confirmed(table, first) else _ALONE
    known = _known(table.windows) * alone
    probability = _together(first) * known
    if _together(first) < _needed(first):
        kind = "cannot_tell"
    conclusion = first[0].claim.conclude([one.claim for one in first])
    decision = decide(table, groups)
    if kind == "cannot_tell":
        because = _undecided(table, groups, why_not)
        judged = Judgement(load, kind, "C", (), because, decision, table.windows)
    else:
        because = (*conclusion.because, *why_not)
        grade, bottlenecks = _grade(probability, table.windows), conclusion.bottlenecks
        judged = Judgement(load, kind, grade, bottlenecks, because, decision, table.windows, conclusion.following)
    if kind == "cannot_tell":
        # Nothing is claimed: that the most probable suspect is the one is what may still be right.
        named = [group for group in groups if group[0].claim.verdict != "cannot_tell"]
        probability = _together(named[0]) * known if named else 0.0
    judged = replace(judged, probability=probability, suspects=suspects)
    settled = as_far_as_steady(facts, judged)
    # A step in which the virtual machine moved to another host is a mixture of both.
    moved = any(move.seen_us >= table.step.start for move in moves_in(facts.vm_placements, load))
    return replace(settled, grade="C") if moved else settled


def _needed(first: Sequence[Suspicion]) -> float:
    """The probability from which on a suspect is named."""
    claim = first[0].claim
    if claim.verdict == "concurrency_limited":
        return _ACQUITS
    return _NAMED if any(one.weight > 0 for one in claim.evidence) or claim.entity is None else _EXCLUDED


def _grouped(found: Sequence[Suspicion]) -> list[list[Suspicion]]:
    """Suspicions that come to the same verdict together: of one element, and of links that are full together. The
    most probable group first."""
    groups: list[list[Suspicion]] = []
    for one in found:
        mine = next((group for group in groups if _belongs(one, group[0])), None)
        if mine is None:
            groups.append([one])
        else:
            mine.append(one)
    ordered = sorted(groups, key=lambda group: -_together(group))
    # Of what is full together that is told first which nothing speaks against, as that nobody counted it.
    return [sorted(group, key=lambda one: any(e.weight < 0 for e in one.claim.evidence)) for group in ordered]


def _belongs(one: Suspicion, first: Suspicion) -> bool:
    mine, theirs = one.claim, first.claim
    if mine.verdict != theirs.verdict:
        return False
    if mine.joins is not None and mine.joins == theirs.joins:
        return one.probability >= _COINCIDENT * first.probability
    return mine.entity == theirs.entity and (mine.kind == theirs.kind or mine.entity is not None)


def _together(group: Sequence[Suspicion]) -> float:
    return sum(one.probability for one in group)


def _kind(table: PlaceTable, first: Sequence[Suspicion]) -> tuple[Kind, tuple[str, ...]]:
    """The kind of verdict the group comes to, and why it is not the better one that it might be."""
    kind = first[0].claim.verdict
    if kind not in ("concurrency_limited", "demand_limited"):
        return kind, ()
    if (waits := _waiting(table)) is not None:
        # A load that gets the rate it asks for is held by nothing, and may be served badly all the same.
        met = kind == "demand_limited" and rate_met(table.facts, table.load) is not None
        return kind if met else "cannot_tell", (waits,)
    return _healthy(table) if kind == "demand_limited" else (kind, ())


def _healthy(table: PlaceTable) -> tuple[Kind, tuple[str, ...]]:
    why_not = not_healthy(table)
    if why_not is None:
        return "healthy", ()
    return "demand_limited", (why_not,) if why_not else ()


def _waiting(table: PlaceTable) -> str | None:
    """Where more of the latency waits than a test without a limit shows; None: nowhere."""
    waits = [(segment.wait[0] if segment.blind else segment.wait[1], segment) for segment in table.segments]
    share = sum(seconds for seconds, _ in waits) / table.load.latency_seconds
    if share <= _QUEUEING:
        return None
    most = max(waits, key=lambda one: one[0])[1]
    return f"{percent(share)} of the latency are waiting or not accounted for, most of it by {most.source}"


def _undecided(table: PlaceTable, groups: Sequence[Sequence[Suspicion]], why_not: Sequence[str]) -> tuple[str, ...]:
    named = [(name_of(group[0].claim), _together(group)) for group in groups[:2]]
    several = " or ".join(f"{name} ({share:.0%})" for name, share in named if share >= _MENTIONED)
    read = [e.words for group in groups for e in group[0].claim.evidence if group[0].claim.kind in _TELLING]
    told = [*in_words(table.facts.loads, table.load), *why_not, *read]
    unseen = not_seen(table.facts, table.load, table.on_path, table.array)
    return (
        "; ".join([*told[:1], f"it may be {several}"]),
        *told[1:],
        *(e.words for group in groups[:2] for e in group[0].claim.evidence if e.words not in told),
        *(f"{what} could not be seen" for what in unseen),
    )


def _suspect(load: LoadFacts, group: Sequence[Suspicion]) -> Suspect:
    first = group[0].claim
    return Suspect(
        first.verdict,
        first.kind,
        first.entity,
        load.direction,
        _together(group),
        tuple(e.words for e in first.evidence if e.weight > 0),
        tuple(e.words for e in first.evidence if e.weight < 0),
        tuple(dict.fromkeys(e for o in group[1:] if (e := o.claim.entity) is not None and e != first.entity)),
    )


def _grade(probability: float, windows: int) -> Grade:
    return next((grade for least, few, grade in _SURE if probability >= least and windows >= few), "C")


def _confirmed(table: PlaceTable, group: Sequence[Suspicion]) -> bool:
    """Whether something that is counted stands at its limit, or another step tells how throughput scales."""
    counted = any(one.weight >= _COUNTED for one in group[0].claim.evidence)
    return counted or table.scaling.fewer is not None or table.scaling.more is not None


def _known(windows: int) -> float:
    """How much of a step its whole windows tell: one of them may be a ramp or a job of somebody else's."""
    return 1 - 0.2 * exp(1 - max(1, windows))

"""Judges every step and direction: which claim is the most credible, and with what probability.

The place where I/Os wait is not always the place that limits. A full queue above a saturated element only throttles:
the posterior attributes its wait to that element. Claims are not checked in any order: all compete over one table of
places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp

from sanpath.diagnosis.experiment import VerdictKind
from sanpath.diagnosis.model import Grade, Suspect
from sanpath.facts.facts import Facts
from sanpath.facts.host.vm_placement import moves_in
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.step_samples import MIN_WINDOWS
from sanpath.units import join_names, percent, percent_likely
from sanpath.verdict.evidence.healthy import met_rate, unhealthy_reason
from sanpath.verdict.evidence.step import answered_by_memory, drift, unread_parts
from sanpath.verdict.evidence.variation import held_back_ratio
from sanpath.verdict.hypotheses.claim import Claim, Conclusion, probability_of, suspect_name
from sanpath.verdict.hypotheses.links import KNOWN_BY_BYTES_RATIO, is_known_by_bytes
from sanpath.verdict.judgement.experiment_choice import choose_experiments
from sanpath.verdict.judgement.posterior import COUNTER_WEIGHT, rank_claims
from sanpath.verdict.model import MIN_PROBABILITY, NAMED, Judgement
from sanpath.verdict.places.latency_segment import LatencySegment
from sanpath.verdict.places.scaling import below_sector_in_words, throughput_in_words
from sanpath.verdict.places.table import HARDLY, PlaceTable, place_tables

_ACQUITTAL_PROBABILITY = 0.875
"""Probability needed for the verdict that nothing limits, seven to one: whoever reads this verdict stops
searching."""
_COINCIDENT_RATIO = 0.1
"""A link is named together with the most probable one from this share of that one's probability."""
_MAX_QUEUEING_RATIO = 0.2
"""Largest share of the latency that may be waiting or unexplained if the verdict is that nothing limits."""
_MIN_KEPT = 0.005
"""Probability from which a diagnosis contains a suspect."""
_MIN_MENTIONED = 0.05
"""Probability from which a suspect is mentioned in an undecided verdict."""
_WITH_UTILISATION = ("link", "data_sheet")
"""Kinds of claims whose reading includes a utilisation."""
_UNCONFIRMED_FACTOR = 0.9
"""Factor on the probability of an unconfirmed verdict: a single step, or a fixed time that must be distance."""
_SINGLE_WINDOW_ERROR = 0.2
"""Probability that a single window misleads, for example because of a ramp or another job: sanpath's own choice. Each
further window makes that rarer by e."""
_MAX_LISTED = 8
"""Largest number of listed suspects: sanpath's own choice. The remaining ones have hardly any probability."""
_BELOW_THE_LOAD = "something below the load"
"""Name of several unread places, if they differ."""


def judge_all(facts: Facts, loads: Sequence[LoadFacts]) -> list[Judgement]:
    """One judgement for each load, on the host that it ran on in its step."""
    tables = place_tables(facts, loads)
    return [_judge(table, claims) for table, claims in zip(tables, rank_claims(tables), strict=True)]


def _judge(table: PlaceTable, claims: Sequence[Claim]) -> Judgement:
    facts, load = table.facts, table.load
    groups = _grouped(claims)
    suspects = tuple(_suspect(table, group) for group in groups[:_MAX_LISTED] if probability_of(group) >= _MIN_KEPT)
    first = groups[0]
    kind, reasons = _kind(table, first[0])
    of_windows = 1 - _SINGLE_WINDOW_ERROR * exp(1 - max(1, table.windows))
    certainty = of_windows * (1.0 if _confirmed(table, first[0]) else _UNCONFIRMED_FACTOR)
    if is_known_by_bytes(first[0].entity or ""):
        certainty *= KNOWN_BY_BYTES_RATIO
    judged = Judgement(
        load=load,
        kind="cannot_tell",
        grade="C",
        experiments=choose_experiments(table, groups),
        windows=table.windows,
        suspects=suspects,
    )
    if _is_awaited(table, first[0]):
        # Suspects would be guesses at what a source is about to measure.
        because = (*reasons, *throughput_in_words(facts.loads, load))
        judged = replace(judged, because=because, suspects=(), experiments=())
    elif kind == "cannot_tell" or probability_of(first) < _needed_probability(first[0], certainty):
        # If the verdict names nothing, this is the probability of the leading suspect.
        named = next((group for group in groups if group[0].verdict != "cannot_tell"), ())
        because = _undecided_because(table, groups, reasons)
        judged = replace(judged, because=because, probability=probability_of(named) * certainty)
    else:
        conclusion = first[0].conclude(first)
        probability, because = probability_of(first) * certainty, (*conclusion.because, *reasons)
        reached = [grade for grade, least in MIN_PROBABILITY.items() if probability >= least]
        is_sure = table.windows >= MIN_WINDOWS and not _is_uncounted(conclusion)
        grade: Grade = reached[0] if reached and is_sure else "C"
        waits = [table.segments[index].wait[1] for index in first[0].explains & table.gaps]
        judged = replace(judged, kind=kind, grade=grade, probability=probability, wait_seconds=sum(waits) or None)
        judged = replace(judged, because=because, bottlenecks=conclusion.bottlenecks, following=conclusion.following)
    if (drift_words := drift(facts, load)) is not None:
        because = (*judged.because, f"not steady: {drift_words}; the result must not be extrapolated")
        judged = replace(judged, grade="B" if judged.grade == "A" else "C", because=because, following=None)
    if (sector_words := below_sector_in_words(facts.loads, load)) is not None:
        judged = replace(judged, because=(*judged.because, sector_words))
    # A step in which the virtual machine moved to another host is a mixture of both. So is one in which something
    # holds the load back only for a while.
    moved = any(move.seen_us >= table.step.start for move in moves_in(facts.vm_placements, load))
    return replace(judged, grade="C") if moved or held_back_ratio(table) else judged


def _is_uncounted(conclusion: Conclusion) -> bool:
    """Whether one of several links limits that no source counts: it is not known which one."""
    return any(each.kind == "link" and each.is_one_of_several for each in conclusion.bottlenecks)


def _needed_probability(claim: Claim, certainty: float) -> float:
    """The probability that a suspect needs to be named. `certainty`: factor from this probability to the reported
    one."""
    if claim.verdict == "concurrency_limited":
        return _ACQUITTAL_PROBABILITY
    return NAMED / certainty


def _grouped(claims: Sequence[Claim]) -> list[list[Claim]]:
    """Groups claims with the same verdict: about one element, or about links that are full together. The most
    probable group comes first."""
    groups: list[list[Claim]] = []
    for claim in claims:
        matching = next((group for group in groups if _same_suspect(claim, group[0])), None)
        if matching is None:
            groups.append([claim])
        else:
            matching.append(claim)
    groups.sort(key=lambda group: -probability_of(group))
    for group in groups:
        # The most probable explanation describes the element: a full queue and a path policy of one LUN need
        # different remedies. Among likely links, those without counter-evidence, such as a missing counter, come
        # first.
        kind, least = group[0].kind, _COINCIDENT_RATIO * group[0].probability
        likely = [claim for claim in group if claim.probability >= least]
        group.sort(key=lambda c: (c.kind != kind, c.probability < least, any(e.weight < 0 for e in c.evidence)))
        if group[0].verdict == "cannot_tell" and len({claim.place for claim in likely}) > 1:
            group[:] = [replace(claim, place=_BELOW_THE_LOAD) for claim in group]
    return groups


def _same_suspect(claim: Claim, first: Claim) -> bool:
    if claim.verdict != first.verdict:
        return False
    if claim.group is not None and claim.group == first.group:
        return claim.probability >= _COINCIDENT_RATIO * first.probability
    return claim.entity == first.entity and (claim.kind == first.kind or claim.entity is not None)


def _kind(table: PlaceTable, claim: Claim) -> tuple[VerdictKind, tuple[str, ...]]:
    """The kind of verdict that a claim leads to, and the reasons why it is not a better one."""
    kind = claim.verdict
    if _is_awaited(table, claim):
        return "cannot_tell", (f"the step has no whole window of {join_names(table.awaited)} yet",)
    if kind not in ("concurrency_limited", "demand_limited"):
        return kind, ()
    if kind == "concurrency_limited" and answered_by_memory(table.facts, table.load):
        return "cannot_tell", ("memory answers the I/Os, not the storage",)
    met = kind == "demand_limited" and met_rate(table.facts, table.load) is not None
    if (reason := _waiting_reason(table)) is not None:
        # Nothing limits a load that reaches its requested rate, even if its latency is bad.
        return kind if met or _pauses_hide_waiting(table, kind) else "cannot_tell", (reason,)
    if not met or not table.load.in_flight_configured:
        return kind, ()
    reason = unhealthy_reason(table)
    return ("healthy", ()) if reason is None else (kind, (reason,))


def _pauses_hide_waiting(table: PlaceTable, kind: VerdictKind) -> bool:
    """Whether the load pauses between its I/Os for so long that waiting is a small part of the whole, pauses
    included: without any wait, throughput would hardly be higher."""
    outstanding_ratio = table.in_flight_ratio
    if kind != "demand_limited" or not table.step.rate_limited or outstanding_ratio is None:
        return False
    return _waiting_ratio(table) * min(1.0, outstanding_ratio) <= _MAX_QUEUEING_RATIO


def _waiting_ratio(table: PlaceTable) -> float:
    """Share of the latency that certainly is waiting."""
    seconds = sum(_surely_waiting_seconds(segment) for segment in table.segments)
    return min(1.0, seconds / table.load.cycle_seconds)


def _waiting_reason(table: PlaceTable) -> str | None:
    """Why too much of the latency is waiting for a verdict that nothing limits. None: it is not."""
    share = _waiting_ratio(table)
    if share <= _MAX_QUEUEING_RATIO:
        return None
    longest = max(table.segments, key=_surely_waiting_seconds)
    return f"{percent(share)} of the latency is waiting or not accounted for; the largest part: {longest.source}"


def _surely_waiting_seconds(segment: LatencySegment) -> float:
    """Seconds of a segment that certainly are waiting: fewer if they may also be service or distance, or if a clock
    of whole milliseconds leaves the time open."""
    if segment.includes_service or segment.own_wait != segment.wait:
        return segment.own_wait[0]
    shortest, longest = segment.seconds
    return max(segment.wait[0], segment.wait[1] - (longest - shortest) / 2)


def _undecided_because(
    table: PlaceTable, groups: Sequence[Sequence[Claim]], reasons: Sequence[str]
) -> tuple[str, ...]:
    named = [(suspect_name(group[0]), probability_of(group)) for group in groups[:2]]
    names = " or ".join(f"{name} ({percent_likely(share)})" for name, share in named if share >= _MIN_MENTIONED)
    # One claim of each kind: of a group of links, the one with the best evidence.
    claims = [claim for group in groups for claim in {each.kind: each for each in reversed(group)}.values()]
    readings = [e.words for claim in claims if claim.kind in _WITH_UTILISATION for e in claim.evidence]
    words = [*throughput_in_words(table.facts.loads, table.load), *reasons, *readings]
    unseen = unread_parts(table.facts, table.load, table.on_path, table.array)
    return (
        "; ".join([*words[:1], f"it may be {names}"]),
        *words[1:],
        *(e.words for group in groups[:2] for e in group[0].evidence if e.words not in words),
        *(f"not measured: {description}" for description in unseen),
    )


def _suspect(table: PlaceTable, group: Sequence[Claim]) -> Suspect:
    first, entities = group[0], dict.fromkeys(claim.entity for claim in group)
    wait = table.wait_words(first.explains)
    words = f"{wait} can be waiting there" if wait.startswith(HARDLY) else f"I/Os may be waiting there: {wait}"
    return Suspect(
        verdict=first.verdict,
        kind=first.kind,
        entity=first.entity,
        direction=table.load.direction,
        probability=probability_of(group),
        because=tuple([e.words for e in first.evidence if e.weight >= 0] or ([words] if first.explains else [])),
        against=tuple(e.words for e in first.evidence if e.weight < 0),
        coincident=tuple(entity for entity in entities if entity is not None and entity != first.entity),
        place=first.place,
        machine=first.machine,
    )


def _unmeasured_seconds(segment: LatencySegment) -> float:
    """Seconds of a segment that no source measures, and that must be distance or service if they are not waiting."""
    fixed_seconds = segment.wait[1] - segment.own_wait[1]
    if segment.kind != "below":
        return fixed_seconds
    distance_seconds = sum(segment.distance or (0.0, 0.0)) / 2
    return max(fixed_seconds, segment.middle - segment.wait[1] - segment.usual_service[0] - distance_seconds)


def _confirmed(table: PlaceTable, claim: Claim) -> bool:
    """Whether a counter is at its limit, or another step shows how throughput scales.

    The verdict that nothing limits is not confirmed if a long, unmeasured time must be distance or service: with few
    I/Os in flight and with many, a path that loses frames takes equally long, and so does a place that others fill.
    """
    unmeasured = sum(_unmeasured_seconds(segment) for segment in table.segments)
    is_unmeasured = unmeasured > _MAX_QUEUEING_RATIO * table.load.cycle_seconds
    if claim.verdict == "concurrency_limited" and is_unmeasured:
        return False
    return _is_counted(claim) or bool(table.towards_fewer or table.towards_more)


def _is_awaited(table: PlaceTable, claim: Claim) -> bool:
    """Whether a claim may rest on what a source has not measured yet: no counter is at its limit."""
    is_sure = _is_counted(claim) and all(evidence.weight >= 0 for evidence in claim.evidence)
    return bool(table.awaited) and not is_sure


def _is_counted(claim: Claim) -> bool:
    """Whether a counter is at its limit."""
    return any(evidence.weight >= COUNTER_WEIGHT for evidence in claim.evidence)

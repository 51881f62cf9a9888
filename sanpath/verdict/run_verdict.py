"""From the judgements of all steps to the verdict of the run: knee, unloaded latency, what comes next, headline."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import log2

from sanpath.facts.compute import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.verdict.explanation.headline import headline
from sanpath.verdict.model import R0, Cleared, Verdict
from sanpath.verdict.prediction.curves import curves
from sanpath.verdict.prediction.predict import calmest
from sanpath.verdict.step_judgement import Judgement

SAME_THROUGHPUT = 0.06
_AS_DEEP = 0.9
"""Steps with this share of the most I/Os in flight in their direction are as deep: the other direction decides."""
_AS_MANY = 0.3
"""Directions of which one has at least this share of the other's I/Os in flight have about as many."""

_HARDLY = 1e-6


def deciding(judgements: Sequence[Judgement]) -> Judgement:
    """Of the step with the highest throughput in one direction, within 6 % that with most in flight, the direction in
    which its I/Os spend their time."""
    best = max(judgements, key=lambda j: j.load.bytes_per_second).load
    near = [j.load for j in judgements if _as_fast(j.load, best)]
    in_flight: defaultdict[str, float] = defaultdict(float)
    for j in judgements:
        in_flight[j.load.step] += j.load.in_flight_measured
    most = max(load.in_flight_measured for load in near)
    deepest = [load for load in near if load.in_flight_measured >= _AS_DEEP * most]
    step = max(deepest, key=lambda load: (in_flight[load.step], load.bytes_per_second)).step
    here = [j for j in judgements if j.load.step == step]
    most = max(j.load.in_flight_measured for j in here)
    # A mixed loop is held by the direction that is held: the other one then has too little in flight.
    alike = [j for j in here if j.load.in_flight_measured >= _AS_MANY * most]
    held = [j for j in alike if j.bottlenecks or j.kind == "generator_limited"]
    return max(held or alike, key=_surely_held if held else lambda j: j.load.in_flight_measured)


def _surely_held(judged: Judgement) -> float:
    """How many I/Os are held, as far as that is sure; roughly, so that of equals the first wins."""
    return round(log2(max(_HARDLY, judged.probability * judged.load.in_flight_measured)) * 5)


def _as_fast(load: LoadFacts, best: LoadFacts) -> bool:
    """Within 6 % of the best, in bytes; or in operations, where a mix of sizes makes bytes scatter."""
    least = 1 - SAME_THROUGHPUT
    if load.bytes_per_second >= least * best.bytes_per_second:
        return True
    return load.comparable(best) and load.ops_per_second >= least * best.ops_per_second


def run_verdict(facts: Facts, judgements: Sequence[Judgement], cleared: Sequence[Cleared]) -> Verdict:
    """The verdict of the run."""
    if not judgements:
        why, decide = _nothing(facts)
        return Verdict("cannot_tell", "C", "", why, (), None, None, R0(None, None), None, decide)
    judged = deciding(judgements)
    r0 = unloaded(facts, judgements, judged)
    knee = judged.load.ops_per_second * r0.seconds if r0.seconds and judged.limiter else None
    same = [j for j in judgements if j.load.comparable(judged.load)]
    fewest = min(j.load.in_flight_measured for j in same)
    below = fewest if judged.limiter and knee is None else None
    return Verdict(
        judged.kind,
        judged.grade,
        judged.load.step,
        headline(facts, judged, same, _beside(judgements, judged), cleared),
        (*judged.bottlenecks, *(b for j in _beside(judgements, judged) for b in j.bottlenecks)),
        knee,
        below,
        r0,
        judged.following,
        judged.experiment.in_words if judged.experiment is not None else None,
        curves(facts.topology, [j.load for j in judgements]),
        judged.probability,
        judged.suspects,
        judged.experiment,
    )


def _nothing(facts: Facts) -> tuple[str, str]:
    """Why nothing can be judged, and what would help."""
    if any(step.origin == "marks" for step in facts.steps):
        longest = max(step.seconds for step in facts.steps)
        why = (
            f"no step is long enough: the longest has {longest:.0f} s after its ramp, and no whole window lies in it"
        )
        return why, "steps of at least four polls of the slowest source after their ramp"
    return "no I/O of a load was seen: nothing can be judged", "run a load that sanpath reads: sanpath run -- fio …"


def _beside(judgements: Sequence[Judgement], judged: Judgement) -> list[Judgement]:
    """The other direction of the same step, where it is held by a limit of its own."""
    if judged.limiter is None:
        return []
    mine = {(b.entity, b.direction) for b in judged.bottlenecks}
    return [
        j
        for j in judgements
        if j is not judged
        and j.load.step == judged.load.step
        and j.bottlenecks
        and not mine & {(b.entity, b.direction) for b in j.bottlenecks}
    ]


def unloaded(facts: Facts, judgements: Sequence[Judgement], judged: Judgement) -> R0:
    """Latency without a queue: that of the step with fewest I/Os in flight, if nothing was saturated in it."""
    calm = calmest(facts, judgements, judged)
    return R0(None, None) if calm is None else R0(calm.load.latency_seconds, calm.load.step)

"""Whether a step had settled: a drift that is no noise takes a grade, and nothing is extrapolated from it."""

from __future__ import annotations

from dataclasses import replace

from sanpath.facts.compute import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import number
from sanpath.verdict.model import Grade
from sanpath.verdict.step_judgement import Judgement
from sanpath.verdict.units import percent

DRIFT = 0.05
"""As the rule test-not-steady: half of what the steady state of SNIA's Solid State Storage Performance Test
Specification allows over its measurement window."""
KEPT = 0.8
"""As the rule test-not-steady: throughput may rise at first, as caches warm; what falls has been used up."""
_LOWER: dict[Grade, Grade] = {"A": "B", "B": "C", "C": "C"}


def drift(facts: Facts, load: LoadFacts) -> str | None:
    """How throughput and latency moved over the second half of a step, or that throughput fell before, as a clause.
    None: they did not, or there are too few windows to tell it from noise."""
    row = next(iter(facts.tables["load"].select(step=load.step, direction=load.direction)), None)
    if row is None:
        return None
    if (held := number(row, "held_throughput")) and held < KEPT:
        return f"from the first quarter of the step to the last throughput falls to {percent(held)}"
    trends = {what: number(row, f"{what}_trend") for what in ("throughput", "latency")}
    if all(abs(trend) <= DRIFT for trend in trends.values()):
        return None
    said = " and ".join(f"{what} {trend:+.1%}".replace("%", " %") for what, trend in trends.items() if trend)
    return f"{said} over the second half of the step"


def as_far_as_steady(facts: Facts, judged: Judgement) -> Judgement:
    """The judgement, with a lower grade and no prediction where the step had not settled."""
    moved = drift(facts, judged.load)
    if moved is None:
        return judged
    because = (*judged.because, f"not steady: {moved}; nothing may be extrapolated from it")
    return replace(judged, grade=_LOWER[judged.grade], because=because, following=None)

"""Whether a step was steady: a drift that is no noise lowers the grade, and nothing is extrapolated from it."""

from __future__ import annotations

from sanpath.facts.compute import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import number
from sanpath.units import percent

DRIFT = 0.05
"""Relative drift from which a step is not steady, as in the rule test-not-steady.

It is half of what the steady state of SNIA's Solid State Storage Performance Test Specification allows over its
measurement window.
"""
RETAINED = 0.8
"""Share of its first throughput that a step must retain to its end, as in the rule test-not-steady.

Throughput may rise at first, as caches warm; where it falls, something has been used up.
"""


def drift(facts: Facts, load: LoadFacts) -> str | None:
    """How throughput and latency moved over the second half of a step, or that throughput fell before, as a clause.

    None: they did not, or there are too few windows to tell it from noise.
    """
    row = next(iter(facts.tables["load"].select(step=load.step, direction=load.direction)), None)
    if row is None:
        return None
    if (retained := number(row, "held_throughput")) and retained < RETAINED:
        return f"from the first quarter of the step to the last throughput falls to {percent(retained)}"
    trends = {metric: number(row, f"{metric}_trend") for metric in ("throughput", "latency")}
    if all(abs(trend) <= DRIFT for trend in trends.values()):
        return None
    words = " and ".join(f"{metric} {trend:+.1%}".replace("%", " %") for metric, trend in trends.items() if trend)
    return f"{words} over the second half of the step"

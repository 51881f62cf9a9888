"""The highest load under a latency objective, such as p99 <= 2 ms: a bisection over outstanding I/Os."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from sanpath.errors import UsageError

_GROWTH_FACTOR = 4
"""Factor by which the load grows from step to step until the objective is first missed."""
_MAX_GAP_FACTOR = 1.15
"""The search ends if the lowest load that misses the objective is at most this multiple of the highest good one."""
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
_STATISTICS = ("mean", "p50", "p95", "p99", "max")


@dataclass(frozen=True, slots=True)
class Objective:
    """A latency objective. `statistic`: mean, p50, p95, p99 or max."""

    statistic: str
    seconds: float
    text: str


@dataclass(frozen=True, slots=True)
class Latency:
    """The latency of a step with so many outstanding I/Os. `seconds` None: the load does not report the statistic."""

    in_flight: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Highest:
    """The highest load that meets an objective. `in_flight` None: even the smallest load misses it.

    `is_missed_above`: a higher load missed it; otherwise the budget allows no higher one.
    """

    in_flight: int | None
    is_missed_above: bool = True


def parse_objective(text: str) -> Objective:
    """Read `p99<=2ms`. Raises UsageError."""
    match = re.fullmatch(r"\s*([a-z0-9]+)\s*<=?\s*([0-9.]+)\s*(us|ms|s)\s*", text)
    if match is None or match[1] not in _STATISTICS or not re.fullmatch(r"\d+(\.\d+)?", match[2]):
        raise UsageError(
            f"--objective: {text!r} is not an objective: write p99<=2ms, or another of {', '.join(_STATISTICS)}"
        )
    seconds = float(match[2]) * _UNITS[match[3]]
    if not seconds:
        raise UsageError("--objective: give a latency above zero")
    return Objective(match[1], seconds, f"{match[1]} <= {match[2]} {match[3]}")


def next_in_flight(
    latencies: Sequence[Latency], objective: Objective, max_in_flight: int, share: int = 1
) -> int | Highest:
    """The outstanding I/Os of the next step, or the result.

    `latencies`: the steps so far, in their order. `max_in_flight`: the most that may be outstanding; `share`: a step
    needs a multiple of it. The last step repeats the highest load that met the objective: it has to be met twice.
    """
    missed = min((latency.in_flight for latency in latencies if not _met(latency, objective)), default=None)
    all_met = [latency.in_flight for latency in latencies if _met(latency, objective)]
    met = [in_flight for in_flight in all_met if missed is None or in_flight < missed]
    highest, max_in_flight = max(met, default=None), max_in_flight // share * share
    if highest is None:
        return Highest(None) if missed is not None and missed <= share else share
    if missed is None and highest < max_in_flight:
        return min(max_in_flight, _GROWTH_FACTOR * highest)
    if missed is not None and missed > _MAX_GAP_FACTOR * highest:
        middle = share * round(sqrt(highest * missed) / share)
        if highest < middle < missed:
            return middle
    if met.count(highest) > 1:
        return Highest(highest, missed is not None)
    return highest


def _met(latency: Latency, objective: Objective) -> bool:
    return latency.seconds is not None and latency.seconds <= objective.seconds

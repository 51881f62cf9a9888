"""A claim: one explanation of what holds a load, what of the latency it explains, and the evidence for it.

Evidence is the logarithm of how much more probable a reading is if the claim holds than if it does not, so that
readings add up and no threshold is a cliff. What was not read is worth nothing either way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, log, pi, sqrt
from typing import Literal

from sanpath.verdict.model import Bottleneck, Kind, Next

Growth = Literal["saturates", "follows", "any"]
"""What throughput does with more I/Os in flight, if the claim holds: nothing more comes, it follows, or either."""

_FULL_ERROR = 0.025
"""Standard error of a utilisation: frame model 1 %, agents' caches and late polls the rest."""
_BURSTS = 0.15
"""Share of limiting elements that are below their limit in the mean: in bursts, or just at the knee."""
_FULL_BY_CHANCE = 0.05
"""Density of elements that are full and limit nothing: behind a cap just as large, or full beside another one."""
_USUAL_STALL = 0.03
"""Mean share of the time that a port of a sound, busy fabric waits for credit."""
DEPTH_ERROR = 0.05
"""Slots in use are throughput times latency: both are off by their windows, a coarse clock by more."""
_NOT_ONE = 6.0
_SINGLE = 1.5
_BY_HAND = 0.7
_FLOOR = 1e-3
"""Nothing that was read is impossible: counters are wrong, too."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A reading in words, and its log-likelihood ratio: positive speaks for the claim. `of_slots`: it says how full a
    queue is in one step, whatever limits below it."""

    words: str
    weight: float
    of_slots: bool = False


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What a claim says once it is believed. `following`: what would limit next, None: nothing says."""

    bottlenecks: tuple[Bottleneck, ...]
    because: tuple[str, ...]
    following: Next | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """`explains`: segments of the table whose wait it explains; queues that are full above them are held by it, too.
    `conclude`: the words and figures, called for what is named with the other claims of its kind that cannot be told
    from it. `prior`: log-odds before anything was read. `hidden`: what waits for it may wait where no clock runs.
    `alone`: it makes I/Os wait without others in flight. `joins`: claims of this name may hold together, as links in
    a row that are full; None: it stands alone. `also`: segments whose wait it may account for besides, but not by
    themselves."""

    verdict: Kind
    kind: str
    entity: str | None
    explains: frozenset[int]
    evidence: Sequence[Evidence]
    growth: Growth
    conclude: Callable[[Sequence[Claim]], Conclusion]
    prior: float = 0.0
    hidden: bool = False
    alone: bool = False
    joins: str | None = None
    also: frozenset[int] = frozenset()

    @property
    def accuses(self) -> bool:
        """Whether it names an element."""
        return self.verdict in ("bottleneck", "configured_cap")


def normal(value: float, mean: float, error: float) -> float:
    """Density of a normal distribution."""
    return exp(-(((value - mean) / error) ** 2) / 2) / (error * sqrt(2 * pi))


def at_limit(used: float, error: float = _FULL_ERROR, bursts: float = _BURSTS) -> float:
    """Log-likelihood ratio of using a share of a limit: it is the limit, or it is not, and then it is the less
    probable the nearer it lies: what is nearly full makes I/Os wait. `bursts`: how probable it is that what limits is
    below its limit in the mean."""
    near = normal(min(used, 1.0), 1.0, error) if used <= 1 + 4 * error else normal(used, 1.0, error)
    burst = 2 * max(0.0, used - 0.6) / 0.4 / 0.4 if used <= 1.0 else 0.0
    free = 2 * max(0.0, 1 - used) + _FULL_BY_CHANCE
    return log((1 - bursts) * near + bursts * burst + _FLOOR * max(used, 0.01)) - log(free)


def counted(events: float, usual: float = 0.5) -> float:
    """Log-likelihood ratio of a number of events that a sound path hardly shows: grows with their logarithm."""
    return min(6.0, 2.0 * log((1 + events) / (1 + usual)))


def stall_weight(stall: float) -> float:
    """Log-likelihood ratio of a share of time without credit: ports of a sound fabric wait a few percent of it at
    most, an exponential tail, against any share. It may stall and hold nobody up: more than four it never tells."""
    return min(4.0, stall / _USUAL_STALL + log(_USUAL_STALL))


def full_queue(slots: float) -> float:
    """Log-likelihood ratio of a queue that lets this many I/Os through at once and nobody reads: the time below it
    times throughput (Little). None lets through less than one; disks of a SAN queue commands, so that hardly any lets
    through just one; drivers let through some dozens by default, so that a few are somebody's setting."""
    few = min(slots, 10.0)
    none, one, several = exp((few - 0.8) / 0.06), exp((few - 1.5) / 0.1), exp(few - 4)
    return -_NOT_ONE / (1 + none) - _SINGLE / (1 + one) - _BY_HAND / (1 + several)

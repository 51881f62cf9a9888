"""A claim: one explanation of what limits a load, which waits it explains, and the evidence for and against it.

Evidence is a log-likelihood ratio: how much more probable a reading is if the claim holds than if it does not. So
readings add up, and no threshold is a cliff. A value that was not read counts nothing either way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import exp, log, log2, pi, sqrt
from typing import Literal

from sanpath.diagnosis.experiment import Kind
from sanpath.diagnosis.model import Bottleneck, Next
from sanpath.facts.load.loads import LoadFacts
from sanpath.verdict.places.host_queues import wait_at
from sanpath.verdict.places.table import PlaceTable

Growth = Literal["saturates", "follows", "any"]
"""What throughput does with more I/Os in flight if the claim holds: it saturates, it grows with them, or either."""

_FULL_ERROR = 0.025
"""Standard error of a utilisation: 1 % from the frame model, the rest from agents' caches and late polls."""
_BURSTS = 0.15
"""Share of limiting elements whose mean is below their limit: they work in bursts, or are just at the knee."""
_PROCESSOR_ERROR, _PROCESSOR_BURSTS = 0.03, 0.03
"""Both for a processor or a thread."""
_FULL_BY_CHANCE = 0.05
"""Density of elements that are full but limit nothing: behind an equal cap, or next to another full element."""
_USUAL_STALL = 0.03
"""Mean share of the time that a port of a sound, busy fabric waits for credit."""
UNEXPLAINED = 0.08
"""Mean share of waiting at a place that does not limit: queueing at moderate load, and clocks that do not agree."""
DEPTH_ERROR = 0.05
"""Relative standard error of slots in use. They are throughput times latency, and both err by their windows, more
with a coarse clock."""
_BELOW_ONE_SLOT = 6.0
_SINGLE_SLOT = 1.5
_FEW_SLOTS = 0.7
NO_CEILING = (None, None)
"""The ceiling of an element is not known."""
_FLOOR = 1e-3
"""Lowest density: no reading is impossible, because counters can be wrong as well."""

_POWERS_OF_TWO = 0.6
"""Share of queue depths that are powers of two: 32 and 64 are drivers' defaults, 30 and 254 are among the others."""
_LEAST_DEFAULT_DEPTH = 12.0
_EXPONENT_ERROR = 0.015
"""Error of the binary logarithm of a number of I/Os: one percent."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A reading in words, with its log-likelihood ratio as `weight`: a positive one speaks for the claim.

    `about_slots`: it says how full a queue is in one step, whatever limits below that queue.
    """

    words: str
    weight: float
    about_slots: bool = False


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What a claim states once it is believed. `following`: what would limit next, None: unknown."""

    bottlenecks: tuple[Bottleneck, ...]
    because: tuple[str, ...]
    following: Next | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """One explanation of what limits a load: by default an element that is saturated.

    `explains`: indices of the segments whose wait it explains; it also explains full queues above them. `conclude`:
    gives the words and figures for the verdict, from this claim and those of its kind that cannot be separated from
    it. `prior`: log-odds before any reading. `hidden`: its wait may be where no clock measures.
    `independent_of_load`: it delays an I/O even with no other I/O in flight. `group`: claims of the same group may
    hold together, such as full links in a row; None: it stands by itself. `may_explain`: segments whose wait it may
    also account for, but not alone. `others_share`: share of what it serves that is not the test's, 0 if unknown.
    """

    kind: str
    entity: str | None
    explains: frozenset[int]
    evidence: Sequence[Evidence]
    conclude: Callable[[Sequence[Claim]], Conclusion]
    prior: float = 0.0
    verdict: Kind = "bottleneck"
    growth: Growth = "saturates"
    hidden: bool = False
    independent_of_load: bool = False
    group: str | None = None
    may_explain: frozenset[int] = frozenset()
    others_share: float = 0.0

    @property
    def accuses(self) -> bool:
        """Whether it names an element."""
        return self.verdict in ("bottleneck", "configured_cap")


def limited_by(
    table: PlaceTable,
    entity: str,
    kind: str,
    layer: str,
    because: Sequence[str],
    overturn_if: Sequence[str],
    *,
    waits_inside: bool = False,
    ceiling: tuple[float | None, float | None] | None = None,
    coincident: Iterable[str] = (),
    utilisation: float | None = None,
    explains: float | None = None,
    following: Next | None = None,
) -> Conclusion:
    """The conclusion that an element limits the load of a table.

    `waits_inside`: the I/Os wait in the element itself, also where a queue above it holds most of them. `ceiling`:
    (bytes a second, operations a second) of the load, None: what it reached. The other parameters are the fields of
    Bottleneck and Conclusion.
    """
    load = table.load
    bytes_per_second, ops_per_second = ceiling or (load.bytes_per_second, load.ops_per_second)
    bottleneck = Bottleneck(
        entity=entity,
        kind=kind,
        layer=layer,
        direction=load.direction,
        utilisation=utilisation,
        ceiling_bytes_per_second=bytes_per_second,
        ceiling_ops_per_second=ops_per_second,
        coincident=tuple(coincident),
        wait_at=entity if waits_inside else wait_at(table.facts, load, entity),
        explains=explains,
        because=tuple(because),
        overturn_if=tuple(overturn_if),
    )
    return Conclusion((bottleneck,), tuple(because), following)


def other_entities(entity: str, claims: Sequence[Claim]) -> tuple[str, ...]:
    """The other entities that the claims name, each once."""
    return tuple(dict.fromkeys(str(claim.entity) for claim in claims if claim.entity != entity))


def share_gone(seconds: float, latency_seconds: float) -> float:
    """Share of a latency that goes if only `seconds` of it are left, 0 to 1."""
    return min(1.0, max(0.0, 1 - seconds / latency_seconds))


def next_of(load: LoadFacts, entity: str, change: str, high: float) -> Next:
    """The next limit, which lies between what the load reached and `high` operations a second."""
    low, in_flight = load.ops_per_second, load.in_flight_measured
    return Next(entity, change, (low, high), (in_flight / high, in_flight / low))


def gain_of(following: Next | None, load: LoadFacts) -> float | None:
    """Share of the latency that goes with the limit: (R - R without it) / R at the same number in flight.

    What limits next gives R without the limit. None: that is unknown.
    """
    return None if following is None else share_gone(following.predicted_latency_seconds[0], load.latency_seconds)


def payload_ceiling(load: LoadFacts, bytes_per_second: float) -> tuple[float, float | None]:
    """A ceiling of payload, as (bytes, operations) a second of the load."""
    return bytes_per_second, bytes_per_second / load.operation_bytes if load.operation_bytes else None


def normal(value: float, mean: float, error: float) -> float:
    """Density of a normal distribution."""
    return exp(-(((value - mean) / error) ** 2) / 2) / (error * sqrt(2 * pi))


def at_limit(utilisation: float, error: float = _FULL_ERROR, bursts: float = _BURSTS) -> float:
    """Log-likelihood ratio of a utilisation of a limit: the element limits, or it does not.

    An element that does not limit is less probable the closer it is to its limit, because a nearly full element
    delays I/Os. `bursts`: probability that a limiting element is below its limit in the mean.
    """
    limiting = (
        normal(min(utilisation, 1.0), 1.0, error) if utilisation <= 1 + 4 * error else normal(utilisation, 1.0, error)
    )
    bursting = 2 * max(0.0, utilisation - 0.6) / 0.4 / 0.4 if utilisation <= 1.0 else 0.0
    not_limiting = 2 * max(0.0, 1 - utilisation) + _FULL_BY_CHANCE
    return log((1 - bursts) * limiting + bursts * bursting + _FLOOR * max(utilisation, 0.01)) - log(not_limiting)


def without_pause(busy_ratio: float) -> float:
    """Log-likelihood ratio of how busy a processor or a thread was: one that limits works without a pause.

    It shows 97 to 100 %, because kernels count in ticks and a thread also waits for its processor. The mean of a step
    hardly hides it: only bursts would.
    """
    return at_limit(busy_ratio, _PROCESSOR_ERROR, _PROCESSOR_BURSTS)


def counted(events: float, usual: float = 0.5) -> float:
    """Log-likelihood ratio of a number of events that a sound path hardly shows; it grows with their logarithm."""
    return min(6.0, 2.0 * log((1 + events) / (1 + usual)))


def stall_weight(stall: float) -> float:
    """Log-likelihood ratio of the share of time without credit.

    Ports of a sound fabric wait a few percent of the time at most (exponential tail); on a stalled port any share is
    equally probable. The ratio is never above four, because a port may stall and delay nobody.
    """
    return min(4.0, stall / _USUAL_STALL + log(_USUAL_STALL))


def full_queue(slots: float) -> float:
    """Log-likelihood ratio that a queue nobody reads is full, by the I/Os that it would let through at once.

    `slots` is the time below the queue times throughput (Little's law). No queue lets through less than one. Disks of
    a SAN queue commands, so hardly any lets through just one. Drivers let through some dozens by default, so a few
    slots are a deliberate setting.
    """
    depth = min(slots, 10.0)
    below_one, single, few = exp((depth - 0.8) / 0.06), exp((depth - 1.5) / 0.1), exp(depth - 4)
    sizes = -_BELOW_ONE_SLOT / (1 + below_one) - _SINGLE_SLOT / (1 + single) - _FEW_SLOTS / (1 + few)
    return sizes + usual_depth(slots)


def usual_depth(slots: float) -> float:
    """Log-likelihood ratio of how close a number of I/Os is to a power of two, as most queue depths are; 0 for a few
    I/Os, which are near one anyhow."""
    if slots < _LEAST_DEFAULT_DEPTH:
        return 0.0
    exponent = log2(slots)
    return log(_POWERS_OF_TWO * normal(exponent - round(exponent), 0.0, _EXPONENT_ERROR) + 1 - _POWERS_OF_TWO)

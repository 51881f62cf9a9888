"""Log-likelihood ratios of readings: how much more probable a reading is if an element limits than if it does not."""

from __future__ import annotations

from math import ceil, exp, floor, inf, log, log2, log10, pi, sqrt

import numpy as np

from sanpath.verdict.places.path_links import SWITCH_ERROR

_BEYOND = 3.0
"""Standard errors beyond its limit at which the mean of an element that limits is e times less probable."""
BURSTS = 0.15
"""Share of limiting elements whose mean is below their limit: they work in bursts, or are just at the knee."""
NO_BURSTS = 0.03
"""The same where the mean over a step hardly hides bursts: parts of an array, processors, links without a window at
the limit."""
PROCESSOR_ERROR = 0.03
"""Standard error of the use of a processor or a thread: one that limits shows 97 to 100 %, because kernels count in
ticks and spend some of the time on other work."""
_FULL_BY_CHANCE = 0.05
"""Density of elements that are full but limit nothing: behind an equal cap, or next to another full element."""
_USUAL_RUN_QUEUE = 0.1
"""Mean share of the time that a thread waits for a processor which limits nothing: other threads preempt it."""
_USUAL_STALL = 0.03
"""Mean share of the time that a port of a sound, busy fabric waits for credit."""
UNEXPLAINED = 0.08
"""Mean share of waiting at a place that does not limit: queueing at moderate load, and clocks that do not agree."""
_BELOW_ONE_SLOT = 6.0
"""The most that counts against a full queue which would let less than one I/O through, which no queue does:
sanpath's own choice, 1 to 400."""
_SINGLE_SLOT = 1.5
"""The same for a queue of one slot, beyond what fewer slots count: sanpath's own choice. Disks of a SAN queue."""
_FEW_SLOTS = 0.7
"""The same for a queue of up to four slots: sanpath's own choice. Drivers let through some dozens by default."""
_SLOT_STEPS = ((0.8, 0.06), (1.5, 0.1), (4.0, 1.0))
"""Middle and width of the logistic steps at less than one slot, at one and at four: about as wide as the number of
slots is uncertain. sanpath's own choices."""
_MANY_SLOTS = 10.0
"""From here on the steps are passed: more slots count as so many."""
_FLOOR = 1e-3
"""Lowest density: no reading is impossible, because counters can be wrong as well."""

_POWERS_OF_TWO = 0.6
"""Share of queue depths that are powers of two: 32 and 64 are drivers' defaults, 30 and 254 are among the others."""
_LEAST_DEFAULT_DEPTH = 12.0
"""Fewer I/Os tell nothing by their distance to a power of two: sanpath's own choice, between 8 and 16."""
_DEFAULT_DEPTHS = ((16.0, 0.25), (32.0, 0.4), (64.0, 0.7), (128.0, 0.9), (256.0, 1.0))
"""I/Os with the share of queues that have fewer slots: drivers of SCSI admit 30, 32, 64 or 128 commands to a LUN by
default (lpfc, qla2xxx, iSCSI, PVSCSI, virtio-scsi), NVMe about a thousand. Fewer are a deliberate setting."""
_ROUND_SHARE, _ROUND_PER_DECADE = 0.4, 18
"""Share of the rates set by a person that are 1, 1.5, 2, 2.5 to 9.5 times a power of ten, and how many these are."""
_RATE_LOG_ERROR = 0.001
"""Standard error of the natural logarithm of a rate that something holds: generators and limiters pace in bursts."""
_ERROR_BELOW, _ERROR_ABOVE = 0.2, 0.1
"""Relative errors of the I/Os below a full queue, by other clocks than its own, where they are fewer than its slots
(what passes between the clocks is left out), and where they are more (windows differ)."""
_CLEARLY_FEWER = 0.1
"""I/Os that wait above a queue, over its slots, from which the load's own depth does not account for the number of
those below it."""
_FIXED_TIME = 0.05
"""Share of the paths on which a fixed time passes between the clocks, such as that of a distance, any as probable."""
_MOST_BY_FREE_SLOTS = 1.5
"""The most that a missing wait says for a queue: limits of a rate (token bucket) delay no single I/O either."""
_EXPONENT_ERROR = 0.015
"""Error of the binary logarithm of a number of I/Os: one percent."""


def normal(value: float, mean: float, error: float) -> float:
    """Density of a normal distribution."""
    return exp(-(((value - mean) / error) ** 2) / 2) / (error * sqrt(2 * pi))


def at_limit(utilisation: float, error: float = SWITCH_ERROR, bursts: float = BURSTS) -> float:
    """Log-likelihood ratio of a utilisation of a limit: the element limits, or it does not.

    One that does not limit is less probable the closer it is to its limit: when nearly full, it delays I/Os. A mean
    lies a little beyond its limit where unused capacity is saved for bursts (token bucket), or where a model gives
    the limit. Far beyond it, the limit is wrong. `bursts`: probability that the mean of an element that limits is
    below its limit.
    """
    beyond = max(0.0, utilisation - 1) / (_BEYOND * error)
    limiting = normal(min(utilisation, 1.0), 1.0, error) * exp(-(beyond**2))
    # Bursts are the likelier the closer the mean is to the limit, from 60 % up: sanpath's own choice.
    bursting = 2 * max(0.0, utilisation - 0.6) / 0.4 / 0.4 if utilisation <= 1.0 else 0.0
    density = (1 - bursts) * limiting + bursts * bursting + _FLOOR * min(1.0, max(utilisation, 0.01))
    return log(density / (2 * max(0.0, 1 - utilisation) + _FULL_BY_CHANCE))


def without_pause(busy_ratio: float) -> float:
    """Log-likelihood ratio of how busy a processor or a thread was: one that limits works without a pause.

    The mean of a step hardly hides it: only bursts would.
    """
    return at_limit(busy_ratio, PROCESSOR_ERROR, NO_BURSTS)


def counted(events: float, usual: float = 0.5) -> float:
    """Log-likelihood ratio of a number of events that a sound path hardly shows; it grows with their logarithm."""
    return min(6.0, 2.0 * log((1 + events) / (1 + usual)))


def beyond_usual(share: float, usual: float, most: float) -> float:
    """Log-likelihood ratio of a share of the time at a limit, at most `most`.

    Where the limit does not limit the load, the share is `usual` in the mean (exponential tail). Where it does, any
    share is equally probable.
    """
    return min(most, share / usual + log(usual))


def run_queue_weight(wait_ratio: float, usual: float = _USUAL_RUN_QUEUE) -> float:
    """Log-likelihood ratio of the share of the time that threads wait for a processor: the processors limit, or
    something else does.

    Without that wait the threads would start 1 / (1 - share) times the I/Os: the larger it is, the more of the
    throughput is lost to it. Otherwise it is `usual` in the mean (exponential tail).
    """
    limiting, otherwise = 2 * wait_ratio + _FLOOR, exp(-wait_ratio / usual) / usual
    return log(limiting / (otherwise + _FLOOR))


def stall_weight(stall: float) -> float:
    """Log-likelihood ratio of the share of time without credit: four at most, because a port may stall and delay
    nobody."""
    return beyond_usual(stall, _USUAL_STALL, 4.0)


def full_queue(slots: float, offered: float = inf) -> float:
    """Log-likelihood ratio that a queue nobody reads is full, by the I/Os that it would let through at once.

    `slots` is the time below the queue times throughput (Little's law). No queue lets through less than one. Disks of
    a SAN queue commands, so hardly any lets through just one. Drivers let through some dozens by default, so a few
    slots are a deliberate setting. A full queue holds a whole number, which shows where that is small. `offered`:
    I/Os above and below the queue. If next to none wait, a usual depth is that of the load.
    """
    depth = min(slots, _MANY_SLOTS)
    below_one, single, few = (exp((depth - middle) / width) for middle, width in _SLOT_STEPS)
    sizes = -_BELOW_ONE_SLOT / (1 + below_one) - _SINGLE_SLOT / (1 + single) - _FEW_SLOTS / (1 + few)
    usual = usual_depth(slots)
    sizes += min(0.0, log(max(_FLOOR, _whole_number_density(slots)))) if slots >= 1 else 0.0
    return sizes + min(usual, usual * min(1.0, max(0.0, offered / max(slots, 1e-9) - 1) / _CLEARLY_FEWER))


def free_slots(share: float, served_alone: float) -> float:
    """Log-likelihood ratio that a queue above limits, by the share of the latency that passes between it and what is
    below while it has free slots.

    Such a queue delays nothing then, so that hardly any time is left, unless it is fixed (distance). Anything else
    that limits there takes its service time all the same: at least `served_alone` of the latency, the time of one
    I/O at the highest throughput (utilisation law, Denning and Buzen 1978), and more where several are served at
    once.
    """
    by_queue = _FIXED_TIME + (1 - _FIXED_TIME) * exp(-share / UNEXPLAINED) / UNEXPLAINED
    served = min(0.8, served_alone)
    reached = 1 / (1 + exp(-(share - 0.8 * served) / (0.1 * served)))
    by_service = _FIXED_TIME + reached / (max(share, served) * log(1 / served))
    return min(_MOST_BY_FREE_SLOTS, log(by_queue / by_service))


def _whole_number_density(slots: float) -> float:
    """Density of a number of I/Os below a full queue, over that of any number: it is close to a whole one. About one
    for a large number."""
    deepest = ceil(2 * slots) + 1
    return sum(
        normal(slots, depth, (_ERROR_BELOW if slots < depth else _ERROR_ABOVE) * depth) for depth in range(1, deepest)
    )


def fewer_slots(in_flight: float) -> float:
    """Log-likelihood ratio that a queue nobody reads has fewer slots than so many I/Os."""
    limits, shares = zip(*_DEFAULT_DEPTHS, strict=True)
    return float(np.log(np.interp(log2(max(in_flight, 1.0)), np.log2(limits), shares)))


def usual_depth(slots: float) -> float:
    """Log-likelihood ratio of how close a number of I/Os is to a power of two, as most queue depths are; 0 for a few
    I/Os, which are near one anyhow."""
    if slots < _LEAST_DEFAULT_DEPTH:
        return 0.0
    exponent = log2(slots)
    return log(_POWERS_OF_TWO * normal(exponent - round(exponent), 0.0, _EXPONENT_ERROR) + 1 - _POWERS_OF_TWO)


def set_by_hand(rate: float) -> float:
    """Log-likelihood ratio that a person has set a rate, by how close it is to a round number."""
    half = 10.0 ** floor(log10(max(rate, 1e-9))) / 2
    nearest = half * round(rate / half)
    density_per_number = normal(log(rate / nearest), 0.0, _RATE_LOG_ERROR) * log(10) / _ROUND_PER_DECADE
    return log(1 - _ROUND_SHARE + _ROUND_SHARE * density_per_number)

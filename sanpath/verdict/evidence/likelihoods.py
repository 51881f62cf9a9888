"""Log-likelihood ratios of readings: how much more probable a reading is if an element limits than if it does not.

Every function `…_weight` returns such a ratio, in natural logarithms: the weight of the reading as evidence.
"""

from __future__ import annotations

from math import ceil, exp, floor, inf, log, log2, log10, pi, sqrt

import numpy as np

from sanpath.verdict.places.path_links import SWITCH_ERROR

_EXCESS_SCALE = 3.0
"""Number of standard errors past its limit at which the mean of a limiting element is less probable by a factor of
e."""
BURSTS = 0.15
"""Share of limiting elements whose mean utilisation is below the limit: they work in bursts, or are just at the
knee."""
NO_BURSTS = 0.03
"""The same share for elements whose mean over a step hardly hides bursts: parts of an array, processors, and links
without a full window."""
PROCESSOR_ERROR = 0.03
"""Standard error of the utilisation of a processor or thread. One that limits shows 97 to 100 %, because kernels
count in ticks and spend some time on other work."""
_FULL_BY_CHANCE = 0.05
"""Probability density of full elements that limit nothing: they are behind an equal cap, or next to another full
element."""
_USUAL_RUN_QUEUE = 0.1
"""Mean share of the time that a thread waits for a processor that limits nothing: other threads preempt it."""
_USUAL_STALL = 0.03
"""Mean share of the time that a port of a sound, busy fabric waits for credit."""
UNEXPLAINED = 0.08
"""Mean share of the time spent waiting at a place that does not limit: queueing at moderate load, and clocks that
disagree."""
_BELOW_ONE_SLOT_WEIGHT = 6.0
"""Largest weight against a full queue that would admit less than one I/O: sanpath's own choice, 1 to 400. Every queue
admits at least one."""
_SINGLE_SLOT_WEIGHT = 1.5
"""The same for a queue of one slot, in addition to the weight for fewer slots: sanpath's own choice. SAN disks queue
commands."""
_FEW_SLOTS_WEIGHT = 0.7
"""The same for a queue of up to four slots: sanpath's own choice. Drivers admit some dozens by default."""
_SLOT_STEPS = ((0.8, 0.06), (1.5, 0.1), (4.0, 1.0))
"""Middle and width of the logistic steps at less than one slot, at one and at four. The width is about the
uncertainty of the number of slots. sanpath's own choices."""
_MAX_SLOTS = 10.0
"""Largest number of slots in these steps: beyond it they no longer matter."""
_MIN_DENSITY = 1e-3
"""Smallest density: no reading is impossible, because counters can be wrong."""

_POWER_OF_TWO_SHARE = 0.6
"""Share of queue depths that are powers of two: 32 and 64 are driver defaults; 30 and 254 are among the others."""
_MIN_DEFAULT_DEPTH = 12.0
"""Smallest number of I/Os whose distance to a power of two is informative: sanpath's own choice, between 8 and 16."""
_DEFAULT_DEPTHS = ((16.0, 0.25), (32.0, 0.4), (64.0, 0.7), (128.0, 0.9), (256.0, 1.0))
"""Number of I/Os, and the share of queues with fewer slots. SCSI drivers admit 30, 32, 64 or 128 commands per LUN by
default (lpfc, qla2xxx, iSCSI, PVSCSI, virtio-scsi), NVMe about a thousand. Fewer are a deliberate setting."""
_ROUND_SHARE, _ROUND_PER_DECADE = 0.4, 18
"""Share of human-set rates that are 1, 1.5, 2, 2.5 to 9.5 times a power of ten, and number of such values per
decade."""
_RATE_LOG_ERROR = 0.001
"""Standard error of the natural logarithm of a paced rate: generators and limiters pace in bursts."""
_ERROR_BELOW, _ERROR_ABOVE = 0.2, 0.1
"""Relative errors of the number of I/Os below a full queue, from other clocks: below its number of slots, because
time between the clocks is missing; above it, because windows differ."""
CLEARLY_WAITING = 0.1
"""Ratio of waiting I/Os to slots of a queue from which the load's own number outstanding no longer explains how many
are below it."""
_FIXED_TIME_SHARE = 0.05
"""Share of paths with a fixed time between the clocks, for example because of distance. Any such time is equally
probable."""
_MAX_FREE_SLOTS_WEIGHT = 1.5
"""Largest weight, in favour of a queue, of a step with free slots and no wait. It is bounded because a rate limit
(token bucket) does not delay a single I/O either."""
_EXPONENT_ERROR = 0.015
"""Standard error of the binary logarithm of a number of I/Os: one percent."""


def normal_density(value: float, mean: float, error: float) -> float:
    """Density of a normal distribution."""
    return exp(-(((value - mean) / error) ** 2) / 2) / (error * sqrt(2 * pi))


def limit_weight(utilisation: float, error: float = SWITCH_ERROR, bursts: float = BURSTS) -> float:
    """Log-likelihood ratio of a utilisation: the element limits, or it does not.

    An element that does not limit is less probable the closer it is to its limit, because it delays I/Os when nearly
    full. A mean may lie slightly past the limit if unused capacity is saved for bursts (token bucket), or if the
    limit comes from a model. Far past it, the limit is wrong. `bursts`: probability that the mean of a limiting
    element is below its limit.
    """
    beyond = max(0.0, utilisation - 1) / (_EXCESS_SCALE * error)
    limiting = normal_density(min(utilisation, 1.0), 1.0, error) * exp(-(beyond**2))
    # From 60 % up, bursts are more probable the closer the mean is to the limit: sanpath's own choice.
    bursting = 2 * max(0.0, utilisation - 0.6) / 0.4 / 0.4 if utilisation <= 1.0 else 0.0
    density = (1 - bursts) * limiting + bursts * bursting + _MIN_DENSITY * min(1.0, max(utilisation, 0.01))
    return log(density / (2 * max(0.0, 1 - utilisation) + _FULL_BY_CHANCE))


def busy_weight(busy_ratio: float) -> float:
    """Log-likelihood ratio of a processor's or thread's utilisation. One that limits works without a pause. In the
    mean of a step, only bursts can hide that."""
    return limit_weight(busy_ratio, PROCESSOR_ERROR, NO_BURSTS)


def event_weight(events: float, usual: float = 0.5) -> float:
    """Log-likelihood ratio of a number of events that are rare on a healthy path. It grows with their logarithm."""
    return min(6.0, 2.0 * log((1 + events) / (1 + usual)))


def excess_weight(share: float, usual: float, most: float) -> float:
    """Log-likelihood ratio of the share of the time at a limit, at most `most`.

    If the limit does not hold back the load, the share is `usual` on average (exponential tail). If it does, every
    share is equally probable.
    """
    return min(most, share / usual + log(usual))


def run_queue_weight(wait_ratio: float, usual: float = _USUAL_RUN_QUEUE) -> float:
    """Log-likelihood ratio of the share of the time that threads wait for a processor: the processors limit, or
    something else does.

    Without the wait, the threads would start I/Os at 1 / (1 - share) times the rate: a larger share costs more
    throughput. If the processors do not limit, the share is `usual` on average (exponential tail).
    """
    limiting, otherwise = 2 * wait_ratio + _MIN_DENSITY, exp(-wait_ratio / usual) / usual
    return log(limiting / (otherwise + _MIN_DENSITY))


def stall_weight(stall: float) -> float:
    """Log-likelihood ratio of the share of time without credit: at most four, because a port may stall without
    delaying any I/O."""
    return excess_weight(stall, _USUAL_STALL, 4.0)


def full_queue_weight(slots: float, offered: float = inf) -> float:
    """Log-likelihood ratio that an unread queue is full, given how many I/Os it would admit at once.

    `slots` is the time below the queue times throughput (Little's law). A queue admits at least one I/O. SAN disks
    queue commands, so hardly any admits only one. Drivers admit some dozens by default, so a few slots are a
    deliberate setting. A full queue holds a whole number of I/Os, which is visible if the number is small. `offered`:
    I/Os above and below the queue. If hardly any I/O waits, a usual depth is just the load's number outstanding.
    """
    depth = min(slots, _MAX_SLOTS)
    below_one, single, few = (exp((depth - middle) / width) for middle, width in _SLOT_STEPS)
    sizes = (
        -_BELOW_ONE_SLOT_WEIGHT / (1 + below_one) - _SINGLE_SLOT_WEIGHT / (1 + single) - _FEW_SLOTS_WEIGHT / (1 + few)
    )
    usual = usual_depth_weight(slots)
    sizes += min(0.0, log(max(_MIN_DENSITY, _whole_number_density(slots)))) if slots >= 1 else 0.0
    return sizes + min(usual, usual * min(1.0, max(0.0, offered / max(slots, 1e-9) - 1) / CLEARLY_WAITING))


def free_slots_weight(share: float, served_alone: float) -> float:
    """Log-likelihood ratio that a queue limits, given the time between its clock and the next one below, in a step in
    which it had free slots. `share`: ratio of that time to the latency.

    A queue with free slots delays no I/O, so hardly any time remains there, except a fixed time (distance). Any other
    limit there still needs its service time. That is at least the share `served_alone` of the latency: the time of
    one I/O at the highest throughput (utilisation law, Denning and Buzen 1978). It is longer if several I/Os are
    served at once.
    """
    by_queue = _FIXED_TIME_SHARE + (1 - _FIXED_TIME_SHARE) * exp(-share / UNEXPLAINED) / UNEXPLAINED
    served = min(0.8, served_alone)
    reached = 1 / (1 + exp(-(share - 0.8 * served) / (0.1 * served)))
    by_service = _FIXED_TIME_SHARE + reached / (max(share, served) * log(1 / served))
    return min(_MAX_FREE_SLOTS_WEIGHT, log(by_queue / by_service))


def _whole_number_density(slots: float) -> float:
    """Density of the number of I/Os below a full queue, relative to a uniform density: it is high near whole numbers.
    For large numbers it is about one."""
    deepest = ceil(2 * slots) + 1
    return sum(
        normal_density(slots, depth, (_ERROR_BELOW if slots < depth else _ERROR_ABOVE) * depth)
        for depth in range(1, deepest)
    )


def fewer_slots_weight(in_flight: float) -> float:
    """Log-likelihood ratio that an unread queue has fewer slots than this number of I/Os."""
    limits, shares = zip(*_DEFAULT_DEPTHS, strict=True)
    return float(np.log(np.interp(log2(max(in_flight, 1.0)), np.log2(limits), shares)))


def usual_depth_weight(slots: float) -> float:
    """Log-likelihood ratio of a number of I/Os by its distance to a power of two, because most queue depths are
    powers of two. 0 for a few I/Os, which are always close to one."""
    if slots < _MIN_DEFAULT_DEPTH:
        return 0.0
    exponent = log2(slots)
    return log(
        _POWER_OF_TWO_SHARE * normal_density(exponent - round(exponent), 0.0, _EXPONENT_ERROR)
        + 1
        - _POWER_OF_TWO_SHARE
    )


def round_number_weight(rate: float) -> float:
    """Log-likelihood ratio that a person set a rate, given its distance to a round number."""
    half = 10.0 ** floor(log10(max(rate, 1e-9))) / 2
    nearest = half * round(rate / half)
    density_per_number = normal_density(log(rate / nearest), 0.0, _RATE_LOG_ERROR) * log(10) / _ROUND_PER_DECADE
    return log(1 - _ROUND_SHARE + _ROUND_SHARE * density_per_number)

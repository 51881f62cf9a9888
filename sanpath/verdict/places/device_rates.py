"""Whether a load's block devices did more in another step: then a resource that they share limits them now."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import number
from sanpath.model import DIRECTIONS

_CLEARLY_MORE_RATIO = 1.25
"""Ratio of rates that clearly differ: sanpath's own choice, beyond the differences between runs of the same test."""
_IDLE_RATIO = 0.01
"""Ratio of rates up to which a device was not used."""
_SAME_IN_FLIGHT_RATIO = 0.9
"""Ratio of the I/Os in flight from which a device has as many as before."""


def share_a_limit(facts: Facts, load: LoadFacts, devices: Collection[str]) -> bool:
    """Whether one of several devices did clearly more of the same I/Os in another step, with no more in flight, while
    none of the others did clearly less.

    A device at its limit does as much as it can (utilisation law, Denning and Buzen 1978). If it does less than
    before, a shared resource holds it back, unless it became slower meanwhile. If other devices take over its I/Os,
    the load is only spread differently.
    """
    steps = {other.step for other in facts.loads if other.step != load.step and other.comparable(load)}
    return len(devices) > 1 and any(
        any(_did_more(facts, step, load, device) for device in devices)
        and not any(_did_less(facts, step, load, device) for device in devices)
        for step in steps
    )


def _did_more(facts: Facts, step: str, load: LoadFacts, device: str) -> bool:
    """Whether a device did more in another step than in the load's, in its direction and in both together."""
    steps = (step, load.step)
    other_ops, own_ops = (_mean(facts, name, device, "ops_per_second", (load.direction,)) for name in steps)
    other_total, own_total = (_mean(facts, name, device, "ops_per_second") for name in steps)
    other_in_flight, own_in_flight = (_mean(facts, name, device, "in_flight_measured") for name in steps)
    more = other_ops >= _CLEARLY_MORE_RATIO * own_ops > 0 and other_total >= _CLEARLY_MORE_RATIO * own_total
    return more and own_in_flight >= _SAME_IN_FLIGHT_RATIO * other_in_flight


def _did_less(facts: Facts, step: str, load: LoadFacts, device: str) -> bool:
    """Whether a device was used in another step, and did clearly less than in the load's."""
    other_ops, own_ops = (_mean(facts, name, device, "ops_per_second") for name in (step, load.step))
    return _IDLE_RATIO * own_ops < other_ops < own_ops / _CLEARLY_MORE_RATIO


def _mean(facts: Facts, step: str, device: str, fact: str, directions: Sequence[str] = DIRECTIONS) -> float:
    """The sum of a device's fact over directions, from the source that counts the most; 0: not counted."""
    rows = [facts.tables["plane"].select(step=step, entity=device, direction=each) for each in directions]
    return sum(max((number(row, fact) for row in each), default=0.0) for each in rows)

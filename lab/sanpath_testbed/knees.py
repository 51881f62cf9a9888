"""Finds the knee of a draw in the simulation twice: by the search of `sanpath probe --knee`, and by a long sweep."""

from __future__ import annotations

from sanpath.probe.knee import Point, knee, next_in_flight
from sanpath_lab.generator.confirm import throughput
from sanpath_lab.scenario import Scenario

MAX_IN_FLIGHT = 256
_SWEEP_STEPS = 20
_MEASURED_SECONDS = 6.0
"""A step ends earlier once enough I/Os are counted."""


def knees(scenario: Scenario) -> tuple[float, float, int] | None:
    """Return the I/Os in flight at the knee by a probe and by a sweep of 20 steps, and the steps of the probe.

    The numbers of the sweep are at equal ratios from 1 to 256, and its simulation has random numbers of its own.
    None: there is no knee up to 256, by either.
    """
    jobs = scenario.load.jobs
    points: list[Point] = []
    while (number := next_in_flight(points, MAX_IN_FLIGHT, jobs)) is not None:
        points.append(_measured(scenario, number))
    again = scenario.model_copy(update={"seed": scenario.seed + 1})
    ratios = (MAX_IN_FLIGHT ** (step / (_SWEEP_STEPS - 1)) for step in range(_SWEEP_STEPS))
    numbers = {jobs * max(1, round(ratio / jobs)) for ratio in ratios}
    probed, swept = knee(points), knee([_measured(again, number) for number in sorted(numbers)])
    return (probed.in_flight, swept.in_flight, len(points)) if probed.is_reached and swept.is_reached else None


def _measured(scenario: Scenario, number: int) -> Point:
    """Return a step with a number of I/Os in flight."""
    changed = {"threads": (number // scenario.load.jobs,), "outstanding_per_thread": 1}
    ops, _ = throughput(
        scenario.model_copy(update={"load": scenario.load.model_copy(update=changed)}), _MEASURED_SECONDS
    )
    return Point(number, ops, number / ops)

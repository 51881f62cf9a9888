"""The knee is found in at most six steps, within 10 % of a sweep of twenty; the interval contains it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanpath.probe.knee import MAX_STEPS, KneeFound, Point, knee, next_in_flight
from sanpath_lab.generator import draw
from sanpath_lab.simulation import Simulation
from sanpath_testbed.experiments import heaviest_step_alone

Measure = Callable[[int], Point]
MOST = 256


def found(measure: Measure, most: int = MOST) -> tuple[list[Point], KneeFound]:
    points: list[Point] = []
    while (number := next_in_flight(points, most)) is not None:
        assert 1 <= number <= most
        points.append(measure(number))
    return points, knee(points)


def swept(measure: Measure, most: int = MOST, steps: int = 20) -> KneeFound:
    """The same figure from steps at equal ratios, as `sanpath sweep` would run them."""
    numbers = {round(most ** (index / (steps - 1))) for index in range(steps)}
    return knee([measure(number) for number in sorted(numbers)])


def closed_network(demands: list[float], delay_seconds: float) -> Measure:
    """Exact mean value analysis of a closed network of queues (Reiser and Lavenberg 1980), by I/Os in flight."""
    points, queues = [], [0.0] * len(demands)
    for number in range(1, MOST + 1):
        residence = [demand * (1 + queue) for demand, queue in zip(demands, queues, strict=True)]
        response_seconds = delay_seconds + sum(residence)
        throughput = number / response_seconds
        queues = [throughput * seconds for seconds in residence]
        points.append(Point(number, throughput, response_seconds))
    return lambda number: points[number - 1]


@settings(max_examples=200)
@given(st.lists(st.floats(1e-5, 2e-3), min_size=1, max_size=5), st.floats(0, 0.02))
def test_of_any_closed_network(demands: list[float], delay_seconds: float) -> None:
    measure = closed_network(demands, delay_seconds)
    points, result = found(measure)
    assert len(points) <= MAX_STEPS
    if not result.is_reached:
        assert swept(measure).in_flight > 0.5 * MOST
        return
    assert result.in_flight == pytest.approx(swept(measure).in_flight, rel=0.1)
    calm, best = measure(1).latency_seconds, max(measure(number).ops_per_second for number in range(1, MOST + 1))
    assert result.low <= calm * best * (1 + 1e-9)
    assert calm * best <= result.high * (1 + 1e-9)


@settings(max_examples=200)
@given(st.floats(1e-4, 3e-4), st.floats(0.01, 0.02), st.floats(1, 1.6))
def test_a_first_step_that_counted_too_few_ios(demand: float, delay_seconds: float, error: float) -> None:
    """One I/O at a time meets a rare time-out once or never in a step. The knee is at 34 I/Os or more: of fewer, the
    first step is a large part of those that the latency without a queue is the mean of."""
    exact = closed_network([demand], delay_seconds)

    def measure(number: int) -> Point:
        point = exact(number)
        return Point(1, point.ops_per_second / error, point.latency_seconds * error) if number == 1 else point

    points, result = found(measure)
    assert len(points) <= MAX_STEPS
    assert result.in_flight == pytest.approx(swept(exact).in_flight, rel=0.1)


@settings(max_examples=100)
@given(st.floats(0.01, 0.3), st.floats(1e-5, 2e-3))
def test_of_throughput_that_falls_again(contention: float, coherency: float) -> None:
    """The Universal Scalability Law is not concave past its peak; the peak is found all the same."""

    def measure(number: int) -> Point:
        ops = 1000 * number / (1 + contention * (number - 1) + coherency * number * (number - 1))
        return Point(number, ops, number / ops)

    points, result = found(measure)
    assert len(points) <= MAX_STEPS
    assert result.in_flight == pytest.approx(swept(measure).in_flight, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [70006, 70010], ids=["queue of the host", "limit of the array"])
def test_of_curves_of_the_lab(seed: int) -> None:
    scenario = heaviest_step_alone(draw(seed).scenario)

    def measure(number: int) -> Point:
        changed = {"threads": (number,), "jobs": 1, "ramp_seconds": 1.0, "measured_seconds": 1.5}
        load = scenario.load.model_copy(update=changed)
        simulation = Simulation(scenario, 1.8e9)
        run = simulation.begin_load(load)
        simulation.advance(2.5)
        ops = run.jobs[0].ios / run.jobs[0].runtime_seconds(simulation.now)
        return Point(number, ops, number / ops)

    points, result = found(measure)
    assert len(points) <= MAX_STEPS
    assert result.is_reached
    assert result.in_flight == pytest.approx(swept(measure).in_flight, rel=0.1)


def test_steps_are_multiples_of_what_can_be_shared() -> None:
    measure = closed_network([1e-3, 2e-4], 0.01)
    points: list[Point] = []
    while (number := next_in_flight(points, 250, share=8)) is not None:
        points.append(measure(number))
    assert [point.in_flight % 8 for point in points] == [0] * len(points)
    assert max(point.in_flight for point in points) == 248


def test_throughput_that_grows_to_the_end_has_no_knee() -> None:
    """One I/O at a time is served faster than the first of many: that is no limit."""
    seconds = {1: 0.40e-3, 16: 0.46e-3, 64: 0.47e-3}
    points = [Point(number, number / latency, latency) for number, latency in seconds.items()]
    assert not knee(points).is_reached

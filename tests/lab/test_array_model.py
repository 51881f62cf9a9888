"""Where the simulated array lets an I/O wait, and as what it books the wait."""

from __future__ import annotations

from typing import Any

import pytest

from sanpath_lab.flasharray.array_state import DirectionSample
from sanpath_lab.flasharray.simulated_array_state import SimulatedArrayState
from sanpath_lab.physics.array_model import Totals
from sanpath_lab.physics.load_model import Job
from sanpath_lab.scenario import Scenario, load_scenario
from sanpath_lab.simulation import Simulation

EPOCH_SECONDS = 1_800_000_000.0


def shortened(name: str, *threads: int, direction: str = "read", **volume: Any) -> Scenario:
    """A scenario with one I/O a thread; `volume`: other limits of the volume."""
    scenario = load_scenario(name)
    times = {"ramp_seconds": 0.5, "measured_seconds": 2.5, "gap_seconds": 0.2}
    load = scenario.load.model_copy(update={"threads": threads, "direction": direction, **times})
    limited = scenario.volume.model_copy(update=volume)
    return scenario.model_copy(update={"load": load, "volume": limited})


def run(scenario: Scenario) -> tuple[list[Job], Simulation]:
    simulation = Simulation(scenario, EPOCH_SECONDS)
    load = simulation.begin_load()
    while not load.finished:
        simulation.advance(simulation.now + 0.1)
    return load.jobs, simulation


def iops(job: Job) -> float:
    return job.ios / (job.ended_at - job.counting_since)


def mean_seconds(simulation: Simulation, direction: str = "read") -> Totals:
    """Mean times of an operation, of the whole run."""
    totals = sum((t for nexus, t in simulation.array.totals.items() if nexus.direction == direction), Totals())
    ops = totals.ops
    return Totals(
        ops,
        totals.bytes,
        totals.service_seconds / ops,
        totals.queue_seconds / ops,
        totals.san_seconds / ops,
        totals.qos_limit_seconds / ops,
    )


@pytest.mark.parametrize("direction", ["read", "write"])
def test_a_volume_gives_what_its_bandwidth_limit_allows_and_books_the_wait(direction: str) -> None:
    """200 MB/s are 3,052 I/Os of 64 KiB a second; 32 / 3,052 = 10.5 ms, of which the array itself takes under one."""
    (job,), simulation = run(shortened("qos-limited-volume", 32, direction=direction))
    assert iops(job) == pytest.approx(200e6 / 65536, rel=0.01)
    mean = mean_seconds(simulation, direction)
    assert mean.qos_limit_seconds == pytest.approx(32 * 65536 / 200e6 - 0.0004, rel=0.03)
    assert mean.service_seconds == pytest.approx(0.00034, abs=0.00005)
    assert mean.queue_seconds < 0.00001


def test_an_iops_limit_holds_small_and_large_alike() -> None:
    (job,), simulation = run(shortened("qos-limited-volume", 8, bandwidth_limit=None, iops_limit=1000))
    assert iops(job) == pytest.approx(1000, rel=0.01)
    assert mean_seconds(simulation).qos_limit_seconds > 0.9 * 8 / 1000


def test_below_its_limit_a_volume_does_not_wait() -> None:
    _, simulation = run(shortened("qos-limited-volume", 1))
    assert mean_seconds(simulation).qos_limit_seconds < 5e-6


def test_slow_media_show_as_service_time_that_grows_while_throughput_does_not() -> None:
    jobs, simulations = zip(*(run(shortened("slow-media", n)) for n in (16, 32)), strict=True)
    (few,), (many,) = jobs
    assert iops(few) == pytest.approx(iops(many), rel=0.02)
    calm, grown = (mean_seconds(simulation) for simulation in simulations)
    assert grown.service_seconds == pytest.approx(2 * calm.service_seconds, rel=0.05)
    assert grown.queue_seconds < 0.01 * grown.service_seconds


def test_a_busy_controller_shows_as_queue_time_at_the_same_service_time() -> None:
    """0.3 ms a command: 3,333 a second, whatever is in flight."""
    jobs, simulations = zip(*(run(shortened("controller-queue", n)) for n in (2, 32)), strict=True)
    ((_few,), (many,)), (calm, busy) = jobs, (mean_seconds(simulation) for simulation in simulations)
    assert iops(many) == pytest.approx(1 / 3.0e-4, rel=0.01)
    assert busy.service_seconds == pytest.approx(calm.service_seconds, rel=0.03)
    assert busy.queue_seconds > 10 * busy.service_seconds > 100 * calm.queue_seconds


def test_limit_and_wait_are_told_by_the_management_interface() -> None:
    scenario = shortened("qos-limited-volume", 32)
    simulation = Simulation(scenario, EPOCH_SECONDS)
    simulation.begin_load()
    simulation.advance(2.5)
    state = SimulatedArrayState(scenario, simulation.array, catch_up=lambda: None)
    (volume,) = state.volumes
    assert (volume.bandwidth_limit, volume.iops_limit) == (200_000_000, None)
    read: DirectionSample = state.volume_sample(volume.name).read
    assert read.qos_rate_limit_usec == pytest.approx(10_100, rel=0.03)

from __future__ import annotations

import pytest

from sanpath_lab.scenario import Scenario, load_scenario
from sanpath_lab.simulation import Simulation

EPOCH_SECONDS = 1_800_000_000.0


@pytest.fixture
def demo() -> Scenario:
    return load_scenario("four-gigabit-switch")


@pytest.fixture
def short(demo: Scenario) -> Scenario:
    """The demo with steps of a quarter and three quarters of a second."""
    load = demo.load.model_copy(update={"ramp_seconds": 0.25, "measured_seconds": 0.75, "gap_seconds": 0.2})
    return demo.model_copy(update={"load": load})


@pytest.fixture
def slow_drain() -> Simulation:
    """Its neighbour has been at it from the start; the load has not begun."""
    return Simulation(load_scenario("slow-drain-host"), EPOCH_SECONDS)


@pytest.fixture
def oversubscribed() -> Simulation:
    """Its neighbour has been at it from the start; the load has not begun."""
    return Simulation(load_scenario("oversubscribed-isl"), EPOCH_SECONDS)


@pytest.fixture
def simulation(short: Scenario) -> Simulation:
    """Nothing has happened in it yet; its clock moves when it is advanced."""
    return Simulation(short, EPOCH_SECONDS)

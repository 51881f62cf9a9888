from __future__ import annotations

import pytest

from sanpath_lab.flasharray.simulated_array_state import SimulatedArrayState
from sanpath_lab.scenario import Scenario, load_scenario
from sanpath_lab.simulation import Simulation

EPOCH_SECONDS = 1_800_000_000.0


@pytest.fixture
def demo() -> Scenario:
    return load_scenario("four-gigabit-switch")


@pytest.fixture(scope="session")
def short() -> Scenario:
    """The demo with steps of a quarter and three quarters of a second."""
    demo = load_scenario("four-gigabit-switch")
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


@pytest.fixture(scope="session")
def under_load(short: Scenario) -> Simulation:
    """Three seconds into the load; it is shared, and nobody advances it."""
    simulation = Simulation(short, EPOCH_SECONDS)
    simulation.begin_load()
    simulation.advance(3.0)
    return simulation


@pytest.fixture
def loaded(under_load: Simulation) -> SimulatedArrayState:
    """Its array, with an identity of its own."""
    return SimulatedArrayState(under_load.scenario, under_load.array, catch_up=lambda: None)


@pytest.fixture
def simulation(short: Scenario) -> Simulation:
    """Nothing has happened in it yet; its clock moves when it is advanced."""
    return Simulation(short, EPOCH_SECONDS)

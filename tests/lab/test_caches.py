"""Caches of the simulated array and the guest: what they answer, and what happens when one is full."""

from __future__ import annotations

import pytest

from sanpath_lab.families import case
from sanpath_lab.physics.write_cache import WriteBuffer
from sanpath_lab.scenario import GuestMemory, Load, Scenario, WriteCache, load_scenario
from sanpath_lab.simulation import Simulation

GIB = 2**30


def test_a_write_waits_until_there_is_room_for_it() -> None:
    """Room for three of 100 bytes, one is written to the media each second: the fourth waits for a second, and the
    next comes when there has been room for it for long."""
    buffer = WriteBuffer(WriteCache(capacity_bytes=300, destage_bytes_per_second=100))
    assert [buffer.admit(0.0, 100) for _ in range(4)] == pytest.approx([0, 0, 0, 1])
    assert buffer.admit(1.5, 100) == pytest.approx(2.0)
    assert buffer.admit(9.0, 100) == pytest.approx(9.0)


@pytest.mark.slow
def test_when_the_cache_is_full_writes_are_as_fast_as_it_is_emptied() -> None:
    scenario = case("write-cache-full", 1).scenario
    load, cache = scenario.load, scenario.array.write_cache
    assert cache is not None
    one = load.model_copy(update={"threads": load.threads[-1:]})
    simulation = Simulation(scenario.model_copy(update={"load": one}), 1.8e9)
    simulation.begin_load()

    def written() -> int:
        return sum(t.bytes for nexus, t in simulation.array.totals.items() if nexus.direction == "write")

    def rate(begin: float, end: float) -> float:
        simulation.advance(begin)
        before = written()
        simulation.advance(end)
        return (written() - before) / (end - begin)

    at_first, in_the_end = rate(3, 8), rate(34, 40)
    assert in_the_end == pytest.approx(cache.destage_bytes_per_second, rel=0.01)
    assert at_first > 1.5 * in_the_end


def reads(load: dict[str, object], scenario: dict[str, object]) -> tuple[Simulation, float, float]:
    """One job of the demo for two seconds, with other settings; I/Os of the job and of the array, a second."""
    demo = load_scenario("four-gigabit-switch")
    result: dict[str, object] = {"direction": "read", "threads": (1,), "ramp_seconds": 0.1, "measured_seconds": 9}
    changed: Scenario = demo.model_copy(update={"load": Load.model_validate({**dict(demo.load), **result, **load})})
    changed = changed.model_copy(update=scenario)
    simulation = Simulation(changed, 1.8e9)
    (job,) = simulation.begin_load().jobs
    simulation.advance(2.1)
    at_array = sum(totals.ops for totals in simulation.array.totals.values())
    return simulation, job.ios / 2.0, at_array / 2.1


def test_what_the_file_cache_of_the_guest_answers_never_reaches_the_array() -> None:
    """Half of it fits: of 400 a second about 200 do."""
    result: dict[str, object] = {"ios_per_second": 400.0, "working_set_bytes": 8 * GIB, "direct": False}
    _, done, at_array = reads(result, {"guest_memory": GuestMemory(capacity_bytes=4 * GIB)})
    assert done == pytest.approx(400, rel=0.02)
    assert at_array == pytest.approx(200, rel=0.15)
    _, _, past_it = reads({**result, "direct": True}, {"guest_memory": GuestMemory(capacity_bytes=4 * GIB)})
    assert past_it == pytest.approx(400, rel=0.05)


def test_a_read_that_hits_the_array_s_memory_takes_as_long_as_that() -> None:
    demo = load_scenario("four-gigabit-switch")
    cached = demo.array.model_copy(update={"cache_bytes": GIB, "cached_seconds": 5e-5})
    result: dict[str, object] = {"ios_per_second": 400.0, "working_set_bytes": GIB}
    simulation, _, _ = reads(result, {"array": cached})
    (totals,) = [one for one in simulation.array.totals.values() if one.ops]
    assert totals.service_seconds / totals.ops == pytest.approx(5e-5 + demo.array.command_seconds)

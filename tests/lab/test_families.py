"""Families of random scenarios: the same with the same seed, different with another, and with a label that holds."""

from __future__ import annotations

import pytest

from sanpath_lab.families import FAMILIES, case
from sanpath_lab.physics.load_model import LoadRun
from sanpath_lab.scenario import Scenario
from sanpath_lab.simulation import Simulation


@pytest.mark.parametrize("family", FAMILIES)
def test_a_seed_gives_one_scenario_and_another_seed_another(family: str) -> None:
    assert case(family, 3) == case(family, 3)
    assert case(family, 3).scenario != case(family, 4).scenario


@pytest.mark.parametrize("family", FAMILIES)
def test_what_its_label_names_is_in_the_scenario(family: str) -> None:
    for seed in range(1, 40):
        scenario = case(family, seed).scenario
        there_are = {f"switch_port:{device.switch_port}" for device in scenario.devices}
        there_are |= {f"switch_port:{end}" for link in scenario.inter_switch_links for end in link.ends}
        there_are |= {"volume:fa1/vol01", "lun:sqlvm1/sda", *(f"array:{array.name}" for array in scenario.arrays)}
        there_are |= {"vdisk:sqlvm1/scsi0:0"} if scenario.vcenter is not None else set()
        there_are |= {f"hba:{device.wwpn.replace(':', '')}" for device in scenario.devices}
        truth = scenario.truth
        named = {*truth.bottlenecks, *truth.victims, *truth.cleared, *([truth.culprit] if truth.culprit else [])}
        assert named <= there_are
        assert bool(truth.bottlenecks) == (truth.kind in ("bottleneck", "configured_cap"))


def loaded(scenario: Scenario, seconds: float = 4.0) -> tuple[Simulation, LoadRun]:
    """The last step of a scenario, so many seconds after its ramp."""
    load = scenario.load.model_copy(update={"threads": scenario.load.threads[-1:]})
    simulation = Simulation(scenario.model_copy(update={"load": load}), 1.8e9)
    run = simulation.begin_load()
    simulation.advance(load.ramp_seconds + seconds)
    return simulation, run


def throughput(scenario: Scenario, seconds: float = 4.0) -> float:
    """Operations a second of the last step."""
    simulation, run = loaded(scenario, seconds)
    return run.jobs[0].ios / run.jobs[0].runtime_seconds(simulation.now)


@pytest.mark.parametrize("family", [f for f in FAMILIES if case(f, 1).relieved])
def test_relieving_what_the_label_names_helps(family: str) -> None:
    drawn = case(family, 1)
    assert drawn.relieved is not None
    assert throughput(drawn.relieved, 1) > 1.3 * throughput(drawn.scenario, 1)


def test_a_rate_that_was_asked_for_is_met() -> None:
    scenario = case("healthy", 1).scenario
    assert scenario.load.ios_per_second is not None
    assert throughput(scenario) == pytest.approx(scenario.load.ios_per_second, rel=0.01)


def test_a_thread_starts_no_more_than_its_core_can() -> None:
    load = case("generator-cpu", 1).scenario.load
    of_one_core = 1 / (load.user_seconds_per_io + load.system_seconds_per_io)
    assert throughput(case("generator-cpu", 1).scenario) == pytest.approx(load.threads[-1] * of_one_core, rel=0.02)


def test_damaged_frames_are_counted_where_they_arrive_and_their_ios_come_after_the_time_out() -> None:
    scenario = case("damaged-frames", 1).scenario
    simulation, run = loaded(scenario, 14.0)
    damaged = {port: cable.towards_switch.damaged_frames for port, cable in simulation.fabric.cables.items()}
    (guilty,) = {device.switch_port for device in scenario.devices if device.damaged_frame_ratio}
    assert damaged.pop(guilty) > 0
    assert not any(damaged.values())
    slowest = max(tally.latency.max_seconds for tally in run.jobs[0].by_direction.values())
    assert slowest > scenario.host.timeout_seconds


@pytest.mark.parametrize(("family", "state"), [("dead-path", "dead"), ("mru-active-passive", "standby")])
def test_a_path_that_is_not_active_carries_nothing_and_the_others_do(family: str, state: str) -> None:
    scenario = case(family, 1).scenario
    (idle,) = [path for path in scenario.paths if path.state == state]
    simulation, _ = loaded(scenario, 1.0)
    initiators = {hba.wwpn: hba.name for hba in scenario.host.hbas}
    carried = {
        (initiators[nexus.initiator], nexus.target): totals.ops
        for nexus, totals in simulation.array.totals.items()
        if nexus.direction == scenario.load.direction and nexus.initiator in initiators
    }
    assert carried.pop((idle.hba, idle.target)) == 0
    assert all(carried.values())


def test_a_neighbour_keeps_its_own_array_busy_and_no_other() -> None:
    scenario = next(
        c.scenario for seed in range(1, 20) if not (c := case("two-arrays", seed)).scenario.truth.bottlenecks
    )
    assert scenario.truth.kind == "concurrency_limited"
    simulation, run = loaded(scenario, 1.0)
    ops = {name: sum(t.ops for t in array.totals.values()) for name, array in simulation.arrays.items()}
    assert ops["fa2"] > 0
    test = sum(
        totals.ops
        for nexus, totals in simulation.array.totals.items()
        if nexus.initiator in {hba.wwpn for hba in scenario.host.hbas}
    )
    assert test >= run.jobs[0].ios

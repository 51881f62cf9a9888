"""Jobs that run at the same time, several volumes, directions mixed by share, and an array's entry."""

from __future__ import annotations

from dataclasses import asdict
from random import Random

import pytest

from sanpath_lab.families.san import San
from sanpath_lab.fio.document import document
from sanpath_lab.fio.load_status import disk_status, load_status
from sanpath_lab.scenario import Scenario
from sanpath_lab.simulation import Simulation


def san() -> San:
    made = San("jobs", 1)
    made.random = Random(1)
    made.background(0)
    made.threads, made.outstanding, made.jobs = (2,), 4, 2
    made.block_bytes, made.service_seconds, made.tail_seconds = 16384, 4e-3, 1e-3
    made.ramp_seconds, made.measured_seconds = 0.5, 2.0
    return made


def scenario(made: San) -> Scenario:
    return made.scenario(made.truth("healthy", "load"))


def run(made: San) -> Simulation:
    simulation = Simulation(scenario(made), 1.8e9)
    simulation.begin_load()
    simulation.advance(4)
    return simulation


def test_jobs_of_a_step_take_turns_over_the_volumes() -> None:
    made = san()
    made.volumes = 2
    simulation = run(made)
    load = simulation.load
    assert load is not None
    assert load.finished
    assert [(job.step, job.disk, job.volume) for job in load.jobs] == [(0, "sda", "vol01"), (0, "sdb", "vol02")]
    by_volume = {"vol01": 0, "vol02": 0}
    for nexus, totals in simulation.array.totals.items():
        by_volume[nexus.volume] += totals.ops
    assert by_volume["vol01"] == pytest.approx(by_volume["vol02"], rel=0.05)
    assert [disk.totals[made.direction].ios for disk in simulation.host.disks] == list(by_volume.values())


def test_fio_tells_the_jobs_of_a_step_as_one_group_and_every_disk() -> None:
    made = san()
    made.volumes, made.threads = 2, (1, 2)
    simulation = Simulation(scenario(made), 1.8e9)
    before, load = disk_status(simulation), simulation.begin_load()
    simulation.advance(3)
    result = document(asdict(load_status(simulation, load, before)))
    assert [job["groupid"] for job in result["jobs"]] == [0, 0, 1, 1]
    assert len({job["jobname"] for job in result["jobs"]}) == 4
    assert [job["job options"]["filename"] for job in result["jobs"][:2]] == ["/dev/sda", "/dev/sdb"]
    assert [disk["name"] for disk in result["disk_util"]] == ["sda", "sdb"]


def test_directions_are_mixed_by_their_share() -> None:
    made = san()
    made.write_ratio = 0.3
    job, _ = run(made).load.jobs  # type: ignore[union-attr]
    assert job.by_direction["write"].ios / job.ios == pytest.approx(0.3, abs=0.05)


def test_each_volume_has_a_limit_of_its_own() -> None:
    made = san()
    made.volumes, made.iops_limit = 2, 200
    load = run(made).load
    assert load is not None
    assert [job.ios / 2.0 for job in load.jobs] == pytest.approx([200, 200], rel=0.05)


def test_a_neighbour_on_the_same_volume_shares_its_limit() -> None:
    made = san()
    made.iops_limit = 200
    made.neighbour(0, block_bytes=16384, outstanding=16, direction=made.direction, volume=1)
    load = run(made).load
    assert load is not None
    assert sum(job.ios for job in load.jobs) / 2.0 < 0.6 * 200


def test_what_waits_at_the_arrays_entry_is_not_in_the_arrays_own_clocks() -> None:
    made = san()
    made.entry_seconds = 5e-3
    simulation = run(made)
    load = simulation.load
    assert load is not None
    assert sum(job.ios for job in load.jobs) / 2.0 == pytest.approx(200, rel=0.05)
    total = simulation.array.snapshots[-1].total(made.direction)
    inside = (total.service_seconds + total.queue_seconds + total.san_seconds) / total.ops
    latency = load.jobs[0].by_direction[made.direction].latency
    assert inside < 0.25 * latency.sum_seconds / latency.count


@pytest.mark.slow
def test_a_host_counts_what_it_has_to_do_again() -> None:
    made = san()
    made.vcenter, made.timeout_seconds, made.measured_seconds = True, 0.2, 18.0
    made.damaged_frame_ratio = {"host": 2e-3, "array": 2e-3}
    simulation = Simulation(scenario(made), 1.8e9)
    simulation.begin_load()
    simulation.advance(21)
    assert simulation.host.hypervisor is not None
    aborted = sum(totals.aborted for s in simulation.host.hypervisor.samples for totals in s.totals_by_nexus.values())
    damaged = sum(cable.towards_switch.damaged_frames for cable in simulation.fabric.cables.values())
    assert 0 < aborted <= damaged

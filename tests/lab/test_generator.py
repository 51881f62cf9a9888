"""The generator: the same draw with the same seed, every fault, and only labels that the simulation confirms."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import islice

import pytest

from sanpath.cli.sessions.child_process import environment
from sanpath_lab.generator import drafts, draw, draw_by_name
from sanpath_lab.generator.confirm import confirm, throughput
from sanpath_lab.generator.faults import FAULTS, can_diagnose
from sanpath_lab.generator.reading import EVERYTHING
from sanpath_lab.generator.relief import PLACES, Place, relieved
from sanpath_lab.scenario import Scenario

MEDIA: tuple[Place, ...] = ("media",)


def drafted(seed: int) -> tuple[str, Scenario]:
    """The first draft of a seed, which need not be confirmed."""
    fault, _, scenario = next(drafts(seed))
    return fault, scenario


def draft_of(fault: str) -> Scenario:
    return next(scenario for seed in range(1, 200) for found, scenario in (drafted(seed),) if found == fault)


def test_a_seed_gives_one_draw_and_another_seed_another() -> None:
    assert [drafted(seed) for seed in (3, 4)] == [drafted(seed) for seed in (3, 4)]
    assert drafted(3)[1] != drafted(4)[1]


def test_every_fault_comes_as_often_as_any_other() -> None:
    assert sorted(drafted(seed)[0] for seed in range(len(FAULTS), 3 * len(FAULTS))) == sorted([*FAULTS, *FAULTS])


def test_topology_load_and_what_is_read_differ_from_draw_to_draw() -> None:
    drawn = [next(drafts(seed)) for seed in range(1, 150)]
    assert {len(scenario.switches) for *_, scenario in drawn} == {1, 2, 3, 4, 6}
    assert {scenario.load.jobs for *_, scenario in drawn} == {1, 2, 3, 4}
    assert {len(scenario.disks) for *_, scenario in drawn} == {1, 2}
    assert {scenario.load.direction for *_, scenario in drawn} == {"read", "write", "mixed"}
    assert {len(scenario.load.threads) for *_, scenario in drawn} == {1, 2, 3, 4, 5}
    assert {source for _, reading, _ in drawn for source in reading.unread} == {"array", "switches", "host"}


def test_what_a_label_names_is_in_the_scenario() -> None:
    for seed in range(1, 120):
        _, scenario = drafted(seed)
        there_are = {f"switch_port:{device.switch_port}" for device in scenario.devices}
        there_are |= {f"switch_port:{end}" for link in scenario.inter_switch_links for end in link.ends}
        there_are |= {f"lun:sqlvm1/{disk.name}" for disk, _ in scenario.disks} | {"array:fa1", "vdisk:sqlvm1/scsi0:0"}
        there_are |= {f"volume:fa1/{volume.name}" for _, volume in scenario.disks}
        there_are |= {f"hba:{scenario.host.name}/{hba.name}" for hba in scenario.host.hbas}
        there_are |= {f"array_port:fa1/{port.name}" for port in scenario.array.ports}
        assert set(scenario.truth.bottlenecks) <= there_are
        assert bool(scenario.truth.bottlenecks) == (scenario.truth.kind in ("bottleneck", "configured_cap"))


@pytest.mark.parametrize("fault", ["host-link", "media", "qos", "lun-queue", "concurrency", "generator-cpu"])
def test_a_label_is_confirmed_by_the_simulation_and_a_false_one_is_not(fault: str) -> None:
    scenario, truth = draft_of(fault), FAULTS[fault]
    found = confirm(scenario, truth.relief, truth.latency_bound)
    assert found is not None
    assert found.relieved > 1.05 * found.ops
    innocent: Place = "isls" if fault != "media" else "host queues"
    assert confirm(scenario, (innocent,), False) is None


def test_a_place_that_holds_as_well_makes_a_label_false() -> None:
    scenario = draft_of("media")
    media = scenario.array.parallel_media
    assert media is not None
    ops, _ = throughput(scenario, 1.5)
    capped = scenario.volume.model_copy(update={"iops_limit": round(0.9 * ops / len(scenario.disks))})
    others = tuple(
        other.model_copy(update={"volume": other.volume.model_copy(update={"iops_limit": capped.iops_limit})})
        for other in scenario.other_disks
    )
    both = scenario.model_copy(update={"volume": capped, "other_disks": others})
    assert confirm(scenario, MEDIA, False) is not None
    assert confirm(both, MEDIA, False) is None


def test_a_decoy_that_holds_the_test_up_makes_a_label_false() -> None:
    """The hosts at fault are called decoys: without them the test is faster, so they are none."""
    scenario, truth = draft_of("neighbour-port"), FAULTS["neighbour-port"]
    labelled = [neighbour for neighbour in scenario.neighbours if not neighbour.decoy]
    assert confirm(scenario, truth.relief, truth.latency_bound) is not None
    mislabelled = tuple(n.model_copy(update={"decoy": n.target == labelled[0].target}) for n in scenario.neighbours)
    assert confirm(scenario.model_copy(update={"neighbours": mislabelled}), truth.relief, truth.latency_bound) is None


def test_every_place_can_be_given_room() -> None:
    for seed in range(1, 40):
        _, scenario = drafted(seed)
        for place in PLACES:
            Scenario.model_validate(relieved(scenario, (place,)).model_dump())


def test_a_draw_says_how_it_was_confirmed() -> None:
    drawn = draw(1)
    assert drawn is draw_by_name("draw:1")
    assert drawn.confirmation.relieved is not None
    assert drawn.confirmation.relieved > drawn.confirmation.ops


def test_what_is_not_read_cannot_tell() -> None:
    drawn = [next(drafts(seed)) for seed in range(1, 300)]
    unseen = [d for d in drawn if set(FAULTS[d[0]].required_sources) & d[1].unread]
    assert unseen
    assert not any(can_diagnose(*d) for d in unseen)
    assert all(
        can_diagnose(fault, EVERYTHING, scenario) for fault, _, scenario in drawn if not FAULTS[fault].needs_two_steps
    )


def test_a_link_at_an_end_can_be_told_by_the_device_there_and_one_between_switches_by_them_alone() -> None:
    drawn = [d for d in (next(drafts(seed)) for seed in range(1, 900)) if d[1].unread == {"switches"}]
    result = {fault: can_diagnose(fault, reading, scenario) for fault, reading, scenario in drawn}
    assert result["host-link"]
    assert result["array-link"]
    assert not result["isl"]


def test_one_step_does_not_tell_a_wait_that_the_array_calls_service() -> None:
    media = [scenario for seed in range(1, 900) for fault, _, scenario in islice(drafts(seed), 1) if fault == "media"]
    alone = [s for s in media if len(s.load.threads) == 1]
    result = {s.array.parallel_servers == s.array.parallel_media: can_diagnose("media", EVERYTHING, s) for s in alone}
    assert result == {True: True, False: False}


@pytest.mark.slow
def test_the_lab_lists_a_draw_by_its_seed_and_refuses_what_is_none() -> None:
    command = [sys.executable, "-m", "sanpath_lab", "list"]
    done = subprocess.run([*command, "draw:1", "--json"], env=environment(), capture_output=True, check=True)
    (result,) = json.loads(done.stdout)
    assert result["truth"] == draw(1).scenario.truth.model_dump(mode="json")
    failed = subprocess.run([*command, "draw:one"], env=environment(), capture_output=True, text=True, check=False)
    assert failed.returncode == 2
    assert "draw:17" in failed.stderr

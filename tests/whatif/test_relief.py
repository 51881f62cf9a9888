"""What relieving a limit means, also where the limit was counted at the device alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.catalogue.link_capacity import link_capacity
from sanpath.diagnose import judge_recording
from sanpath.facts.table import FactRow
from sanpath.model import Scalar
from sanpath.recording.reading.recording import Recording
from sanpath.verdict.run_verdict import judgement_of_steps
from sanpath.whatif.ceilings import ceilings
from sanpath.whatif.change import Change
from sanpath.whatif.predict import Prediction, explaining, predict
from sanpath.whatif.relief import _next_speed, relief
from sanpath.whatif.what_if import what_if
from tests.scenarios.test_array_layers import LimitedSan
from tests.scenarios.test_figures import with_figures
from tests.scenarios.test_hypervisor_queues import two_queues
from tests.scenarios.test_paths_in_turn import HOST_LINKS, over_two
from tests.support.esx_san import over_first_path
from tests.support.san import ARRAY_PORT, HOST_PORT, AtArray, Flow, San
from tests.support.stories import NOTHING, SECOND_HBA, X, fast, published


def test_a_port_that_only_its_device_counts_has_no_speed_to_raise(tmp_path: Path) -> None:
    facts, judgements = judge_recording(published(San(tmp_path)).write())
    found = judgement_of_steps(judgements)
    port = replace(found.bottlenecks[0], entity="hba:esx7/vmhba2", coincident=())
    change, words = relief(facts, replace(found, bottlenecks=(port,)), None)
    assert change == Change()
    assert words == "hba:esx7/vmhba2 was measured at no switch: the gain from a faster one is not known"


def relieved(recording: Recording) -> tuple[Change, Prediction]:
    facts, judgements = judge_recording(recording)
    found = judgement_of_steps(judgements)
    change, _ = relief(facts, found, explaining(facts, judgements, found))
    return change, predict(facts, judgements, found, change)


def test_queues_in_series_are_relieved_together(tmp_path: Path) -> None:
    """A virtual disk and its LUN with 32 slots each: 128 I/Os below them bring up to four times the throughput."""
    change, prediction = relieved(two_queues(tmp_path, at_disk=32, at_lun=32))
    assert len(change.slots) == 2
    assert prediction.predicted_ops_per_second is not None
    assert prediction.predicted_ops_per_second[1] > 3 * prediction.ops_per_second


def test_the_twin_of_a_full_link_is_relieved_with_it(tmp_path: Path) -> None:
    """Two links carry half of the test each, the second a little less: a faster first link alone would bring 4 %."""
    over_two(tmp_path / "a.sanpath", 0.985, 0.945)
    change, prediction = relieved(Recording(tmp_path / "a.sanpath"))
    assert set(change.speeds) == set(HOST_LINKS)
    assert prediction.predicted_ops_per_second is not None
    assert prediction.predicted_ops_per_second[1] > 1.5 * prediction.ops_per_second


@pytest.mark.parametrize("first", [0.45, 0.50, 0.58])
def test_paths_used_evenly_reach_what_their_links_carry(tmp_path: Path, first: float) -> None:
    """Used in turn, links have uneven shares in a step. Two 4GFC links carry 836.9 MB/s of 32 x 2,076 bytes."""
    over_two(tmp_path / "a.sanpath", first, 1.02 - first)
    _, prediction = relieved(Recording(tmp_path / "a.sanpath"))
    assert prediction.predicted_ops_per_second is not None
    low, high = prediction.predicted_ops_per_second
    assert low < 836.9e6 / (32 * 2076) == pytest.approx(high, rel=0.01)


@pytest.mark.parametrize("in_flight", [(2, 4), (4, 16), (16, 64)])
def test_relief_of_the_slowest_of_unequal_paths_brings_more(tmp_path: Path, in_flight: tuple[int, ...]) -> None:
    """A tenth of the I/Os cross a full 1GFC link, on which 64 KiB take 0.6 ms; the others cross one of 16GFC."""
    ports = [replace(HOST_PORT, speed=1), fast(SECOND_HBA), fast(ARRAY_PORT)]
    san, ops = San(tmp_path / "a.sanpath", ports=ports), 15_000.0
    counted = {
        port.name: (share * ops * 32 * 2076, NOTHING) for port, share in zip(ports, (0.1, 0.9, 1), strict=True)
    }
    for n in in_flight:
        flow = Flow(ops, n / ops)
        san.step(f"q{n}", n, read=flow, ports=counted, disk={"read": flow}, array={"read": AtArray(5e-5)})
    facts, judgements = judge_recording(san.write())
    faster = link_capacity("fibre_channel", 2e9)
    assert faster is not None
    relief_of_it = Change(speeds={"link:esx7/vmhba2--sw1/fc1/7": faster})
    for found in judgements:
        prediction = predict(facts, judgements, found, relief_of_it)
        assert prediction.predicted_ops_per_second is not None
        assert prediction.predicted_ops_per_second[1] > 1.1 * ops


def test_a_link_between_switches_can_be_as_fast_as_their_other_ports(tmp_path: Path) -> None:
    """6,295 reads of 64 KiB a second fill one link of 4GFC; the host's and the array's ports run at 16GFC."""
    ports = [fast(HOST_PORT), fast(replace(ARRAY_PORT, on="sw2"))]
    san = San(tmp_path / "a.sanpath", ports=ports, inter_switch_link=True, isl_speed=4)
    counted = (6295 * 32 * 2076.0, NOTHING)
    for in_flight in (16, 128):
        san.step(
            f"t{in_flight}",
            in_flight,
            read=Flow(6295, in_flight / 6295),
            ports=dict.fromkeys(("fc1/7", "sw1/fc1/31", "sw2/fc1/31", "fc1/1"), counted),
            array={"read": AtArray(0.0004, san=0.8 * in_flight / 6295)},
        )
    change, prediction = relieved(san.write())
    assert {speed.name for speed in change.speeds.values()} == {"16GFC"}
    assert prediction.predicted_ops_per_second is not None
    assert prediction.predicted_ops_per_second[1] == pytest.approx(4 * 6295, rel=0.05)


def limited(folder: Path, of_host: Mapping[str, Scalar], **of_volume: Scalar) -> Recording:
    """64 KiB reads at 3,052 IOPS through 16GFC links, which the array holds back."""
    san = LimitedSan(folder, ports=[fast(HOST_PORT), fast(ARRAY_PORT)])
    san.limits, san.of_host = of_volume, of_host
    for n in (16, 64):
        flow, ports = Flow(3052, n / 3052), {port.name: (3052 * 32 * 2076.0, NOTHING) for port in san.ports}
        waits = AtArray(0.00035, san=4e-5, qos=n / 3052 - 0.00039)
        san.step(f"q{n}", n, read=flow, ports=ports, disk={"read": flow}, array={"read": waits})
    return san.write()


@pytest.mark.parametrize("instance", [None, "m5.4xlarge"], ids=["host at the array", "instance of a cloud"])
def test_a_higher_limit_of_the_volume_meets_that_of_its_host(tmp_path: Path, instance: str | None) -> None:
    of_host: dict[str, Scalar] = {"qos_ops_per_second": 4000.0, "instance_type": instance}
    facts, judgements = judge_recording(limited(tmp_path, of_host, qos_ops_per_second=3052.0))
    change = Change(caps={("volume:fa1/vol01", "ops_per_second"): 40_000.0})
    found = predict(facts, judgements, judgement_of_steps(judgements), change)
    assert found.predicted_ops_per_second is not None
    assert found.predicted_ops_per_second[1] == pytest.approx(4000)


def test_a_limit_of_a_virtual_disk_is_lifted_and_not_deepened(tmp_path: Path) -> None:
    """The disk lets 3,125 I/Os a second through; without that limit, the links carry 6,297."""
    limit: dict[str, Scalar] = {"limit_ops_per_second": 3125}
    change, prediction = relieved(over_first_path(tmp_path, busy=0.5, vdisks={"sqlvm1/scsi0:1": limit}))
    assert change == Change(lifted=frozenset({"vdisk:sqlvm1/scsi0:1"}))
    assert prediction.predicted_ops_per_second is None or prediction.predicted_ops_per_second[1] > 3200


def test_a_data_sheet_of_both_directions_is_shared_by_them(tmp_path: Path) -> None:
    """6,250 reads and 3,125 writes a second of an array that promises 12,000: two thirds of it are reads."""
    san = San(tmp_path / "a.sanpath")
    counted = (X * 32 * 2076, X / 2 * 32 * 2076)
    reads, writes = Flow(X, 40 / X), Flow(X / 2, 20 / (X / 2))
    array = {"read": AtArray(0.0003), "write": AtArray(0.0003)}
    san.step("q60", 60, read=reads, write=writes, ports={port.name: counted for port in san.ports}, array=array)
    san.write()
    sheet = 'entity: "array:fa1", quantity: ceiling, value: 12000 IOPS, source: its data sheet'
    with_figures(tmp_path, sheet, recorded=san)
    facts, _ = judge_recording(Recording(tmp_path / "a.sanpath"))
    found = {
        str(load.direction): ceiling.ops_per_second[1]
        for load in facts.loads
        for ceiling in ceilings(facts, load, Change(), None)
        if ceiling.change == "by its data sheet"
    }
    assert found == pytest.approx({"read": 8000, "write": 4000}, rel=0.01)


def test_a_lifted_limit_of_a_volume_meets_that_of_its_group(tmp_path: Path) -> None:
    limits: dict[str, Scalar] = {"volume_group": "vg3", "group_qos_ops_per_second": 4000.0}
    change, prediction = relieved(limited(tmp_path, {}, qos_ops_per_second=3052.0, **limits))
    assert change == Change(lifted=frozenset({"volume:fa1/vol01"}))
    assert prediction.predicted_ops_per_second is not None
    assert prediction.predicted_ops_per_second[1] == pytest.approx(4000)


def test_a_limit_of_zero_is_none(tmp_path: Path) -> None:
    """As at the array: it is how a limit is taken away."""
    facts, judgements = judge_recording(limited(tmp_path, {}, qos_ops_per_second=3052.0))
    zero, none = (
        predict(
            facts,
            judgements,
            judgement_of_steps(judgements),
            Change(caps={("volume:fa1/vol01", "ops_per_second"): limit}),
        )
        for limit in (0.0, float("inf"))
    )
    assert zero.predicted_ops_per_second == none.predicted_ops_per_second


def test_a_queue_below_a_full_generator_is_no_relief(tmp_path: Path) -> None:
    """A process uses all of its core. 5 of its 64 I/Os are at the disk, and the others wait in it."""
    san = San(tmp_path / "r.sanpath", ports=[fast(HOST_PORT), fast(ARRAY_PORT)], guest_queue_depth=None)
    ports = {port.name: (1e6, NOTHING) for port in san.ports}
    for n, ops, at_disk, core in ((1, 1_200.0, 1.0, 0.2), (64, 6_600.0, 5.3, 1.0)):
        disk, array = {"read": Flow(ops, at_disk / ops)}, {"read": AtArray(7e-4, san=2e-5)}
        san.step(f"q{n}", n, read=Flow(ops, n / ops), ports=ports, disk=disk, array=array, cpu=core)
    found = what_if(*judge_recording(san.write()), [], relieve=True)
    assert "lets all I/Os through" not in str(found.relieved)


def test_a_link_that_others_alone_would_fill_leaves_nothing_to_predict(tmp_path: Path) -> None:
    """Others write 760 MB/s over an 8 Gb/s port, on which the test reads and writes; a 4 Gb/s port carries 425."""
    others, block, link = 760e6, 66_000, "link:sw1/fc1/1--fa1/CT0.FC0"
    reads, writes = Flow(60e6 / block, 0.0), Flow(75e6 / block, 0.0)
    san = San(tmp_path / "r", ports=[replace(HOST_PORT, speed=8), replace(ARRAY_PORT, speed=8)])
    for n in (1, 16):
        each = n / (reads.ops + writes.ops)
        ports = {"fc1/7": (60e6, 75e6), "fc1/1": (60e6, 75e6 + others)}
        san.step(f"q{n}", n, read=Flow(reads.ops, each), write=Flow(writes.ops, each), ports=ports)
    facts, judgements = judge_recording(san.write())
    slower = link_capacity("fibre_channel", 4e9)
    assert slower is not None
    change = Change(speeds={link: slower})
    for judged in judgements:
        assert min(each.ops_per_second for each in ceilings(facts, judged.load, change, None)) == (0.0, 0.0)
    found = what_if(facts, judgements, ["switch_port:sw1/fc1/1.speed=4GFC"], relieve=False)
    assert [one.predicted_ops_per_second for one in found.steps] == [None] * 4
    assert all(one.unknown and one.unknown.startswith(f"others alone fill {link}") for one in found.steps)


@pytest.mark.parametrize(("gigabits", "faster"), [(1, 10e9), (10, 25e9), (40, 100e9), (800, None)])
def test_a_faster_ethernet_link_has_a_speed_that_exists(gigabits: float, faster: float | None) -> None:
    row: FactRow = {
        "technology": "ethernet",
        "negotiated_bits_per_second": gigabits * 1e9,
        "capacity_bytes_per_second": gigabits * 1e9 / 8,
    }
    found = _next_speed(row)
    assert found == (None if faster is None else link_capacity("ethernet", faster))

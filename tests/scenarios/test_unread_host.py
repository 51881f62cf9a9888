"""A host whose queues nobody reads: what is below them tells of them, where the depth of a LUN is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath.model import Scalar
from sanpath_collectors.fio import tables
from sanpath_collectors.fio.tables import LOAD
from tests.support.esx_san import EsxSan
from tests.support.recording import Number, RecordingBuilder
from tests.support.san import ARRAY_PORT, HOST_PORT, KIB, AtArray, Flow, San
from tests.support.stories import NOTHING, fast, judged

BELOW_SECONDS = 0.002
LUN = "lun:sqlvm1/sda"


def admitted(
    folder: Path,
    slots: int,
    guest_queue_depth: int,
    *,
    second_lun: bool = False,
    offered: Sequence[int] = (8, 32, 96),
    counted_ratio: float = 1.0,
) -> Diagnosis:
    """Steps with so many outstanding I/Os, of which the host lets `slots` through, 2 ms each.

    `counted_ratio`: part of the I/Os that the volume reports."""
    san = San(folder, leave_out={"disk"}, guest_queue_depth=guest_queue_depth, second_lun=second_lun)
    san.ports = [fast(port) for port in (HOST_PORT, ARRAY_PORT)]
    for n in offered:
        ops = min(n, slots) / BELOW_SECONDS
        counted = (ops * 8 * KIB * 1.02, NOTHING)
        san.step(
            f"q{n}",
            n,
            block=8 * KIB,
            read=Flow(ops, n / ops),
            ports={HOST_PORT.name: counted, ARRAY_PORT.name: counted},
            array={"read": AtArray(BELOW_SECONDS - 5e-5, san=2e-5, ops=counted_ratio * ops)},
        )
    return judged(san.write())


@pytest.mark.parametrize("second_lun", [False, True])
@pytest.mark.parametrize("slots", [16, 20])
def test_the_disk_whose_volume_carries_the_load_limits_where_its_slots_are_full(
    tmp_path: Path, slots: int, second_lun: bool
) -> None:
    """No source says which disk the load uses. The machine has one, or another one whose volume is idle."""
    verdict = admitted(tmp_path, slots, guest_queue_depth=slots, second_lun=second_lun).verdict
    assert (verdict.kind, [b.entity for b in verdict.bottlenecks]) == ("bottleneck", [LUN])
    assert any(f"of {slots} slots" in reason for reason in verdict.suspects[0].because)


@pytest.mark.parametrize(("counted_ratio", "carries"), [(0.94, True), (0.8, False), (1.2, False)])
def test_a_volume_may_lack_a_window_of_the_load_and_have_no_more_than_it(
    tmp_path: Path, counted_ratio: float, carries: bool
) -> None:
    """A twelfth of what a volume reports in twelve seconds may be of the time before them, if its values are late."""
    verdict = admitted(tmp_path, 16, guest_queue_depth=16, second_lun=True, counted_ratio=counted_ratio).verdict
    assert ([b.entity for b in verdict.bottlenecks] == [LUN]) == carries


def test_a_disk_with_more_slots_than_outstanding_ios_is_not_accused(tmp_path: Path) -> None:
    """16 are below and the disk has 254: the queue is the hypervisor's, which nobody reads."""
    verdict = admitted(tmp_path, 16, guest_queue_depth=254).verdict
    assert verdict.suspects[0].kind in ("unseen", "hba")
    assert LUN not in [b.entity for b in verdict.bottlenecks]
    assert "io_stack" not in {suspect.kind for suspect in verdict.suspects}, "no clock tells what is above a device"
    assert "read_host" in {experiment.action for experiment in verdict.experiments}


def test_an_initiator_whose_queue_is_read_limits_where_its_slots_are_full(tmp_path: Path) -> None:
    """16,000 IOPS in each step; 56 I/Os of 3.5 ms are in the array, and a few more on their way there."""
    queue = {"hba": {"in_flight": 63, "queue_depth": 64}}
    san = EsxSan(tmp_path, [fast(HOST_PORT), fast(ARRAY_PORT)], leave_out={"disk", "lun"}, counted=queue)
    for n in (64, 256):
        ports = {port.name: (16_000 * 8 * KIB * 1.02, NOTHING) for port in san.ports}
        array = {"read": AtArray(0.0035, san=2e-5)}
        san.step(f"q{n}", n, block=8 * KIB, read=Flow(16_000, n / 16_000), ports=ports, array=array)
    verdict = judged(san.write()).verdict
    assert [bottleneck.entity for bottleneck in verdict.bottlenecks] == ["hba:esx7/vmhba2"]
    assert verdict.suspects[0].because == ("63 of 64 of its slots are in use",)


def test_a_disk_with_far_more_ios_than_slots_is_not_accused(tmp_path: Path) -> None:
    """250 times its slots are below it: the depth that was reported is not the one in force."""
    verdict = admitted(tmp_path, 1000, guest_queue_depth=4, offered=(1000, 2000)).verdict
    assert verdict.suspects[0].entity != LUN


def test_an_acquittal_needs_seven_to_one(tmp_path: Path) -> None:
    """One step with 8 of 8 outstanding I/Os at an array that may hide its queue: likely too few, but not proven."""
    san = San(tmp_path, leave_out={"disk"})
    san.ports = [fast(port) for port in (HOST_PORT, ARRAY_PORT)]
    ops = 8 / 0.004
    counted = (ops * 8 * KIB * 1.02, NOTHING)
    san.step(
        "q8",
        8,
        block=8 * KIB,
        read=Flow(ops, 8 / ops),
        ports={HOST_PORT.name: counted, ARRAY_PORT.name: counted},
        array={"read": AtArray(0.004, san=2e-5, queue=None)},
    )
    verdict = judged(san.write()).verdict
    first = verdict.suspects[0]
    assert first.verdict == "concurrency_limited"
    assert first.probability < 7 / 8
    assert (verdict.kind, verdict.bottlenecks) == ("cannot_tell", ())


@pytest.mark.parametrize("second_lun", [False, True])
def test_an_array_behind_all_luns_of_a_machine_serves_its_load(tmp_path: Path, second_lun: bool) -> None:
    """No source says which LUN the load uses, and no switch is read. All LUNs are of one array, and their volumes
    carry together what the load moves. Its reads wait in the array."""
    san = San(tmp_path, leave_out={"disk", "switch"}, guest_queue_depth=254, second_lun=second_lun)
    for n in (32, 128):
        in_array = AtArray(0.0005, queue=n / 20_000 - 0.0006, san=2e-5)
        san.step(f"q{n}", n, block=8 * KIB, read=Flow(20_000, n / 20_000), array={"read": in_array})
    verdict = judged(san.write()).verdict
    assert (verdict.kind, [b.entity for b in verdict.bottlenecks]) == ("bottleneck", ["array:fa1"])


def only_the_load(folder: Path, in_flight: int) -> Diagnosis:
    """Nothing but the result of a load on a disk of db1: 5,000 IOPS with so many I/Os in flight, and with twice as
    many."""
    out = RecordingBuilder(folder)
    out.source("fio", "fio", LOAD)
    out.entity("fio", "host", "db1")
    out.entity("fio", "lun", "db1/sdb")
    for line in ("load:fio runs_on host:db1", "load:fio targets lun:db1/sdb", "lun:db1/sdb attached_to host:db1"):
        out.configure_link(line)
    done = waited = 0
    for begin, many in ((0, in_flight), (40, 2 * in_flight)):
        mark: dict[str, Scalar] = {"step": f"q{many}", "group": 0, "loads": "fio", "offered": many}
        out.event("fio", begin, "step-begin", **mark)
        out.event("fio", begin + 30, "step-end", **mark)
        for at in range(begin, begin + 31):
            counted: dict[str, Number] = {"ops_read_total": done, "latency_seconds_read_total": waited}
            out.samples("fio", LOAD, at, {"fio": counted})
            done, waited = done + 5_000, waited + many * 10**9
    return judged(out.write())


def test_a_disk_of_which_only_the_name_is_known_is_less_likely_the_fewer_ios_fill_it(tmp_path: Path) -> None:
    """Disks of a SAN mostly admit 30 I/Os or more: a load that is as fast with 14 hardly waits for a slot of one."""
    likelihoods = []
    for n in (14, 40, 100, 300):
        suspects = only_the_load(tmp_path / str(n), n).verdict.suspects
        likelihoods.append(sum(suspect.probability for suspect in suspects if suspect.kind == "lun"))
    assert likelihoods == sorted(likelihoods)
    assert 0 < likelihoods[0] < 0.3 < likelihoods[-1] < 0.65


@pytest.mark.parametrize(
    ("others", "twin", "named"),
    [(0.0, False, ["array:fa1"]), (6_000.0, False, ["array:fa1"]), (6_000.0, True, [])],
    ids=["the array's traffic", "a volume's traffic", "that of two volumes"],
)
def test_what_alone_has_the_traffic_of_a_load_serves_it(
    tmp_path: Path, others: float, twin: bool, named: list[str]
) -> None:
    """No LUN of the load is known, and no switch is read."""
    san = San(tmp_path, leave_out={"disk", "switch", "lun"}, twin=twin)
    for n in (32, 128):
        in_array = AtArray(0.0005, queue=n / 20_000 - 0.0006, san=2e-5, others=others)
        san.step(f"q{n}", n, block=8 * KIB, read=Flow(20_000, n / 20_000), array={"read": in_array})
    assert [b.entity for b in judged(san.write()).verdict.bottlenecks] == named


def test_an_array_is_not_blamed_for_a_wait_on_links_that_nobody_counts(tmp_path: Path) -> None:
    """No link of the host is known; that of the array is used to a tenth. 4 and 9 I/Os bring the same, and the array
    takes 0.2 ms of 0.6 and 1.4."""
    san = San(tmp_path, ports=[fast(ARRAY_PORT)], leave_out={"disk", "lun"})
    for n in (4, 9):
        counted = {ARRAY_PORT.name: (6300 * 128 * KIB * 1.02, NOTHING)}
        flow = Flow(6300, n / 6300)
        san.step(f"q{n}", n, block=128 * KIB, read=flow, ports=counted, array={"read": AtArray(0.0002)})
    verdict = judged(san.write()).verdict
    assert (verdict.kind, verdict.bottlenecks) == ("cannot_tell", ())


def with_a_single_io(folder: Path, between_seconds: float) -> Diagnosis:
    """16 I/Os do 2,500 a second, of which the array has two at a time. `between_seconds`: what passes between the
    clocks of load and array where a single I/O is outstanding."""
    san, inside = San(folder, leave_out={"disk"}), 8e-4
    for n, ops in ((1, 1 / (inside + between_seconds)), (16, 2500.0)):
        counted = (ops * 8 * KIB * 1.02, NOTHING)
        ports = {HOST_PORT.name: counted, ARRAY_PORT.name: counted}
        at_array = AtArray(inside, ops=ops)
        san.step(f"q{n}", n, block=8 * KIB, read=Flow(ops, n / ops), ports=ports, array={"read": at_array})
    return judged(san.write())


def test_what_remains_with_a_single_io_is_no_wait_for_a_slot(tmp_path: Path) -> None:
    """What serves one I/O at a time does so every 1/2,500 s, with one outstanding as well. A queue delays nothing
    then."""
    served, free = (
        with_a_single_io(tmp_path / f"{seconds}.sanpath", seconds).verdict for seconds in (1 / 2500, 2e-5)
    )
    assert (served.kind, served.suspects[0].kind) == ("bottleneck", "array")
    of_array = [
        next(suspect.probability for suspect in verdict.suspects if suspect.kind == "array")
        for verdict in (served, free)
    ]
    assert of_array[0] > 2 * of_array[1]


def test_a_single_io_is_proposed_where_the_hosts_queues_are_not_read(tmp_path: Path) -> None:
    san = San(tmp_path / "a.sanpath", leave_out={"disk"})
    counted = (1300 * 8 * KIB * 1.02, NOTHING)
    ports = {HOST_PORT.name: counted, ARRAY_PORT.name: counted}
    at_array = {"read": AtArray(8e-4, ops=1300.0)}
    san.step("q16", 16, block=8 * KIB, read=Flow(1300, 16 / 1300), ports=ports, array=at_array)
    alone = next(each for each in judged(san.write()).verdict.experiments if each.action == "one_in_flight")
    assert alone.in_flight == 1
    of_queue = [meaning for meaning in alone.meanings if (meaning.entity or "").startswith("lun:")]
    assert of_queue
    assert all(meaning.if_not < meaning.probability < meaning.if_seen for meaning in of_queue)


def with_waits_in_the_array(folder: Path, queue_seconds: float) -> float:
    """64 outstanding I/Os, 32 of them below the disk for 8 ms each, all of that in the array. Returns how probable a
    queue of the host is."""
    san, ops = San(folder, leave_out={"disk"}), 4000.0
    san.ports = [fast(port) for port in (HOST_PORT, ARRAY_PORT)]
    counted = (ops * 8 * KIB * 1.02, NOTHING)
    ports = {HOST_PORT.name: counted, ARRAY_PORT.name: counted}
    at_array = AtArray(0.0079 - queue_seconds, queue=queue_seconds, ops=ops)
    san.step("q64", 64, block=8 * KIB, read=Flow(ops, 64 / ops), ports=ports, array={"read": at_array})
    suspects = judged(san.write()).verdict.suspects
    return sum(suspect.probability for suspect in suspects if suspect.kind in ("lun", "hba"))


def test_an_array_in_which_ios_wait_is_busy_so_that_more_slots_bring_little(tmp_path: Path) -> None:
    """16 of its 32 I/Os wait while 16 are served: it is never idle. Of 1 that waits while 31 are served, nothing
    follows."""
    probabilities = [with_waits_in_the_array(tmp_path / f"{ms}.sanpath", ms / 1e3) for ms in (0.2, 4.0)]
    assert probabilities[1] < 0.5 < probabilities[0]


@pytest.mark.parametrize("plane", ["guest_block", "windows_disk"])
def test_windows_disks_have_no_queue_above_their_clock(
    tmp_path: Path, plane: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """8 of 64 I/Os are seen at the disk. Linux counts those that have a slot, Windows counts all."""
    monkeypatch.setattr("tests.support.san.LUN", replace(tables.LUN, plane=plane))
    san = San(tmp_path / "a.sanpath", guest_queue_depth=None, leave_out={"switch", "array"})
    for n in (16, 64):
        flow = Flow(10_000, n / 10_000)
        san.step(f"q{n}", n, block=8 * KIB, read=flow, disk={"read": Flow(10_000, 8e-4)})
    first = judged(san.write()).verdict.suspects[0]
    expected = ("lun", LUN) if plane == "guest_block" else ("io_stack", "vm:sqlvm1")
    assert (first.kind, first.entity) == expected

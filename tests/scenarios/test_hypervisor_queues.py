"""The queue of an ESXi host for a LUN, as a vCenter tells of it: whole milliseconds of DAVG and KAVG, cut off."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sanpath.diagnosis.model import Diagnosis, LatencyBudget, Verdict
from sanpath.facts.compute import compute
from sanpath.facts.table import number
from sanpath.model import Scalar
from sanpath.recording.reading.recording import Recording
from sanpath.summary.consequence import consequence
from tests.support.esx_queue import EsxQueue
from tests.support.san import ARRAY_PORT, HOST_PORT, KIB, NAA, AtArray, Flow
from tests.support.stories import COUNTED, NOTHING, X, fast, judged

DEVICE = f"lun:esx7/{NAA}"
HOST_LINK = "link:esx7/vmhba2--sw1/fc1/7"


def host_queue(folder: Path, leave_out: frozenset[str] = frozenset(), r0: float = 0.0065) -> Diagnosis:
    """16 KiB on 32GFC. The host lets 32 through, an I/O takes `r0` below: 32 / 6.5 ms = 4,923 IOPS.
    With 128 in flight an I/O takes 26 ms, and 19.5 of them pass in the kernel."""
    san = EsxQueue(folder, ports=[fast(p, 32) for p in (HOST_PORT, ARRAY_PORT)], leave_out={"disk", *leave_out})
    for n in (8, 128):
        ops = min(n, 32) / r0
        counted = (ops * 8 * 2076, NOTHING)
        san.step(
            f"t{n}",
            n,
            block=16 * KIB,
            read=Flow(ops, n / ops),
            ports={HOST_PORT.name: counted, ARRAY_PORT.name: counted},
            array={"read": AtArray(r0 - 0.0001, san=0.00005)},
        )
        san.milliseconds[f"t{n}"] = int(r0 * 1e3), int((n / ops - r0) * 1e3)
        san.at_vdisk[f"t{n}"] = n / ops - 0.0002
    return judged(san.write())


def test_a_range_of_ios_may_hold_a_usual_depth(tmp_path: Path) -> None:
    """16 of 64 I/Os pass the virtual disk, whose depth nobody reads, in 1.3 ms each. Whole milliseconds tell 1 to 3
    for that, so 16 to 36 I/Os: not 24, which is no usual depth."""
    san = EsxQueue(tmp_path, ports=[fast(p, 32) for p in (HOST_PORT, ARRAY_PORT)], leave_out={"disk"}, depth=64)
    for n in (4, 16, 64):
        ops = min(n, 16) / 1.31e-3
        counted = (ops * (4 * 2076 + 52), NOTHING)
        ports = {HOST_PORT.name: counted, ARRAY_PORT.name: counted}
        san.step(f"t{n}", n, block=8 * KIB, read=Flow(ops, n / ops), ports=ports, array={"read": AtArray(1.26e-3)})
        san.milliseconds[f"t{n}"] = 1, 0
    first = judged(san.write()).verdict.suspects[0]
    assert first.kind == "vdisk"
    assert first.probability > 0.57


def link_below(folder: Path) -> Diagnosis:
    """The published test at 16 and 128 in flight, under a host's queue of 32: 20.5 ms, of which 15.4 in the kernel
    and 5.1 below it, because 32 wait for the full link there."""
    san = EsxQueue(folder, leave_out={"disk"})
    for n, below in ((16, 0.00256), (128, 0.00512)):
        san.step(
            f"t{n}",
            n,
            read=Flow(X, n / X),
            ports={port.name: (COUNTED, NOTHING) for port in (HOST_PORT, ARRAY_PORT)},
            array={"read": AtArray(0.00035, san=0.0021)},
        )
        san.milliseconds[f"t{n}"] = int(below * 1e3), int((n / X - below) * 1e3)
    return judged(san.write())


def budget(found: Diagnosis, step: str) -> LatencyBudget:
    (one,) = [b for b in found.latency_budget if b.step == step]
    return one


def test_the_queue_of_the_host_limits_where_nothing_below_it_has_slowed_down(tmp_path: Path) -> None:
    verdict = host_queue(tmp_path).verdict
    assert "read_host" not in {experiment.action for experiment in verdict.experiments}
    (bottleneck,) = verdict.bottlenecks
    assert (verdict.kind, bottleneck.entity, bottleneck.layer) == ("bottleneck", DEVICE, "host")
    assert (bottleneck.wait_at, verdict.from_step) == (DEVICE, "t128")
    assert bottleneck.ceiling_ops_per_second == pytest.approx(4923, rel=0.01)
    assert bottleneck.explains == pytest.approx(19.5 / 26, abs=0.01)


@pytest.mark.parametrize("unread", [frozenset[str](), frozenset({"array"})])
def test_what_takes_56_ms_for_8_ios_and_for_32_does_not_wait(tmp_path: Path, unread: frozenset[str]) -> None:
    verdict = host_queue(tmp_path, unread, r0=0.056).verdict
    assert [bottleneck.entity for bottleneck in verdict.bottlenecks] == [DEVICE]


def test_the_wait_in_the_kernel_is_the_host_s_part_of_the_latency(tmp_path: Path) -> None:
    parts = {(p.plane, p.layer): p for p in budget(host_queue(tmp_path), "t128").parts}
    low, high = parts["kernel", "host"].seconds
    assert low <= 0.0195 <= high
    assert high - low <= 0.0021
    assert parts["load", "guest"].entity == "vdisk:sqlvm1/Hard disk 2"
    assert sum(parts["load", "guest"].seconds) / 2 == pytest.approx(0.0002, rel=0.01)


def test_the_parts_and_the_rest_make_the_whole(tmp_path: Path) -> None:
    one = budget(host_queue(tmp_path), "t128")
    middles = [sum(part.seconds) / 2 for part in one.parts]
    assert sum(middles) + sum(one.unexplained_seconds) / 2 == pytest.approx(one.total_seconds)


def test_a_full_link_below_limits_and_the_wait_is_at_the_host_s_queue(tmp_path: Path) -> None:
    found = link_below(tmp_path)
    (bottleneck,) = found.verdict.bottlenecks
    assert (bottleneck.kind, bottleneck.entity, bottleneck.wait_at) == ("link", HOST_LINK, DEVICE)
    held = next(part for part in budget(found, "t128").parts if part.plane == "kernel")
    assert (held.entity, held.limited_by) == (DEVICE, HOST_LINK)


def test_slots_say_what_a_rounded_clock_does_not(tmp_path: Path) -> None:
    """0.4 ms read as 0, and up to 0.9 ms would be possible below the queue. By Little's law 32 slots hold 80,000 I/Os
    a second for 0.4 ms. That none of it is a wait is what the array's own time adds."""
    found = host_queue(tmp_path / "seen", r0=0.0004)
    (bottleneck,) = found.verdict.bottlenecks
    assert bottleneck.entity == DEVICE
    array = [suspect.probability for suspect in found.verdict.suspects if suspect.kind == "array"]
    assert sum(array) < 0.15
    unseen = host_queue(tmp_path / "unseen", frozenset({"array"}), r0=0.0004).verdict
    assert unseen.grade != "A", "below the queue nobody looks"
    assert unseen.suspects[0].probability < found.verdict.suspects[0].probability


def test_the_full_queue_is_a_finding_with_the_line_that_deepens_it(tmp_path: Path) -> None:
    found = host_queue(tmp_path)
    (hit,) = [f for f in found.findings if f.rule == "lun-queue-limits" and f.outcome == "hit"]
    assert hit.entity == DEVICE
    assert any(f"esxcli storage core device set -d {NAA}" in line for fix in hit.fix for line in fix.commands)


def test_an_io_that_waits_in_a_queue_below_has_a_slot_of_the_virtual_disk(tmp_path: Path) -> None:
    """64 of 256 I/Os are at the virtual disk for 6.4 ms each: 2.5 ms of these in the kernel, and 3.9 below it."""
    san = EsxQueue(tmp_path, ports=[fast(p, 32) for p in (HOST_PORT, ARRAY_PORT)], leave_out={"disk"}, depth=256)
    for n in (64, 256):
        counted = (10_000 * 4 * 2076.0, NOTHING)
        san.step(
            f"t{n}",
            n,
            block=8 * KIB,
            read=Flow(10_000, n / 10_000),
            ports={HOST_PORT.name: counted, ARRAY_PORT.name: counted},
            array={"read": AtArray(0.0035, san=0.0002)},
        )
        san.milliseconds[f"t{n}"], san.at_vdisk[f"t{n}"] = (3, 2), 0.0064
    suspect = judged(san.write()).verdict.suspects[0]
    assert suspect.entity == "vdisk:sqlvm1/Hard disk 2"
    assert "64.0 I/Os are below it on average" in " ".join(suspect.because)


def above_kernel(folder: Path, *, disk_is_read: bool) -> Verdict:
    """DAVG 1 ms and KAVG 0 for a LUN of 128 slots, 24 ms and 96 ms at the virtual disk: no slot is short."""
    san = EsxQueue(folder, ports=[fast(p, 32) for p in (HOST_PORT, ARRAY_PORT)], leave_out={"disk"}, depth=128)
    for n in (24, 96):
        counted = (1000 * 8 * 2076.0, NOTHING)
        san.step(
            f"t{n}",
            n,
            block=16 * KIB,
            read=Flow(1000, n / 1000),
            ports={HOST_PORT.name: counted, ARRAY_PORT.name: counted},
            array={"read": AtArray(0.001, san=0.00005)},
        )
        san.milliseconds[f"t{n}"] = 1, 0
        if disk_is_read:
            san.at_vdisk[f"t{n}"] = n / 1000 - 0.0001
    return judged(san.write()).verdict


def test_what_waits_above_a_kernel_that_holds_nothing_waits_at_the_virtual_disk(tmp_path: Path) -> None:
    (bottleneck,) = above_kernel(tmp_path, disk_is_read=True).bottlenecks
    assert (bottleneck.entity, bottleneck.layer) == ("vdisk:sqlvm1/Hard disk 2", "host")


def test_it_does_so_where_no_clock_of_the_virtual_disk_is_read(tmp_path: Path) -> None:
    suspects = {
        suspect.entity: suspect.probability for suspect in above_kernel(tmp_path, disk_is_read=False).suspects
    }
    assert DEVICE not in suspects
    assert suspects["vdisk:sqlvm1/Hard disk 2"] + suspects["vm:sqlvm1"] > 0.8


def sixteen_of_64_slots(folder: Path, *, below: tuple[int, ...] = (8, 16), **more: Any) -> Diagnosis:
    """16 KiB on 32GFC with 8 and 64 in flight. I/Os take 8 ms below the queue of a LUN of 64 slots, which lets 8 and
    16 pass: 16 / 8 ms = 2,000 IOPS, and 64 / 2,000 = 32 ms, of which 24 pass in the kernel."""
    ports = [fast(port, 32) for port in (HOST_PORT, ARRAY_PORT)]
    san = EsxQueue(folder, ports=ports, leave_out={"disk"}, depth=64, **more)
    for n, slots in zip((8, 64), below, strict=True):
        ops = slots / 0.008
        san.step(
            f"t{n}",
            n,
            block=16 * KIB,
            read=Flow(ops, n / ops),
            ports={port.name: (ops * 8 * 2076, NOTHING) for port in (HOST_PORT, ARRAY_PORT)},
            array={"read": AtArray(0.0079, san=0.00005)},
        )
        san.milliseconds[f"t{n}"] = 8, round((n / ops - 0.008) * 1e3)
        san.at_vdisk[f"t{n}"] = n / ops - 0.0001
    return judged(san.write())


def slots_in_use(found: Diagnosis) -> tuple[float | None, str | None]:
    """The slots of the LUN in the last step, and what limits."""
    (depth,) = [p.admitted for p in found.steps[-1].in_flight.planes if p.plane == "device"]
    return depth, next((bottleneck.entity for bottleneck in found.verdict.bottlenecks), None)


def test_virtual_machines_that_compete_for_a_lun_have_fewer_slots_than_it_has(tmp_path: Path) -> None:
    """Disk.SchedNumReqOutstanding is 16, and two virtual machines have disks on the LUN."""
    found = sixteen_of_64_slots(tmp_path, neighbour=True, lun={"sched_num_req_outstanding": 16})
    assert slots_in_use(found) == (16, DEVICE)
    assert "16 of 16 slots are in use" in found.verdict.suspects[0].because


def test_a_virtual_machine_alone_has_all_slots_of_a_lun(tmp_path: Path) -> None:
    found = sixteen_of_64_slots(tmp_path, lun={"sched_num_req_outstanding": 16})
    depth, limit = slots_in_use(found)
    assert (depth, limit == DEVICE) == (64, False)


def test_more_ios_than_competing_ones_may_be_do_not_compete(tmp_path: Path) -> None:
    """The other virtual machine is idle: 64 I/Os have a slot each."""
    attributes: dict[str, Scalar] = {"sched_num_req_outstanding": 16}
    found = sixteen_of_64_slots(tmp_path, neighbour=True, lun=attributes, below=(8, 64))
    assert slots_in_use(found)[0] == 64


@pytest.mark.parametrize("qavg", [0, 11, 13, 24])
def test_what_esxi_holds_back_above_free_slots_does_not_wait_for_them(tmp_path: Path, qavg: int) -> None:
    """16 of 64 slots are in use. QAVG only says that ESXi holds the other I/Os back: by a limit, shares, Storage I/O
    Control or competing virtual machines. It does not tell by which, however much of the 24 ms it covers."""
    found = sixteen_of_64_slots(tmp_path, qavg={"t8": 0, "t64": qavg}).verdict
    assert found.suspects[0].entity == "host:esx7"
    assert DEVICE in [suspect.entity for suspect in found.suspects]
    assert (found.grade, DEVICE in [b.entity for b in found.bottlenecks]) == ("C", False)


def test_an_adapter_that_counts_the_ios_that_wait_for_it_limits(tmp_path: Path) -> None:
    """16 of 64 slots of the LUN are in use, and all 16 of its adapter. 64 - 16 = 48 I/Os wait, 2,000 IOPS x 24 ms. If
    the adapter counts these 48, they do not wait in anything unread; if it counts none, that is likely."""
    likelihoods = {}
    for queued in (0, 24, 48):
        folder = tmp_path / str(queued)
        found = sixteen_of_64_slots(folder, qavg={"t8": 0, "t64": 24}, adapter={"t8": (8, 0), "t64": (16, queued)})
        likelihoods[queued] = {suspect.entity: suspect.probability for suspect in found.verdict.suspects}
    adapter, host = (
        [likelihoods[queued].get(entity, 0.0) for queued in (0, 24, 48)]
        for entity in (f"hba:esx7/{HOST_PORT.device}", "host:esx7")
    )
    assert adapter == sorted(adapter)
    assert host == sorted(host, reverse=True)
    assert adapter[2] > 0.8
    assert [bottleneck.entity for bottleneck in found.verdict.bottlenecks] == [f"hba:esx7/{HOST_PORT.device}"]


def test_storage_io_control_leaves_fewer_slots_in_its_step(tmp_path: Path) -> None:
    """8 of 64 in the last step: 1,000 IOPS. Before, 16 I/Os had a slot each."""
    found = sixteen_of_64_slots(tmp_path, below=(8, 8), sioc={"t8": 64, "t64": 8})
    assert slots_in_use(found) == (8, DEVICE)


def test_a_queue_that_other_virtual_machines_fill_as_well_limits_each_of_them(tmp_path: Path) -> None:
    """64 slots, 4 ms below them: 16,000 IOPS, of which 6,000 are the test's. As many I/Os wait above, for 4 ms."""
    san = EsxQueue(tmp_path, ports=[fast(p, 32) for p in (HOST_PORT, ARRAY_PORT)], leave_out={"disk"}, depth=64)
    san.others["t49"] = 10_000 / 6_000
    counted = (16_000 * 4 * 2076.0, NOTHING)
    san.step(
        "t49",
        49,
        block=8 * KIB,
        read=Flow(6_000, 0.0082),
        ports={HOST_PORT.name: counted, ARRAY_PORT.name: counted},
        array={"read": AtArray(0.0036, san=0.0002)},
    )
    san.milliseconds["t49"], san.at_vdisk["t49"] = (4, 4), 0.0081
    verdict = judged(san.write()).verdict
    assert verdict.suspects[0].entity == DEVICE
    assert any("of 64 slots are in use" in words for words in verdict.suspects[0].because)


def shared_by_virtual_machines(folder: Path, depth: int) -> Diagnosis:
    """16 KiB on 32GFC. Another virtual machine keeps 60 I/Os in flight on the LUN of the test, and both together get
    4,000 a second, divided by who asks: 250 of them for 4 of the test, 842 for 16, and 2,065 for 64. 32 of them take
    8 ms below the queue; where the queue lets all through, they take longer there."""
    san = EsxQueue(folder, ports=[fast(p, 32) for p in (HOST_PORT, ARRAY_PORT)], leave_out={"disk"}, depth=depth)
    for n in (4, 16, 64):
        ops = 4_000 * n / (n + 60)
        below = min(depth, n + 60) / 4_000
        san.step(
            f"t{n}",
            n,
            block=16 * KIB,
            read=Flow(ops, n / ops),
            ports={port.name: (4_000 * 8 * 2076, NOTHING) for port in (HOST_PORT, ARRAY_PORT)},
            array={"read": AtArray(below - 0.0001, san=0.00005, others=4_000 - ops)},
        )
        san.milliseconds[f"t{n}"] = int(below * 1e3), int((n / ops - below) * 1e3)
        san.at_vdisk[f"t{n}"] = n / ops - 0.0001
        san.others[f"t{n}"] = 60 / n
    return judged(san.write())


def test_a_queue_full_of_others_ios_is_as_full_with_a_few_of_the_test(tmp_path: Path) -> None:
    """The test has 2, 6.7 and 16.5 of the 32 slots, and others have the rest: no slot is free in any step."""
    found = shared_by_virtual_machines(tmp_path, depth=32)
    of_steps = [step.verdict for step in found.steps if step.verdict is not None]
    assert {bottleneck.entity for verdict in of_steps for bottleneck in verdict.bottlenecks} == {DEVICE}
    (bottleneck,) = found.verdict.bottlenecks
    assert "the queue lets 16.5 I/Os through beside 15.5 of others, 64 are offered" in bottleneck.because


def test_a_queue_with_slots_for_all_that_use_it_limits_none_of_them(tmp_path: Path) -> None:
    """The same throughput, and what waits does so in the array."""
    found = shared_by_virtual_machines(tmp_path, depth=256)
    assert found.verdict.suspects[0].entity == "array:fa1"
    assert DEVICE not in [suspect.entity for suspect in found.verdict.suspects]


def two_queues(folder: Path, at_disk: int, at_lun: int) -> Recording:
    """8 KiB on 32GFC: I/Os take 2.5 ms below the queue of the LUN, which has 32 slots. The guest lets `at_disk` I/Os
    through to the virtual disk, of which `at_lun` are below that queue when 128 are in flight."""
    ports = [fast(port, 32) for port in (HOST_PORT, ARRAY_PORT)]
    san = EsxQueue(folder, ports=ports, leave_out={"disk"}, lun={"queue_depth": 32})
    for n in (8, 128):
        ops = min(n, at_lun) / 0.0025
        counted = (ops * (4 * 2076 + 52), NOTHING)
        wires = {HOST_PORT.name: counted, ARRAY_PORT.name: counted}
        san.step(f"t{n}", n, block=8 * KIB, read=Flow(ops, n / ops), ports=wires, array={"read": AtArray(0.0024)})
        san.at_vdisk[f"t{n}"] = min(n, at_disk) / ops
        san.milliseconds[f"t{n}"] = 2, int((min(n, at_disk) / ops - 0.0025) * 1e3)
    return san.write()


def test_queues_of_the_same_depth_in_series_limit_together(tmp_path: Path) -> None:
    """LSI Logic and a LUN, 32 each: 32 / 2.5 ms = 12,800 IOPS, and more slots in one of them change nothing."""
    found = judged(two_queues(tmp_path, at_disk=32, at_lun=32))
    (bottleneck,) = found.verdict.bottlenecks
    assert set(bottleneck.elements) == {DEVICE, "vdisk:sqlvm1/Hard disk 2"}
    assert "relieve both" in (found.summary.consequence or "")


def test_a_disk_of_the_guest_and_a_lun_of_one_depth_are_both_relieved(tmp_path: Path) -> None:
    found = judged(two_queues(tmp_path, at_disk=32, at_lun=32))
    (bottleneck,) = found.verdict.bottlenecks
    guest = replace(bottleneck, entity="lun:sqlvm1/sda", kind="lun", coincident=(DEVICE,))
    (step,) = [each for each in found.steps if each.name == found.verdict.from_step]
    verdict = replace(found.verdict, bottlenecks=(guest,))
    assert "is full as well: relieve both" in (consequence(replace(found, verdict=verdict), step) or "")


@pytest.mark.parametrize("guest_depth", [32, 128])
def test_more_than_two_queues_of_one_depth_in_series_limit_together(tmp_path: Path, guest_depth: int) -> None:
    """The guest's disk, LSI Logic and the LUN. With 128 slots in the guest's disk, the other two are left."""
    ports = [fast(port, 32) for port in (HOST_PORT, ARRAY_PORT)]
    lun: dict[str, Scalar] = {"queue_depth": 32}
    san = EsxQueue(tmp_path, ports=ports, lun=lun, guest_queue_depth=guest_depth, controller="lsi_logic")
    for n in (8, 128):
        ops = min(n, 32) / 0.0025
        counted, below = (ops * (4 * 2076 + 52), NOTHING), min(n, guest_depth) / ops
        san.step(
            f"t{n}",
            n,
            block=8 * KIB,
            read=Flow(ops, n / ops),
            ports={HOST_PORT.name: counted, ARRAY_PORT.name: counted},
            array={"read": AtArray(0.0024)},
            disk={"read": Flow(ops, below)},
        )
        san.at_vdisk[f"t{n}"], san.milliseconds[f"t{n}"] = min(n, 32) / ops, (2, 0)
    found = judged(san.write())
    (bottleneck,) = found.verdict.bottlenecks
    in_series = {DEVICE, "vdisk:sqlvm1/Hard disk 2"} | ({"lun:sqlvm1/sda"} if guest_depth == 32 else set())
    assert set(bottleneck.elements) == in_series
    assert f"relieve {'all' if guest_depth == 32 else 'both'}" in (found.summary.consequence or "")


def test_of_two_queues_in_series_the_smaller_one_limits(tmp_path: Path) -> None:
    """64 I/Os pass the guest, and half of them wait for a slot of the LUN."""
    (bottleneck,) = judged(two_queues(tmp_path, at_disk=64, at_lun=32)).verdict.bottlenecks
    assert bottleneck.elements == (DEVICE,)


def test_a_clock_of_whole_milliseconds_hides_no_full_queue_from_its_finding(tmp_path: Path) -> None:
    """12,800 IOPS x 2 ms are 25.6 I/Os, and may be 38.4: QAVG decides."""
    (row,) = compute(two_queues(tmp_path, at_disk=64, at_lun=32)).tables["device"].select(entity=DEVICE, step="t128")
    assert number(row, "queue_filled_ratio") < number(row, "queue_filled_most_ratio")


def test_more_ios_that_brought_less_were_not_too_few(tmp_path: Path) -> None:
    """16 of 64 slots do 6,400 IOPS. With 64 I/Os Storage I/O Control leaves 8 slots: 3,200. The run did not lack
    I/Os: more of them were tried."""
    ports = [fast(port, 32) for port in (HOST_PORT, ARRAY_PORT)]
    san = EsxQueue(tmp_path, ports=ports, leave_out={"disk"}, depth=64)
    for n, slots in ((4, 4), (16, 16), (64, 8)):
        ops = slots / 0.0025
        counted = (ops * (4 * 2076 + 52), NOTHING)
        wires = {HOST_PORT.name: counted, ARRAY_PORT.name: counted}
        san.step(f"t{n}", n, block=8 * KIB, read=Flow(ops, n / ops), ports=wires, array={"read": AtArray(0.0024)})
        san.at_vdisk[f"t{n}"], san.milliseconds[f"t{n}"] = n / ops, (2, int((n / ops - 0.0025) * 1e3))
        san.sioc[f"t{n}"] = 8 if n == 64 else 64
    verdict = judged(san.write()).verdict
    assert (verdict.from_step, [b.entity for b in verdict.bottlenecks]) == ("t64", [DEVICE])

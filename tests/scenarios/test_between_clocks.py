"""Waits between the host's last clock and the array's, and inside the array where no switch is read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import pytest

from sanpath.diagnosis.model import Diagnosis
from tests.support.esx_san import EsxSan
from tests.support.recording import Number
from tests.support.san import ARRAY_PORT, HOST_PORT, KIB, AtArray, Flow, San
from tests.support.stories import NOTHING, fast, judged

OPS = 4000.0
FLAT = {16: OPS, 64: OPS}
"""I/Os in flight → I/Os a second."""


def waiting_between(
    folder: Path,
    counted: Mapping[str, Mapping[str, Number]] | None = None,
    cpu: float = 0.2,
    reached: Mapping[int, float] = FLAT,
    core_in: Mapping[str, float] | None = None,
) -> Diagnosis:
    """I/Os of 8 KiB, 4,000 a second at most. The array takes 0.3 ms of at least 4 for each, and the links are used to
    a tenth."""
    san = EsxSan(folder, counted=counted or {}, core_in=core_in or {})
    for n, ops in reached.items():
        ports = {port.name: (ops * 8 * KIB, NOTHING) for port in san.ports}
        flow = Flow(ops, n / ops)
        san.step(
            f"q{n}",
            n,
            block=8 * KIB,
            read=flow,
            ports=ports,
            disk={"read": flow},
            array={"read": AtArray(3e-4)},
            cpu=cpu,
        )
    return judged(san.write())


@pytest.mark.parametrize(("slots", "is_free"), [(128, True), (16, False)])
def test_ios_that_wait_above_free_slots_may_wait_for_one_of_the_adapter(
    tmp_path: Path, slots: int, is_free: bool
) -> None:
    """16 I/Os are below the disk, whatever is outstanding, and none of them waits there."""
    san = San(tmp_path, ports=[fast(HOST_PORT), fast(ARRAY_PORT)], guest_queue_depth=slots)
    for n in (8, 32, 96):
        below = min(n, 16)
        ops = below / 1.05e-3
        ports = {port.name: (ops * 8 * KIB, NOTHING) for port in san.ports}
        disk, array = {"read": Flow(ops, below / ops)}, {"read": AtArray(1e-3, san=2e-5, queue=None)}
        san.step(f"q{n}", n, block=8 * KIB, read=Flow(ops, n / ops), disk=disk, ports=ports, array=array)
    verdict = judged(san.write()).verdict
    suspects = {suspect.kind: suspect.probability for suspect in verdict.suspects}
    assert (suspects.get("hba", 0.0) > 0.1) is is_free
    assert (suspects["lun"] > 0.5) is not is_free


def test_the_number_that_a_full_queue_admits_fills_no_queue_below_it(tmp_path: Path) -> None:
    """32 of 128 outstanding I/Os fill the 32 slots of the guest's disk: for that reason 32 are below the queues of
    hypervisor and adapter, which nobody reads."""
    san = San(tmp_path, ports=[fast(HOST_PORT), fast(ARRAY_PORT)], guest_queue_depth=32)
    for n in (16, 128):
        ops = min(n, 32) / 1.97e-3
        ports = {port.name: (ops * 8 * KIB, NOTHING) for port in san.ports}
        disk, array = {"read": Flow(ops, min(n, 32) / ops)}, {"read": AtArray(1.9e-3, san=2e-5, queue=None)}
        san.step(f"q{n}", n, block=8 * KIB, read=Flow(ops, n / ops), disk=disk, ports=ports, array=array)
    suspects = judged(san.write()).verdict.suspects
    assert suspects[0].entity == "lun:sqlvm1/sda"
    assert not any(suspect.kind in ("hba", "unseen") for suspect in suspects)


@pytest.mark.parametrize(
    ("in_device", "is_possible"),
    [((8, 16, 16), True), ((0.6, 0.6, 0.6), False), ((4, 10, 20), False)],
    ids=["16 at most", "less than one", "another number each time"],
)
def test_an_adapter_for_which_ios_wait_above_free_slots_lets_the_same_number_through(
    tmp_path: Path, in_device: tuple[float, ...], is_possible: bool
) -> None:
    """Neither switch nor array is read, and 128 I/Os fit into the disk."""
    unread = {"switch", "array"}
    san = San(tmp_path, ports=[fast(HOST_PORT), fast(ARRAY_PORT)], guest_queue_depth=128, leave_out=unread)
    for n, held in zip((8, 32, 96), in_device, strict=True):
        ops = 800.0 if not is_possible else held / 1.05e-3
        san.step(f"q{n}", n, block=8 * KIB, read=Flow(ops, n / ops), disk={"read": Flow(ops, held / ops)})
    probability = sum(s.probability for s in judged(san.write()).verdict.suspects if s.kind == "hba")
    assert probability > 0.05 if is_possible else probability < 0.2


@pytest.mark.parametrize(("held_before", "is_full"), [(20, True), (12, False)])
def test_a_place_below_fills_no_queue_that_let_another_number_through(
    tmp_path: Path, held_before: int, is_full: bool
) -> None:
    """20 of 64 I/Os are below a disk of unknown depth, most of which wait before its array's clock. Before, it let 12
    or 20 of 32 through: not the same slots are full both times, so something above the disk delays the others."""
    san = San(tmp_path, ports=[fast(HOST_PORT), fast(ARRAY_PORT)], guest_queue_depth=None)
    for n, ops, held in ((32, 3500, held_before), (64, 4000, 20)):
        ports = {port.name: (ops * 8 * KIB, NOTHING) for port in san.ports}
        disk, array = {"read": Flow(ops, held / ops)}, {"read": AtArray(5e-4, san=2e-5, queue=None)}
        san.step(f"q{n}", n, block=8 * KIB, read=Flow(ops, n / ops), disk=disk, ports=ports, array=array)
    above = [s.probability for s in judged(san.write()).verdict.suspects if s.kind == "io_stack"]
    assert (sum(above) < 0.02) is is_full
    assert is_full or sum(above) > 0.04


def over_wires(
    folder: Path, technology: Literal["ethernet", "fibre_channel"], block: float, smaller: tuple[float, ...] = ()
) -> Diagnosis:
    """1 I/O takes 1 ms, 0.7 ms of it between the clocks. From 16 on there are 4,000 a second, however many. With
    `smaller` blocks as well."""
    san = San(folder, technology=technology)
    steps = ((block, 1, 1000.0), (block, 16, OPS), (block, 64, OPS), *((size, 64, OPS) for size in smaller))
    for size, n, ops in steps:
        flow = Flow(ops, n / ops)
        ports = {port.name: (ops * size, NOTHING) for port in san.ports}
        step = f"{size:g}-q{n}"
        san.step(step, n, block=size, read=flow, ports=ports, disk={"read": flow}, array={"read": AtArray(3e-4)})
    return judged(san.write())


def core(busiest: float, together: float = 0.1) -> Mapping[str, Mapping[str, Number]]:
    """One core of the host this busy, and all together."""
    return {"host": {"cpu_busy_ratio": together, "cpu_busiest_core_ratio": busiest}}


def test_a_wait_that_nobody_times_is_shared_by_what_lies_there(tmp_path: Path) -> None:
    verdict = waiting_between(tmp_path / "a.sanpath").verdict
    assert verdict.suspects[0].entity == "array:fa1"
    assert verdict.suspects[0].because[0].startswith("I/Os may be waiting there: about ")
    assert verdict.grade == "C"
    assert any(suspect.kind == "unseen" and suspect.probability > 0.1 for suspect in verdict.suspects)


def test_a_full_core_of_the_host_takes_the_wait_upon_itself(tmp_path: Path) -> None:
    found = waiting_between(tmp_path / "a.sanpath", core(1.0))
    (bottleneck,) = found.verdict.bottlenecks
    assert (bottleneck.kind, bottleneck.entity, bottleneck.layer) == ("core", "host:esx7", "host")
    assert "One processor core of esx7 is saturated" in found.summary.verdict
    assert [f.role for f in found.findings if f.rule == "core-busy" and f.outcome == "hit"] == ["cause"]


def test_a_core_that_is_as_full_with_fewer_ios_is_full_of_other_work(tmp_path: Path) -> None:
    """Or it polls. One that I/Os fill is less busy with fewer of them."""
    verdict = waiting_between(tmp_path / "a.sanpath", core(1.0), reached={4: OPS / 4, **FLAT}).verdict
    assert not any(bottleneck.kind == "core" for bottleneck in verdict.bottlenecks)
    assert next(suspect.probability for suspect in verdict.suspects if suspect.kind == "core") < 0.15


@pytest.mark.parametrize(
    ("busiest", "cpu"), [(0.5, 0.2), (1.0, 1.0)], ids=["with room", "filled by the generator's own process"]
)
def test_another_core_does_not(tmp_path: Path, busiest: float, cpu: float) -> None:
    verdict = waiting_between(tmp_path / "a.sanpath", core(busiest), cpu).verdict
    assert not any(bottleneck.kind == "core" for bottleneck in verdict.bottlenecks)


def test_where_all_processors_are_full_it_is_not_one_core(tmp_path: Path) -> None:
    suspects = waiting_between(tmp_path / "a.sanpath", core(1.0, together=1.0)).verdict.suspects
    assert suspects[0].verdict == "generator_limited"
    assert sum(suspect.probability for suspect in suspects if suspect.kind == "core") < 0.05


def test_what_the_array_times_itself_is_its_own_also_behind_unread_switches(tmp_path: Path) -> None:
    """15.7 of 16 ms, 13 of them queueing, and throughput stands still."""
    san = San(tmp_path / "a.sanpath", leave_out={"switch"})
    for n in FLAT:
        flow = Flow(OPS, n / OPS)
        at_array = AtArray(2e-3, san=5e-5, queue=n / OPS - 2.2e-3)
        san.step(f"q{n}", n, block=8 * KIB, read=flow, disk={"read": flow}, array={"read": at_array})
    verdict = judged(san.write()).verdict
    assert (verdict.kind, verdict.bottlenecks[0].entity) == ("bottleneck", "array:fa1")
    assert verdict.grade in "AB"


BELOW_S = 10.4e-3


def behind_eight_slots(folder: Path, fewer_s: float) -> Diagnosis:
    """A LUN queue of 8 slots is full. Between host and array 5 ms pass, and `fewer_s` with two I/Os outstanding."""
    san = San(folder, guest_queue_depth=8)
    for n, admitted, below_s in ((2, 2, 5.4e-3 + fewer_s), (64, 8, BELOW_S)):
        ops = admitted / below_s
        ports = {port.name: (ops * 8 * KIB, NOTHING) for port in san.ports}
        flow, disk = Flow(ops, n / ops), {"read": Flow(ops, below_s)}
        san.step(f"q{n}", n, block=8 * KIB, read=flow, ports=ports, disk=disk, array={"read": AtArray(5.4e-3)})
    return judged(san.write())


def test_what_took_as_long_with_fewer_has_not_waited(tmp_path: Path) -> None:
    """Four times as many I/Os below the queue, four times the throughput: nothing below it is at its limit."""
    verdict = behind_eight_slots(tmp_path / "a.sanpath", 5e-3).verdict
    assert [bottleneck.entity for bottleneck in verdict.bottlenecks] == ["lun:sqlvm1/sda"]
    assert verdict.grade in "AB"


def test_what_took_a_quarter_with_fewer_may_fill_the_queue(tmp_path: Path) -> None:
    verdict = behind_eight_slots(tmp_path / "a.sanpath", 1e-3).verdict
    assert verdict.grade == "C"
    assert verdict.suspects[0].entity != "lun:sqlvm1/sda" or verdict.suspects[0].probability < 0.8


@pytest.mark.parametrize(("unread", "far_s"), [(frozenset({"switch"}), 5e-3), (frozenset[str](), 5e-3)])
def test_distance_is_no_wait(tmp_path: Path, unread: frozenset[str], far_s: float) -> None:
    """An I/O takes 6.4 ms, 5 of them between the clocks, with 4 and with 10 outstanding: more would bring more."""
    san = San(tmp_path / "a.sanpath", leave_out=unread)
    for n in (4, 10):
        flow = Flow(n / (far_s + 1.4e-3), far_s + 1.4e-3)
        ports = {port.name: (flow.ops * 8 * KIB, NOTHING) for port in san.ports}
        at_array = AtArray(1.35e-3, san=far_s / 2)
        san.step(f"q{n}", n, block=8 * KIB, read=flow, ports=ports, disk={"read": flow}, array={"read": at_array})
    verdict = judged(san.write()).verdict
    assert verdict.kind == "concurrency_limited"
    assert not verdict.bottlenecks


@pytest.mark.parametrize(
    ("far_s", "kind"), [(1e-3, "concurrency_limited"), (0.02, "cannot_tell"), (0.8, "cannot_tell")]
)
def test_what_takes_longer_than_a_usual_distance_may_be_a_wait(tmp_path: Path, far_s: float, kind: str) -> None:
    """A millisecond is 100 km there and back. Nobody stores at 2,000 km what a host waits for, and light needs 0.2 s
    to the other side of the Earth and back: a transfer that takes longer is held up, by whatever."""
    san = San(tmp_path / "a.sanpath", leave_out={"switch"})
    for n in (8, 16, 32):
        flow = Flow(n / (far_s + 1.4e-3), far_s + 1.4e-3)
        at_array = AtArray(1.35e-3, san=far_s)
        san.step(f"q{n}", n, block=8 * KIB, read=flow, disk={"read": flow}, array={"read": at_array}, seconds=30)
    assert judged(san.write()).verdict.kind == kind


def test_a_single_step_does_not_tell_distance_from_waiting(tmp_path: Path) -> None:
    san = San(tmp_path / "a.sanpath", leave_out={"switch"})
    flow = Flow(10 / 6.4e-3, 6.4e-3)
    at_array = AtArray(1.35e-3, san=2.5e-3)
    san.step("q10", 10, block=8 * KIB, read=flow, disk={"read": flow}, array={"read": at_array})
    assert judged(san.write()).verdict.kind == "cannot_tell"


def test_distance_that_nobody_measured_keeps_a_verdict_from_grade_a(tmp_path: Path) -> None:
    """Lost frames cost as long with few I/Os outstanding as with many."""
    san = San(tmp_path / "a.sanpath", leave_out={"switch"})
    for n in (4, 10, 40):
        flow = Flow(n / 15.4e-3, 15.4e-3)
        at_array = AtArray(1.35e-3, san=14e-3)
        san.step(f"q{n}", n, block=8 * KIB, read=flow, disk={"read": flow}, array={"read": at_array})
    assert judged(san.write()).verdict.grade == "C"


@pytest.mark.parametrize(("latency_s", "is_usual"), [(22e-3, False), (0.4e-3, True)])
def test_an_unusual_time_that_no_clock_divides_keeps_a_verdict_from_grade_a(
    tmp_path: Path, latency_s: float, is_usual: bool
) -> None:
    """Others may fill what is below the host: then an I/O of the test takes as long with any number of them."""
    san = San(tmp_path / "a.sanpath", leave_out={"array"})
    for n in (1, 2, 4, 8, 16):
        flow = Flow(n / latency_s, latency_s)
        ports = {port.name: (flow.ops * 8 * KIB, NOTHING) for port in san.ports}
        san.step(f"q{n}", n, block=8 * KIB, read=flow, ports=ports, disk={"read": flow}, seconds=60)
    verdict = judged(san.write()).verdict
    assert verdict.kind == "concurrency_limited"
    assert (verdict.grade == "A") is is_usual


@pytest.mark.parametrize(("read_far_s", "kind"), [(1e-3, "concurrency_limited"), (0.05e-3, "cannot_tell")])
def test_what_reads_do_not_cross_is_no_distance_for_writes(tmp_path: Path, read_far_s: float, kind: str) -> None:
    """Of a write 2 ms pass in the transfer, with few outstanding and with many, and nobody reads the switches. The
    commands of both cross what the data of a read does."""
    san = San(tmp_path / "a.sanpath", leave_out={"switch"})
    for n in (4, 8, 16):
        times = {"read": read_far_s, "write": 2e-3}
        ops = n / (sum(times.values()) + 2 * (read_far_s + 1.4e-3))
        flows = {direction: Flow(ops, far_s + read_far_s + 1.4e-3) for direction, far_s in times.items()}
        at_array = {direction: AtArray(1.35e-3, san=far_s) for direction, far_s in times.items()}
        san.step(f"q{n}", n, block=8 * KIB, read=flows["read"], write=flows["write"], disk=flows, array=at_array)
    assert judged(san.write()).verdict.kind == kind


def test_a_window_of_tcp_is_as_likely_as_the_array_where_it_may_be_full(tmp_path: Path) -> None:
    """4,000 x 48 KiB a second x 0.7 ms: some 140 kB are on the way, more than a TCP window of 64 KiB. Fibre Channel
    has no such window, and blocks of 4 KiB would not fill it. Nothing tells of the connections of an ESXi host, so
    that the network stays as likely for other reasons."""
    verdict = over_wires(tmp_path / "tcp", "ethernet", 48 * KIB).verdict
    (unseen,) = [suspect for suspect in verdict.suspects if suspect.kind == "unseen"]
    assert verdict.kind == "cannot_tell"
    assert unseen.probability > 0.35
    assert "which a TCP window may limit" in " ".join(unseen.because)
    over_fc = over_wires(tmp_path / "fc", "fibre_channel", 48 * KIB).verdict
    (elsewhere,) = [suspect for suspect in over_fc.suspects if suspect.kind == "unseen"]
    assert over_fc.suspects[0].entity == "array:fa1"
    assert elsewhere.probability < 0.75 * unseen.probability
    small = over_wires(tmp_path / "4k", "ethernet", 4096).verdict
    (elsewhere,) = [suspect for suspect in small.suspects if suspect.kind == "unseen"]
    assert (small.kind, elsewhere.probability > 0.35) == ("cannot_tell", True)
    assert "TCP window" not in str((over_fc.suspects, small.suspects))


def test_a_window_of_bytes_does_not_limit_where_smaller_blocks_reach_the_same_iops(tmp_path: Path) -> None:
    """With 16 KiB some 46 kB are on the way at once, less than the smallest window, and as many I/Os are done."""
    verdict = over_wires(tmp_path / "both", "ethernet", 48 * KIB, smaller=(16 * KIB,)).verdict
    assert verdict.suspects[0].entity == "array:fa1"
    assert "TCP window" not in str(verdict.suspects)


def below_a_queue(folder: Path, fewer: int) -> Diagnosis:
    """A LUN queue of unknown depth lets 32 I/Os through. Below it 2,592 a second are served, with `fewer` as well."""
    san = San(folder, guest_queue_depth=None)
    for n in (4, fewer, 64):
        admitted, ops = min(n, 32), min(n / 6.4e-3, 2592.0) if n != fewer else 2592.0
        below = admitted / ops
        ports = {port.name: (ops * 8 * KIB, NOTHING) for port in san.ports}
        disk = {"read": Flow(ops, below)}
        array = {"read": AtArray(6.2e-3, queue=max(0.0, below - 6.4e-3))}
        san.step(f"q{n}", n, block=8 * KIB, read=Flow(ops, n / ops), ports=ports, disk=disk, array=array)
    return judged(san.write())


def test_a_queue_that_let_fewer_through_at_the_same_throughput_does_not_limit(tmp_path: Path) -> None:
    """With 24 below it the same is done as with 32: what takes longer with more of them is below it."""
    verdict = below_a_queue(tmp_path / "a.sanpath", 24).verdict
    assert [bottleneck.entity for bottleneck in verdict.bottlenecks] == ["array:fa1"]
    assert sum(suspect.probability for suspect in verdict.suspects if suspect.kind == "lun") < 0.3


def test_a_wait_above_the_first_block_device_is_that_of_its_machine(tmp_path: Path) -> None:
    """A control group admits 2,000 I/Os a second. Each takes 0.25 ms from the block device on."""
    san = San(tmp_path / "capped.sanpath")
    for n in FLAT:
        ports = {port.name: (2000 * 8 * KIB, NOTHING) for port in san.ports}
        below = {"read": Flow(2000, 2.5e-4)}
        inside = {"read": AtArray(2e-4)}
        san.step(f"q{n}", n, block=8 * KIB, read=Flow(2000, n / 2000), ports=ports, disk=below, array=inside)
    found = judged(san.write())
    (bottleneck,) = found.verdict.bottlenecks
    assert (bottleneck.kind, bottleneck.entity, bottleneck.layer) == ("io_stack", "vm:sqlvm1", "guest")
    assert found.summary.verdict == "I/Os wait in VM sqlvm1 above its block device"
    assert "waits-above-device" in {f.rule for f in found.findings if f.role == "cause" and f.outcome == "hit"}

"""Load tests that no link limits, and tests in which nobody can tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from sanpath.diagnosis.model import Diagnosis
from tests.support.esx_san import DEVICE, EsxSan
from tests.support.san import ARRAY_PORT, HOST_PORT, KIB, AtArray, Flow, San
from tests.support.stories import (
    COUNTED,
    NOTHING,
    STORIES,
    X,
    calm,
    diagnosed,
    fast,
    judged,
    published,
    quality_of_service,
    saturated_array,
)


def first(found: Diagnosis) -> str:
    return found.verdict.bottlenecks[0].entity


def test_the_twin_at_8_kib_is_limited_by_the_queue_of_the_guest_and_not_by_the_link() -> None:
    """32 slots at 0.5 ms: 64,000 IOPS, 15.7 % of a 32GFC link. Here the queue is the cause, not the throttle."""
    verdict = diagnosed("guest_queue").verdict
    (bottleneck,) = verdict.bottlenecks
    assert (bottleneck.entity, bottleneck.kind, bottleneck.layer) == ("lun:sqlvm1/sda", "lun", "guest")
    assert bottleneck.ceiling_ops_per_second == pytest.approx(32 / 0.0005, rel=1e-3)
    assert bottleneck.explains == pytest.approx(1 - 0.5 / 8, rel=1e-3)
    assert verdict.knee_in_flight == pytest.approx(32, rel=1e-3)
    assert "32 I/Os through, 512 are offered" in verdict.headline
    assert "link:esx7/vmhba2--sw1/fc1/7" in {c.entity for c in diagnosed("guest_queue").cleared}
    budget = diagnosed("guest_queue").latency_budget[-1]
    assert budget.parts[0].seconds[0] == pytest.approx(0.0075, rel=1e-3)
    assert budget.parts[0].limited_by == "lun:sqlvm1/sda"


def test_a_queue_is_found_without_the_links_where_the_clocks_leave_them_no_wait(tmp_path: Path) -> None:
    """0.5 ms below the queue, of which the array counts 0.4 itself and 50 us of transfer."""
    san = San(tmp_path, leave_out={"switch"})
    verdict = judged(STORIES["guest_queue"](san).write()).verdict
    assert (verdict.kind, verdict.bottlenecks[0].entity) == ("bottleneck", "lun:sqlvm1/sda")


def test_an_array_that_slows_down_at_flat_throughput_is_the_bottleneck() -> None:
    verdict = diagnosed("saturated_array").verdict
    (bottleneck,) = verdict.bottlenecks
    assert (bottleneck.entity, bottleneck.layer, bottleneck.kind) == ("array:fa1", "array_back", "array")
    assert bottleneck.ceiling_ops_per_second == pytest.approx(101_000, rel=1e-3)
    assert any("13.3 times" in line for line in bottleneck.because)
    # 8 in flight took 0.2 ms: 101,000 x 0.2 ms = 20 I/Os fill it.
    assert verdict.r0.seconds == pytest.approx(0.0002, rel=1e-3)
    assert verdict.knee_in_flight == pytest.approx(20.2, rel=1e-3)
    assert not any(c.entity == "array:fa1" for c in diagnosed("saturated_array").cleared)
    budget = diagnosed("saturated_array").latency_budget[-1]
    waited = next(p for p in budget.parts if p.what == "queue in the array")
    assert (waited.entity, waited.limited_by) == ("array:fa1", "array:fa1")
    fabric = next(p for p in budget.parts if p.layer == "fabric")
    assert fabric.entity.startswith("link:")
    assert fabric.limited_by is None


def test_an_array_is_found_without_its_links_by_its_own_clock(tmp_path: Path) -> None:
    found = judged(saturated_array(San(tmp_path, leave_out={"switch"})).write())
    assert first(found) == "array:fa1"
    assert "the fabric" in {u.what for u in found.unobserved}


def test_an_array_whose_time_is_a_sliver_of_the_latency_is_not_blamed_for_its_growth(tmp_path: Path) -> None:
    """0.1 to 0.35 ms is 3.5 times as much and 0.3 % of 128 ms."""
    san = San(tmp_path, ports=[fast(HOST_PORT), fast(ARRAY_PORT)], leave_out={"disk"})
    for n, service in ((16, 0.0001), (800, 0.00035)):
        ports = {"fc1/7": (COUNTED, NOTHING), "fc1/1": (COUNTED, NOTHING)}
        san.step(f"t{n}", n, read=Flow(X, n / X), ports=ports, array={"read": AtArray(service)})
    verdict = judged(san.write()).verdict
    assert verdict.kind == "cannot_tell"
    assert "array:fa1" not in [suspect.entity for suspect in verdict.suspects if suspect.probability > 0.2]


def test_an_array_that_may_have_been_full_all_along_is_not_cleared() -> None:
    """Eight times as many in flight gave no more: not too few."""
    found = diagnosed("full_before_it_began")
    assert "concurrency_limited" not in {s.verdict.kind for s in found.steps}
    assert found.verdict.suspects[0].entity in ("array:fa1", "lun:sqlvm1/sda")
    assert not any(c.entity == "array:fa1" for c in found.cleared)
    assert found.verdict.r0.seconds is None


def test_one_io_in_flight_is_too_little_in_flight() -> None:
    verdict = diagnosed("one_in_flight").verdict
    assert verdict.kind == "concurrency_limited"
    assert "0.50 ms = 1 outstanding I/O / 2,000 IOPS" in verdict.headline
    assert (verdict.bottlenecks, verdict.next) == ((), None)


def test_a_load_with_a_rate_asks_for_no_more() -> None:
    verdict = diagnosed("rate_limited").verdict
    assert verdict.kind == "demand_limited"
    assert "1 of 32 I/Os" in verdict.headline


def test_a_rate_above_what_the_storage_gives_is_not_what_limits(tmp_path: Path) -> None:
    """A rate was asked for, and still all 32 are in flight: the rate is never reached."""
    san = calm(San(tmp_path), in_flight=32, ops=8000, latency=0.004, rate_limited=True)
    assert judged(san.write()).verdict.kind not in ("demand_limited", "healthy")


def test_a_load_that_thinks_between_its_ios_asks_for_no_more(tmp_path: Path) -> None:
    assert judged(calm(San(tmp_path), in_flight=32, rate_limited=True).write()).verdict.kind == "demand_limited"


def test_a_process_at_the_end_of_its_core_is_the_limit() -> None:
    found = diagnosed("cpu_bound")
    assert found.verdict.kind == "generator_limited"
    assert "99.0 % of a core" in found.verdict.headline
    assert not any(c.entity == "load:fio" for c in found.cleared)


def test_what_processes_at_the_end_of_their_cores_hold_back_is_no_queue_of_the_disk(tmp_path: Path) -> None:
    """One process starts 2,000 I/Os a second and holds 32, two start 4,000 and hold 64; the disk has 1 and 2 in
    flight, 0.5 ms each. A queue of two would have let two of the 32 through."""
    san = San(tmp_path)
    for n, ops in ((32, 2000.0), (64, 4000.0)):
        ports = {port.name: (ops * 8 * KIB * 1.02, NOTHING) for port in san.ports}
        read, disk = Flow(ops, n / ops), {"read": Flow(ops, 0.0005)}
        san.step(f"q{n}", n, block=8 * KIB, read=read, ports=ports, disk=disk, array={"read": AtArray(4e-4)}, cpu=1.0)
    assert judged(san.write()).verdict.kind == "generator_limited"


def test_a_busy_generator_below_a_full_link_is_not_the_limit(tmp_path: Path) -> None:
    san = San(tmp_path)
    ports = {"fc1/7": (COUNTED, NOTHING), "fc1/1": (COUNTED, NOTHING)}
    san.step("t", 64, read=Flow(X, 64 / X), ports=ports, array={"read": AtArray(0.0004)}, cpu=0.98)
    assert judged(san.write()).verdict.kind == "bottleneck"


def test_without_the_switch_nobody_can_tell_and_the_report_says_what_would() -> None:
    found = diagnosed("switch_not_observed")
    verdict = found.verdict
    assert (verdict.kind, verdict.grade, verdict.bottlenecks) == ("cannot_tell", "C", ())
    assert verdict.decide_with is not None
    assert verdict.decide_with.startswith("repeat the test, and let sanpath read the switch ports")
    assert "the fabric" in {u.what for u in found.unobserved}
    assert not any(c.entity.startswith("link:") for c in found.cleared)
    assert all(s.verdict.kind == "cannot_tell" for s in found.steps)


@pytest.mark.parametrize("unseen", ["switch", "array"])
def test_what_was_not_seen_never_reads_as_health(tmp_path: Path, unseen: str) -> None:
    found = judged(calm(San(tmp_path, leave_out={unseen}), in_flight=16, ops=2000, latency=0.008).write())
    assert found.verdict.kind == "cannot_tell"
    assert found.verdict.decide_with
    assert not any(c.entity.startswith({"switch": "link:", "array": "array:"}[unseen]) for c in found.cleared)


def test_links_of_the_array_that_no_switch_shows_are_missing(tmp_path: Path) -> None:
    """The target port hangs on a switch that nobody reads."""
    san = San(tmp_path, ports=[HOST_PORT])
    found = judged(calm(san, in_flight=16, ops=2000, latency=0.008).write())
    assert found.verdict.kind not in ("concurrency_limited", "healthy")
    assert any("the links at the array" in line for step in found.steps for line in step.verdict.because)


def test_a_path_that_nobody_reads_may_be_the_full_one(tmp_path: Path) -> None:
    """Half of the bytes leave by an HBA on another switch: that the seen half is not full proves nothing."""
    san = San(tmp_path, ports=[fast(HOST_PORT), fast(ARRAY_PORT)])
    half = {p.name: (X / 2 * 32 * 2076, NOTHING) for p in san.ports}
    san.step("s", 4, read=Flow(X, 4 / X), ports=half, array={"read": AtArray(0.0003)})
    found = judged(san.write())
    assert found.verdict.kind == "cannot_tell"
    because = " ".join(found.steps[0].verdict.because)
    assert "where 49.3 % of the bytes at the host" in because


def test_an_array_without_latencies_is_not_cleared(tmp_path: Path) -> None:
    san = San(tmp_path, ports=[fast(HOST_PORT), fast(ARRAY_PORT)])
    san.step("s", 16, read=Flow(2000, 0.008), array={"read": AtArray(None, queue=None)})
    found = judged(san.write())
    assert found.verdict.kind == "cannot_tell"
    assert not any(c.entity == "array:fa1" for c in found.cleared)
    assert all("array" not in p.layer for b in found.latency_budget for p in b.parts)


def test_a_port_that_counts_more_than_its_speed_allows_is_not_judged(tmp_path: Path) -> None:
    """A converged switch says 1 Gb/s of a port that moves 415 MB/s: 332 % would be the verdict of a fool."""
    san = San(tmp_path, technology="ethernet", ports=[replace(HOST_PORT, speed=1), fast(ARRAY_PORT, 10)])
    for n in (16, 64):
        ports = {"fc1/7": (COUNTED, NOTHING), "fc1/1": (COUNTED, NOTHING)}
        san.step(f"q{n}", n, read=Flow(X, n / X), ports=ports, array={"read": AtArray(0.0004)})
    found = judged(san.write())
    assert found.verdict.kind == "cannot_tell"
    assert any("counts more bytes than its 1 Gb/s can carry" in u.why for u in found.unobserved)
    assert not any(f.outcome == "hit" and f.rule == "link-full" for f in found.findings)


def test_a_port_of_unknown_speed_is_not_judged(tmp_path: Path) -> None:
    san = San(tmp_path, ports=[replace(HOST_PORT, speed=None), fast(ARRAY_PORT)])
    ports = {"fc1/7": (COUNTED, NOTHING), "fc1/1": (COUNTED, NOTHING)}
    san.step("t", 16, read=Flow(X, 16 / X), ports=ports, array={"read": AtArray(0.0004)})
    found = judged(san.write())
    assert found.verdict.kind == "cannot_tell"
    assert any("its speed is not known" in u.why for u in found.unobserved)


def test_beside_a_port_of_unknown_speed_a_full_link_is_still_found(tmp_path: Path) -> None:
    san = San(tmp_path, ports=[HOST_PORT, replace(ARRAY_PORT, speed=None)])
    ports = {"fc1/7": (COUNTED, NOTHING), "fc1/1": (COUNTED, NOTHING)}
    san.step("t", 16, read=Flow(X, 16 / X), ports=ports, array={"read": AtArray(0.0004)})
    found = judged(san.write())
    assert first(found) == "link:esx7/vmhba2--sw1/fc1/7"
    assert found.verdict.next is not None
    assert found.verdict.next.predicted_ops_per_second[1] == pytest.approx(12_595, rel=1e-3)


def test_an_array_that_shows_more_than_the_load_leaves_a_negative_rest() -> None:
    """0.5 ms at the load, 0.9 + 0.2 at the array: -0.6 ms, shown and not cut off."""
    (budget,) = diagnosed("array_slower_than_the_load").latency_budget
    assert budget.unexplained_seconds == pytest.approx((-0.0006, -0.0006), rel=1e-3)
    total = sum(sum(p.seconds) / 2 for p in budget.parts) + budget.unexplained_seconds[0]
    assert total == pytest.approx(budget.total_seconds, abs=1e-9)


def test_times_of_operations_that_were_split_on_the_way_are_not_subtracted() -> None:
    """One of 1 MiB at the load is four of 256 KiB at the array, some of them at once."""
    found = diagnosed("split_on_the_way")
    (budget,) = found.latency_budget
    assert budget.parts == ()
    assert budget.unexplained_seconds[0] == pytest.approx(budget.total_seconds)
    (step,) = found.steps
    assert any("1,048,576 bytes at the load and 262,144 at array:fa1" in note for note in step.valid)
    gap = next(f for f in found.findings if f.rule == "host-array-gap")
    assert gap.outcome == "unknown"
    assert not any(c.entity.startswith("array") for c in found.cleared)


def test_a_volume_that_others_use_as_well_is_not_subtracted(tmp_path: Path) -> None:
    """Half of the volume's operations are others': its mean latency is not the test's."""
    san = San(tmp_path, ports=[fast(HOST_PORT), fast(ARRAY_PORT)])
    shared = AtArray(0.0003, ops=4000, size=4000 * 64 * KIB)
    san.step("s", 1, read=Flow(2000, 0.0005), array={"read": shared})
    (budget,) = judged(san.write()).latency_budget
    assert budget.parts == ()


def test_steps_of_other_block_sizes_are_not_compared(tmp_path: Path) -> None:
    """8 KiB at N 1 and 256 KiB at N 16 both give 10,000 IOPS, and the array takes longer for 32 times the bytes:
    neither is that a plateau, nor has the array slowed down. Too few I/Os explain both steps best."""
    san = San(tmp_path, ports=[fast(HOST_PORT, 64), fast(ARRAY_PORT, 64)])
    for name, n, block, service in (("small", 1, 8 * KIB, 0.00009), ("large", 16, 256 * KIB, 0.0015)):
        counted = {"fc1/7": (10_000 * block * 1.02, NOTHING), "fc1/1": (10_000 * block * 1.02, NOTHING)}
        san.step(name, n, block=block, read=Flow(1e4, n / 1e4), ports=counted, array={"read": AtArray(service)})
    found = judged(san.write())
    assert [s.verdict.kind for s in found.steps] == ["concurrency_limited", "cannot_tell"]
    assert found.verdict.suspects[0].verdict == "concurrency_limited"
    assert found.verdict.r0.from_step == "large"


def test_two_steps_of_one_name_are_both_reported(tmp_path: Path) -> None:
    san = calm(calm(San(tmp_path)))
    found = judged(san.write())
    assert [s.name for s in found.steps] == ["calm", "calm (2)"]
    assert all(s.windows_used >= 4 for s in found.steps)


def test_an_idle_second_fabric_reads_zero_and_not_unknown(tmp_path: Path) -> None:
    """The idle path is one of the findings of the published test."""
    idle = replace(HOST_PORT, name="fc1/8", device="vmhba3", wwpn="21000024ff000002")
    san = San(tmp_path, ports=[HOST_PORT, ARRAY_PORT, idle])
    ports = {"fc1/7": (COUNTED, NOTHING), "fc1/1": (COUNTED, NOTHING)}
    san.step("t", 16, read=Flow(X, 16 / X), ports=ports, array={"read": AtArray(0.0004)})
    found = judged(san.write())
    cleared = {c.entity: c for c in found.cleared}
    assert cleared["link:esx7/vmhba3--sw1/fc1/8"].up_to == {"bytes_per_second": 0.0}


def test_a_qos_limit_just_below_the_link_is_the_limit_and_not_the_link() -> None:
    found = diagnosed("quality_of_service")
    (cap,) = found.verdict.bottlenecks
    assert (found.verdict.kind, cap.entity, cap.layer) == ("configured_cap", "array:fa1", "array_front")
    assert "4.60 ms of 21.0 ms in array:fa1 because a QoS limit is reached" in found.verdict.headline
    assert any(p.is_limit_wait and p.entity == "array:fa1" for b in found.latency_budget for p in b.parts)


def test_where_the_array_is_not_read_a_cap_just_below_the_link_weakens_the_verdict(tmp_path: Path) -> None:
    unseen = frozenset({"array", "array_samples"})
    capped = judged(replace(quality_of_service(San(tmp_path / "capped")), leave_out=unseen).write()).verdict
    assert (capped.kind, capped.grade) == ("bottleneck", "B")
    assert "without data from the array, a cap there is possible" in " ".join(capped.bottlenecks[0].because)
    full = judged(replace(published(San(tmp_path / "full")), leave_out=unseen).write()).verdict
    assert (full.kind, full.grade) == ("bottleneck", "A")


def test_a_link_between_switches_is_not_seen_and_so_not_excluded(tmp_path: Path) -> None:
    """Host on sw1, array on sw2: the ISL between them is nobody's edge port."""
    san = calm(San(tmp_path, inter_switch_link=True), in_flight=4, latency=0.002)
    san.ports = [fast(HOST_PORT), replace(fast(ARRAY_PORT), on="sw2")]
    found = judged(san.write())
    assert found.verdict.kind == "cannot_tell"
    isl = "link:sw1/fc1/31--sw2/fc1/31"
    assert isl in found.verdict.headline
    assert isl in {u.what for u in found.unobserved}


def test_damage_is_told_by_what_it_costs_a_single_io(tmp_path: Path) -> None:
    """49.7 of 50 ms pass between the clocks with one I/O in flight as with four: nobody waits for another, and two of
    three I/Os that the host's port sees are damaged."""
    san = San(tmp_path, ports=[fast(HOST_PORT), fast(ARRAY_PORT)])
    for n in (1, 4):
        ports = {port.name: (n * 1.4e6, NOTHING) for port in san.ports}
        counted = {"sw1/fc1/7": {"crc_errors_total": 150.0 * n}}
        san.step(f"q{n}", n, read=Flow(n / 0.05, 0.05), ports=ports, array={"read": AtArray(0.0003)}, counted=counted)
    found = judged(san.write())
    (bottleneck,) = found.verdict.bottlenecks
    assert (bottleneck.kind, bottleneck.entity) == ("retries", "link:esx7/vmhba2--sw1/fc1/7")


def test_commands_that_are_aborted_cost_the_latency_where_no_damaged_frame_is_counted(tmp_path: Path) -> None:
    """Four aborts a second of 2 s each are 8 s of waiting a second: eight I/Os in flight hardly do anything else."""
    san = EsxSan(
        tmp_path / "a.sanpath", ports=[fast(HOST_PORT), fast(ARRAY_PORT)], counted={"lun": {"aborts_total": 4}}
    )
    for n in (2, 8):
        ports = {port.name: (n * 1.4e6, NOTHING) for port in san.ports}
        san.step(f"q{n}", n, read=Flow(n / 0.04, 0.04), ports=ports, array={"read": AtArray(0.0003)}, seconds=30)
    found = judged(san.write())
    assert found.verdict.kind != "concurrency_limited", found.verdict.headline
    assert (found.verdict.suspects[0].kind, found.verdict.suspects[0].entity) == ("retries", DEVICE)


def test_a_queue_that_is_full_above_a_full_array_is_not_the_limit(tmp_path: Path) -> None:
    """All 32 slots are in use, and 7.6 of the 8 ms below them are the array's own queue: another slot waits there."""
    san = San(tmp_path, ports=[fast(HOST_PORT), fast(ARRAY_PORT)])
    ops = 32 / 0.008
    for n in (64, 128):
        ports = {port.name: (ops * 4 * KIB * 1.02, NOTHING) for port in san.ports}
        array, disk = {"read": AtArray(0.0004, queue=0.0074)}, {"read": Flow(ops, 0.008)}
        san.step(f"q{n}", n, block=4 * KIB, read=Flow(ops, n / ops), disk=disk, ports=ports, array=array)
    found = judged(san.write())
    assert [one.entity for one in found.verdict.bottlenecks] in (["array:fa1"], ["volume:fa1/vol01"])


@pytest.mark.parametrize(("slowest_seconds", "is_named"), [(None, True), (0.2, True), (0.03, False)])
def test_damaged_frames_cost_no_more_than_the_slowest_io(
    tmp_path: Path, slowest_seconds: float | None, is_named: bool
) -> None:
    """Ten damaged frames for 100 I/Os of 20 ms each: in the mean they cost a tenth of the slowest I/O at most, which
    is all of it, or 3 ms."""
    san = San(tmp_path, ports=[fast(HOST_PORT), fast(ARRAY_PORT)], slowest_seconds=slowest_seconds)
    for n in (2, 8):
        ports = {port.name: (n * 3.5e6, NOTHING) for port in san.ports}
        counted = {"sw1/fc1/7": {"crc_errors_total": 12 * n * 5.0}, "sw1/fc1/1": {"crc_errors_total": 2.0}}
        san.step(f"q{n}", n, read=Flow(n * 50, 0.02), ports=ports, array={"read": AtArray(0.0003)}, counted=counted)
    bottlenecks = judged(san.write()).verdict.bottlenecks
    lost_at = [bottleneck.entity for bottleneck in bottlenecks if bottleneck.kind == "retries"]
    assert lost_at == (["link:esx7/vmhba2--sw1/fc1/7"] if is_named else [])


def test_what_waits_for_a_slot_waits_for_the_ios_that_are_sent_again(tmp_path: Path) -> None:
    """All 32 slots are in use for 10 ms each, 0.3 of them in the array. A tenth of the I/Os are damaged and take
    up to 0.2 s: that is 20 ms in the mean, more than the 10, and less than the wait of 512 I/Os for a slot."""
    san, ops = San(tmp_path, ports=[fast(HOST_PORT), fast(ARRAY_PORT)], slowest_seconds=0.2), 3200.0
    for n in (128, 512):
        ports = {port.name: (ops * 4 * KIB * 1.02, NOTHING) for port in san.ports}
        counted = {"sw1/fc1/7": {"crc_errors_total": 12 * ops / 10}}
        flow, array = Flow(ops, n / ops), {"read": AtArray(0.0003)}
        disk = {"read": flow}
        san.step(f"q{n}", n, block=4 * KIB, read=flow, disk=disk, ports=ports, array=array, counted=counted)
    verdict = judged(san.write()).verdict
    assert (verdict.kind, verdict.suspects[0].kind) == ("bottleneck", "retries")


def test_the_frames_that_all_links_damage_cost_the_latency_together(tmp_path: Path) -> None:
    """Five frames for 100 I/Os at each of two ports: those of one cost half of the 20 ms at most, if each cost as
    much as the slowest I/O."""
    san = San(tmp_path, ports=[fast(HOST_PORT), fast(ARRAY_PORT)], slowest_seconds=0.2)
    for n in (2, 8):
        ports = {port.name: (n * 3.5e6, NOTHING) for port in san.ports}
        counted = {f"sw1/{port.name}": {"crc_errors_total": 12 * n * 2.5} for port in san.ports}
        san.step(f"q{n}", n, read=Flow(n * 50, 0.02), ports=ports, array={"read": AtArray(0.0003)}, counted=counted)
    assert [bottleneck.kind for bottleneck in judged(san.write()).verdict.bottlenecks] == ["retries"]


@pytest.mark.parametrize(("technology", "is_named"), [("fibre_channel", True), ("ethernet", False)])
def test_lost_frames_cost_no_more_than_a_timeout_of_tcp(
    tmp_path: Path, technology: Literal["fibre_channel", "ethernet"], is_named: bool
) -> None:
    """One frame of 500 I/Os is lost: 0.6 ms an I/O if TCP waits for 0.3 s. The time-out of SCSI is a minute."""
    san = San(tmp_path, ports=[fast(HOST_PORT), fast(ARRAY_PORT)], technology=technology)
    for n in (2, 8):
        ports = {port.name: (n * 3.5e6, NOTHING) for port in san.ports}
        counted = {"sw1/fc1/7": {"errors_rx_total": 12 * n * 50 / 500}}
        san.step(f"q{n}", n, read=Flow(n * 50, 0.02), ports=ports, array={"read": AtArray(0.0003)}, counted=counted)
    suspects = judged(san.write()).verdict.suspects
    assert (suspects[0].kind == "retries") == is_named


def test_a_process_at_the_end_of_its_core_also_delays_what_it_times(tmp_path: Path) -> None:
    """No clock below the load is read. Half of the 48 I/Os are unused while a process uses all of its core."""
    san = San(tmp_path, leave_out={"disk", "array"})
    for n, ops, in_flight in ((4, 3000.0, 3.0), (48, 6000.0, 24.0)):
        ports = {port.name: (ops * 8 * KIB * 1.02, NOTHING) for port in san.ports}
        san.step(f"q{n}", n, block=8 * KIB, read=Flow(ops, in_flight / ops), ports=ports, cpu=1.0)
    assert judged(san.write()).verdict.suspects[0].kind == "generator_limited"

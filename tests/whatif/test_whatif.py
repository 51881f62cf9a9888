"""What a test would reach with another configuration: new ceilings, what limits then, and what is not guessed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sanpath.cli import app
from sanpath.diagnose import judge_recording
from sanpath.errors import UsageError
from sanpath.model import Scalar
from sanpath.recording.reading.recording import Recording
from sanpath.views import json as json_view
from sanpath.views.whatif import as_text
from sanpath.whatif.change import Policy
from sanpath.whatif.path_spread import PathLinks, PathUse
from sanpath.whatif.predict import Prediction, closed_loop
from sanpath.whatif.what_if import WhatIf, what_if
from tests.support.esx_san import DEVICE, EsxSan, over_first_path
from tests.support.san import ARRAY_PORT, HOST_PORT, KIB, AtArray, Flow, San
from tests.support.stories import COUNTED, NOTHING, SECOND_HBA, SECOND_TARGET, X, fast, published, recorded

HOST, ARRAY = "switch_port:sw1/fc1/7", "switch_port:sw1/fc1/1"
IDLE = {port.name: (1e6, NOTHING) for port in (HOST_PORT, ARRAY_PORT)}
BOTH = (f"{HOST}.speed=8GFC", f"{ARRAY}.speed=8GFC")


def asked(recording: Recording, *settings: str, relieve: bool = False) -> WhatIf:
    return what_if(*judge_recording(recording), settings, relieve)


def last(recording: Recording, *settings: str, relieve: bool = False) -> Prediction:
    return asked(recording, *settings, relieve=relieve).steps[-1]


@pytest.mark.parametrize(
    ("threads", "least", "most"), [(2, 2e-3, 3e-3), (16, 17e-3, 22e-3), (64, 81e-3, 83e-3), (100, 126e-3, 128.1e-3)]
)
def test_the_closed_loop_gives_the_published_latencies(
    threads: int, least: float, most: float, tmp_path: Path
) -> None:
    """Threads x 8 outstanding over 6,250 IOPS: 2.56, 20.5, 81.9 and 128 ms, told from a step of 256."""
    one_step = published(San(tmp_path), in_flight=(256,)).write()
    found = last(one_step, f"load:fio.in_flight={8 * threads}")
    assert found.predicted_latency_seconds is not None
    low, high = found.predicted_latency_seconds
    assert 8 * threads / X == pytest.approx(high, rel=0.01)
    assert least <= low <= high <= most


def test_both_links_faster_is_the_next_link_and_one_alone_is_nothing() -> None:
    """8GFC carries twice 6,297 IOPS; 800 / 12,595 = 63.5 ms. One link alone gains nothing: the other is full."""
    found = last(recorded("published"), *BOTH)
    assert found.likely_ops_per_second == pytest.approx((12_595, 12_595), rel=2e-3)
    assert found.predicted_ops_per_second == pytest.approx((1.4 * 6_250, 12_595), rel=2e-3)
    assert found.predicted_latency_seconds == pytest.approx((0.0635, 0.128 / 1.4), rel=2e-3)
    assert found.untested == ("array:fa1: has carried 6,250 IOPS and no more",)
    alone = last(recorded("published"), BOTH[0])
    assert alone.predicted_ops_per_second == pytest.approx((6_250, 6_297), rel=2e-3)
    assert alone.entity == "link:sw1/fc1/1--fa1/CT0.FC0"


def test_relieving_takes_all_that_are_full_together() -> None:
    found = asked(recorded("published"), relieve=True)
    assert found.steps[-1] == last(recorded("published"), *BOTH)
    assert all("fc1/7.speed=8GFC" in words and "CT0.FC0.speed=8GFC" in words for _, words in found.relieved)


def test_a_deeper_queue_above_a_full_link_moves_nothing() -> None:
    """The true finding that is not the bottleneck: 6,250 to 6,297 IOPS, less than one in a hundred."""
    found = last(recorded("published"), "lun:sqlvm1/sda.queue_depth=128")
    assert found.predicted_ops_per_second == pytest.approx((6_250, 6_297), rel=2e-3)
    assert found.entity is not None
    assert found.entity.startswith("link:")


def test_the_twin_s_queue_gives_four_times_as_much() -> None:
    """32 > 128 at 0.5 ms: 256,000 IOPS, 64 % of the 402,000 that 32GFC carries of 8 KiB."""
    found = last(recorded("guest_queue"), "lun:sqlvm1/sda.queue_depth=128")
    assert found.limit == found.entity == "lun:sqlvm1/sda"
    assert found.predicted_ops_per_second is not None
    assert found.likely_ops_per_second is not None
    assert [end / 64_000 for end in found.likely_ops_per_second] == [pytest.approx(3.9, abs=0.11), pytest.approx(4)]
    assert found.predicted_ops_per_second[0] == pytest.approx(1.4 * 64_000)


def in_turn(folder: Path, batch: int | None = 1000, policy: str = "round_robin") -> Recording:
    """Two 4GFC paths to the host used in turn, 32 in flight: 51 % + 50 %, 6,461 IOPS; the array's ports are 16GFC."""
    about = {"path_policy": policy, "path_switch_operations": batch, "queue_depth": 32}
    san = EsxSan(folder, lun=about, shares=(0.5, 0.5))
    san.ports = [HOST_PORT, SECOND_HBA, fast(ARRAY_PORT), fast(SECOND_TARGET)]
    ops = 425e6 * 1.01 / (32 * 2076)
    for n in (64, 256):
        busy = {HOST_PORT.name: 0.51, SECOND_HBA.name: 0.50, ARRAY_PORT.name: 0.51, SECOND_TARGET.name: 0.50}
        ports = {name: (425e6 * part, NOTHING) for name, part in busy.items()}
        disk, array = {"read": Flow(ops, 32 / ops)}, {"read": AtArray(0.00035, san=32 / ops - 0.00045)}
        san.step(f"q{n}", n, read=Flow(ops, n / ops), ports=ports, disk=disk, array=array)
    return san.write()


def test_paths_in_turn_are_a_ceiling_and_changing_after_every_io_doubles_it(tmp_path: Path) -> None:
    """One path carries 6,297 IOPS, with 32 of 1,000 overlapping 3 % more: 6,498; both side by side 12,594."""
    recording = in_turn(tmp_path)
    found = last(recording, f"{DEVICE}.iops=1")
    assert found.limit == DEVICE
    assert found.likely_ops_per_second is not None
    assert 12_300 <= found.likely_ops_per_second[0] <= found.likely_ops_per_second[1] <= 12_600
    assert found.entity is not None
    assert found.entity.startswith("link:esx7/vmhba")
    assert last(recording, relieve=True).likely_ops_per_second == found.likely_ops_per_second
    ten = last(recording, f"{DEVICE}.iops=100").predicted_ops_per_second
    assert ten is not None
    assert ten[1] == pytest.approx(1.32 * 6_297, rel=0.01)


def test_one_path_after_all_halves_what_two_carry(tmp_path: Path) -> None:
    found = last(in_turn(tmp_path, batch=1), f"{DEVICE}.path_policy=most_recently_used")
    assert found.predicted_ops_per_second is None  # 6,461 IOPS at a batch of 1 are explained by nothing
    assert found.unknown is not None
    assert "the limit was not found" in found.unknown
    side_by_side = last(in_turn(tmp_path / "b"), f"{DEVICE}.path_policy=fixed").predicted_ops_per_second
    assert side_by_side is not None
    assert side_by_side[1] == pytest.approx(6_297, rel=0.01)


def test_writes_whose_answers_wait_on_a_link_full_of_reads_become_faster_with_it(tmp_path: Path) -> None:
    """One write for ten reads: the link at 8GFC carries twice the reads, and the writes, which
    wait in the same queue, become twice as many."""
    san = San(tmp_path, ports=[HOST_PORT, fast(ARRAY_PORT)])
    counted = {port.name: (COUNTED, 0.1 * COUNTED) for port in san.ports}
    flows = {"read": Flow(X, 700 / X), "write": Flow(0.1 * X, 70 / (0.1 * X))}
    array = {way: AtArray(0.00035) for way in flows}
    san.step("mixed", 770, read=flows["read"], write=flows["write"], ports=counted, disk=flows, array=array)
    steps = {step.direction: step for step in asked(san.write(), f"{HOST}.speed=8GFC").steps}
    for way, flow in flows.items():
        predicted = steps[way].predicted_ops_per_second
        assert predicted is not None, way
        assert predicted[1] == pytest.approx(2 * flow.ops, rel=0.03)


@pytest.mark.parametrize(("policy", "most"), [("service_time", 1.5), ("queue_length", 1.5), ("round_robin", 1.03)])
def test_a_faster_path_gets_more_of_the_ios_where_the_policy_follows_its_speed(
    tmp_path: Path, policy: str, most: float
) -> None:
    """Two full 4GFC paths to the host, one of which becomes 8GFC: three times the slower path, or twice."""
    san = EsxSan(tmp_path, lun={"path_policy": policy, "path_switch_operations": 1}, shares=(0.5, 0.5))
    san.ports = [HOST_PORT, SECOND_HBA, fast(ARRAY_PORT), fast(SECOND_TARGET)]
    ops = 2 * 0.97 * 425e6 / (32 * 2076)
    for n in (64, 256):
        ports = {port.name: (0.97 * 425e6, NOTHING) for port in san.ports}
        array = {"read": AtArray(0.00035, san=0.0001)}
        san.step(f"q{n}", n, read=Flow(ops, n / ops), ports=ports, disk={"read": Flow(ops, n / ops)}, array=array)
    predicted = last(san.write(), f"{HOST}.speed=8GFC").predicted_ops_per_second
    assert predicted is not None
    assert predicted[1] == pytest.approx(most * ops, rel=0.04)


def test_paths_on_which_others_leave_no_room_have_equal_shares() -> None:
    use = PathUse("lun:a", [PathLinks({"link:1": 1.0}), PathLinks({"link:2": 1.0})], Policy("service_time"))
    assert use.shares({"link:1": 0.0, "link:2": 0.0}) == {"link:1": 0.5, "link:2": 0.5}
    assert use.shares({"link:1": 0.0, "link:2": 9.0}) == {"link:1": 0.0, "link:2": 1.0}


def test_a_storage_that_was_full_in_another_step_is_so_in_every_step() -> None:
    """8 in flight gave 40,000 IOPS; the array was full at 101,000, whatever N / R0 would be."""
    found = asked(recorded("saturated_array"), "load:fio.in_flight=1024").steps[0]
    assert found.predicted_ops_per_second is not None
    assert found.predicted_ops_per_second[1] == pytest.approx(101_000, rel=0.01)
    relieved = last(recorded("saturated_array"), relieve=True)
    assert (relieved.predicted_ops_per_second, relieved.untested) == (None, ())
    assert relieved.unknown is not None
    assert "nothing to relieve" in relieved.unknown


def test_a_number_in_flight_between_two_steps_lies_between_what_they_gave() -> None:
    """8 gave 40,000 and 64 gave 100,000 IOPS."""
    found = asked(recorded("saturated_array"), "load:fio.in_flight=32").steps[0]
    assert found.predicted_ops_per_second == (40_000, pytest.approx(100_000, rel=1e-3))


def test_a_limit_that_was_set_is_lifted_lowered_and_never_the_link() -> None:
    """400 MB/s lifted: 4GFC takes over at 6,297 IOPS; lowered to 100 MB/s: 1,526."""
    recording = recorded("quality_of_service")
    lifted = last(recording, relieve=True)
    assert lifted.limit == "volume:fa1/vol01" or lifted.limit == "array:fa1"
    assert lifted.entity is not None
    assert lifted.entity.startswith("link:")
    lowered = last(recording, "volume:fa1/vol01.qos_bytes_per_second=100MB/s")
    assert lowered.predicted_ops_per_second == pytest.approx((1_526, 1_526), rel=0.01)
    assert (lowered.entity, lowered.change) == ("volume:fa1/vol01", "with its QoS limit of 100.0 MB/s")


def test_a_limit_of_vsphere_counts_ios_in_units_of_32_kib(tmp_path: Path) -> None:
    """6,250 reads of 64 KiB count as 12,500: half that limit lets half of them through."""
    disk = "sqlvm1/scsi0:1"
    limit: dict[str, Scalar] = {"limit_ops_per_second": 12_500, "limit_operation_bytes": 32_768}
    lowered = last(over_first_path(tmp_path, vdisks={disk: limit}), f"vdisk:{disk}.limit_ops_per_second=6250")
    assert lowered.entity == f"vdisk:{disk}"
    assert lowered.predicted_ops_per_second == pytest.approx((3_125, 3_125), rel=0.01)


def test_more_in_flight_never_gives_more_than_its_share() -> None:
    """One I/O takes 0.5 ms, though array and wire need but 0.34: two give 4,000 IOPS at most."""
    found = last(recorded("one_in_flight"), relieve=True).predicted_ops_per_second
    assert found == (pytest.approx(1.4 * 2_000), pytest.approx(4_000))
    assert last(recorded("guest_queue"), "load:fio.in_flight=1024").predicted_ops_per_second == (64_000, 64_000)


def test_an_array_that_may_have_been_full_all_along_is_no_unloaded_latency() -> None:
    """5 of the disk's 5.12 ms pass in the array, with its queue always full: a deeper one may bring nothing."""
    found = last(recorded("full_before_it_began"), "lun:sqlvm1/sda.queue_depth=128")
    assert found.predicted_ops_per_second is None
    assert found.unknown == "the latency without a queue is not known: add a step with few outstanding I/Os"


def test_what_nothing_explains_is_not_predicted(tmp_path: Path) -> None:
    """2,000 IOPS of 32 in flight through a 16GFC link to an array that nobody read: what holds them was not seen."""
    san = San(tmp_path, ports=[fast(HOST_PORT), fast(ARRAY_PORT)])
    counted = 2000 * 32 * 2076.0
    for n, latency in ((1, 0.0005), (32, 0.016)):
        ports = {p.name: (counted, NOTHING) for p in san.ports}
        san.step(f"q{n}", n, read=Flow(2000, latency), ports=ports)
    found = last(san.write(), f"{HOST}.speed=32GFC")
    assert found.predicted_ops_per_second is None
    assert found.unknown is not None
    assert found.unknown.startswith("2,000 IOPS are less than any known limit allows")


@pytest.mark.parametrize(("slots", "held"), [(8, 8.0), (8, 8.6), (None, 8.0)])
def test_a_queue_that_limits_gains_by_more_slots_whether_or_not_its_slots_were_counted(
    tmp_path: Path, slots: int | None, held: float
) -> None:
    """8 of 16 I/Os are at the disk, and one alone takes 3 ms."""
    san = San(tmp_path / "r.sanpath", ports=[fast(HOST_PORT), fast(ARRAY_PORT)], guest_queue_depth=slots)
    for n, ops, at_disk in ((1, 330.0, 1.0), (16, 2_640.0, held)):
        disk, array = {"read": Flow(ops, at_disk / ops)}, {"read": AtArray(3e-3, san=2e-5)}
        san.step(f"q{n}", n, block=8 * KIB, read=Flow(ops, n / ops), ports=IDLE, disk=disk, array=array)
    found = last(san.write(), relieve=True)
    assert found.predicted_ops_per_second is not None
    assert found.predicted_ops_per_second[1] == pytest.approx(2 * 2_640, rel=0.05)


@pytest.mark.parametrize(("rate", "most"), [(500.0, 500.0), (None, 2_000.0)])
def test_more_outstanding_ios_and_other_steps_bring_no_more_than_is_asked_for(
    tmp_path: Path, rate: float | None, most: float
) -> None:
    """One of 8 I/Os is outstanding, and 4 in a step that asks for 2,000."""
    san = San(
        tmp_path / "r.sanpath", ports=[fast(HOST_PORT), fast(ARRAY_PORT)], about={"requested_ops_per_second": rate}
    )
    for n, ops in ((4, 2_000.0), (1, 500.0)):
        flow, array = Flow(ops, n / ops), {"read": AtArray(1.9e-3, san=2e-5)}
        offered = 8 if rate else n
        disk = {"read": flow}
        san.step(f"q{n}", offered, read=flow, ports=IDLE, disk=disk, array=array, rate_limited=rate is not None)
    found = last(san.write(), "load:fio.in_flight=4")
    assert found.predicted_ops_per_second is not None
    assert found.predicted_ops_per_second[1] == pytest.approx(most, rel=0.05)


@pytest.mark.parametrize(
    ("setting", "reported"),
    [
        ("lun:sqlvm1/sda.queue_depht=3", "did you mean queue_depth?"),
        ("lun:sqlvm1/sdb.queue_depth=3", "did you mean lun:sqlvm1/sda?"),
        ("switch_port:sw1/fc1/77.speed=8GFC", "did you mean switch_port:sw1/fc1/7?"),
        (f"{HOST}.speed=fast", "write a speed, as in 8GFC"),
        (f"{HOST}.speed=9GFC", "not a speed of Fibre Channel"),
        (f"{HOST}.queue_depth=3", "queue_depth is a setting of a lun or vdisk, not of a switch_port"),
        ("lun:sqlvm1/sda.queue_depth=0", "a whole number from 1 on"),
        ("lun:sqlvm1/sda.queue_depth=many", "a whole number from 1 on"),
        ("volume:fa1/vol01.qos_bytes_per_second=fast", "write bytes a second"),
        ("lun:sqlvm1/sda.path_policy=rond_robin", "did you mean round_robin?"),
        ("speed=8GFC", "write ENTITY.setting=value"),
        ("nonsense", "write ENTITY.setting=value"),
        ("tape:lto.speed=8GFC", "speed"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(setting: str, reported: str) -> None:
    with pytest.raises(UsageError, match=r".") as raised:
        asked(recorded("published"), setting)
    assert reported in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_cannot_be_judged_is_said_and_changes_nothing() -> None:
    """No paths of sda were seen, and nobody asked a hypervisor."""
    found = asked(recorded("published"), "lun:sqlvm1/sda.path_policy=round_robin")
    (wanted,) = found.settings
    assert (wanted.judged, wanted.note) == (False, "the paths to it are not known: nothing can be predicted")
    assert all(step.predicted_ops_per_second is None for step in found.steps)
    other_end = asked(recorded("published"), f"{HOST}.speed=32GFC").settings[0]
    assert "hba:esx7/vmhba2 at its other end supports 8GFC at most" in other_end.note


def test_reads_and_writes_are_told_apart_and_share_what_is_in_flight() -> None:
    """512 + 512 in flight, 6,200 IOPS each way: half as many leave 256 each, and both links full as before."""
    found = asked(recorded("mixed"), "load:fio.in_flight=512")
    assert [step.direction for step in found.steps] == ["read", "write"]
    assert [step.kept_in_flight for step in found.steps] == pytest.approx([256, 256], rel=1e-3)
    assert all(s.predicted_ops_per_second is not None and s.predicted_ops_per_second[1] < 6_400 for s in found.steps)


def test_the_latency_without_a_queue_is_at_most_one_that_was_measured(tmp_path: Path) -> None:
    """The links are full with 16 and with 256 in flight, and the array's time was not read. If an I/O takes no longer
    than the 2.6 ms of the first step, less 0.08 ms of transfer, the 32 that the guest lets through give at least
    11,300 a second. Of 16 nothing is known."""
    recording = published(San(tmp_path, leave_out={"array_samples"}), in_flight=(16, 256)).write()
    with_few, with_many = asked(recording, *BOTH).steps
    assert with_few.likely_ops_per_second is None
    assert with_many.likely_ops_per_second == pytest.approx((11_330, 12_595), rel=2e-3)


def reads_and_writes(
    folder: Path, write_seconds: float = 0.0, tied: bool = True, others_write: float = 0.0
) -> Recording:
    """Two reads for each write, of one job: 6,250 reads a second fill the links, and the writes half of them. A write
    takes `write_seconds`. `others_write`: bytes a second that others write at the array's port."""
    san = San(folder, about={"read_ratio": 2 / 3} if tied else {})
    for n in (64, 256):
        in_writes = X / 2 * write_seconds or 0.2 * n
        reads, writes = Flow(X, (n - in_writes) / X), Flow(X / 2, in_writes / (X / 2))
        counted = (X * 32 * 2076, X / 2 * 32 * 2076)
        array = {"read": AtArray(0.00035, san=0.002), "write": AtArray(0.0003, san=0.002)}
        flows = {"read": reads, "write": writes}
        ports = {"fc1/7": counted, "fc1/1": (counted[0], counted[1] + others_write)}
        san.step(f"q{n}", n, read=reads, write=writes, ports=ports, disk=flows, array=array)
    return san.write()


def test_a_job_keeps_the_ratio_of_its_reads_and_writes(tmp_path: Path) -> None:
    """Nothing limits the writes but that each waits for two reads. With links twice as fast both double."""
    read, write = asked(reads_and_writes(tmp_path), *BOTH).steps[-2:]
    assert read.likely_ops_per_second == pytest.approx((12_595, 12_595), rel=2e-3)
    assert write.likely_ops_per_second == pytest.approx((12_595 / 2, 12_595 / 2), rel=2e-3)
    assert (write.limit, write.entity) == (read.limit, read.entity)
    assert write.unknown is None


def test_reads_are_not_predicted_beside_writes_for_which_others_leave_no_room(tmp_path: Path) -> None:
    """Others write 150 MB/s, and a port of 1 Gb/s carries 106."""
    found = asked(reads_and_writes(tmp_path, others_write=150e6), f"{ARRAY}.speed=1GFC")
    assert [step.predicted_ops_per_second for step in found.steps] == [None] * 4
    assert {step.unknown for step in found.steps} == {"others alone fill link:sw1/fc1/1--fa1/CT0.FC0 at 1GFC"}


def test_writes_that_wait_for_nothing_are_not_predicted_to_be_faster(tmp_path: Path) -> None:
    """A write takes 0.4 ms, 0.3 of them in the array; 1.25 of 64 I/Os are writes. These wait for reads alone."""
    read, write = asked(reads_and_writes(tmp_path, write_seconds=4e-4), *BOTH).steps[-2:]
    assert read.likely_ops_per_second == pytest.approx((12_595, 12_595), rel=2e-3)
    assert write.likely_ops_per_second == pytest.approx((12_595 / 2, 12_595 / 2), rel=2e-3)
    assert write.predicted_latency_seconds is not None
    assert 3e-4 <= write.predicted_latency_seconds[0] <= 4e-4


def test_jobs_without_a_common_ratio_are_predicted_apart(tmp_path: Path) -> None:
    """Nobody told a share of reads: these may be a job that reads and one that writes."""
    read, write = asked(reads_and_writes(tmp_path, write_seconds=4e-4, tied=False), *BOTH).steps[-2:]
    assert read.likely_ops_per_second == pytest.approx((12_595, 12_595), rel=2e-3)
    assert write.likely_ops_per_second is None or write.likely_ops_per_second[1] < 0.9 * 12_595 / 2


@pytest.mark.parametrize("settings", [(), BOTH, (f"{HOST}.speed=16GFC", "load:fio.in_flight=512")])
def test_relief_makes_neither_reads_nor_writes_slower(tmp_path: Path, settings: Sequence[str]) -> None:
    for recording in (reads_and_writes(tmp_path), recorded("mixed")):
        gains = {
            (step.step, step.direction): [end / step.ops_per_second for end in step.predicted_ops_per_second]
            for step in asked(recording, *settings, relieve=True).steps
            if step.predicted_ops_per_second is not None
        }
        assert gains
        assert all(least >= 0.999 for least, _ in gains.values())
        assert all(most == pytest.approx(gains[step, "read"][1]) for (step, _), (_, most) in gains.items())


def test_a_recording_without_a_step_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no step of this recording was judged"):
        asked(San(tmp_path).write(), relieve=True)


def test_without_the_switch_a_speed_is_not_guessed() -> None:
    """Nobody read the port: the recording does not know it."""
    with pytest.raises(UsageError, match=r"has no switch_port:sw1/fc1/7; there are: no switch_ports at all"):
        asked(recorded("switch_not_observed"), BOTH[0])


@pytest.mark.parametrize("in_flight", [1, 4, 16, 64, 256])
def test_the_closed_loop_is_the_machine_repairman(in_flight: int) -> None:
    """Against the exact sum of the birth-death chain: p(k) = N! / (N - k)! (s / Z)^k, X = (1 - p(0)) / s."""
    service, think = 1 / 5000, 0.001
    weights = [1.0]
    for k in range(in_flight):
        weights.append(weights[-1] * (in_flight - k) * service / think)
    exact = (1 - 1 / sum(weights)) / service
    assert closed_loop(in_flight, think + service, 5000) == pytest.approx(exact, rel=1e-9)


def run(recording: Recording, *options: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["whatif", str(recording.folder), *options])
    return done.exit_code, done.output


def test_the_command_prints_text_and_json() -> None:
    code, reported = run(recorded("published"), *(o for s in BOTH for o in ("--set", s)))
    assert code == 0
    assert reported.startswith("switch_port:sw1/fc1/7.speed: 4GFC → 8GFC\n")
    assert "esx7/vmhba2 - sw1/fc1/7 at 8GFC" in reported
    assert "not tested: array:fa1: has carried 6,250 IOPS and no more" in reported
    code, reported = run(recorded("published"), "--relieve", "--format", "json")
    found = json.loads(reported)
    assert (code, found["schema"], len(found["steps"])) == (0, "sanpath.whatif/1", 4)
    assert found["steps"][-1]["predicted_ops_per_second"] == pytest.approx([1.4 * 6_250, 12_595], rel=2e-3)


@pytest.mark.parametrize(
    ("interval", "reported"),
    [
        ((2_444.0, 4_888.0), "2,444 - 4,888 (+100 to +300 %)"),
        ((1_222.0, 2_444.0), "1,222 - 2,444 (+0.0 to +100 %)"),
        ((4_888.0, 4_888.0), "4,888 (+300 %)"),
        ((4_860.0, 4_888.0), "4,888 (+300 %)"),
    ],
)
def test_a_gain_is_that_of_the_range_before_it(interval: tuple[float, float], reported: str) -> None:
    found = asked(recorded("published"), *BOTH)
    step = replace(found.steps[-1], ops_per_second=1_222.0, likely_ops_per_second=interval)
    assert reported in as_text(replace(found, steps=(step,)), 160)


def test_ends_that_are_printed_alike_are_one_value() -> None:
    found = asked(recorded("published"), *BOTH)
    step = replace(found.steps[-1], kept_in_flight=0.64, likely_ops_per_second=(993.0, 1_005.0))
    reported = as_text(replace(found, steps=(step,)), 160)
    assert "0.64 ms" in reported
    assert "0.64 ms - 0.64 ms" not in reported


def test_what_cannot_be_relieved_is_said_once() -> None:
    reported = as_text(asked(recorded("saturated_array"), relieve=True), 400)
    lines = [line for line in reported.splitlines() if "nothing to relieve" in line]
    assert lines
    assert all(line.startswith("not predicted: ") for line in lines)


def test_names_cannot_change_the_text() -> None:
    found = asked(recorded("published"), *BOTH)
    nasty = "[red]\x1b[2J\n# forged"
    steps: Sequence[Prediction] = [replace(step, step=nasty) for step in found.steps]
    reported = as_text(replace(found, steps=tuple(steps)), 160)
    assert "[red]" in reported
    assert "\x1b" not in reported
    assert "\n# forged" not in reported
    assert json.loads(json_view.render(found))["settings"][0]["then"] == "8GFC"


def test_paths_whose_links_have_no_known_capacity_predict_nothing_of_their_turns() -> None:
    paths = [PathLinks({"link:a": 1.0}), PathLinks({"link:b": 1.0})]
    use = PathUse("lun:a", paths, Policy("round_robin", 1000))
    assert use.one_after_the_other({}, 8) is None
    assert use.one_after_the_other({"link:a": 100.0}, 8) is not None

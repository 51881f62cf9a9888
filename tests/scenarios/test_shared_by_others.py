"""What others do on links that the test shares: full target ports, and a slow device behind several of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanpath.diagnosis.model import Diagnosis
from sanpath.verdict.hypotheses.slow_drain import _foreign_bytes_per_second
from sanpath.verdict.places.latency_segment import LatencySegment
from sanpath.verdict.places.segments import _shared_array, _wait
from tests.scenarios.test_between_switches import BLOCK
from tests.support.san import ARRAY_PORT, HOST_PORT, KIB, AtArray, Flow, San
from tests.support.stories import COUNTED, NOTHING, OTHER_HOST, SECOND_TARGET, X, fast, judged

SECONDS = st.floats(0, 0.02, allow_subnormal=False)
"""What an I/O takes in the array: no mean of clocks is so small that it rounds to nothing."""
FULL_16 = 1660e6
"""Counted by a full 16GFC link."""
ARRAY_LINKS = {"link:sw1/fc1/1--fa1/CT0.FC0", "link:sw1/fc1/2--fa1/CT1.FC0"}
NEIGHBOUR_LINK = "link:esx9/vmhba2--sw1/fc1/9"


def with_full_targets(folder: Path, second_target: float) -> Diagnosis:
    """The test reads X a second over two target ports, of which another host fills the first, and the second with
    `second_target` bytes a second. Nobody counts who uses which."""
    ports = [fast(HOST_PORT), fast(ARRAY_PORT), fast(SECOND_TARGET), fast(OTHER_HOST, 32)]
    san = San(folder, ports=ports)
    for in_flight in (16, 128):
        san.step(
            f"t{in_flight}",
            in_flight,
            read=Flow(X, in_flight / X),
            ports={
                HOST_PORT.name: (COUNTED, NOTHING),
                ARRAY_PORT.name: (FULL_16, NOTHING),
                SECOND_TARGET.name: (second_target, NOTHING),
                OTHER_HOST.name: (FULL_16 + second_target - COUNTED, NOTHING),
            },
            array={"read": AtArray(0.0003, san=0.9 * in_flight / X, others=3 * X)},
        )
    return judged(san.write())


def test_where_every_target_port_is_full_the_test_crosses_a_full_one(tmp_path: Path) -> None:
    found = with_full_targets(tmp_path / "a.sanpath", FULL_16)
    assert found.verdict.kind == "bottleneck"
    assert {found.verdict.bottlenecks[0].entity} <= ARRAY_LINKS


def test_where_one_target_port_has_room_the_test_may_avoid_the_full_one(tmp_path: Path) -> None:
    avoided, crossed = (with_full_targets(tmp_path / f"{rate:.0f}.sanpath", rate) for rate in (FULL_16 / 2, FULL_16))
    assert avoided.verdict.grade > crossed.verdict.grade


@pytest.mark.parametrize("direction", ["read", "write"])
def test_a_slow_neighbour_behind_two_target_ports_holds_even_a_single_io(tmp_path: Path, direction: str) -> None:
    """Nobody counts the credit of the array's ports. esx9 reads 400 blocks a second over both, and its port sends
    nothing most of the time; an I/O of the test takes 100 ms, alone or beside three others."""
    ports = [fast(HOST_PORT), fast(ARRAY_PORT), fast(SECOND_TARGET), fast(OTHER_HOST)]
    san = San(tmp_path / "a.sanpath", ports=ports)
    others = 400 * BLOCK
    for in_flight in (1, 4):
        rate = 10.0 * in_flight
        test = (rate * BLOCK, NOTHING) if direction == "read" else (NOTHING, rate * BLOCK)
        target = (others / 2 + test[0] / 2, test[1] / 2)
        san.step(
            f"t{in_flight}",
            in_flight,
            **{direction: Flow(rate, 0.1)},  # type: ignore[arg-type]  # one flow by its direction
            seconds=30,
            ports={
                HOST_PORT.name: test,
                OTHER_HOST.name: (others, NOTHING),
                ARRAY_PORT.name: target,
                SECOND_TARGET.name: target,
            },
            array={direction: AtArray(0.0003, san=0.099, others=400)},
            stalls={"sw1/fc1/9": 0.95},
        )
    found = judged(san.write())
    assert found.verdict.kind == "bottleneck", found.verdict.headline
    assert (found.verdict.bottlenecks[0].kind, found.verdict.bottlenecks[0].entity) == (
        "credit_stall",
        NEIGHBOUR_LINK,
    )


def test_parallel_links_carry_the_bytes_of_the_test_once() -> None:
    links = [{"foreign_bytes_per_second": None, "bytes_per_second": rate} for rate in (20e6, 20e6)]
    assert _foreign_bytes_per_second(links, 12e6) == 28e6


def segment(seconds: float) -> LatencySegment:
    return LatencySegment("array_service", "array:fa1", (seconds, seconds), "array, its queue not told apart")


@pytest.mark.parametrize(("lighter_ratio", "longest"), [(0.1, 1e-4), (0.5, 2e-4), (1.0, 0.003 - 1e-4)])
def test_a_place_that_takes_as_long_with_fewer_inside_did_not_make_them_wait(
    lighter_ratio: float, longest: float
) -> None:
    """It takes 3 ms at both loads. If it was as busy with fewer, all but the service itself may be waiting."""
    lighter = replace(segment(0.003), wait=(0.0, 0.0015, 0.003))
    assert _wait(segment(0.003), 0.0, True, 1.0, lighter, lighter_ratio)[2] <= longest * (1 + 1e-9)


@pytest.mark.parametrize("servers", [1, 4, 16])
def test_the_growth_of_a_closed_network_gives_the_wait(servers: int) -> None:
    """S (1 + (N - 1) / k) with N = 4 and 32: what an I/O waits for the 31 others, each at one of k servers."""
    times = {inside: 1e-3 * (1 + (inside - 1) / servers) for inside in (4, 32)}
    throughput = {inside: inside / seconds for inside, seconds in times.items()}
    lighter = replace(segment(times[4]), wait=(0.0, times[4] / 2, times[4]))
    _, likely, longest = _wait(segment(times[32]), 0.0, True, 1.0, lighter, throughput[4] / throughput[32])
    waited = times[32] - 1e-3
    assert likely <= longest
    assert longest >= 0.99 * min(waited, times[32] - 1e-4)


def test_what_no_media_need_is_a_wait_with_a_single_io_as_well() -> None:
    lighter = replace(segment(0.8), wait=(0.0, 0.0, 0.0))
    assert _wait(segment(0.8), 0.0, True, 0.0, lighter, 1.0)[0] == pytest.approx(0.77)


@pytest.mark.parametrize("links_are_counted", [False, True])
def test_what_an_array_times_apart_from_the_transfer_is_no_transfer(links_are_counted: bool) -> None:
    """The array times the transfer itself: links that nobody counts do not explain 2 ms in front of its clock."""
    before = LatencySegment(
        "before_array_clock", "array:fa1", (0.002, 0.002), "between the host's and the array's clock"
    )
    assert _wait(before, 8e-5, links_are_counted, 1.0, None, 1.0)[0] == pytest.approx(0.002, rel=0.2)


def two_steps_at_an_array(folder: Path, others: tuple[float, float]) -> Diagnosis:
    """24 outstanding reads get 1,100 IOPS and 48 get 1,390, all of the time in the array, which serves `others` a
    second beside them."""
    san = San(folder, ports=[fast(HOST_PORT), fast(ARRAY_PORT)])
    for in_flight, ops, other_ops in zip((24, 48), (1100.0, 1390.0), others, strict=True):
        seconds, block = in_flight / ops, 8 * KIB
        san.step(
            f"t{in_flight}",
            in_flight,
            block=block,
            read=Flow(ops, seconds),
            ports={
                HOST_PORT.name: (ops * block * 1.03, NOTHING),
                ARRAY_PORT.name: ((ops + other_ops) * block * 1.03, NOTHING),
            },
            array={"read": AtArray(seconds - 0.0002, san=0.00005, others=other_ops)},
        )
    return judged(san.write())


def test_a_small_gain_from_a_busy_neighbour_is_no_sign_of_too_few_outstanding_ios(tmp_path: Path) -> None:
    """A full array gives who asks for more a larger part of the same: first come, first served."""
    alone = two_steps_at_an_array(tmp_path / "alone.sanpath", (0.0, 0.0))
    shared = two_steps_at_an_array(tmp_path / "shared.sanpath", (4600.0, 4310.0))
    assert [found.steps[0].verdict.kind for found in (alone, shared)] == ["concurrency_limited", "cannot_tell"]
    assert shared.verdict.bottlenecks[0].entity == "array:fa1"


@given(own=st.floats(1, 1e5), others=st.floats(0, 1e5), own_s=SECONDS, others_s=SECONDS)
def test_a_mean_over_the_ios_of_others_bounds_the_time_of_the_test(
    own: float, others: float, own_s: float, others_s: float
) -> None:
    """Below the host an I/O takes 20 ms. The array counts `own` and `others` I/Os a second, and their mean time."""
    ops = own + others
    row = {
        "entity": "array:fa1",
        "array_seconds": (own * own_s + others * others_s) / ops,
        "spread_seconds": 0.0,
        "ops_per_second": ops,
        "bytes_per_second": 4096.0 * ops,
    }
    load = cast(Any, SimpleNamespace(ops_per_second=own, bytes_per_second=4096.0 * own))
    segments = _shared_array(row, (0.02, 0.02), load)
    for gap, array in [segments] if segments else []:
        assert array.seconds[0] <= own_s <= array.seconds[1]
        assert gap.seconds[0] <= 0.02 - own_s <= gap.seconds[1]


def test_an_array_that_hardly_holds_any_io_does_not_hold_those_of_the_test(tmp_path: Path) -> None:
    """1,000 reads a second take 20 ms, and the 2,000 of the array take 0.2 ms. Nobody knows which volume is the
    test's."""
    ports = [fast(HOST_PORT), fast(ARRAY_PORT)]
    san = San(tmp_path / "a.sanpath", ports=ports, leave_out={"lun"}, twin=True)
    flow = Flow(1000, 0.02)
    san.step("q20", 20, block=8 * KIB, read=flow, disk={"read": flow}, array={"read": AtArray(2e-4, others=1000)})
    (unseen,) = (suspect for suspect in judged(san.write()).verdict.suspects if suspect.kind == "unseen")
    assert unseen.place == "something between the load and fa1"
    assert unseen.because == ("I/Os may be waiting there: about 18.7 ms of 20.0 ms",)

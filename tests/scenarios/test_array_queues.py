"""An array that queues behind a host queue that is always full: nothing grows, and its own queue tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from tests.support.san import KIB, AtArray, Flow, San
from tests.support.stories import NOTHING, diagnosed, fast, judged

OPS = 3600.0
COUNTED = OPS * (4 * 2076 + 52)
"""8 KiB are four frames and a response: 30.1 MB/s, 1.8 % of the 1,700 of a 16GFC link."""


def behind_a_full_queue(
    folder: Path, service: float, queue: float, in_flight: tuple[int, ...] = (128, 512, 800)
) -> Diagnosis:
    """The host admits 32: 32 / 3,600 = 8.89 ms at its disk in every step, N / 3,600 = 35.6, 142 and 222 ms above."""
    san = San(folder)
    san.ports = [fast(port) for port in san.ports]
    for n in in_flight:
        san.step(
            f"q{n}",
            n,
            block=8 * KIB,
            read=Flow(OPS, n / OPS),
            ports={port.name: (COUNTED, NOTHING) for port in san.ports},
            disk={"read": Flow(OPS, 32 / OPS)},
            array={"read": AtArray(service, san=2e-5, queue=queue)},
        )
    return judged(san.write())


def test_an_array_that_waits_seven_times_as_long_as_it_serves_is_the_bottleneck(tmp_path: Path) -> None:
    """7.66 + 1.11 = 8.77 of 8.89 ms in the array, the same with 128, 512 and 800 in flight. Without the queue 1.11
    are left: 1 - 1.11 / 8.77 = 87.3 %."""
    found = behind_a_full_queue(tmp_path, 0.00111, 0.00766)
    verdict = found.verdict
    (bottleneck,) = verdict.bottlenecks
    assert (verdict.kind, verdict.grade, verdict.from_step) == ("bottleneck", "A", "q800")
    assert (bottleneck.entity, bottleneck.kind, bottleneck.layer) == ("array:fa1", "array", "array_front")
    assert bottleneck.explains == pytest.approx(1 - 1.11 / 8.77, rel=1e-3)
    assert bottleneck.wait_at == "lun:sqlvm1/sda"
    assert "I/Os wait 7.66 ms in the array to be served for 1.11 ms" in bottleneck.because
    assert "throughput does not grow with the load" in bottleneck.because
    assert not any(c.entity == "array:fa1" for c in found.cleared)
    assert any(c.entity.startswith("link:") for c in found.cleared), "1.8 % busy"


def test_one_step_alone_is_graded_down(tmp_path: Path) -> None:
    """Nothing to compare with, but its queue is 6.9 times its service."""
    found = behind_a_full_queue(tmp_path, 0.00111, 0.00766, in_flight=(512,))
    (bottleneck,) = found.verdict.bottlenecks
    assert (found.verdict.kind, found.verdict.grade, bottleneck.entity) == ("bottleneck", "B", "array:fa1")
    assert bottleneck.layer == "array_back", "whether its service time has grown is not known"
    assert "throughput does not grow with the load" not in bottleneck.because
    assert not any(c.entity == "array:fa1" for c in found.cleared)


@pytest.mark.parametrize("in_flight", [(512,), (128, 512, 800)], ids=["one step", "three steps"])
def test_an_array_that_hardly_queues_is_not_blamed(tmp_path: Path, in_flight: tuple[int, ...]) -> None:
    """8.5 ms of service and 0.27 of queue: by the array's word nothing waits below the queue of 32 that is full."""
    found = behind_a_full_queue(tmp_path, 0.0085, 0.00027, in_flight)
    (bottleneck,) = found.verdict.bottlenecks
    assert (found.verdict.kind, bottleneck.entity) == ("bottleneck", "lun:sqlvm1/sda")
    assert found.verdict.grade != "A", "slow media would look the same"
    assert "array:fa1" in [suspect.entity for suspect in found.verdict.suspects]
    assert found.verdict.decide_with is not None
    assert not any(c.entity == "array:fa1" for c in found.cleared), "nor is it free: most of the time passes there"


def test_a_second_step_makes_an_array_that_queues_more_certain(tmp_path: Path) -> None:
    """5.0 ms of queue at 3.77 of service, alone and beside a step of the same throughput."""
    alone = behind_a_full_queue(tmp_path / "one", 0.00377, 0.005, in_flight=(512,))
    assert (alone.verdict.kind, alone.verdict.bottlenecks[0].entity) == ("bottleneck", "array:fa1")
    assert alone.verdict.grade != "A"
    alongside = behind_a_full_queue(tmp_path / "two", 0.00377, 0.005, in_flight=(128, 512))
    assert (alongside.verdict.kind, alongside.verdict.bottlenecks[0].entity) == ("bottleneck", "array:fa1")
    assert (alongside.verdict.probability or 0) > (alone.verdict.probability or 0)


def test_a_step_with_fewer_or_with_more_outstanding_ios_confirms_a_limit() -> None:
    """Each of three steps has another one that shows how its throughput scales."""
    assert [step.verdict.grade for step in diagnosed("saturated_array").steps] == ["A", "A", "A"]


def test_a_service_time_that_nothing_takes_contains_a_wait(tmp_path: Path) -> None:
    """In one step, 256 I/Os at the array, which says that none waits there. It may serve as many at once, but not for
    119 ms: no drive takes as long."""
    verdicts = []
    for service in (0.001, 0.01, 0.04, 0.119):
        san = San(tmp_path / str(service))
        ops = 256 / (service + 3e-5)
        counted = {port.name: (ops * (4 * 2076 + 52), NOTHING) for port in san.ports}
        san.ports = [fast(port, 64) for port in san.ports]
        flow = Flow(ops, 256 / ops)
        san.step("q256", 256, block=8 * KIB, read=flow, ports=counted, array={"read": AtArray(service, san=2e-5)})
        verdicts.append(judged(san.write()).verdict)
    of_array = [sum(s.probability for s in v.suspects if s.entity == "array:fa1") for v in verdicts]
    assert max(of_array[:2]) < 0.35
    assert of_array[1:] == sorted(of_array[1:])
    assert [bottleneck.entity for bottleneck in verdicts[-1].bottlenecks] == ["array:fa1"]
    assert verdicts[0].suspects[0].verdict == "concurrency_limited"


def test_ios_that_find_no_slot_inside_a_full_array_wait_before_its_clock(tmp_path: Path) -> None:
    """200 a second, of which the device behind the volume takes 64 at once: 320 ms by its clock. Of 130, 66 wait
    another 330 ms for a slot of it, where no link is read."""
    san = San(tmp_path, leave_out={"switch"}, device_slots=64, guest_queue_depth=254)
    for n in (64, 130):
        flow = Flow(200, n / 200)
        san.step(
            f"q{n}", n, block=32 * KIB, read=flow, disk={"read": flow}, array={"read": AtArray(0.319, queue=None)}
        )
    verdict = judged(san.write()).verdict
    assert (verdict.kind, [b.entity for b in verdict.bottlenecks]) == ("bottleneck", ["array:fa1"])


def in_array(folder: Path, times: dict[int, tuple[float, float]]) -> Diagnosis:
    """Steps by their outstanding I/Os, of (service, all seconds in the array) each; nothing else takes long."""
    san = San(folder / "r")
    san.ports = [fast(port) for port in san.ports]
    for n, (service, seconds) in times.items():
        ops, array = n / (seconds + 5e-5), AtArray(service, san=2e-5, queue=seconds - service)
        ports = {port.name: (8 * KIB * 1.02 * ops, NOTHING) for port in san.ports}
        san.step(f"s{n}", n, block=8 * KIB, read=Flow(ops, n / ops), ports=ports, array={"read": array})
    return judged(san.write())


@pytest.mark.parametrize("queues", [True, False])
def test_an_array_that_serves_more_slowly_and_whose_queue_is_empty_need_not_be_saturated(
    tmp_path: Path, queues: bool
) -> None:
    """Each step has files of its own, and fewer of them are in the cache: 0.4, 0.7 and 2.4 ms, all of it service. A
    queue of the array would hold the I/Os that wait."""
    taken = {4: 4e-4, 16: 7e-4, 64: 2.4e-3}
    verdict = in_array(tmp_path, {n: (4e-4 if queues else seconds, seconds) for n, seconds in taken.items()}).verdict
    assert (verdict.kind == "bottleneck" and verdict.grade == "A") == queues


def test_throughput_that_falls_with_more_outstanding_ios_shows_no_saturation(tmp_path: Path) -> None:
    """Each step reads more data than the one before: 4, 8 and 16 of them take 0.63, 1.7 and 3.9 ms in the array."""
    for step in in_array(tmp_path, {n: (s, s) for n, s in ((4, 6.3e-4), (8, 1.7e-3), (16, 3.9e-3))}).steps:
        assert step.verdict.kind != "bottleneck" or step.verdict.grade == "C"

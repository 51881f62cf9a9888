"""An array that queues behind a host queue that is always full: nothing grows, and its own queue tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.verdict.model import Diagnosis
from tests.support.san import KIB, AtArray, Flow, San
from tests.support.stories import NOTHING, fast, judged

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
    assert (verdict.kind, verdict.grade, verdict.from_step) == ("bottleneck", "B", "q800")
    assert (bottleneck.entity, bottleneck.kind, bottleneck.layer) == ("array:fa1", "array", "array_front")
    assert bottleneck.explains == pytest.approx(1 - 1.11 / 8.77, rel=1e-3)
    assert bottleneck.wait_at == "lun:sqlvm1/sda"
    assert "I/Os wait 7.66 ms in the array to be served for 1.11 ms" in bottleneck.because
    assert "throughput does not grow with the load" in bottleneck.because
    assert not any(c.entity == "array:fa1" for c in found.cleared)
    assert any(c.entity.startswith("link:") for c in found.cleared), "1.8 % busy"


def test_of_one_step_alone_it_is_thin_evidence(tmp_path: Path) -> None:
    """Nothing to compare with, but its queue is 6.9 times its service."""
    found = behind_a_full_queue(tmp_path, 0.00111, 0.00766, in_flight=(512,))
    (bottleneck,) = found.verdict.bottlenecks
    assert (found.verdict.kind, found.verdict.grade, bottleneck.entity) == ("bottleneck", "C", "array:fa1")
    assert bottleneck.layer == "array_back", "whether its service time has grown is not known"
    assert "throughput does not grow with the load" not in bottleneck.because
    assert not any(c.entity == "array:fa1" for c in found.cleared)


@pytest.mark.parametrize("in_flight", [(512,), (128, 512, 800)], ids=["one step", "three steps"])
def test_an_array_that_hardly_queues_is_not_blamed(tmp_path: Path, in_flight: tuple[int, ...]) -> None:
    """8.5 ms of service and 0.27 of queue are as much of the time, and no sign of saturation: slow media look so."""
    found = behind_a_full_queue(tmp_path, 0.0085, 0.00027, in_flight)
    assert (found.verdict.kind, found.verdict.bottlenecks) == ("cannot_tell", ())
    assert found.verdict.decide_with is not None
    assert "a deeper queue at lun:sqlvm1/sda" in found.verdict.decide_with
    assert not any(c.entity == "array:fa1" for c in found.cleared), "nor is it free: most of the time passes there"


def test_a_queue_as_long_as_the_service_needs_a_second_step(tmp_path: Path) -> None:
    """5.0 ms of queue at 3.77 of service: 1.3 times, enough beside a step of the same throughput and not alone."""
    alone = behind_a_full_queue(tmp_path / "one", 0.00377, 0.005, in_flight=(512,))
    assert alone.verdict.kind == "cannot_tell"
    beside = behind_a_full_queue(tmp_path / "two", 0.00377, 0.005, in_flight=(128, 512))
    assert (beside.verdict.kind, beside.verdict.bottlenecks[0].entity) == ("bottleneck", "array:fa1")

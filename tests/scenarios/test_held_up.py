"""Waits that nobody saw the cause of: a slow transfer over free links, a host queue that is full in the only step."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath.views import terminal_report
from tests.support.san import KIB, AtArray, Flow, San
from tests.support.stories import COUNTED, NOTHING, X, fast, judged


def transfer(folder: Path, san_seconds: float, in_flight: tuple[int, ...] = (32,)) -> Diagnosis:
    """64 KiB on 16GFC take 67,540 bytes of wire / 1,700 MB/s = 40 us; 415.2 MB/s counted are 24.4 %; 32 in flight
    are 32 / 6,250 = 5.12 ms."""
    san = San(folder)
    san.ports = [fast(port) for port in san.ports]
    for n in in_flight:
        san.step(
            f"q{n}",
            n,
            read=Flow(X, n / X),
            ports={port.name: (COUNTED, NOTHING) for port in san.ports},
            array={"read": AtArray(0.00035, san=san_seconds)},
        )
    return judged(san.write())


def test_a_transfer_of_a_hundred_times_the_wire_is_somebody_s_wait(tmp_path: Path) -> None:
    """4.7 of 5.12 ms: no link is a quarter full, and a device that drains slowly would show in the credits."""
    found = transfer(tmp_path, 0.0047)
    verdict = found.verdict
    assert (verdict.kind, verdict.grade, verdict.bottlenecks) == ("cannot_tell", "C", ())
    because = " ".join(found.steps[0].verdict.because)
    assert "the array takes 4.70 ms to transfer what the wire carries in 40 µs" in because
    assert verdict.decide_with is not None
    assert "transmit credit" in verdict.decide_with
    assert not any(c.entity.startswith("link:") for c in found.cleared), "one of them holds it up"
    assert any(c.entity == "array:fa1" for c in found.cleared)
    (budget,) = found.latency_budget
    beyond = next(p for p in budget.parts if p.what.startswith("transfer beyond what the wire needs"))
    assert (beyond.layer, beyond.limited_by) == ("fabric", None)
    assert beyond.seconds[0] == pytest.approx(0.0047 - 67540 / 1700e6, rel=1e-3)
    assert "to be surer" in terminal_report.render(found, 100)


def test_a_transfer_of_four_times_the_wire_is_none(tmp_path: Path) -> None:
    """0.16 of 5.12 ms: below five times 40 us, and no part of the latency to speak of. The other 4.6 ms pass above
    the array's clock, and no link accounts for them."""
    found = transfer(tmp_path, 0.00016)
    assert found.verdict.kind != "concurrency_limited"
    assert "array:fa1" in [suspect.entity for suspect in found.verdict.suspects[:2]]
    assert not any(c.entity == "array:fa1" for c in found.cleared)
    assert any(c.entity.startswith("link:") for c in found.cleared)


def full_queue(folder: Path, in_flight: tuple[int, ...]) -> Diagnosis:
    """The guest admits 32 at 0.5 ms: 64,000 IOPS of 8 KiB, 534.8 MB/s counted, 15.7 % of 3,400. 512 / 64,000 = 8 ms.
    16 in flight are 32,000 IOPS at the same 0.5 ms."""
    san = San(folder)
    san.ports = [fast(port, 32) for port in san.ports]
    for n in in_flight:
        ops = min(n, 32) / 0.0005
        counted = ops * (4 * 2076 + 52)
        san.step(
            f"q{n}",
            n,
            block=8 * KIB,
            read=Flow(ops, n / ops),
            ports={port.name: (counted, NOTHING) for port in san.ports},
            disk={"read": Flow(ops, 0.0005)},
            array={"read": AtArray(0.0004, san=5e-5)},
        )
    return judged(san.write())


def test_a_full_host_queue_in_a_single_step_is_named(tmp_path: Path) -> None:
    """7.5 of 8 ms wait above it; of the 0.5 ms below 0.4 are the array's own, and hardly any wait is left there."""
    found = full_queue(tmp_path, (512,))
    verdict = found.verdict
    (bottleneck,) = verdict.bottlenecks
    assert (verdict.kind, bottleneck.entity) == ("bottleneck", "lun:sqlvm1/sda")
    assert verdict.grade != "A"
    assert "the queue lets 32 I/Os through, 512 are offered" in verdict.headline
    assert "too few outstanding" not in terminal_report.render(found, 100).lower()
    assert not any(f.rule == "concurrency-too-low" and f.outcome == "hit" for f in found.findings)


def test_with_a_step_that_did_not_fill_it_the_queue_is_the_limit(tmp_path: Path) -> None:
    (bottleneck,) = full_queue(tmp_path, (16, 512)).verdict.bottlenecks
    assert (bottleneck.kind, bottleneck.entity) == ("lun", "lun:sqlvm1/sda")


def test_a_device_whose_clock_reads_zero_is_judged(tmp_path: Path) -> None:
    """40 I/Os a second take less than the tick of the device's clock, and 63 of 64 wait above it."""
    san = San(tmp_path)
    for n, seconds in ((16, 0.00001), (64, 0.0)):
        disk = {"read": Flow(40.0, seconds)}
        san.step(f"q{n}", n, read=Flow(40.0, n / 40.0), disk=disk, array={"read": AtArray(0.000005)})
    verdict = judged(san.write()).verdict
    assert (verdict.kind, verdict.bottlenecks[0].entity) == ("bottleneck", "vm:sqlvm1")

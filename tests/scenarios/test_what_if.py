"""What comes after the bottleneck: bounded by the next link, and by what a queue of the host lets through."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath.views import terminal_report
from tests.support.san import ARRAY_PORT, HOST_PORT, AtArray, Flow, San
from tests.support.stories import COUNTED, NOTHING, X, judged

WIRE_32 = 67540 / 3400e6
"""A block of 64 KiB with its frames and gaps on 32GFC: 19.9 us."""


def to_32(folder: Path, service: float, disk: bool = True) -> Diagnosis:
    """A full 4GFC switch between ends that can do 32GFC; 800 / 6,250 IOPS are 128 ms. The host admits 32."""
    san = San(folder, ports=[replace(port, capable=32) for port in (HOST_PORT, ARRAY_PORT)])
    for n in (64, 800):
        san.step(
            f"q{n}",
            n,
            read=Flow(X, n / X),
            ports={port.name: (COUNTED, NOTHING) for port in san.ports},
            disk={"read": Flow(X, 32 / X)} if disk else None,
            array={"read": AtArray(service, san=0.0002)},
        )
    return judged(san.write())


def test_a_host_queue_of_32_bounds_what_eight_times_the_link_gives(tmp_path: Path) -> None:
    """32 / (1 ms + 19.9 us) = 31,376 IOPS, well below the 50,374 of the links: 800 / 31,376 = 25.5 ms."""
    found = to_32(tmp_path, 0.001)
    following = found.verdict.next
    assert following is not None
    highest = 32 / (0.001 + WIRE_32)
    assert highest == pytest.approx(31_376, rel=1e-4)
    assert (following.entity, following.change) == ("lun:sqlvm1/sda", "with the 32 I/Os it lets through")
    assert following.predicted_ops_per_second == pytest.approx((X, highest), rel=1e-3)
    assert following.predicted_latency_seconds == pytest.approx((800 / highest, 0.128), rel=1e-3)
    (bottleneck,) = found.verdict.bottlenecks
    assert bottleneck.explains == pytest.approx(1 - 800 / highest / 0.128, rel=1e-3)  # 80.1 %
    assert bottleneck.wait_at == "lun:sqlvm1/sda"
    reported = " ".join(terminal_report.render(found, 100).split())
    assert "sqlvm1/sda with the 32 I/Os it lets through limits next" in reported


def test_with_an_array_of_a_third_of_it_the_link_is_next_again(tmp_path: Path) -> None:
    """32 / (0.35 ms + 19.9 us) = 86,500 IOPS; eight times 4GFC gives 412.7 MB/s x 8 / 64 KiB = 50,374."""
    following = to_32(tmp_path, 0.00035).verdict.next
    assert following is not None
    assert (following.entity.partition(":")[0], following.change) == ("link", "at 32GFC")
    assert following.predicted_ops_per_second == pytest.approx((X, 8 * 6296.8), rel=1e-3)


def test_without_the_host_s_disk_all_that_the_load_keeps_in_flight_counts(tmp_path: Path) -> None:
    """800 / 1.02 ms are 784,000: nobody knows of the queue, so the link is what is named."""
    following = to_32(tmp_path, 0.001, disk=False).verdict.next
    assert following is not None
    assert following.entity.startswith("link:")


def test_a_prediction_is_never_below_what_was_seen(tmp_path: Path) -> None:
    """The array says 6 ms of the 5.12 that the host's disk saw: 32 / 6.02 ms = 5,316 is less than the 6,250 seen."""
    found = to_32(tmp_path, 0.006)
    following = found.verdict.next
    assert following is not None
    assert following.predicted_ops_per_second == pytest.approx((X, X), rel=1e-3)
    assert found.verdict.bottlenecks[0].explains == pytest.approx(0, abs=1e-3)

"""Row 6: one I/O in flight, one process at the end of its core, and a rate: throughput is flat, and no plateau."""

from __future__ import annotations

from typing import Any

import pytest

from sanpath_lab.scenario import Scenario
from tests.acceptance.lab import SHORT, STORY, Ran, Record, changed, ports

pytestmark = pytest.mark.slow


def fast(**load: Any) -> Scenario:
    return ports(changed(STORY, load={**SHORT, "measured_seconds": 10, "threads": [1], **load}), 16)


def check(test: Ran, kind: str, words: str) -> None:
    assert test.found.verdict.kind == kind
    assert words in test.report
    assert test.found.verdict.bottlenecks == ()
    assert "plateau" not in test.report.lower()
    assert {curve.shape for curve in test.found.verdict.curves} <= {"one_step", "unknown"}


def test_one_in_flight_is_concurrency(record: Record) -> None:
    test = record(fast(outstanding_per_thread=1))
    check(test, "concurrency_limited", "too few outstanding I/Os")


def test_a_process_at_the_end_of_its_core_is_the_generator(record: Record) -> None:
    test = record(
        fast(
            outstanding_per_thread=32,
            one_core_per_thread=True,
            user_seconds_per_io=1e-4,
            system_seconds_per_io=2e-4,
        )
    )
    check(test, "generator_limited", "LOAD GENERATOR")


def test_a_rate_is_demand(record: Record) -> None:
    """85 % of a link: nothing limits, and nobody would call it healthy."""
    slow = changed(STORY, load={**SHORT, "threads": [4], "ios_per_second": 5440})
    check(record(slow), "demand_limited", "5,440 IOPS were requested and 5,440 IOPS reached")


def test_a_rate_far_below_what_there_is_is_demand_that_is_met(record: Record) -> None:
    test = record(fast(threads=[4], ios_per_second=2000))
    check(test, "healthy", "the load asks for no more")

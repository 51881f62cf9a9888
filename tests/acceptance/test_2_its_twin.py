"""Row 2: 8 KiB over 32GFC, 0.5 ms below a queue of 32: 64,000 IOPS, 16 % of the link."""

from __future__ import annotations

import pytest

from sanpath_lab.scenario import Scenario
from tests.acceptance.lab import HOST, SHORT, STORY, Ran, Record, changed, ports

pytestmark = pytest.mark.slow


def with_queue(depth: int, threads: list[int], seconds: float) -> Scenario:
    return ports(
        changed(
            STORY,
            load={**SHORT, "threads": threads, "block_bytes": 8192, "measured_seconds": seconds, "ramp_seconds": 0.5},
            guest_disk={"queue_depth": depth},
            host={"lun_queue_depth": 256},
            array={
                "command_seconds": 1e-6,
                "parallel_servers": 512,
                "read": {"minimum_seconds": 4.7e-4, "tail_seconds": 1e-5},
            },
        ),
        32,
    )


@pytest.fixture(scope="module")
def shallow(record: Record) -> Ran:
    return record(with_queue(32, [2, 64], 5))


@pytest.fixture(scope="module")
def deep(record: Record) -> Ran:
    return record(with_queue(128, [64], 3))


def test_the_queue_is_the_limit_and_no_link_is(shallow: Ran) -> None:
    verdict = shallow.found.verdict
    assert (verdict.kind, shallow.limit.entity) == ("bottleneck", "lun:sqlvm1/sda")
    assert "lun-queue-limits" in shallow.causes
    assert shallow.ops_per_second == pytest.approx(64_000, rel=0.01)
    assert verdict.r0.seconds == pytest.approx(0.0005, rel=0.01)
    used = [e for e in shallow.found.elements if e.entity == HOST and e.step == verdict.from_step]
    assert max(e.utilisation or 0 for e in used) == pytest.approx(0.16, abs=0.01)
    assert shallow.named == {"lun:sqlvm1/sda"}
    assert "link-full" not in shallow.causes


def test_four_times_the_depth_is_said_to_give_four_times_as_much_and_does(shallow: Ran, deep: Ran) -> None:
    found = shallow.compared(deep)
    (check,) = found.checks
    before = shallow.ops_per_second
    likely = check.likely_ops_per_second
    assert likely is not None
    assert 3.8 <= likely[0] / before <= likely[1] / before <= 4.05
    assert check.held
    assert abs(check.error) <= 0.05
    assert found.outcome == "MOVED", "128 are full again, at four times the throughput"

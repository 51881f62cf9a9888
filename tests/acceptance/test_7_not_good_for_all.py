"""Row 7: zeros, a file that a cache holds, a step of seconds, and writes that slow down within the step.

That a drive was not primed only whoever ran the test can tell: `tests/scenarios/test_validity.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.acceptance.lab import SHORT, STORY, Ran, Record, changed, ports

pytestmark = pytest.mark.slow


def written(record: Record, array: Mapping[str, Any] | None = None, **load: Any) -> Ran:
    """A calm test of writes over 16GFC; `array`: what is otherwise of the array."""
    result = {**SHORT, "measured_seconds": 12, "direction": "write", "threads": [1, 4], "outstanding_per_thread": 1}
    return record(ports(changed(STORY, load={**result, **load}, array=array or {}), 16))


def stamped(test: Ran, rule: str) -> None:
    """Every step bears the stamp, and of the array nothing is said without it."""
    assert test.found.steps
    for step in test.found.steps:
        assert any(f"({rule})" in note for note in step.valid)
    assert f"({rule})" in test.report
    for one in test.found.cleared:
        if one.entity.startswith(("array:", "volume:")):
            assert "subject to the validity of the test" in one.because
            assert rule in one.because


def test_a_good_test_bears_no_stamp(record: Record) -> None:
    test = written(record)
    assert not any(f.role == "validity" and f.outcome == "hit" for f in test.found.findings)
    assert "array:fa1" in test.cleared
    assert "subject to the validity of the test" not in test.report


def test_an_array_that_is_fast_with_zeros_has_shown_nothing_of_its_media(record: Record) -> None:
    test = written(record, zeros=True)
    stamped(test, "test-writes-zeros")
    assert "array:fa1" in test.cleared, "as far as it goes"


def test_a_step_of_seconds_is_too_short(record: Record) -> None:
    test = written(record, measured_seconds=3.5)
    stamped(test, "run-too-short")
    assert test.found.verdict.grade == "C"


def test_what_a_cache_holds_says_nothing_of_the_media(record: Record) -> None:
    test = written(record, direction="read", working_set_bytes=1_048_576_000)
    stamped(test, "test-file-small")


def test_writes_that_slow_down_when_the_cache_is_full_are_not_extrapolated(record: Record) -> None:
    """700 writes a second of 32 KiB: an array that destages half of that has filled its cache in the sixth minute."""
    rate, block = 700, 32768
    cache = {"capacity_bytes": 330 * rate * block // 2, "destage_bytes_per_second": rate * block / 2}
    test = written(
        record,
        array={"write_cache": cache},
        threads=[4],
        block_bytes=block,
        measured_seconds=420,
        ios_per_second=rate,
    )
    stamped(test, "test-not-steady")
    assert "the last quarter of the step has 5" in test.report
    assert test.found.verdict.kind != "healthy"
    assert test.found.verdict.grade == "C"
    assert test.found.verdict.next is None
    assert test.limit.entity == "array:fa1"
    assert "array:fa1" not in test.cleared

"""Row 8: in turn each source stops, is late, is frozen, starts its counters over, caches them or has another clock,
in steps of equal throughput."""

from __future__ import annotations

import pytest

from sanpath_lab.scenario import Scenario
from sanpath_testbed.defects import Defect
from tests.acceptance.faults import Fault, Kind
from tests.acceptance.lab import ARRAY, HOST, SHORT, STORY, Ran, Record, changed

pytestmark = pytest.mark.slow

IN_THE_SECOND_STEP_SECONDS = 20.0


def scenario() -> Scenario:
    """The story with blocks of 256 KiB, which are cheaper to simulate: three steps at 1,575 IOPS."""
    load = {**SHORT, "threads": [2, 16, 64], "block_bytes": 262144, "measured_seconds": 12}
    data = changed(STORY, load=load, burst_frames=32).model_dump(mode="json")
    for port in (*data["host"]["hbas"], *data["array"]["ports"], *data["switches"]):
        port["credits"] = 300
    return Scenario.model_validate({**data, "burst_frames": 128})


@pytest.fixture(scope="module")
def untroubled(record: Record) -> Ran:
    return record(scenario())


def as_before(test: Ran, untroubled: Ran, grade: str) -> None:
    """The verdict of the test without a fault, graded as what is left of the evidence deserves."""
    assert (test.found.verdict.kind, test.found.verdict.grade) == ("bottleneck", grade)
    assert (test.limit.entity, test.limit.coincident) == (HOST, (ARRAY,))
    if test.limit.utilisation is not None:
        assert test.limit.utilisation == pytest.approx(untroubled.limit.utilisation, abs=0.005)
    innocent(test)


def innocent(test: Ran) -> None:
    """Nothing else is accused in any step, and what is full is cleared in none."""
    assert test.named <= {HOST, ARRAY}
    assert not {HOST, ARRAY} & test.cleared


@pytest.mark.parametrize(
    ("source", "kind", "grade"),
    [
        ("sw1", "stops", "A"),
        ("fa1", "stops", "A"),
        ("fio", "stops", "A"),
        ("sw1", "is late", "A"),
        ("fa1", "is late", "A"),
        ("sw1", "freezes", "A"),
        ("fa1", "freezes", "A"),
        ("fio", "freezes", "A"),
        ("fa1", "has another clock", "A"),
        ("fio", "has another clock", "A"),
    ],
)
def test_the_verdict_stands_and_is_graded_by_what_was_seen(
    record: Record, untroubled: Ran, source: str, kind: Kind, grade: str
) -> None:
    """A switch has no clock of its own but the time that it is up. The last step is full again after a freeze."""
    troubled = scenario()
    test = record(troubled, Fault(troubled, kind, source, IN_THE_SECOND_STEP_SECONDS))
    as_before(test, untroubled, grade)
    if grade == "A" and kind == "freezes":
        assert test.found.steps[1].windows_used < untroubled.found.steps[1].windows_used


def test_a_load_that_is_read_late_is_no_reason_to_accuse_anybody_else(record: Record) -> None:
    """Its marks come late as well: the edges of the steps are those of nothing else."""
    troubled = scenario()
    test = record(troubled, Fault(troubled, "is late", "fio"))
    as_before(test, test, "C")


@pytest.mark.parametrize("defect", ["reset", "wrap"])
def test_counters_that_start_over_cost_a_window_at_most(record: Record, untroubled: Ran, defect: Defect) -> None:
    test = record(scenario(), defect)
    as_before(test, untroubled, "A")
    used, without = (sum(step.windows_used for step in result.found.steps) for result in (test, untroubled))
    assert without - 2 <= used <= without


def test_counters_that_are_cached_are_not_read_as_three_quarters_full(record: Record, untroubled: Ran) -> None:
    """Refreshed every 2 s and polled every 5 s they show 0.78 and 1.17 of the truth in turn."""
    troubled = scenario()
    test = record(troubled, Fault(troubled, "caches", "sw1"))
    as_before(test, untroubled, "C")
    for step in test.found.steps:
        here = [e for e in test.found.elements if (e.entity, e.step, e.direction) == (HOST, step.name, "read")]
        read = pytest.approx(0.985, abs=0.01) == here[0].utilisation
        assert read or {b.entity for b in step.verdict.bottlenecks} <= {HOST, ARRAY}


def test_without_the_switch_no_link_is_exonerated(record: Record) -> None:
    test = record(scenario(), "no-switches")
    assert test.found.verdict.grade == "C"
    assert not any(entity.startswith("link:") for entity in test.cleared)
    innocent(test)


def test_without_the_array_the_array_is_not(record: Record, untroubled: Ran) -> None:
    assert "array:fa1" in untroubled.cleared
    test = record(scenario(), "no-array")
    assert test.limit.entity == HOST
    assert not any(entity.startswith(("array:", "volume:")) for entity in test.cleared)
    assert "the array" in {unseen.what for unseen in test.found.unobserved}

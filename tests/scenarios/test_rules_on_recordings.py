"""What single rules say of whole recordings, and what the verdict makes of their role."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath.rulebook.model import Finding
from tests.support.san import ARRAY_PORT, HOST_PORT, AtArray, Flow, San
from tests.support.stories import COUNTED, NOTHING, SECOND_HBA, SECOND_TARGET, STORIES, X, diagnosed, fast, judged


def of(found: Diagnosis, rule: str, outcome: str = "hit") -> list[Finding]:
    return [f for f in found.findings if (f.rule, f.outcome) == (rule, outcome)]


def test_one_io_in_flight_is_the_cause() -> None:
    (finding,) = of(diagnosed("one_in_flight"), "concurrency-too-low")
    assert (finding.role, finding.entity, finding.direction, finding.steps) == (
        "cause",
        "load:fio",
        "read",
        ("calm",),
    )
    assert "(read): 1; each takes 500 µs" in finding.summary
    assert "7.8 %" in finding.summary


@pytest.mark.parametrize("name", ["published", "rate_limited", "unequal"])
def test_a_full_link_or_a_load_that_wants_no_more_is_not_too_little_in_flight(name: str) -> None:
    assert of(diagnosed(name), "concurrency-too-low") == []


@pytest.mark.parametrize("name", ["saturated_array", "guest_queue"])
def test_a_sweep_that_begins_low_is_told_and_not_blamed(name: str) -> None:
    """Its first step keeps too little in flight, its last one is limited by something else."""
    found = diagnosed(name)
    (finding,) = of(found, "concurrency-too-low")
    assert finding.role == "information"
    assert found.verdict.from_step not in finding.steps


def test_links_that_nobody_saw_leave_it_unknown(tmp_path: Path) -> None:
    found = judged(STORIES["one_in_flight"](San(tmp_path, leave_out={"switch"})).write())
    (finding,) = of(found, "concurrency-too-low", "unknown")
    assert "busiest_utilisation" in finding.summary


def test_an_array_that_takes_longer_for_no_more_is_the_cause() -> None:
    """100,000 to 101,000 IOPS for four times the I/Os, 1 % more; 2.4 ms are 13.3 times the 0.18 of the lowest load.
    From 8 to 64 in flight throughput had still grown 2.5 times."""
    found = diagnosed("saturated_array")
    (finding,) = of(found, "array-service-grows")
    assert (finding.role, finding.entity, finding.steps) == ("cause", "array:fa1", ("q256",))
    assert finding.evidence["growth"] == pytest.approx(13.33, rel=1e-3)
    assert finding.evidence["throughput_gain"] == pytest.approx(0.01, abs=1e-3)
    assert found.verdict.bottlenecks[0].entity == finding.entity


@pytest.mark.parametrize("name", ["published", "guest_queue", "full_before_it_began"])
def test_an_array_whose_time_does_not_grow_is_not(name: str) -> None:
    assert of(diagnosed(name), "array-service-grows") == []


def test_one_step_alone_does_not_tell_how_it_grows() -> None:
    (finding,) = of(diagnosed("one_in_flight"), "array-service-grows", "unknown")
    assert "throughput_gain and growth not known" in finding.summary


def two_paths(folder: Path, first: float, second: float) -> Diagnosis:
    """Two ports of the host and two of the array, all 16GFC; shares of 415.2 MB/s counted."""
    ports = [fast(port) for port in (HOST_PORT, ARRAY_PORT, SECOND_HBA, SECOND_TARGET)]
    san = San(folder, ports=ports)
    counted = {
        port.name: (share * COUNTED, NOTHING)
        for port, share in zip(ports, (first, first, second, second), strict=True)
    }
    san.step("t", 16, read=Flow(X, 16 / X), ports=counted, array={"read": AtArray(0.0004)})
    return judged(san.write())


def test_one_path_of_two_is_a_risk_while_nothing_is_full(tmp_path: Path) -> None:
    (finding,) = of(two_paths(tmp_path, 1.0, 0.0), "single-path-in-use")
    assert (finding.role, finding.entity) == ("risk", "load:fio")
    assert "sends 100.0 % of its bytes over one of the 2 usable links" in finding.summary


@pytest.mark.parametrize(("first", "second"), [(0.5, 0.5), (0.85, 0.15)])
def test_two_paths_in_use_are_none(tmp_path: Path, first: float, second: float) -> None:
    assert of(two_paths(tmp_path, first, second), "single-path-in-use") == []


def test_a_host_with_one_port_has_no_second_path_to_use() -> None:
    assert of(diagnosed("one_in_flight"), "single-path-in-use") == []


@pytest.mark.parametrize("noise", [0.999, 1.001])
def test_a_doubling_counts_as_one_however_it_is_measured(tmp_path: Path, noise: float) -> None:
    """64 and 128 in flight, of which 63.9 or 64.1 were measured: twice as many gave the same throughput."""
    san = San(tmp_path, leave_out={"disk"})
    for n, seen in ((64, 64 * noise), (128, 128)):
        ports = {port.name: (COUNTED, NOTHING) for port in san.ports}
        san.step(f"t{n}", n, read=Flow(X, seen / X), ports=ports)
    verdict = judged(san.write()).verdict
    assert (verdict.kind, verdict.grade) == ("bottleneck", "A")
    assert any(" 128 gave " in line for line in verdict.bottlenecks[0].because)

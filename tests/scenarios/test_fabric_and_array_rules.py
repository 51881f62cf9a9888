"""What the rules of fabric, array and data say of whole recordings, and what they leave alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath.rulebook.model import Finding
from tests.support.san import ARRAY_PORT, HOST_PORT, AtArray, Flow, Port, San
from tests.support.stories import COUNTED, NOTHING, SECOND_TARGET, STORIES, X, diagnosed, fast, judged

ARRAY_LINK = "link:sw1/fc1/1--fa1/CT0.FC0"


def of(found: Diagnosis, rule: str, outcome: str = "hit") -> list[Finding]:
    return [f for f in found.findings if (f.rule, f.outcome) == (rule, outcome)]


def with_errors(folder: Path, diagnosed: Mapping[str, float]) -> Diagnosis:
    """The test at a quarter of 16GFC; the host's port counts so many over the step."""
    san = San(folder, ports=[fast(HOST_PORT), fast(ARRAY_PORT)])
    ports = {port.name: (COUNTED, NOTHING) for port in san.ports}
    array = {"read": AtArray(0.0024, queue=0.0)}
    san.step("t", 16, read=Flow(X, 16 / X), ports=ports, array=array, seconds=30, counted={"sw1/fc1/7": diagnosed})
    return judged(san.write())


@pytest.mark.parametrize(
    ("counter", "rule"),
    [
        ("crc_errors_total", "link-errors"),
        ("sync_losses_total", "link-unstable"),
        ("link_resets_rx_total", "link-resets"),
        ("discards_timeout_total", "timeout-discards"),
        ("credit_losses_total", "credit-loss-recovery"),
    ],
)
def test_a_port_that_counts_trouble_is_a_risk(tmp_path: Path, counter: str, rule: str) -> None:
    found = with_errors(tmp_path, {counter: 30})
    (finding,) = of(found, rule)
    assert (finding.role, finding.entity, finding.direction) == ("risk", "switch_port:sw1/fc1/7", "both")
    assert "carries the test: yes" in finding.summary
    commands = [command for fix in finding.fix for command in fix.commands]
    assert "show interface fc1/7 counters" in commands
    assert found.verdict.bottlenecks == ()


def test_a_counter_that_stands_still_is_no_trouble(tmp_path: Path) -> None:
    counters = ("crc_errors_total", "encoding_errors_total", "link_resets_rx_total", "discards_timeout_total")
    found = with_errors(tmp_path, dict.fromkeys(counters, 0.0))
    for rule in ("link-errors", "link-resets", "timeout-discards"):
        assert of(found, rule) == []
        assert of(found, rule, "unknown") == []


def test_errors_that_nobody_counts_are_unknown_and_not_clear(tmp_path: Path) -> None:
    (first, second) = of(with_errors(tmp_path, {}), "link-errors", "unknown")
    assert {first.entity, second.entity} == {"switch_port:sw1/fc1/7", "switch_port:sw1/fc1/1"}
    assert "crc_errors_per_minute" in first.summary


def test_a_neighbour_that_fills_the_array_s_port_is_the_cause() -> None:
    (finding,) = of(diagnosed("neighbour"), "noisy-neighbour")
    assert (finding.role, finding.entity) == ("cause", ARRAY_LINK)
    assert "38.8 % of its bytes are not the test's" in finding.summary


@pytest.mark.parametrize("name", ["published", "mixed", "unequal", "array_front"])
def test_a_link_full_of_the_test_s_own_bytes_has_no_neighbour(name: str) -> None:
    assert of(diagnosed(name), "noisy-neighbour") == []


def test_an_array_whose_ports_are_all_full_is_told_from_its_controllers() -> None:
    (finding,) = of(diagnosed("array_front"), "array-front-all-full")
    assert (finding.role, finding.entity) == ("cause", "array:fa1")
    assert "All 2 target ports of array:fa1" in finding.summary
    assert of(diagnosed("array_front"), "array-service-grows") == []


@pytest.mark.parametrize("name", ["published", "off_the_path", "neighbour"])
def test_a_front_end_that_is_not_alone_in_the_way_is_not_blamed(name: str) -> None:
    assert of(diagnosed(name), "array-front-all-full") == []


def test_an_idle_target_port_is_a_risk(tmp_path: Path) -> None:
    third = replace(SECOND_TARGET, name="fc1/3", device="CT1.FC1", wwpn="524a937000000003")
    san = San(tmp_path, ports=[fast(port) for port in (HOST_PORT, ARRAY_PORT, SECOND_TARGET, third)])
    ports = {"fc1/7": (COUNTED, NOTHING), "fc1/1": (COUNTED, NOTHING), "fc1/2": (0.0, 0.0), "fc1/3": (0.0, 0.0)}
    san.step("t", 16, read=Flow(X, 16 / X), ports=ports, array={"read": AtArray(0.0024)})
    (finding,) = of(judged(san.write()), "array-ports-unused")
    assert (finding.role, finding.entity) == ("risk", "array:fa1")
    assert "uses 1 of the 3 target ports" in finding.summary


def zoned(folder: Path, zones: Sequence[tuple[str, str]], second: float = 0.0) -> Diagnosis:
    """The host's 8 Gb/s port, and target ports at 4: fc1/1 full of the test, fc1/2 beside it."""
    ports = [fast(HOST_PORT), ARRAY_PORT, replace(SECOND_TARGET, speed=4)]
    san = San(folder, ports=ports, zones=zones)
    counted = {"fc1/7": (COUNTED, NOTHING), "fc1/1": (COUNTED, NOTHING), "fc1/2": (second, 0.0)}
    san.step("t", 16, read=Flow(X, 16 / X), ports=counted, array={"read": AtArray(0.0004)})
    return judged(san.write())


def test_a_full_target_port_beside_one_that_no_zone_lets_the_host_see(tmp_path: Path) -> None:
    (finding,) = of(zoned(tmp_path, [(HOST_PORT.wwpn, ARRAY_PORT.wwpn)]), "zones-leave-out-ports")
    assert finding.entity == "array:fa1"
    assert "see 1 of the 2 target ports" in finding.summary


def test_zones_that_leave_nothing_out_are_not_blamed(tmp_path: Path) -> None:
    both = [(HOST_PORT.wwpn, target.wwpn) for target in (ARRAY_PORT, SECOND_TARGET)]
    assert of(zoned(tmp_path / "both", both), "zones-leave-out-ports") == []
    one = [(HOST_PORT.wwpn, ARRAY_PORT.wwpn)]
    assert of(zoned(tmp_path / "busy", one, second=0.9 * COUNTED), "zones-leave-out-ports") == []


def test_zones_that_nobody_reads_are_unknown(tmp_path: Path) -> None:
    found = zoned(tmp_path, [])
    assert of(found, "zones-leave-out-ports") == []
    (finding,) = of(found, "zones-leave-out-ports", "unknown")
    assert "zoned_ports" in finding.summary


@pytest.mark.parametrize(("zones_are_read", "is_hit"), [(True, False), (False, True)])
def test_target_ports_outside_of_the_hosts_zones_are_not_left_unused(
    tmp_path: Path, zones_are_read: bool, is_hit: bool
) -> None:
    """One of four target ports carries the test; the host's zones have no other."""
    targets = [Port(f"fc1/{n}", f"CT{n}.FC0", f"524a93700000000{n}", host="") for n in (1, 2, 3, 4)]
    zones = [(HOST_PORT.wwpn, targets[0].wwpn)] if zones_are_read else []
    san = San(tmp_path, ports=[fast(HOST_PORT), *map(fast, targets)], zones=zones)
    counted = {
        port.name: (COUNTED if port in (HOST_PORT, targets[0]) else 0.0, NOTHING) for port in (HOST_PORT, *targets)
    }
    san.step("t", 16, read=Flow(X, 16 / X), ports=counted, array={"read": AtArray(0.0004)})
    assert bool(of(judged(san.write()), "array-ports-unused")) == is_hit


def test_a_limit_that_somebody_set_is_the_cause() -> None:
    (finding,) = of(diagnosed("quality_of_service"), "configured-cap")
    assert (finding.role, finding.entity) == ("cause", "volume:fa1/vol01")
    assert "waits 4.6 ms for a QoS limit" in finding.summary
    assert diagnosed("quality_of_service").verdict.kind == "configured_cap"


def test_an_array_that_claims_more_than_the_whole_is_data_quality() -> None:
    (finding,) = of(diagnosed("array_slower_than_the_load"), "array-slower-than-load")
    assert finding.role == "data-quality"
    assert of(diagnosed("published"), "array-slower-than-load") == []


def test_a_clock_five_minutes_off_is_told_and_changes_nothing(tmp_path: Path) -> None:
    found = judged(STORIES["published"](San(tmp_path, clock={"fa1": -300.0})).write())
    (finding,) = of(found, "clock-offset")
    assert finding.entity == "source:fa1"
    assert found.verdict.bottlenecks[0].entity == diagnosed("published").verdict.bottlenecks[0].entity


def test_a_speed_that_cannot_be_is_told(tmp_path: Path) -> None:
    """415.2 MB/s over what the switch calls 2 Gb/s."""
    san = San(tmp_path, ports=[replace(HOST_PORT, speed=2), fast(ARRAY_PORT)])
    san.step("t", 16, read=Flow(X, 16 / X), ports={"fc1/7": (COUNTED, NOTHING), "fc1/1": (COUNTED, NOTHING)})
    found = of(judged(san.write()), "counter-above-line-rate")
    assert {f.entity for f in found} == {"link:esx7/vmhba2--sw1/fc1/7"}
    assert "195.4 % of the data rate at 2 Gb/s" in found[0].summary


def test_a_step_with_two_windows_is_told() -> None:
    assert {f.entity for f in of(diagnosed("too_short"), "source-coarse")} == {"source:fa1", "source:sw1"}
    assert of(diagnosed("published"), "source-coarse") == []

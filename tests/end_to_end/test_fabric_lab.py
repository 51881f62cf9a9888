"""Two simulated switches and the link between them: the guilty is named, those who suffer are not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.simulated import diagnosed

pytestmark = pytest.mark.slow

CULPRIT = "hba:21000024ff000009"
LINKS_OF_CULPRIT = {"link:21000024ff000009--sw1/0/3"}


@pytest.fixture(scope="module")
def slow_drain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return diagnosed("slow-drain-host", tmp_path_factory.mktemp("slow-drain") / "r.sanpath")


@pytest.fixture(scope="module")
def oversubscribed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return diagnosed("oversubscribed-isl", tmp_path_factory.mktemp("oversubscribed") / "r.sanpath")


def named(diagnosis: dict[str, Any]) -> set[str]:
    """Every entity that any step calls a bottleneck."""
    verdicts = [diagnosis["verdict"], *(step["verdict"] for step in diagnosis["steps"])]
    return {entity for v in verdicts for b in v["bottlenecks"] for entity in (b["entity"], *b["coincident"])}


def test_the_slow_device_is_the_culprit_though_it_is_no_part_of_the_test(slow_drain: dict[str, Any]) -> None:
    verdict = slow_drain["verdict"]
    (bottleneck,) = verdict["bottlenecks"]
    assert (verdict["kind"], bottleneck["kind"], bottleneck["layer"]) == ("bottleneck", "credit_stall", "fabric")
    assert bottleneck["culprit"] == CULPRIT
    assert bottleneck["direction"] == "read"
    assert bottleneck["utilisation"] < 0.1
    assert verdict["grade"] in ("A", "B")


def test_the_link_between_the_switches_is_a_victim_and_nobody_but_the_culprit_is_blamed(
    slow_drain: dict[str, Any],
) -> None:
    assert slow_drain["verdict"]["bottlenecks"][0]["victims"] == ["link:sw1/0/7--sw2/0/7"]
    assert named(slow_drain) == LINKS_OF_CULPRIT
    assert {step["verdict"]["kind"] for step in slow_drain["steps"]} == {"bottleneck"}


def test_the_link_between_the_switches_is_full(oversubscribed: dict[str, Any]) -> None:
    verdict = oversubscribed["verdict"]
    first = verdict["bottlenecks"][0]
    assert (verdict["kind"], first["kind"], first["layer"]) == ("bottleneck", "link", "fabric")
    assert named(oversubscribed) == {"link:sw1/fc1/8--sw2/fc1/8"}
    assert 0.97 <= first["utilisation"] <= 0.99
    assert first["culprit"] is None


def test_the_neighbours_half_of_it_is_told_apart_from_the_tests_own(oversubscribed: dict[str, Any]) -> None:
    first = oversubscribed["verdict"]["bottlenecks"][0]
    assert first["ceiling_bytes_per_second"] == pytest.approx(413e6, rel=0.03)
    assert any("not the test's" in reason for reason in first["because"])


def test_no_source_failed(slow_drain: dict[str, Any], oversubscribed: dict[str, Any]) -> None:
    for diagnosis in (slow_drain, oversubscribed):
        assert {source["name"] for source in diagnosis["sources"]} == {"sw1", "sw2", "fa1", "fio"}
        assert all(source["failures"] == 0 for source in diagnosis["sources"])

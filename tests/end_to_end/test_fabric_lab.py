"""Two simulated switches and the link between them: the guilty is named, those who suffer are not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from sanpath.cli.child import environment
from sanpath.cli.lab_process import served
from sanpath_lab.scenario import load_scenario

pytestmark = pytest.mark.slow

CULPRIT = "hba:21000024ff000009"
LINKS_OF_CULPRIT = {"link:21000024ff000009--sw1/0/3"}


def sanpath(folder: Path, *words: str) -> str:
    command = [sys.executable, "-m", "sanpath", *words]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def slow_drain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Over SNMP and REST, two steps of it."""
    folder = tmp_path_factory.mktemp("slow-drain")
    scenario = load_scenario("slow-drain-host").model_dump(mode="json")
    scenario["load"] |= {"threads": [2, 16]}
    (folder / "short.yaml").write_text(yaml.safe_dump(scenario), encoding="utf-8")
    with served(str(folder / "short.yaml"), folder / "lab") as lab:
        words = ("run", "--config", str(lab.config), "--into", "r.sanpath", "--format", "json", "--load", "fio")
        found: dict[str, Any] = json.loads(sanpath(folder, *words, "--", *lab.load))
    return found


@pytest.fixture(scope="module")
def oversubscribed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """In simulated time: test_direct_recording.py reads the same scenario over sockets, and finds the same."""
    folder = tmp_path_factory.mktemp("oversubscribed")
    sanpath(folder, "lab", "record", "oversubscribed-isl", "--into", "r.sanpath")
    found: dict[str, Any] = json.loads(sanpath(folder, "diagnose", "r.sanpath", "--format", "json"))
    return found


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

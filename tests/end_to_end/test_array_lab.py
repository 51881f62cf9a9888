"""A simulated array at its limits, read over REST: the part of it that limits is named; REST 1 and 2 agree."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from sanpath.cli.sessions.child_process import environment
from sanpath.cli.sessions.lab_process import ServedLab, served
from sanpath_lab.scenario import Truth, load_scenario

pytestmark = pytest.mark.slow


def diagnosed(lab: ServedLab, config: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "sanpath", "run", "--config", str(lab.config.with_name(config))]
    command += ["--into", str(folder), "--format", "json", "--load", "fio", "--", *lab.load]
    done = subprocess.run(command, cwd=folder.parent, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert all(source["failures"] == 0 for source in found["sources"])
    return found


def of_scenario(name: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Truth]:
    folder = tmp_path_factory.mktemp(name)
    with served(name, folder / "lab") as lab:
        return diagnosed(lab, "sanpath.yaml", folder / "run.sanpath"), load_scenario(name).truth


def test_a_qos_limit_on_the_volume_is_named_with_its_height(tmp_path_factory: pytest.TempPathFactory) -> None:
    found, truth = of_scenario("qos-limited-volume", tmp_path_factory)
    agrees(found, truth)
    assert "its QoS limit of 200.0 MB/s" in found["verdict"]["headline"]
    (cause,) = [f for f in found["findings"] if f["outcome"] == "hit" and f["role"] == "cause"]
    assert (cause["rule"], cause["entity"]) == ("configured-cap", "volume:fa1/vol01")
    assert [step["verdict"]["kind"] for step in found["steps"]] == [
        "concurrency_limited",
        "configured_cap",
        "configured_cap",
    ]


def test_slow_media_are_the_back_end(tmp_path_factory: pytest.TempPathFactory) -> None:
    found, truth = of_scenario("slow-media", tmp_path_factory)
    agrees(found, truth)
    assert any("times that of the lowest load" in said for said in found["verdict"]["bottlenecks"][0]["because"])


def test_a_queue_before_the_controller_is_the_front_end(tmp_path_factory: pytest.TempPathFactory) -> None:
    found, truth = of_scenario("controller-queue", tmp_path_factory)
    agrees(found, truth)
    assert "the array serves an I/O as fast as at the other loads" in found["verdict"]["bottlenecks"][0]["because"]


def agrees(found: dict[str, Any], truth: Truth) -> None:
    """Whether a diagnosis says what is true: kind, layer, direction and element, and that the links have room."""
    assert found["verdict"]["kind"] == truth.kind, found["verdict"]["headline"]
    (bottleneck,) = found["verdict"]["bottlenecks"]
    assert (bottleneck["layer"], bottleneck["direction"]) == (truth.layer, truth.direction)
    assert (bottleneck["entity"],) == truth.bottlenecks
    links = [entry["entity"] for entry in found["cleared"] if entry["entity"].startswith("link:")]
    for port in truth.cleared:
        assert any(port.removeprefix("switch_port:") in link for link in links)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """One step of the published 4 Gb switch, the array of the same lab read over REST 2 and then over REST 1."""
    folder = tmp_path_factory.mktemp("rest")
    scenario = load_scenario("four-gigabit-switch").model_dump(mode="json")
    scenario["load"] |= {"threads": [16], "ramp_seconds": 1.5, "measured_seconds": 7}
    (folder / "short.yaml").write_text(yaml.safe_dump(scenario), encoding="utf-8")
    with served(str(folder / "short.yaml"), folder / "lab") as lab:
        newer = diagnosed(lab, "sanpath.yaml", folder / "rest2.sanpath")
        older = diagnosed(lab, "sanpath-rest1.yaml", folder / "rest1.sanpath")
    return newer, older


def test_over_rest_1_and_rest_2_the_verdict_is_the_same(both: tuple[dict[str, Any], dict[str, Any]]) -> None:
    def said(found: dict[str, Any]) -> Any:
        return [
            (v["kind"], [(b["layer"], b["direction"], b["entity"], b["coincident"]) for b in v["bottlenecks"]])
            for v in (found["verdict"], *(step["verdict"] for step in found["steps"]))
        ]

    newer, older = both
    assert newer["verdict"]["bottlenecks"][0]["layer"] == "fabric"
    assert said(older) == said(newer)


def test_over_rest_1_the_array_tells_its_own_part_as_over_rest_2(
    both: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    def own(found: dict[str, Any]) -> list[float]:
        return [
            sum(part["seconds"]) / 2
            for budget in found["latency_budget"]
            for part in budget["parts"]
            if part["what"] == "service time"
        ]

    newer, older = both
    assert {source["name"]: source["kind"] for source in older["sources"]}["fa1"] == "flasharray_rest1"
    assert len(own(newer)) == 1
    assert own(older) == pytest.approx(own(newer), rel=0.05)

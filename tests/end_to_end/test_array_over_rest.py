"""The array of one lab read over REST 2 and then over REST 1: both say the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from sanpath.cli.sessions.child_process import environment
from sanpath.cli.sessions.lab_process import ServedLab, serve_lab
from sanpath_lab.scenario import load_scenario
from tests.support.failed_sources import failed_sources

pytestmark = pytest.mark.slow


def diagnosed(lab: ServedLab, config: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "sanpath", "run", "--config", str(lab.config.with_name(config))]
    command += ["--into", str(folder), "--format", "json", "--load", "fio", "--", *lab.load]
    done = subprocess.run(command, cwd=folder.parent, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert not failed_sources(found["sources"])
    return found


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """One step of the published 4 Gb switch, the array of the same lab read over REST 2 and then over REST 1."""
    folder = tmp_path_factory.mktemp("rest")
    scenario = load_scenario("four-gigabit-switch").model_dump(mode="json")
    scenario["load"] |= {"threads": [16], "ramp_seconds": 1.5, "measured_seconds": 7}
    (folder / "short.yaml").write_text(yaml.safe_dump(scenario), encoding="utf-8")
    with serve_lab(str(folder / "short.yaml"), folder / "lab") as lab:
        newer = diagnosed(lab, "sanpath.yaml", folder / "rest2.sanpath")
        older = diagnosed(lab, "sanpath-rest1.yaml", folder / "rest1.sanpath")
    return newer, older


def test_over_rest_1_and_rest_2_the_verdict_is_the_same(both: tuple[dict[str, Any], dict[str, Any]]) -> None:
    def reported(found: dict[str, Any]) -> Any:
        return [
            (v["kind"], [(b["layer"], b["direction"], b["entity"], b["coincident"]) for b in v["bottlenecks"]])
            for v in (found["verdict"], *(step["verdict"] for step in found["steps"]))
        ]

    newer, older = both
    assert newer["verdict"]["bottlenecks"][0]["layer"] == "fabric"
    assert reported(older) == reported(newer)


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

"""Predictions held against the lab, which knows nothing of the formulas they come from."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from sanpath.cli.sessions.child_process import environment
from sanpath_lab.scenario import load_scenario

pytestmark = pytest.mark.slow

Found = dict[str, Any]


def sanpath(folder: Path, *words: str) -> str:
    command = [sys.executable, "-m", "sanpath", *words]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def scenario(folder: Path, name: str, called: str, **changed: Any) -> str:
    """A scenario of the lab with other values, as a file."""
    data = load_scenario(name).model_dump(mode="json")
    for key, value in changed.items():
        data[key] = data[key] | value if isinstance(value, dict) else value
    (folder / f"{called}.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
    return f"{called}.yaml"


def compared(folder: Path, before: str, after: str) -> Found:
    found: Found = json.loads(sanpath(folder, "compare", before, after, "--format", "json"))
    return found


def checked(found: Found) -> None:
    """Every step was predicted, and what came lies in the interval; a full link reads a little more or less."""
    assert len(found["checks"]) == len(found["pairs"])
    for check in found["checks"]:
        low, high = check["predicted_ops_per_second"]
        assert 0.995 * low <= check["measured_ops_per_second"] <= 1.005 * high
        assert check["held"]
        assert abs(check["error"]) <= 0.1


@pytest.fixture(scope="module")
def faster_switch(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """The published test, and the same with an 8 Gb switch; in simulated time."""
    folder = tmp_path_factory.mktemp("switch")
    load = {"threads": [2, 64]}
    switch = load_scenario("four-gigabit-switch").switches[0].model_dump(mode="json")
    before = scenario(folder, "four-gigabit-switch", "four", load=load)
    after = scenario(folder, "four-gigabit-switch", "eight", load=load, switches=[switch | {"gigabit": 8}])
    for name in (before, after):
        sanpath(folder, "lab", "record", name, "--into", name.replace(".yaml", ".sanpath"))
    return compared(folder, "four.sanpath", "eight.sanpath")


def test_a_faster_switch_gives_what_was_predicted(faster_switch: Found) -> None:
    """Both links at 8GFC; then the same links are full again."""
    checked(faster_switch)
    assert faster_switch["outcome"] == "MOVED"
    assert "at its new ceiling" in faster_switch["headline"]
    low, high = faster_switch["predicted_ops_per_second"]
    assert low <= faster_switch["pairs"][-1]["after"]["ops_per_second"] <= 1.005 * high


@pytest.fixture(scope="module")
def changed_policy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Found, Found]:
    """Round Robin after every 1,000 I/Os, and after every one, in simulated time: what relieving the first is said to
    give, and the comparison of both."""
    folder = tmp_path_factory.mktemp("policy")
    for batch in (1000, 1):
        name = scenario(folder, "round-robin-active-active", f"every-{batch}", ios_per_path=batch)
        sanpath(folder, "lab", "record", name, "--into", f"every-{batch}.sanpath")
    diagnosis = json.loads(sanpath(folder, "whatif", "every-1000.sanpath", "--relieve", "--format", "json"))
    return diagnosis, compared(folder, "every-1000.sanpath", "every-1.sanpath")


def test_changing_path_after_every_io_gives_what_was_predicted(changed_policy: tuple[Found, Found]) -> None:
    """The shares of the two links are those of some batches of 1,000, and so equal within two in a hundred."""
    diagnosis, came = changed_policy
    predicted = {step["step"]: step["predicted_ops_per_second"] for step in diagnosis["steps"]}
    assert set(predicted) == {pair["before_step"] for pair in came["pairs"]}
    for pair in came["pairs"]:
        low, high = predicted[pair["before_step"]]
        assert low <= pair["after"]["ops_per_second"] <= 1.02 * high
    assert came["outcome"] == "MOVED"
    assert came["headline"].startswith("MOVED to link:esx7/vmhba")
    assert any((f["rule"], f["outcome"]) == ("path-serialised", "FIXED") for f in came["findings"])

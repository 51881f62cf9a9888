"""A load that sanpath did not start: its result is imported into the recording of what the devices said meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sanpath.cli.sessions.child_process import environment
from tests.real_lab.support import RunningLab
from tests.support.processors import measure_undisturbed

pytestmark = pytest.mark.slow


def sanpath(folder: Path, *words: str) -> str:
    command = [sys.executable, "-m", "sanpath", *words]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def found(slow_port_lab: RunningLab, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Skips where the machine is busy otherwise."""
    return measure_undisturbed(lambda: imported(slow_port_lab, tmp_path_factory.mktemp("import")))


def imported(slow_port_lab: RunningLab, folder: Path) -> dict[str, Any]:
    into = folder / "slow-port.sanpath"
    options = ["--config", str(slow_port_lab.config), "--into", str(into), "--for", "120", "--format", "json"]
    recorder = subprocess.Popen(
        [sys.executable, "-m", "sanpath", "run", *options],
        cwd=folder,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        time.sleep(4)
        result = folder / "result.json"
        with result.open("wb") as out:
            subprocess.run([*slow_port_lab.load, "--output-format=json"], stdout=out, check=True)
        time.sleep(2)
    finally:
        recorder.terminate()
        recorder.wait(30)
    reported = sanpath(folder, "import", str(result), "--into", str(into))
    assert "step depth-64" in reported
    outcome: dict[str, Any] = json.loads(sanpath(folder, "diagnose", str(into), "--format", "json"))
    return outcome


def test_the_rate_limited_port_is_named(found: dict[str, Any]) -> None:
    verdict = found["verdict"]
    assert verdict["kind"] == "bottleneck"
    assert verdict["bottlenecks"][0]["entity"] == "link:host1/eth0--sw1/p-host"
    assert 0.94 <= verdict["bottlenecks"][0]["utilisation"] <= 1.01


def test_every_step_is_at_its_place(found: dict[str, Any]) -> None:
    assert [step["name"] for step in found["steps"]] == ["depth-2", "depth-16", "depth-64"]
    for step in found["steps"]:
        assert step["in_flight"]["measured"] == pytest.approx(step["in_flight"]["configured"], rel=0.05)
        assert step["windows_used"] >= 4


def test_one_figure_a_step_is_said_to_tell_nothing_of_steadiness(found: dict[str, Any]) -> None:
    assert all(any("a single figure for it" in text for text in step["valid"]) for step in found["steps"])

"""A probe of real I/O: the switch is not read, so one step cannot tell; half the block size doubles the IOPS."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from sanpath.cli.sessions.child_process import environment
from tests.real_lab.support import RunningLab, running_lab
from tests.support.processors import measure_undisturbed

pytestmark = pytest.mark.slow


def plan(lab: RunningLab) -> dict[str, Any]:
    return {
        "command": " ".join(lab.load[: lab.load.index("fio") + 1]),
        "target": {"uri": "nbd://10.213.1.2:10809"},
        "load": {"block_bytes": "64k", "in_flight": 8},
        "seconds": 5,
        "warmup_seconds": 1,
        "pause_seconds": 2,
        "experiments": ["more_in_flight", "smaller_blocks"],
        "guard": {"baseline_seconds": 1},
        "budget": {"seconds": 60, "steps": 3, "in_flight": 16, "bytes": "4g"},
    }


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str, Path]:
    """The diagnosis, what was printed on the way, and the recording."""
    with running_lab(tmp_path_factory.mktemp("probe") / "lab", "slow-port-switch-unread") as lab:
        return measure_undisturbed(lambda: probe(lab, tmp_path_factory.mktemp("probe")))


def probe(lab: RunningLab, folder: Path) -> tuple[dict[str, Any], str, Path]:
    (folder / "plan.yaml").write_text(yaml.safe_dump(plan(lab)))
    options = ["--config", str(lab.config), "--into", str(folder / "p.sanpath"), "--format", "json"]
    command = [sys.executable, "-m", "sanpath", "probe", str(folder / "plan.yaml"), *options]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr, folder / "p.sanpath"


def test_what_fills_the_link_is_told_from_what_waits_for_more(probed: tuple[dict[str, Any], str, Path]) -> None:
    """The port sends 400 Mbit/s: not more with 16 outstanding I/Os, and twice the IOPS with half the size."""
    steps = {step["experiment"]: step for step in probed[0]["probe"]["steps"]}
    assert steps.keys() == {"start", "more_in_flight", "smaller_blocks"}
    assert steps["more_in_flight"]["is_seen"] is False
    assert steps["smaller_blocks"]["is_seen"] is True
    suspects = probed[0]["probe"]["steps"][-1]["suspects"]
    assert suspects[0]["name"] != "too few outstanding I/Os"


def test_the_switch_is_the_next_thing_to_read(probed: tuple[dict[str, Any], str, Path]) -> None:
    found = probed[0]["probe"]
    assert found["ended"] == "the budget of 3 steps is used" or "no experiment" in found["ended"]
    assert found["next_step"].startswith("repeat the test, and let sanpath read the switch ports")
    assert f"next, to do by hand: {found['next_step']}" in probed[1]


def test_the_recording_shows_it_again(probed: tuple[dict[str, Any], str, Path]) -> None:
    command = [sys.executable, "-m", "sanpath", "diagnose", str(probed[2]), "--format", "json"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["probe"] == probed[0]["probe"]

"""Another load generator than fio runs the steps of a probe, by the command lines of a sweep."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import yaml

from tests.recorder.processes import sanpath

ROOT = Path(__file__).parents[2]
PLAN: dict[str, Any] = {
    "engine": "diskspd",
    "command": shlex.join([sys.executable, "-m", "tests.support.simulated_diskspd"]),
    "target": {"filename": "#1"},
    "load": {"block_bytes": "64k", "in_flight": 64, "threads": 8},
    "seconds": 4,
    "warmup_seconds": 1,
    "pause_seconds": 1,
    "experiments": ["more_in_flight"],
    "guard": {"baseline_seconds": 0},
    "budget": {"seconds": 60, "steps": 2},
}


def test_diskspd_is_probed(tmp_path: Path) -> None:
    """The simulated node moves 2.88 GB/s with 64 outstanding I/Os, and no more with 128."""
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump(PLAN))
    options = ("--into", "p.sanpath", "--format", "json")
    done = sanpath("probe", "plan.yaml", *options, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    start, more = json.loads(done.stdout)["probe"]["steps"]
    assert "2.88 GB/s" in start["outcome"]
    assert (more["experiment"], more["is_seen"]) == ("more_in_flight", False)
    assert "too few outstanding I/Os" in more["ruled_out"]


def test_diskspd_stays_below_the_rate_of_the_budget(tmp_path: Path) -> None:
    budget = {"seconds": 60, "steps": 1, "bytes": "20g", "bytes_per_second": "100m"}
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump(PLAN | {"budget": budget}))
    options = ("--into", "p.sanpath", "--format", "json")
    done = sanpath("probe", "plan.yaml", *options, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    moved = json.loads(done.stdout)["steps"][0]["directions"]["read"]["bytes_per_second"]
    assert 0.95 * (100 << 20) < moved <= 100 << 20

"""The guard trips on a neighbour: a probe of the served lab takes half of a link that another host fills."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import yaml

from sanpath.cli.sessions.lab_process import serve_lab
from tests.recorder.processes import sanpath

pytestmark = pytest.mark.slow

MEASURED_SECONDS = 40


def test_the_step_ends_early_and_the_neighbour_is_named(tmp_path: Path) -> None:
    with serve_lab("oversubscribed-isl", tmp_path / "lab") as lab:
        plan = {
            "command": shlex.join(lab.load),
            "target": {"filename": "/dev/sdz"},
            "load": {"block_bytes": "256k", "in_flight": 64},
            "seconds": MEASURED_SECONDS,
            "warmup_seconds": 0,
            "guard": {"baseline_seconds": 12},
            "budget": {"seconds": 120, "steps": 2},
        }
        (tmp_path / "plan.yaml").write_text(yaml.safe_dump(plan))
        done = sanpath("probe", "plan.yaml", "--config", lab.config, "--into", "p.sanpath", cwd=tmp_path)
    (tmp_path / "printed").write_text(done.stderr)
    lines = done.stderr.splitlines()
    assert "sanpath: guard: watching the latency of other hosts' volumes: 1" in lines, done.stderr
    assert any(line.startswith("sanpath:   volume:fa1/vol09: ") for line in lines), done.stderr
    (end,) = [line for line in lines if "stopped to protect other hosts" in line]
    assert "volume:fa1/vol09 is used by other hosts, and their latency grew from" in end
    assert float(end.partition(" s: ")[0].rpartition(" ")[2]) < MEASURED_SECONDS, "it did not wait for the end"

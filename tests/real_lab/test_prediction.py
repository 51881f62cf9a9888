"""A prediction held against real I/O: the rate of a real port is doubled, and what was predicted of that comes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sanpath.cli.sessions.child_process import environment
from tests.real_lab.support import recorded, running_lab

pytestmark = pytest.mark.slow

PORT = "switch_port:sw1/p-host"


def sanpath(*words: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "sanpath", *words, "--format", "json"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """At 100 and at 200 Mbit/s, which two cores fill while other work goes on."""
    folder = tmp_path_factory.mktemp("doubled")
    found = []
    for case in ("slower-port-halved", "slower-port"):
        with running_lab(folder / f"lab-{case}", case) as lab:
            recorded(lab, folder / f"{case}.sanpath")
        found.append(folder / f"{case}.sanpath")
    return found[0], found[1]


def test_what_was_predicted_of_twice_the_rate_comes(runs: tuple[Path, Path]) -> None:
    """64 KiB through 200 Mbit/s are 364 IOPS, twice those of 100; nothing else was changed."""
    diagnosis = sanpath("whatif", str(runs[0]), "--set", f"{PORT}.speed=200Mb/s")
    came = {step["name"]: step["directions"]["read"] for step in sanpath("diagnose", str(runs[1]))["steps"]}
    predicted = {step["step"]: step for step in diagnosis["steps"]}
    for step in ("depth-16", "depth-64"):
        low, high = predicted[step]["predicted_ops_per_second"]
        assert low <= came[step]["ops_per_second"] <= 1.01 * high
        assert sum(predicted[step]["likely_ops_per_second"]) / 2 == pytest.approx(
            came[step]["ops_per_second"], rel=0.05
        )
        fast, slow = predicted[step]["predicted_latency_seconds"]
        assert 0.99 * fast <= came[step]["latency_seconds"]["mean"] <= slow


def test_the_comparison_says_what_changed_and_checks_itself(runs: tuple[Path, Path]) -> None:
    found = sanpath("compare", str(runs[0]), str(runs[1]))
    assert found["outcome"] == "MOVED"  # the same link, full at twice its rate
    changed = {d["entity"]: (d["before"], d["after"]) for d in found["differences"] if d["setting"] == "speed"}
    assert changed == {PORT: ("100 Mb/s Ethernet", "200 Mb/s Ethernet")}
    assert {check["step"]: check["held"] for check in found["checks"]} == {"depth-16": True, "depth-64": True}

"""A sweep over a port that really sends no more than 200 Mbit/s: the knee lies where the port is full."""

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

HOST_LINK = "link:host1/eth0--sw1/p-host"
IN_FLIGHT = [1, 2, 4, 6, 8, 16, 96]
"""Three below the knee, two about it, and two far beyond."""


def plan(lab: RunningLab) -> dict[str, Any]:
    before_fio = lab.load[: lab.load.index("fio") + 1]
    return {
        "command": " ".join(before_fio),
        "target": {"uri": "nbd://10.213.1.2:10809"},
        "seconds": 7,
        "warmup_seconds": 1,
        "pause_seconds": 1,
        "matrix": {"block_bytes": "16k", "in_flight": IN_FLIGHT},
    }


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """The diagnosis, and the report beside the recording. Skips where the machine is busy otherwise."""
    with running_lab(tmp_path_factory.mktemp("sweep") / "lab", "slower-port") as lab:
        return measure_undisturbed(lambda: sweep(lab, tmp_path_factory.mktemp("sweep")))


def sweep(lab: RunningLab, folder: Path) -> tuple[dict[str, Any], str]:
    (folder / "plan.yaml").write_text(yaml.safe_dump(plan(lab)))
    options = ["--config", str(lab.config), "--into", str(folder / "sweep.sanpath"), "--format", "json"]
    command = [sys.executable, "-m", "sanpath", "sweep", str(folder / "plan.yaml"), *options]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), (folder / "sweep-report.md").read_text()


def read(step: dict[str, Any]) -> dict[str, Any]:
    return dict(step["directions"]["read"])


def test_every_step_is_there_and_judged(swept: tuple[dict[str, Any], str]) -> None:
    steps = swept[0]["steps"]
    assert [step["name"] for step in steps] == [f"16 KiB random read, {n} outstanding" for n in IN_FLIGHT]
    assert [step["in_flight"]["configured"] for step in steps] == IN_FLIGHT
    assert all(step["windows_used"] >= 4 for step in steps)


def test_the_link_is_named_in_every_step_that_fills_it(swept: tuple[dict[str, Any], str]) -> None:
    found = swept[0]
    knee = found["verdict"]["knee_in_flight"]
    most = max(read(step)["ops_per_second"] for step in found["steps"])
    for step, in_flight in zip(found["steps"], IN_FLIGHT, strict=True):
        blamed = [bottleneck["entity"] for bottleneck in step["verdict"]["bottlenecks"]]
        if read(step)["ops_per_second"] >= 0.97 * most:
            assert (step["verdict"]["kind"], blamed) == ("bottleneck", [HOST_LINK]), step["name"]
        elif in_flight <= 0.75 * knee:
            assert (step["verdict"]["kind"], blamed) == ("concurrency_limited", []), step["name"]
        else:  # At the knee itself it is nearly full and hardly waits: only the link may be named, if anything.
            assert set(blamed) <= {HOST_LINK}, step["name"]
    assert found["verdict"]["kind"] == "bottleneck"
    assert [bottleneck["entity"] for bottleneck in found["verdict"]["bottlenecks"]] == [HOST_LINK]


def test_the_knee_is_where_the_calm_latency_fills_the_port(swept: tuple[dict[str, Any], str]) -> None:
    found = swept[0]
    calm, *_, loaded = found["steps"]
    verdict = found["verdict"]
    assert verdict["r0"]["from_step"] == calm["name"]
    knee = read(loaded)["ops_per_second"] * read(calm)["latency_seconds"]["mean"]
    assert verdict["knee_in_flight"] == pytest.approx(knee, rel=0.02)
    # 200 Mbit/s are 1,500 reads of 16 KiB, headers included; each takes the array 4 ms and somewhat more.
    assert 4 < verdict["knee_in_flight"] < 10


def test_beyond_the_knee_more_in_flight_buys_only_latency(swept: tuple[dict[str, Any], str]) -> None:
    found = swept[0]
    full = read(found["steps"][-1])["ops_per_second"]
    for step, in_flight in zip(found["steps"], IN_FLIGHT, strict=True):
        if in_flight >= 1.5 * found["verdict"]["knee_in_flight"]:
            assert read(step)["ops_per_second"] == pytest.approx(full, rel=0.05)
            assert read(step)["latency_seconds"]["mean"] == pytest.approx(in_flight / full, rel=0.1)


def test_the_report_ends_with_the_curve_and_the_knee(swept: tuple[dict[str, Any], str]) -> None:
    curve = swept[1].partition("## Throughput and latency over outstanding I/Os")[2]
    rows = [line for line in curve.splitlines() if line.startswith("| 16 KiB")]
    assert len(rows) == len(IN_FLIGHT)
    assert "too few outstanding I/Os" in rows[0]
    assert "bottleneck: host1/eth0 - sw1/p-host read" in rows[-1]
    assert "Knee at host1/eth0 - sw1/p-host" in curve

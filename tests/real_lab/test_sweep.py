"""A sweep over a port that really sends no more than 400 Mbit/s: the knee lies where the port is full."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sanpath.cli.child import environment
from tests.real_lab.support import RunningLab, running_lab

pytestmark = pytest.mark.slow

HOST_LINK = "link:host1/eth0--sw1/p-host"
IN_FLIGHT = [1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96]


def plan(lab: RunningLab) -> dict[str, Any]:
    before_fio = lab.load[: lab.load.index("fio") + 1]
    return {
        "command": " ".join(before_fio),
        "target": {"uri": "nbd://10.213.1.2:10809"},
        "seconds": 7,
        "warmup_seconds": 1,
        "pause_seconds": 1,
        "matrix": {"block_bytes": "64k", "in_flight": IN_FLIGHT},
    }


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[str, Any], str]]:
    """The diagnosis, and the report beside the recording."""
    folder = tmp_path_factory.mktemp("sweep")
    with running_lab(folder / "lab", "slow-port") as lab:
        (folder / "plan.yaml").write_text(yaml.safe_dump(plan(lab)))
        options = ["--config", str(lab.config), "--into", str(folder / "sweep.sanpath"), "--format", "json"]
        command = [sys.executable, "-m", "sanpath", "sweep", str(folder / "plan.yaml"), *options]
        done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    yield json.loads(done.stdout), Path(folder / "sweep-report.md").read_text()


def read(step: dict[str, Any]) -> dict[str, Any]:
    return dict(step["directions"]["read"])


def test_every_step_is_there_and_judged(swept: tuple[dict[str, Any], str]) -> None:
    steps = swept[0]["steps"]
    assert [step["name"] for step in steps] == [f"64 KiB random read, {n} in flight" for n in IN_FLIGHT]
    assert [step["in_flight"]["configured"] for step in steps] == IN_FLIGHT
    assert all(step["windows_used"] >= 4 for step in steps)


def test_the_link_is_named_in_every_step_that_fills_it(swept: tuple[dict[str, Any], str]) -> None:
    found = swept[0]
    best = max(read(step)["ops_per_second"] for step in found["steps"])
    for step in found["steps"]:
        full = read(step)["ops_per_second"] >= 0.95 * best
        assert step["verdict"]["kind"] == ("bottleneck" if full else "concurrency_limited"), step["name"]
        assert [b["entity"] for b in step["verdict"]["bottlenecks"]] == ([HOST_LINK] if full else []), step["name"]
    assert found["verdict"]["kind"] == "bottleneck"
    assert [b["entity"] for b in found["verdict"]["bottlenecks"]] == [HOST_LINK]


def test_beyond_the_knee_more_in_flight_buys_only_latency(swept: tuple[dict[str, Any], str]) -> None:
    found = swept[0]
    calm, *_, loaded = found["steps"]
    verdict = found["verdict"]
    assert verdict["r0"]["from_step"] == calm["name"]
    assert calm["verdict"]["kind"] == "concurrency_limited"
    knee = read(loaded)["ops_per_second"] * read(calm)["latency_seconds"]["mean"]
    assert verdict["knee_in_flight"] == pytest.approx(knee, rel=0.02)
    assert 1 < verdict["knee_in_flight"] < 4
    for step, in_flight in zip(found["steps"], IN_FLIGHT, strict=True):
        if in_flight >= 4:
            expected = in_flight / read(loaded)["ops_per_second"]
            assert read(step)["latency_seconds"]["mean"] == pytest.approx(expected, rel=0.1)


def test_the_report_ends_with_the_curve_and_the_knee(swept: tuple[dict[str, Any], str]) -> None:
    curve = swept[1].partition("## Throughput and latency over what is in flight")[2]
    rows = [line for line in curve.splitlines() if line.startswith("| 64 KiB")]
    assert len(rows) == len(IN_FLIGHT)
    assert "concurrency limited" in rows[0]
    assert "bottleneck: host1/eth0 - sw1/p-host read" in rows[-1]
    assert "Knee at host1/eth0 - sw1/p-host" in curve

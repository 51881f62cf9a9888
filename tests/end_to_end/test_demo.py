"""`sanpath demo`, as a user runs it: the published 4 Gb switch, over the real protocols, judged in JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from sanpath.cli.sessions.child_process import environment
from tests.recording.test_redact import found_in
from tests.support.failed_sources import failed_sources

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def demo(folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "sanpath", "demo", "--format", "json"]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_it_fits_the_published_schema(demo: dict[str, Any]) -> None:
    schema = json.loads((ROOT / "docs" / "diagnosis.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(demo, schema)


def test_the_switch_path_is_named_and_not_the_array(demo: dict[str, Any]) -> None:
    verdict = demo["verdict"]
    assert verdict["kind"] == "bottleneck"
    assert verdict["grade"] == "A"
    first = verdict["bottlenecks"][0]
    assert first["kind"] in ("switch_port", "link")
    assert first["layer"] == "fabric"
    assert first["direction"] == "read"
    assert 0.97 <= first["utilisation"] <= 0.99
    assert {first["entity"], *first["coincident"]} == {
        "link:esx7/vmhba2--sw1/fc1/7",
        "link:sw1/fc1/1--fa1/CT0.FC0",
    }


def test_queues_above_the_link_are_booked_to_it(demo: dict[str, Any]) -> None:
    link = demo["verdict"]["bottlenecks"][0]["entity"]
    for budget in demo["latency_budget"]:
        waits = [part for part in budget["parts"] if part["layer"] in ("guest", "host")]
        assert waits
        assert all(part["limited_by"] == link for part in waits)


def test_budgets_close_and_leave_little_unexplained(demo: dict[str, Any]) -> None:
    assert [budget["step"] for budget in demo["latency_budget"]] == ["t2", "t16", "t64", "t100"]
    for budget in demo["latency_budget"]:
        total = budget["total_seconds"]
        rest = sum(budget["unexplained_seconds"]) / 2
        parts = sum(sum(part["seconds"]) / 2 for part in budget["parts"])
        assert parts + rest == pytest.approx(total, rel=1e-6)
        assert abs(rest) <= 0.1 * total


def test_littles_law_holds_in_every_step(demo: dict[str, Any]) -> None:
    assert [step["in_flight"]["configured"] for step in demo["steps"]] == [16, 128, 512, 800]
    for step in demo["steps"]:
        in_flight, read = step["in_flight"], step["directions"]["read"]
        assert in_flight["measured"] == pytest.approx(in_flight["configured"], rel=0.05)
        law = in_flight["configured"] / read["ops_per_second"]
        assert read["latency_seconds"]["mean"] == pytest.approx(law, rel=0.1)
        assert step["windows_used"] >= 4


def test_the_array_is_cleared_up_to_what_was_seen(demo: dict[str, Any]) -> None:
    array = next(entry for entry in demo["cleared"] if entry["entity"] == "array:fa1")
    assert array["up_to"]["bytes_per_second"] == pytest.approx(412e6, rel=0.02)


def test_more_load_would_buy_nothing_and_faster_links_twice_as_much(demo: dict[str, Any]) -> None:
    verdict = demo["verdict"]
    assert verdict["knee_in_flight"] is None
    assert verdict["knee_below"] == pytest.approx(16, rel=0.05)
    low, high = verdict["next"]["predicted_ops_per_second"]
    assert low == pytest.approx(6290, rel=0.02)
    assert high == pytest.approx(12_590, rel=0.03)


def test_configuration_findings_do_not_outrank_the_cause(demo: dict[str, Any]) -> None:
    roles = [finding["role"] for finding in demo["findings"] if finding["outcome"] == "hit"]
    assert roles[0] == "cause"
    assert demo["findings"][0]["rule"] == "link-full"
    assert demo["findings"][0]["fix"]


def test_recording_and_report_lie_in_the_current_directory(demo: dict[str, Any], folder: Path) -> None:
    assert (folder / "demo.sanpath" / "manifest.json").exists()
    report = (folder / "demo-report.md").read_text(encoding="utf-8")
    assert demo["summary"]["verdict"] in report.replace("\\", "")


def test_a_redacted_copy_has_the_same_verdict_and_no_name(demo: dict[str, Any], folder: Path) -> None:
    command = [sys.executable, "-m", "sanpath", "redact", "demo.sanpath", "sent.sanpath"]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"the same verdict, {demo['verdict']['kind']}" in done.stdout
    names = ("esx7", "sqlvm1", "fa1", "sw1", "vol01", "524a937000000000", "21:00:00:24:ff:00:00:02")
    assert not found_in(folder / "sent.sanpath", *names)


def test_no_source_failed(demo: dict[str, Any]) -> None:
    assert {source["name"] for source in demo["sources"]} == {"sw1", "fa1", "fio"}
    assert not failed_sources(demo["sources"])

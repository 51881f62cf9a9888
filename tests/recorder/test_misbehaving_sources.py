"""The recorder process with sources that hang, block and fail beside one that works; they come from a plug-in."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sanpath.cli.sessions.child_process import environment
from sanpath.model import Poll
from sanpath.recording.reading.recording import Recording
from tests.recorder.processes import sanpath

PLUGIN = Path(__file__).parent / "plugin"
CONFIG = """
sources:
  - {name: good, collector: healthy, every_seconds: 0.5}
  - {name: stuck, collector: blocking, every_seconds: 0.5}
  - {name: dead, collector: hanging, every_seconds: 0.5}
  - {name: broken, collector: failing, every_seconds: 0.5}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sources")


@pytest.fixture(scope="module")
def diagnosis(folder: Path) -> dict[str, Any]:
    (folder / "sanpath.yaml").write_text(CONFIG)
    arguments = ("--for=4", "--into", "r.sanpath", "--format", "json")
    done = sanpath("run", *arguments, cwd=folder, env=installed(PLUGIN))
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def installed(folder: Path) -> dict[str, str]:
    """As if what lies in a folder had been installed."""
    return {"PYTHONPATH": os.pathsep.join([str(folder), environment()["PYTHONPATH"]])}


def polls(folder: Path, source: str) -> list[Poll]:
    return [poll for poll in Recording(folder / "r.sanpath").polls() if poll.source == source]


def test_the_healthy_source_lost_no_poll(folder: Path, diagnosis: dict[str, Any]) -> None:
    assert diagnosis
    good = polls(folder, "good")
    assert len(good) >= 6
    assert {(poll.outcome, poll.rows) for poll in good} == {("ok", 1)}
    assert [poll.due - good[0].due for poll in good] == [500_000 * number for number in range(len(good))]


def test_a_blocked_thread_neither_keeps_the_run_from_ending_nor_goes_unsaid(
    folder: Path, diagnosis: dict[str, Any]
) -> None:
    assert diagnosis["run"]["complete"] is True
    first, second = polls(folder, "stuck")
    assert (first.outcome, first.rows) == ("ok", 1)
    assert (second.outcome, second.message) == ("failed", "the poll had not returned when the run ended")


def test_a_hung_source_keeps_what_it_gave(folder: Path, diagnosis: dict[str, Any]) -> None:
    assert diagnosis
    hung = [poll for poll in polls(folder, "dead") if poll.outcome == "partial"]
    assert hung
    assert {(poll.rows, poll.failure) for poll in hung} == {(1, "unreachable")}


def test_a_defect_is_told_and_its_rows_are_refused(folder: Path, diagnosis: dict[str, Any]) -> None:
    assert diagnosis
    messages = {poll.message for poll in polls(folder, "broken") if poll.outcome != "skipped"}
    assert "ZeroDivisionError: a defect" in messages
    assert any(message.startswith("could not be recorded: ValueError") for message in messages)


def test_each_is_named_with_its_failures(diagnosis: dict[str, Any]) -> None:
    failures = {source["name"]: source["failures"] for source in diagnosis["sources"]}
    assert failures["good"] == 0
    assert all(failures[name] for name in ("stuck", "dead", "broken"))
    unobserved = " ".join(entry["what"] for entry in diagnosis["unobserved"])
    assert all(f"source {name}" in unobserved for name in ("stuck", "dead", "broken"))
    assert "source good" not in unobserved


def test_third_party_collectors_are_listed_beside_ours(tmp_path: Path) -> None:
    listed = sanpath("collectors", "list", cwd=tmp_path, env=installed(PLUGIN)).stdout
    assert "healthy, for a test" in listed
    assert "fio: live from its status output" in listed


def test_a_broken_one_is_named_and_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / "wrecked.py").write_text("def (")
    (tmp_path / "wrecked-1.dist-info").mkdir()
    (tmp_path / "wrecked-1.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: wrecked\nVersion: 1\n")
    (tmp_path / "wrecked-1.dist-info/entry_points.txt").write_text("[sanpath.collectors]\naaa = wrecked\n")
    env = installed(tmp_path)
    listed = sanpath("collectors", "list", cwd=tmp_path, env=env)
    assert listed.returncode == 0
    assert "collector aaa cannot be loaded: SyntaxError" in listed.stdout
    done = sanpath("run", "--into", "r.sanpath", "--", "true", cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr

"""A whole run in which every source fails once: the verdict stands, and what was missed is said."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sanpath.recording.reading.recording import Recording
from sanpath.units import counted
from tests.faults.lab import FaultyLab, faulty, four_gigabit_switch, measured_seconds
from tests.faults.proxies import Fault
from tests.recorder.processes import Run, wait_for

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Ended:
    code: int
    reported: dict[str, Any]
    err: str
    recording: Path


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ended]:
    folder = tmp_path_factory.mktemp("faults")
    with four_gigabit_switch(folder) as lab, faulty(lab) as through:
        run = Run(folder, "--config", through.config, "--load", "fio", "--format", "json", "--", *through.load)
        try:
            fail_in_turn(run, through)
            code = run.end()
        finally:
            run.kill()
        yield Ended(code, json.loads(run.out.read_text()), run.err.read_text(), run.recording)


def fail_in_turn(run: Run, lab: FaultyLab) -> None:
    """The switch is silent in t16, the array resets and refuses in t64, both give nonsense in t100."""
    wait_for(lambda: measured_seconds(run.recording, "t16") >= 1)
    lab.switch.fail(Fault.SILENT)
    time.sleep(8)
    lab.switch.fail(Fault.NONE)
    wait_for(lambda: measured_seconds(run.recording, "t64") >= 1)
    lab.array.fail(Fault.REFUSED)
    time.sleep(8)
    lab.array.fail(Fault.NONE)
    wait_for(lambda: measured_seconds(run.recording, "t100") >= 4)
    for proxy in (lab.switch, lab.array):
        proxy.fail(Fault.GARBAGE)
    time.sleep(3)
    for proxy in (lab.switch, lab.array):
        proxy.fail(Fault.NONE)


def test_it_ends_well_and_without_noise(ended: Ended) -> None:
    assert ended.code == 0, ended.err
    assert "Traceback" not in ended.err
    assert ended.reported["run"]["complete"] is True
    assert ended.reported["run"]["load_exit_code"] == 0


def test_the_verdict_is_what_it_is_without_faults(ended: Ended) -> None:
    verdict = ended.reported["verdict"]
    assert verdict["kind"] == "bottleneck"
    first = verdict["bottlenecks"][0]
    assert (first["layer"], first["direction"]) == ("fabric", "read")
    assert 0.97 <= first["utilisation"] <= 0.99
    assert {first["entity"], *first["coincident"]} == {
        "link:esx7/vmhba2--sw1/fc1/7",
        "link:sw1/fc1/1--fa1/CT0.FC0",
    }


def test_a_step_that_was_hardly_seen_is_thin_evidence_and_the_others_are_not(ended: Ended) -> None:
    steps = {step["name"]: step for step in ended.reported["steps"]}
    assert list(steps) == ["t2", "t16", "t64", "t100"]
    assert steps["t16"]["windows_used"] < 4
    assert steps["t2"]["verdict"]["grade"] == "A"
    for step in steps.values():
        assert (step["windows_used"] < 4) == (step["verdict"]["grade"] == "C"), step["name"]
    assert ended.reported["verdict"]["from_step"] != "t16"


def test_every_failure_is_counted_and_what_it_cost_is_said(ended: Ended) -> None:
    accounts = {source["name"]: source for source in ended.reported["sources"]}
    unobserved = {entry["what"]: entry["why"] for entry in ended.reported["unobserved"]}
    for name in ("sw1", "fa1"):
        assert accounts[name]["failures"] >= 2
        assert accounts[name]["gaps"] >= 1
        assert accounts[name]["last_failure"]
        counts = f"{counted(accounts[name]['failures'], 'failed poll')} and {counted(accounts[name]['gaps'], 'gap')}"
        assert unobserved[f"source {name}, {counts}"] == accounts[name]["last_failure"]
    assert accounts["fio"]["failures"] == 0


def test_both_came_back(ended: Ended) -> None:
    polls = Recording(ended.recording).polls()
    for name in ("sw1", "fa1"):
        outcomes = [poll.outcome for poll in polls if poll.source == name]
        assert outcomes[0] == outcomes[-1] == "ok"


def test_the_array_tells_afterwards_what_it_was_not_asked_at_the_time(ended: Ended) -> None:
    from duckdb import connect

    connection = connect()
    recording = Recording(ended.recording)
    recording.view(connection, "array")
    times = [t for (t,) in connection.execute("SELECT DISTINCT device_time FROM samples_array ORDER BY 1").fetchall()]
    connection.close()
    assert len(times) > 60
    assert {round((b - a) / 1e6) for a, b in pairwise(times)} == {1}

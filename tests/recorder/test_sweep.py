"""`sanpath sweep` with the real fio: steps in order, steady state, what is resumed and what never is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sanpath.cli.sessions.child_process import environment
from sanpath.recorder.loads import processes
from sanpath.recording.reading.recording import Recording
from tests.recorder.processes import PATIENCE_SECONDS, children, command, command_line, is_alive, sanpath, wait_for

Plan = dict[str, Any]


@pytest.fixture
def plan(tmp_path: Path, fio: str) -> Plan:
    """Two steps of a rate-limited fio on a file that the page cache holds."""
    data = tmp_path / "data"
    data.write_bytes(os.urandom(1 << 20))
    return {
        "command": fio,
        "target": {"filename": str(data)},
        "seconds": 1,
        "warmup_seconds": 0,
        "pause_seconds": 0,
        "matrix": {"block_bytes": "4k", "in_flight": [1, 2]},
        "fio": {"direct": 0, "rate_iops": 300},
    }


class Sweep:
    """`sanpath sweep` under way."""

    def __init__(self, folder: Path) -> None:
        self.recording = folder / "r.sanpath"
        self.err = folder / "err"
        with self.err.open("wb") as err:
            self.screen = subprocess.Popen(
                command("sweep", folder / "plan.yaml", "--into", self.recording),
                cwd=folder,
                env=environment(),
                stdout=subprocess.DEVNULL,
                stderr=err,
                start_new_session=True,
            )

    def recorder(self) -> int:
        found = wait_for(lambda: [p for p in children(self.screen.pid) if "sanpath.recorder" in command_line(p)])
        return int(found[0])

    def load(self, key: str) -> list[int]:
        """Processes of a step's load."""
        return [p for f in self.recording.glob(f"load/*.{key}") for p in processes.marked(f"fio@{f}")]

    def reading(self, key: str) -> bool:
        """Whether fio has told of a step's I/O twice: the step's begin has been seen."""
        return sum(f.read_bytes().count(b"\n}\n") for f in self.recording.glob(f"load/*.{key}/output")) >= 2

    def kill(self) -> None:
        for process in [p for p in children(self.screen.pid) if "sanpath.recorder" in command_line(p)]:
            os.kill(process, signal.SIGKILL)
        for key in ("step-01", "step-02"):
            for process in self.load(key):
                os.kill(process, signal.SIGKILL)
        self.screen.kill()
        self.screen.wait()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[Plan], Sweep]]:
    started: list[Sweep] = []

    def start(plan: Plan) -> Sweep:
        write(tmp_path, plan)
        started.append(Sweep(tmp_path))
        return started[-1]

    yield start
    for sweep in started:
        sweep.kill()


def write(folder: Path, plan: Plan) -> None:
    (folder / "plan.yaml").write_text(yaml.safe_dump(plan))


def swept(folder: Path, plan: Plan, *options: str) -> subprocess.CompletedProcess[str]:
    write(folder, plan)
    return sanpath("sweep", "plan.yaml", "--into", "r.sanpath", *options, cwd=folder)


def marks(folder: Path, name: str) -> list[dict[str, Any]]:
    events = Recording(folder / "r.sanpath").events()
    return [dict(event.detail) for _, event in events if event.name == name]


def test_steps_run_in_order_and_the_curve_follows_the_report(tmp_path: Path, plan: Plan) -> None:
    done = swept(tmp_path, plan)
    assert done.returncode == 0, done.stderr
    curve = done.stdout.partition("Throughput and latency over outstanding I/Os\n")[2].splitlines()
    assert [line[:33].strip() for line in curve[1:3]] == [
        "4 KiB random read, 1 outstanding",
        "4 KiB random read, 2 outstanding",
    ]
    assert "Knee: none was found" in done.stdout
    assert [mark["outcome"] for mark in marks(tmp_path, "sweep-step")] == ["done", "done"]
    assert marks(tmp_path, "step-begin")[0]["offered"] == 1
    assert "sanpath: a sweep, 2 to do, about " in done.stderr


def test_json_is_the_diagnosis_alone(tmp_path: Path, plan: Plan) -> None:
    done = swept(tmp_path, plan | {"matrix": {"in_flight": 3}}, "--format", "json")
    found = json.loads(done.stdout)
    assert found["schema"] == "sanpath.diagnosis/1"
    assert [step["name"] for step in found["steps"]] == ["64 KiB random read, 3 outstanding"]


def test_a_steady_step_ends_before_its_time(tmp_path: Path, plan: Plan) -> None:
    plan |= {"steady": {"windows": 2, "spread": 0.3, "at_most_seconds": 50}, "matrix": {"in_flight": 1}}
    done = swept(tmp_path, plan)
    assert done.returncode == 0, done.stderr
    [mark] = marks(tmp_path, "sweep-step")
    assert (mark["outcome"], mark["steady"]) == ("done", True)
    assert marks(tmp_path, "step-not-steady") == []


def test_a_step_that_never_settles_says_so(tmp_path: Path, plan: Plan) -> None:
    plan |= {"steady": {"windows": 60, "at_most_seconds": 3}, "matrix": {"in_flight": 1}}
    done = swept(tmp_path, plan)
    assert done.returncode == 0, done.stderr
    assert marks(tmp_path, "sweep-step")[0]["steady"] is False
    assert [mark["step"] for mark in marks(tmp_path, "step-not-steady")] == ["64 KiB random read, 1 outstanding"]


def test_ctrl_c_drops_the_step_and_the_same_plan_resumes(
    start: Callable[[Plan], Sweep], tmp_path: Path, plan: Plan
) -> None:
    plan["seconds"] = 4
    sweep = start(plan)
    wait_for(lambda: sweep.reading("step-02"))
    load = sweep.load("step-02")
    os.killpg(sweep.screen.pid, signal.SIGINT)
    assert sweep.screen.wait(PATIENCE_SECONDS) == 130
    assert not [process for process in load if is_alive(process)]
    reported = sweep.err.read_text()
    assert f"1 of 2 steps left; to resume: sanpath sweep {tmp_path}/plan.yaml --into {tmp_path}/r.sanpath" in reported
    assert "Traceback" not in reported
    judged = json.loads(sanpath("diagnose", "r.sanpath", "--format", "json", cwd=tmp_path).stdout)["steps"]
    assert [step["name"] for step in judged] == ["4 KiB random read, 1 outstanding"]

    resumed = swept(tmp_path, plan, "--format", "json")
    assert resumed.returncode == 0, resumed.stderr
    assert "resumed: 1 of 2 steps recorded, 1 to do" in resumed.stderr
    found = json.loads(resumed.stdout)
    assert [step["name"] for step in found["steps"]] == [f"4 KiB random read, {n} outstanding" for n in (1, 2)]
    assert found["run"]["complete"] is True
    assert [source["name"] for source in found["sources"]] == ["fio"]

    again = swept(tmp_path, plan)
    assert again.returncode == 2
    assert "every step of this plan is recorded" in again.stderr


def test_a_killed_sweep_is_resumed_without_the_step_that_was_cut(
    start: Callable[[Plan], Sweep], tmp_path: Path, plan: Plan
) -> None:
    plan["seconds"] = 4
    sweep = start(plan)
    wait_for(lambda: sweep.reading("step-02"))
    sweep.kill()
    resumed = swept(tmp_path, plan, "--format", "json")
    assert resumed.returncode == 0, resumed.stderr
    found = json.loads(resumed.stdout)
    assert [step["name"] for step in found["steps"]] == [f"4 KiB random read, {n} outstanding" for n in (1, 2)]
    assert found["run"]["complete"] is False


def test_a_sweep_is_not_resumed_beside_the_load_that_a_killed_one_has_left(
    start: Callable[[Plan], Sweep], tmp_path: Path, plan: Plan
) -> None:
    plan["matrix"] = {"in_flight": 1}
    sweep = start(plan)
    load = wait_for(lambda: sweep.load("step-01"))
    for process in load:  # It must not end while it is looked at.
        os.kill(process, signal.SIGSTOP)
    os.kill(sweep.recorder(), signal.SIGKILL)
    sweep.screen.wait(PATIENCE_SECONDS)
    refused = swept(tmp_path, plan)
    assert refused.returncode == 2
    last = refused.stderr.splitlines()[-1]
    assert f"the load of a sweep that was killed still runs (process {load[0]}" in last
    for process in sweep.load("step-01"):
        os.kill(process, signal.SIGKILL)
    wait_for(lambda: not sweep.load("step-01"))
    resumed = swept(tmp_path, plan)
    assert resumed.returncode == 0, resumed.stderr
    assert [mark["outcome"] for mark in marks(tmp_path, "sweep-step")] == ["done"]


def test_another_plan_is_refused_and_so_is_a_second_sweep_at_the_same_time(
    start: Callable[[Plan], Sweep], tmp_path: Path, plan: Plan
) -> None:
    plan["seconds"] = 60
    sweep = start(plan)
    wait_for(lambda: sweep.load("step-01"))
    twin = swept(tmp_path, plan)
    assert twin.returncode == 2
    assert "a sweep is being recorded into it at this moment" in twin.stderr
    other = swept(tmp_path, plan | {"seconds": 61})
    assert other.returncode == 2
    assert "holds the sweep of another plan; choose another folder with --into" in other.stderr
    assert len(list((tmp_path / "r.sanpath" / "writers").iterdir())) == 1


def test_a_load_that_fails_ends_the_sweep_with_exit_code_4(tmp_path: Path, plan: Plan) -> None:
    done = swept(tmp_path, plan | {"fio": {"no_such_option": 1}})
    assert done.returncode == 4
    assert "step 4 KiB random read, 1 outstanding: the load ended with exit code 1: see" in done.stderr
    assert [mark["outcome"] for mark in marks(tmp_path, "sweep-step")] == ["failed"]


def test_a_target_that_is_not_there_is_a_mistake(tmp_path: Path, plan: Plan) -> None:
    """fio would make a file of that name: below /dev in memory, until none is left."""
    done = swept(tmp_path, plan | {"target": {"filename": str(tmp_path / "mpatha")}})
    assert done.returncode == 2
    assert "mpatha: there is no such file or device: make it first, or name another\n" in done.stderr
    assert not (tmp_path / "mpatha").exists()
    assert not (tmp_path / "r.sanpath").exists()


def test_a_fio_that_is_not_there_is_a_mistake(tmp_path: Path, plan: Plan) -> None:
    done = swept(tmp_path, plan | {"command": "no-such-fio"})
    assert done.returncode == 2
    assert "no-such-fio: there is no such command" in done.stderr
    assert not (tmp_path / "r.sanpath").exists()

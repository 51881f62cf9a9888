"""A load that is killed in the middle of its test, or whose output cannot be kept: said, and nothing runs on."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from sanpath.recording.format import layout
from sanpath.recording.reading.recording import Recording
from tests.faults.lab import measured_seconds
from tests.recorder.conftest import job_file
from tests.recorder.processes import Run, is_alive, sanpath, wait_for


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    fio = shutil.which("fio")
    if fio is None or not Path("/proc/self/environ").exists():
        pytest.skip("needs fio, and looks at processes in /proc")
    started = Run(tmp_path, "--format", "json", "--", fio, job_file(tmp_path, seconds=500))
    yield started
    started.kill()


def test_a_fio_that_is_killed_is_exit_code_4_and_leaves_no_job_behind(run: Run) -> None:
    wait_for(lambda: measured_seconds(run.recording, "small") >= 2)
    load = run.load()
    # fio's jobs are its children, in sessions of their own: they do not notice.
    os.kill(min(load), signal.SIGKILL)
    assert run.end() == 4, run.err.read_text()
    assert len(load) >= 2
    assert not [process for process in load if is_alive(process)]
    diagnosis = json.loads(run.out.read_text())
    assert diagnosis["run"]["complete"] is True
    assert diagnosis["run"]["load_exit_code"] == 128 + signal.SIGKILL
    assert [step["name"] for step in diagnosis["steps"]] == ["small"]
    assert "the load command ended with exit code 137" in run.err.read_text()
    (ended,) = [event for _, event in Recording(run.recording).events() if event.name == "load-ended"]
    assert ended.detail["exit_code"] == 137


def test_a_load_whose_output_cannot_be_kept_is_not_started(tmp_path: Path) -> None:
    layout.create(tmp_path / "r.sanpath")
    (tmp_path / "r.sanpath" / "load").write_text("in the way")
    done = sanpath("run", "--into", "r.sanpath", "--format", "json", "--", "touch", "started", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "the output of the load cannot be kept" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "started").exists()

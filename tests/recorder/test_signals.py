"""Ctrl-C, kill -9 and lost terminals: the load ends with the test and never before, and nothing recorded is lost."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sanpath.recording.reading.recording import Recording
from tests.collectors.brocade_rest.test_over_https import PASSWORD, USER, Switch
from tests.recorder.conftest import job_file
from tests.recorder.processes import Run, is_alive, sanpath, wait_for
from tests.support.tls_device import serving

STUBBORN = 'trap "" INT TERM; setsid sleep 500 & sleep 500'


def whole_load(run: Run, processes: int) -> list[int]:
    """The load's processes, once there are as many as there should be."""
    return wait_for(lambda: found if len(found := run.load()) >= processes else None) or []


def status_documents(run: Run) -> int:
    return sum(path.read_bytes().count(b"\n}\n") for path in run.recording.glob("load/*/output"))


def diagnosed(folder: Path, recording: Path) -> dict[str, Any]:
    done = sanpath("diagnose", recording, "--format", "json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_ctrl_c_ends_fio_and_all_its_jobs_and_reports(start: Callable[..., Run], fio: str, tmp_path: Path) -> None:
    run = start("--format", "json", "--", fio, job_file(tmp_path, seconds=500))
    load = whole_load(run, 2)
    wait_for(lambda: status_documents(run))
    run.interrupt()
    assert run.end() == 130
    assert not [process for process in load if is_alive(process)]
    assert run.load() == []
    assert run.ended_well()
    assert (tmp_path / "r-report.md").exists()
    diagnosis = json.loads(run.out.read_text())
    assert [step["name"] for step in diagnosis["steps"]] == ["small"]
    assert "fio: terminating on signal 2" in run.err.read_text()
    assert "sanpath: interrupted; this is what was recorded until then" in run.err.read_text()
    assert "Traceback" not in run.err.read_text()


def test_a_second_ctrl_c_ends_at_once_what_does_not_heed_the_first(start: Callable[..., Run], tmp_path: Path) -> None:
    run = start("--", "sh", "-c", STUBBORN)
    recorder, load = run.recorder(), whole_load(run, 3)
    run.interrupt()
    time.sleep(0.5)
    assert all(is_alive(process) for process in load)
    run.interrupt()
    assert run.end() == 130
    wait_for(lambda: not is_alive(recorder))
    assert not [process for process in load if is_alive(process)]
    assert not run.ended_well()
    assert "Traceback" not in run.err.read_text()
    # What waited for the next flush is there.
    assert [event.name for _, event in Recording(run.recording).events()] == ["load-started"]
    assert diagnosed(tmp_path, run.recording)["run"]["complete"] is False


@pytest.mark.slow
def test_what_does_not_heed_ctrl_c_is_killed_in_the_end(start: Callable[..., Run]) -> None:
    run = start("--", "sh", "-c", STUBBORN)
    load = whole_load(run, 3)
    run.interrupt()
    assert run.end() == 130
    assert not [process for process in load if is_alive(process)]
    assert run.ended_well()


@pytest.mark.slow
def test_a_killed_recorder_loses_the_last_flush_at_most(start: Callable[..., Run], fio: str, tmp_path: Path) -> None:
    run = start("--format", "json", "--", fio, job_file(tmp_path, seconds=500))
    recorder = run.recorder()
    wait_for(lambda: status_documents(run) >= 7)
    os.kill(recorder, signal.SIGKILL)
    documents = status_documents(run)
    # The load is told from its mark: nobody reads it any more.
    load = run.load()
    assert run.end() == 1
    diagnosis = json.loads(run.out.read_text())
    assert diagnosis == diagnosed(tmp_path, run.recording)
    assert diagnosis["run"]["complete"] is False
    assert [step["name"] for step in diagnosis["steps"]] == ["small"]
    recorded = [poll for poll in Recording(run.recording).polls() if poll.source == "fio"]
    # A flush every five seconds, a document every second.
    assert len(recorded) >= documents - 7
    assert recorded
    assert "the recorder ended with exit code -9" in run.err.read_text()
    assert "may still be running" in run.err.read_text()
    assert load
    assert all(is_alive(process) for process in load)


def test_the_test_goes_on_when_the_screen_is_killed(start: Callable[..., Run], fio: str, tmp_path: Path) -> None:
    run = start("--", fio, "--output-format=normal", job_file(tmp_path, seconds=2), stderr=subprocess.PIPE)
    recorder, load = run.recorder(), whole_load(run, 2)
    run.screen.kill()
    # The terminal has gone too: writing to it fails from now on.
    assert run.screen.stderr is not None
    run.screen.stderr.close()
    assert all(is_alive(process) for process in load)
    wait_for(run.ended_well)
    wait_for(lambda: not is_alive(recorder))
    (ending,) = Recording(run.recording).endings()
    assert ending.load_exit_code == 0
    assert [step["name"] for step in diagnosed(tmp_path, run.recording)["steps"]] == ["small", "deep"]


def test_without_an_end_of_its_own_a_run_ends_with_its_screen(
    start: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sanpath.yaml").write_text(
        "sources: [{name: sw1, collector: snmp_switch, host: 127.0.0.1, port: 9, community: env:C}]"
    )
    monkeypatch.setenv("C", "x")
    run = start()
    recorder = run.recorder()
    wait_for((run.recording / "writers").exists)
    run.screen.kill()
    wait_for(lambda: not is_alive(recorder))
    assert run.ended_well()


@pytest.mark.parametrize("interrupts", [1, 2], ids=["once", "twice"])
def test_ctrl_c_in_a_poll_gives_the_session_of_a_switch_back_unless_it_must_end_at_once(
    start: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interrupts: int
) -> None:
    """The switch goes silent in the first poll. It admits few sessions, and keeps one for hours that nobody ends."""
    monkeypatch.setenv("P", PASSWORD)
    switch = Switch()
    switch.silent_on = "fibrechannel-statistics"

    def interrupt_a_poll() -> float:
        run = start()
        wait_for(lambda: any(line.endswith("fibrechannel-statistics") for line in switch.asked))
        recorder, began = run.recorder(), time.monotonic()
        for _ in range(interrupts):
            run.interrupt()
            time.sleep(0.3)
        assert run.end() == 130
        wait_for(lambda: not is_alive(recorder))
        assert run.ended_well() is (interrupts == 1)
        assert "Traceback" not in run.err.read_text()
        return time.monotonic() - began

    async def use(host: str) -> float:
        source = {"name": "b1", "collector": "brocade_rest", "host": host, "user": USER, "password": "env:P"}
        document = {"sources": [{**source, "ca_file": str(tmp_path / "ca.pem"), "timeout_seconds": 60}]}
        (tmp_path / "sanpath.yaml").write_text(json.dumps(document))
        try:
            return await asyncio.to_thread(interrupt_a_poll)
        finally:
            switch.silent_on = ""

    assert serving(tmp_path / "ca.pem", switch.answer, use) < 30
    assert switch.given == 1
    assert len(switch.sessions) == interrupts - 1

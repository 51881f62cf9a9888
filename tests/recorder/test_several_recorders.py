"""Recorders of one recording: who only watches ends with the load, nothing is read twice, every clock is compared."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.cli.sessions.child_process import environment
from sanpath.config import load_config
from sanpath.errors import ConfigError, UsageError
from sanpath.recorder.other_recorders import load_has_ended, refuse_duplicate_sources, refuse_second_load
from sanpath.recording.format.documents import Declaration, Ending, Header
from sanpath.recording.format.recorder_starts import Start
from sanpath.recording.reading.recording import Recording
from tests.recorder.processes import Run, command, is_alive, wait_for


def start(name: str, recorder: str, began: int, *sources: str, load: str = "", ended: bool = False) -> Start:
    declared = tuple(Declaration(name=s, collector="c", every_seconds=1, tables=()) for s in sources)
    command = [load] if load else []
    header = Header(recorder=recorder, started_us=began, sources=declared, load_command=command)
    ending = Ending(ended_us=began, load_exit_code=None, recorder_cpu_seconds=0.0) if ended else None
    return Start(name, header, ending)


def sanpath(folder: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "sanpath", "run", "--into", "r.sanpath", *words]
    return subprocess.Popen(command, cwd=folder, env=environment(), stderr=subprocess.PIPE, text=True)


def test_who_only_watches_ends_with_the_load_of_another(tmp_path: Path) -> None:
    (tmp_path / "sanpath.yaml").write_text("sources:\n  - {name: here, collector: linux_host}\n")
    (tmp_path / "load.yaml").write_text("")
    watching = sanpath(tmp_path, "--writer", "site-a")
    deadline = time.monotonic() + 60
    while not (tmp_path / "r.sanpath" / "polls").exists():
        assert time.monotonic() < deadline, watching.communicate(timeout=1)
        time.sleep(0.2)
    load = sanpath(tmp_path, "--writer", "site-b", "--config", "load.yaml", "--", "sleep", "2")
    assert load.wait(60) == 0
    assert watching.wait(60) == 0
    recording = Recording(tmp_path / "r.sanpath")
    assert {s.header.recorder: len(s.header.sources) for s in recording.starts} == {"site-a": 1, "site-b": 0}
    assert {s.header.run_id for s in recording.starts} == {recording.manifest.run_id}
    assert recording.ended
    # One machine has one clock.
    assert {recording.shift_us(s.writer) for s in recording.starts} == {0}
    assert {s.writer for s in recording.starts} == set(recording.alignment)
    again = sanpath(tmp_path, "--writer", "site-a")
    _, reported = again.communicate(timeout=60)
    assert again.returncode == 2
    assert "holds a test that has ended" in reported
    assert not list((tmp_path / "r.sanpath" / "writers").glob("*.clock"))


def test_a_source_that_another_recorder_reads_is_refused() -> None:
    reading = start("a.1", "site-a", 1, "sw1")
    with pytest.raises(UsageError, match=r"sw1: recorded by 'site-a' already; .*--writer site-a"):
        refuse_duplicate_sources([reading], "site-b", ["sw1", "sw2"])
    refuse_duplicate_sources([reading], "site-b", ["sw2"])
    refuse_duplicate_sources([reading], "site-a", ["sw1"])
    refuse_duplicate_sources([start("a.1", "site-a", 1, "sw1", ended=True)], "site-b", ["sw1"])
    with pytest.raises(UsageError, match="sw1"):
        refuse_duplicate_sources(
            [start("a.1", "site-a", 1, "sw1", ended=True), start("a.2", "site-a", 2, "sw1")], "b", ["sw1"]
        )


def test_a_load_that_was_killed_has_not_ended_until_it_has_run_anew() -> None:
    watching, killed = start("a.1", "site-a", 1, "sw1"), start("b.1", "site-b", 2, load="fio")
    assert not load_has_ended([watching])
    assert not load_has_ended([watching, killed])
    assert load_has_ended([watching, killed, start("b.2", "site-b", 3, load="fio", ended=True)])
    assert not load_has_ended(
        [start("b.2", "site-b", 3, load="fio", ended=True), start("c.1", "site-c", 4, load="x")]
    )


def started_again(run: Run, *words: str) -> tuple[int, str]:
    """As a supervisor does: the same command. Returns its exit code and what it said."""
    again = ["run", "--into", str(run.recording), "--writer", "db1", *words]
    done = subprocess.run(
        command(*again), cwd=run.folder, env=environment(), capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stderr


def test_a_load_is_never_started_a_second_time(start: Callable[..., Run], tmp_path: Path) -> None:
    load = ["--", "sh", "-c", "echo started >> starts; exec sleep 500"]
    run = start("--writer", "db1", *load)
    recorder = run.recorder()
    wait_for((tmp_path / "starts").exists)
    (process,) = wait_for(run.load)
    os.kill(recorder, signal.SIGKILL)
    assert run.end() == 1
    assert is_alive(process), "a load outlives its recorder"
    code, reported = started_again(run, *load)
    assert (code, len(reported.splitlines())) == (2, 1), reported
    assert f"the load of 'db1' still runs (process {process}), and no second one is started" in reported
    assert "another --into" in reported

    os.kill(process, signal.SIGKILL)
    wait_for(lambda: not is_alive(process))
    code, reported = started_again(run, *load)
    assert (code, len(reported.splitlines())) == (2, 1), reported
    assert "has not ended (see on " in reported

    assert (tmp_path / "starts").read_text() == "started\n"
    assert run.load() == []
    assert len(Recording(run.recording).starts) == 1, "who was refused has left nothing"


def test_a_load_that_ran_is_not_run_again_by_whatever_name() -> None:
    watching, ended = start("a.1", "site-a", 1, "sw1"), start("b.1", "pod-7", 2, "fio", load="fio", ended=True)
    refuse_second_load([watching], "r", "", [])
    with pytest.raises(UsageError, match=r"r: the load of 'pod-7' has ended, and no second one is started"):
        refuse_second_load([watching, ended], "r", "", [])
    with pytest.raises(UsageError, match="'pod-7' has ended"):
        refuse_second_load([watching, ended, start("b.2", "pod-7", 3, "here")], "r", "", [])


def test_a_sweep_goes_on_with_its_own_plan_alone() -> None:
    swept = start("b.1", "db1", 1, "fio", load="sanpath sweep plan.yaml")
    swept = replace(swept, header=swept.header.model_copy(update={"plan": "digest"}))
    refuse_second_load([swept], "r", "digest", [])
    for plan, result in (("", [swept]), ("digest", [swept, start("c.1", "db1", 2, "fio", load="fio")])):
        with pytest.raises(UsageError, match="no second one is started"):
            refuse_second_load(result, "r", plan, [])


def test_a_name_that_is_none_is_refused(tmp_path: Path) -> None:
    process = sanpath(tmp_path, "--writer", "site a/1", "--", "true")
    _, reported = process.communicate(timeout=60)
    assert (process.returncode, len(reported.splitlines())) == (2, 1)
    assert "--writer" in reported


def test_secrets_of_sources_that_are_not_read_need_not_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERE", "public")
    file = tmp_path / "sanpath.yaml"
    file.write_text(
        "sources:\n"
        "  - {name: sw1, collector: snmp_switch, host: 192.0.2.1, community: env:HERE}\n"
        "  - {name: sw2, collector: snmp_switch, host: 192.0.2.2, community: env:ELSEWHERE}\n"
    )
    assert [source.name for source in load_config(file, ("sw1",)).sources] == ["sw1", "sw2"]
    with pytest.raises(ConfigError, match="ELSEWHERE"):
        load_config(file, ("sw2",))
    with pytest.raises(ConfigError, match="ELSEWHERE"):
        load_config(file)
    file.write_text(file.read_text().replace("env:ELSEWHERE", "the secret itself").replace("192.0.2.2", "''"))
    with pytest.raises(ConfigError, match="host"):
        load_config(file, ("sw1",))

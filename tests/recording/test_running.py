"""A recording without an ending: still growing, or of a recorder that was killed."""

from __future__ import annotations

import json
import platform
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sanpath.cli import app
from sanpath.model import Poll
from sanpath.recording.format import layout
from sanpath.recording.reading.recording import Recording
from sanpath.recording.reading.running import SIGN_SECONDS, growth
from sanpath.recording.viewer_protocol import socket_path
from sanpath.recording.writing.writer import Writer


def recording(folder: Path, *, host: str = "", ended: bool = False, seconds_ago: float = 1.0) -> Path:
    layout.create(folder)
    writer, now_us = Writer(folder, "host.1"), time.time_ns() // 1000
    header = {"host": host or platform.node(), "recorder": "host", "load_command": ["load"], "sources": []}
    writer.header({"started_us": now_us - 600_000_000, **header})
    last_us = now_us - round(seconds_ago * 1e6)
    writer.poll(Poll("fio", last_us, last_us, last_us, "ok"))
    writer.flush()
    if ended:
        writer.end({"ended_us": last_us, "load_exit_code": 0, "recorder_cpu_seconds": 0.1})
    writer.close()
    return folder


@contextmanager
def recorder(folder: Path) -> Iterator[None]:
    """A recorder that lives, as far as others see; it leaves its socket behind, like one that was killed."""
    path = socket_path(Recording(folder).manifest.run_id, "host.1")
    assert path is not None
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
            listening.listen()
            yield
        assert growth(Recording(folder)) is None
    finally:
        path.unlink()


def printed_by(*words: str | Path) -> tuple[str, str]:
    result = CliRunner().invoke(app, list(map(str, words)))
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


@pytest.mark.parametrize("ended", [False, True])
def test_only_a_recorder_that_lives_is_running(tmp_path: Path, ended: bool) -> None:
    folder = recording(tmp_path / "a.sanpath", ended=ended)
    assert growth(Recording(folder)) is None, "nobody answers, however recent its last poll is"
    with recorder(folder):
        assert growth(Recording(folder)) == (None if ended else "is")


@pytest.mark.parametrize(("seconds_ago", "growing"), [(1.0, "may be"), (SIGN_SECONDS + 60, None)])
def test_of_another_machine_only_the_last_sign_is_known(
    tmp_path: Path, seconds_ago: float, growing: str | None
) -> None:
    assert growth(Recording(recording(tmp_path / "a.sanpath", host="far", seconds_ago=seconds_ago))) == growing
    ended = recording(tmp_path / "b.sanpath", host="far", seconds_ago=seconds_ago, ended=True)
    assert growth(Recording(ended)) is None


def test_a_verdict_of_a_running_test_says_so_first(tmp_path: Path) -> None:
    folder = recording(tmp_path / "a.sanpath")
    line = "The test is still running: this is the verdict so far.\n"
    with recorder(folder):
        assert printed_by("diagnose", folder)[0].startswith(line)
        printed, said = printed_by("diagnose", folder, "--format", "json")
        assert (json.loads(printed)["run"]["complete"], said) == (False, line)
        assert printed_by("report", folder)[1] == "The test is still running: this is the report so far.\n"
    assert "still running" not in "".join(printed_by("diagnose", folder))


def test_a_comparison_with_a_running_test_says_which(tmp_path: Path) -> None:
    ended, folder = recording(tmp_path / "a.sanpath", ended=True), recording(tmp_path / "b.sanpath")
    with recorder(folder):
        assert printed_by("compare", ended, folder)[0].startswith("AFTER is still being recorded: ")
        assert printed_by("compare", folder, ended)[0].startswith("BEFORE is still being recorded: ")
        printed, said = printed_by("compare", ended, folder, "--format", "json")
        assert json.loads(printed)
        assert said.startswith("AFTER is still being recorded: ")
    assert "being recorded" not in "".join(printed_by("compare", ended, folder))

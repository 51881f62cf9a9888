"""A recorder that is started while the screen is shown already."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from sanpath.cli.sessions.live import Lines
from sanpath.cli.sessions.recorder_process import record
from sanpath.errors import UsageError
from sanpath.recorder.control import STOP
from sanpath.recorder.request import RunRequest
from sanpath.rulebook.site.options import Choice

_ECHO = """
import sys
with open(sys.argv[1], "w") as received:
    for line in (sys.stdin.readline(), sys.stdin.readline()):
        received.write(line)
"""


def test_what_was_pressed_before_the_run_began_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request comes first, whatever was pressed before."""
    received = tmp_path / "received"
    echo = [sys.executable, "-c", _ECHO, str(received)]
    monkeypatch.setattr("sanpath.cli.sessions.recorder_process.python", lambda _module: echo)
    request = RunRequest(folder=tmp_path / "a.sanpath", config=None)

    def screen(ended: Callable[[], bool], interrupt: Callable[[], None], begin: Callable[[], None]) -> None:
        interrupt()
        assert not ended()
        beginning = threading.Thread(target=begin)
        beginning.start()
        beginning.join()

    code, interrupted = record(lambda: request, lambda: None, screen)
    assert (code, interrupted) == (0, True)
    assert received.read_text().splitlines() == [request.model_dump_json(), STOP]


def test_a_recording_is_named_once_as_soon_as_its_recorder_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not before: a run that is refused makes none. Also of a run that is shorter than the time of its first line."""
    lines = Lines(tmp_path / "a.sanpath", Choice())
    lines.name_recording()
    assert capsys.readouterr().err == ""
    (tmp_path / "a.sanpath" / "writers").mkdir(parents=True)
    (tmp_path / "a.sanpath" / "manifest.json").touch()
    lines.name_recording()
    assert capsys.readouterr().err == "", "nor of one whose disk is full"
    (tmp_path / "a.sanpath" / "writers" / "host.1.json").touch()
    lines.name_recording()
    lines.name_recording()
    assert capsys.readouterr().err == f"sanpath: recording {tmp_path / 'a.sanpath'}\n"


def test_a_run_that_cannot_begin_ends_the_screen_and_says_why() -> None:
    seen: list[bool] = []

    def screen(ended: Callable[[], bool], _interrupt: Callable[[], None], begin: Callable[[], None]) -> None:
        seen.append(ended())
        begin()
        seen.append(ended())

    def no_request() -> RunRequest:
        raise UsageError("the lab did not start")

    with pytest.raises(UsageError, match="the lab did not start"):
        record(no_request, lambda: None, screen)
    assert seen == [False, True]


def test_a_screen_that_fails_ends_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "sanpath.cli.sessions.recorder_process.python", lambda _module: [sys.executable, "-c", "raise SystemExit(3)"]
    )

    def screen(*_: object) -> None:
        raise RuntimeError("no such terminal")

    code, interrupted = record(lambda: RunRequest(folder=tmp_path / "a.sanpath"), lambda: None, screen)
    assert (code, interrupted) == (3, False)

"""The live view on a real terminal: `sanpath watch`, and `sanpath run` with the load test going on behind it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sanpath.cli.sessions.child_process import environment
from sanpath.diagnose import diagnose
from sanpath.recording.reading.recording import Recording
from tests.support.san import San
from tests.support.stories import published
from tests.views.live.terminal import SANPATH, Open, Terminal

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published(San(tmp_path_factory.mktemp("watched") / "r.sanpath")).write().folder


def files(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_watch_shows_verdict_and_budget_of_a_finished_recording_and_changes_nothing(
    terminal: Open, recording: Path
) -> None:
    before = files(recording)
    screen = terminal("watch", recording)
    text = screen.wait_for("BOTTLENECK", "ENDED")
    assert "esx7/vmhba2 - sw1/fc1/7 and sw1/fc1/1 - fa1/CT0.FC0, read" in text
    assert "caused by esx7/vmhba2" in text
    assert "800 outstanding / 6,250 IOPS" in text
    screen.resize(160, 48)
    screen.wait_for("do next", "BOTTLENECK")
    screen.resize(10, 3)
    screen.wait_for("BOTTLENECK")
    screen.resize(80, 24)
    screen.wait_for("caused by", "throughput", "array fa1")
    screen.press("t")
    screen.wait_for("path from load to media", "target port", "sqlvm1")
    screen.press("Escape")
    screen.wait_for("caused by")
    screen.press("q")
    screen.wait_for("exit code 0")
    assert files(recording) == before


def test_a_new_size_is_drawn_although_its_signal_is_lost(recording: Path, tmp_path: Path) -> None:
    blocked = "import os, signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGWINCH})"
    without_signal = [sys.executable, "-c", f"{blocked}; os.execv(sys.argv[1], sys.argv[1:])"]
    screen = Terminal([*without_signal, *SANPATH, "watch", str(recording)], tmp_path, 80, 24)
    try:
        screen.wait_for("BOTTLENECK", "ENDED")
        screen.resize(160, 48)
        screen.wait_for("do next", "BOTTLENECK")
    finally:
        screen.close()


def test_watch_prints_lines_where_there_is_no_terminal(recording: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [*SANPATH, "watch", str(recording)],
        env=environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "bottleneck: esx7/vmhba2 - sw1/fc1/7" in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("plain", [("--plain",), ()], ids=["asked for", "a dumb terminal"])
def test_lines_on_a_terminal_where_a_screen_is_not_wanted(
    terminal: Open, recording: Path, plain: tuple[str, ...]
) -> None:
    if plain:
        screen = terminal("watch", recording, *plain)
    else:
        screen = Terminal(["env", "TERM=dumb", *SANPATH, "watch", str(recording)], recording.parent, 80, 24)
    try:
        assert "sanpath: step t800" in screen.wait_for("exit code 0")
    finally:
        screen.close()


def test_what_is_no_recording_is_one_line(terminal: Open, tmp_path: Path) -> None:
    text = terminal("watch", tmp_path, size=(250, 10)).wait_for("exit code 2")
    assert "is not a sanpath recording" in text
    assert "Traceback" not in text


NOISY = "i=0; until [ -e seen -a $i -ge 5 ]; do i=$((i+1)); printf 'NOI%s\\n' SE$i >&2; sleep 0.3; done"
"""Says NOISE1, NOISE2 and so on until the screen has been seen; the word itself is not in it."""


def test_what_the_load_says_appears_after_the_screen_and_not_on_it(terminal: Open, tmp_path: Path) -> None:
    screen = terminal("run", "--into", tmp_path / "r.sanpath", "--", "sh", "-c", NOISY)
    seen = [screen.wait_for("RUNNING")]
    (tmp_path / "seen").touch()
    while "exit code" not in seen[-1]:
        time.sleep(0.2)
        seen.append(screen.text())
    on_screen = [text for text in seen if "q quit" in text]
    assert on_screen
    assert not any("NOISE" in text for text in on_screen)
    screen.wait_for("NOISE1", "NOISE5", "exit code 0", history=200)


def test_quitting_goes_on_with_lines_and_ctrl_c_then_ends_the_run(terminal: Open, tmp_path: Path) -> None:
    screen = terminal("run", "--into", tmp_path / "r.sanpath", "--", "sh", "-c", "printf NOI%s SE >&2; sleep 500")
    screen.wait_for("RUNNING")
    screen.press("q")
    text = screen.wait_for("the run goes on", "sanpath: ", "NOISE")
    assert "exit code" not in text
    screen.press("C-c")
    screen.wait_for("exit code 130", history=200)
    assert list((tmp_path / "r.sanpath" / "writers").glob("*.end.json"))


def test_a_mark_is_an_event_of_the_recording_and_no_second_run(terminal: Open, tmp_path: Path) -> None:
    screen = terminal("run", "--into", tmp_path / "r.sanpath", "--", "sleep", "500")
    screen.wait_for("RUNNING")
    screen.press("m")
    screen.wait_for("text of the note")
    screen.press(*"to-RR", "Enter")
    screen.wait_for("marked: to-RR")
    screen.press("C-c")
    screen.wait_for("interrupted", "exit code 130", history=200)
    found = diagnose(Recording(tmp_path / "r.sanpath"))
    assert [mark.text for mark in found.marks] == ["to-RR"]
    assert found.run.complete
    assert found.run.load_command == "sleep 500"


GREYS = {*range(232, 256), 16, 59, 102, 145, 188, 231}
"""Of the 256 colours those without a hue."""


@pytest.mark.parametrize(
    ("settings", "sixteen"),
    [(("NO_COLOR=1",), False), (("COLORTERM=", "TERM=xterm-16color"), True)],
    ids=["none", "16"],
)
def test_no_colour_is_needed_to_read_it(recording: Path, settings: tuple[str, ...], sixteen: bool) -> None:
    screen = Terminal(["env", *settings, *SANPATH, "watch", str(recording)], recording.parent, 80, 24)
    try:
        text = screen.wait_for("BOTTLENECK", "LIMITS", "caused by", "ENDED")
        assert "█" in text
        drawn = screen.text(escapes=True)
        assert {int(number) for number in re.findall(r"[34]8;5;(\d+)", drawn)} <= GREYS
        assert bool(re.search(r"\x1b\[[349][1-6]m", drawn)) == sixteen
    finally:
        screen.close()


def test_ctrl_c_on_the_screen_ends_the_run_and_reports(terminal: Open, tmp_path: Path) -> None:
    screen = terminal("run", "--into", tmp_path / "r.sanpath", "--", "sleep", "500")
    screen.wait_for("RUNNING")
    screen.press("C-c")
    screen.wait_for("interrupted", "exit code 130", history=200)
    assert list((tmp_path / "r.sanpath" / "writers").glob("*.end.json"))


def test_help_does_not_wait_for_textual() -> None:
    code = "import sys, sanpath.cli; print({'textual', 'duckdb', 'rich.text'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"

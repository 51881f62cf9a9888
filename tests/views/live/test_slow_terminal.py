"""A terminal that takes no output, as over a line that hangs: the recorder notices nothing, and the run ends well."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sanpath.cli.sessions.child_process import environment
from sanpath.recording.reading.recording import Recording
from tests.views.live.terminal import PATIENCE_SECONDS

SECONDS = 12
SOURCE = "sources:\n  - {name: here, collector: linux_host, every_seconds: 1}\n"

pytestmark = pytest.mark.skipif(not Path("/proc/diskstats").exists(), reason="there is no Linux host to be read here")


@pytest.fixture
def stuck(tmp_path: Path) -> Iterator[tuple[int, int, Path]]:
    """(process, its terminal's other end, recording) of a run whose terminal nobody reads."""
    (tmp_path / "sanpath.yaml").write_text(SOURCE, encoding="utf-8")
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(tmp_path)
        command = [sys.executable, "-m", "sanpath", "run", "--into", "r.sanpath", "--for", str(SECONDS)]
        os.execve(sys.executable, command, {**environment(), "TERM": "xterm-256color"})
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 48, 200, 0, 0))
    yield process, terminal, tmp_path / "r.sanpath"
    os.close(terminal)
    try:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    except (ProcessLookupError, ChildProcessError):
        return  # It has ended by itself, as it should.


def test_no_poll_is_late_or_left_out(stuck: tuple[int, int, Path]) -> None:
    process, terminal, folder = stuck
    until = time.monotonic() + PATIENCE_SECONDS
    while not list((folder / "writers").glob("*.end.json")):
        assert time.monotonic() < until, "the recorder waits for the terminal"
        time.sleep(0.1)
    polls = Recording(folder).polls()
    assert len(polls) >= SECONDS - 1
    assert {poll.outcome for poll in polls} <= {"ok", "partial"}, "none was left out"
    assert os.waitpid(process, os.WNOHANG) == (0, 0), "its screen still waits to be read"
    reported = read_to_the_end(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    assert len(reported) > 4096, "there was a screen to be drawn"


def read_to_the_end(terminal: int) -> bytes:
    """What comes until nobody is left to write."""
    until, reported = time.monotonic() + PATIENCE_SECONDS, b""
    while time.monotonic() < until:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                reported += os.read(terminal, 1 << 16)
            except OSError:  # EIO: the other end is closed.
                return reported
    raise AssertionError("it does not end once its terminal is read")

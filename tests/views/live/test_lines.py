"""A run without a screen: what says how it goes gives way to the load, and ends when nobody reads it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sanpath.cli.child import environment
from tests.views.live.terminal import PATIENCE_SECONDS

MODULE = "sanpath.views.live.lines"
LOWEST = 19


@pytest.fixture
def running(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A run whose load ends when it is told to, whatever has become of the screen."""
    load = f"until [ -e {tmp_path / 'end'} ]; do sleep 0.1; done"
    process = subprocess.Popen(
        [sys.executable, "-m", "sanpath", "run", "--into", str(tmp_path / "r.sanpath"), "--", "sh", "-c", load],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield process
    (tmp_path / "end").touch()
    process.communicate(timeout=PATIENCE_SECONDS)


def pids_of(folder: Path) -> list[int]:
    """Processes with this folder on their command line; each test has one of its own."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes()
        except OSError:
            continue
        if os.fsencode(folder) in words and str(os.getpid()) != path.name:
            found.append(int(path.name))
    return found


def line_of(process: subprocess.Popen[str]) -> str:
    """The first plain line of a run on its standard error."""
    said = process.stderr
    assert said is not None
    late = threading.Timer(PATIENCE_SECONDS, process.kill)
    late.start()
    try:
        return next(line for line in said if "waiting for I/O" in line)
    finally:
        late.cancel()


def writer_of_lines(folder: Path) -> int:
    (pid,) = (pid for pid in pids_of(folder) if MODULE.encode() in Path(f"/proc/{pid}/cmdline").read_bytes())
    return pid


def test_who_looks_is_the_last_to_get_a_processor(running: subprocess.Popen[str], tmp_path: Path) -> None:
    line_of(running)
    pid = writer_of_lines(tmp_path)
    # Linux counts every thread by itself, and shares between sessions before it looks at threads.
    each = [os.getpriority(os.PRIO_PROCESS, int(thread.name)) for thread in Path(f"/proc/{pid}/task").iterdir()]
    assert set(each) == {LOWEST}
    if (session := Path(f"/proc/{pid}/autogroup")).exists():
        assert session.read_text().split()[-2:] == ["nice", str(LOWEST)]
    assert os.getpriority(os.PRIO_PROCESS, running.pid) == os.getpriority(os.PRIO_PROCESS, 0)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "killed"])
def test_lines_end_with_who_reads_them(running: subprocess.Popen[str], tmp_path: Path, how: int) -> None:
    line_of(running)
    pid = writer_of_lines(tmp_path)
    running.send_signal(how)
    until = time.monotonic() + PATIENCE_SECONDS
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < until
        time.sleep(0.1)

"""sanpath as processes, as a person starts, watches and kills them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from sanpath.cli.sessions.child_process import environment
from sanpath.recorder.loads import processes

PATIENCE_SECONDS = 180.0
"""A bound for what hangs: on a busy machine a minute's work takes more than one."""
T = TypeVar("T")


def sanpath(
    *arguments: str | Path, cwd: Path, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        command(*arguments),
        cwd=cwd,
        env=environment() | dict(env or {}),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "sanpath", *map(str, arguments)]


class Run:
    """`sanpath run` under way, with its output in files. `kill` it at the end of a test, with all it has started."""

    def __init__(
        self, folder: Path, *arguments: str | Path, stderr: int | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        self.folder, self.recording = folder, folder / "r.sanpath"
        self.out, self.err = folder / "out", folder / "err"
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.screen = subprocess.Popen(
                command("run", "--into", self.recording, *arguments),
                cwd=folder,
                env=environment() | dict(env or {}),
                stdout=out,
                stderr=err if stderr is None else stderr,
                start_new_session=True,
            )

    def recorder(self) -> int:
        """The process id of the recorder."""
        found = wait_for(lambda: [p for p in children(self.screen.pid) if "sanpath.recorder" in command_line(p)])
        return int(found[0])

    def load(self) -> list[int]:
        """Every living process of the load, children that have left it included."""
        folders = list((self.recording / "load").glob("*"))
        return [p for f in folders for name in ("fio", "load") for p in processes.marked(f"{name}@{f}")]

    def interrupt(self) -> None:
        """Ctrl-C: a terminal tells the screen's process group, and only that."""
        os.killpg(self.screen.pid, signal.SIGINT)

    def end(self) -> int:
        """Wait for the end of the screen. Returns its exit code."""
        return self.screen.wait(PATIENCE_SECONDS)

    def ended_well(self) -> bool:
        """Whether the recorder has said so."""
        return any((self.recording / "writers").glob("*.end.json"))

    def kill(self) -> None:
        recorders = [p for p in children(self.screen.pid) if "sanpath.recorder" in command_line(p)]
        for process in [*recorders, *self.load()]:
            os.kill(process, signal.SIGKILL)
        self.screen.kill()
        self.screen.wait()


def wait_for(look: Callable[[], T]) -> T:
    """Look until there is something to be seen."""
    until = time.monotonic() + PATIENCE_SECONDS
    while not (seen := look()):
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.05)
    return seen


def is_alive(process: int) -> bool:
    """Zombies are dead: nobody has asked for their exit code yet."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def children(process: int) -> list[int]:
    try:
        return [int(c) for c in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def command_line(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""

"""Runs the system's commands and the lab's long-lived processes, and ends them again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from real_lab.state import LabError

MARK = "SANPATH_REAL_LAB"
"""Environment variable with the lab's name: tells its processes from all others, before anybody knows their id."""

STOP_SECONDS = 3.0


def run(*command: str, lab: str = "", environment: dict[str, str] | None = None) -> str:
    """Standard output of a short command. Raises LabError with what it said when it fails."""
    done = subprocess.run(  # noqa: S603 - the lab's own fixed commands
        command, env=_environment(lab, environment), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise LabError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def start(command: Sequence[str], *, lab: str, log_file: Path, environment: dict[str, str] | None = None) -> None:
    """Start a process that outlives this one, in a session of its own, with its output in `log_file`."""
    with log_file.open("ab") as log:
        subprocess.run(  # noqa: S603 - the lab's own fixed commands
            ["setsid", "--fork", *command],  # noqa: S607
            env=_environment(lab, environment),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            check=True,
        )


def wait_until(ready: Callable[[], bool], what: str, seconds: float = 20.0) -> None:
    """Ask until `ready`. Raises LabError after `seconds`, generous because the machine may be busy."""
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            raise LabError(f"waited {seconds:g} s for {what}")
        time.sleep(0.05)


def processes_of(belongs: Callable[[str], bool]) -> set[int]:
    """Ids of the processes whose lab's name `belongs`. Zombies have no environment and are not among them."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and belongs(_lab_of(entry)):
            found.add(int(entry.name))
    return found - {os.getpid()}


def processes_in(namespace: str) -> set[int]:
    """Ids of the processes in a network namespace, the load's among them."""
    return {int(line) for line in run("ip", "netns", "pids", namespace).split()}


def stop(find: Callable[[], set[int]]) -> None:
    """End what `find` finds, politely first, and wait until it finds nothing. Raises LabError when it cannot."""
    for asked in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + STOP_SECONDS
        told: set[int] = set()
        while (left := find()) and time.monotonic() < deadline:
            for process in left - told:
                _signal(process, asked)
            told |= left
            time.sleep(0.05)
        if not left:
            return
    raise LabError(f"processes {sorted(left)} do not end")


def _signal(process: int, asked: signal.Signals) -> None:
    try:
        os.kill(process, asked)
    except ProcessLookupError:
        return


def _lab_of(process: Path) -> str:
    try:
        environment = (process / "environ").read_bytes()
    except OSError:
        return ""
    marks = (entry for entry in environment.split(b"\0") if entry.startswith(MARK.encode() + b"="))
    return next(marks, b"").partition(b"=")[2].decode(errors="replace")


def _environment(lab: str, more: dict[str, str] | None) -> dict[str, str]:
    """Times in UTC and no MIB files; modules are found where this process finds them."""
    fixed = {"TZ": "UTC0", "MIBS": "", "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), MARK: lab}
    return {**os.environ, **fixed, **(more or {})}

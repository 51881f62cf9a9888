"""Runs commands of the system, and starts and stops the lab's long-lived processes."""

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
"""Environment variable with the lab's name, which identifies its processes without their ids."""

STOP_SECONDS = 3.0


def run(*command: str, lab: str = "", environment: dict[str, str] | None = None) -> str:
    """Run a short command and return its standard output. Raises LabError with its message if it fails."""
    done = subprocess.run(  # noqa: S603 - the lab's own fixed commands
        command, env=_environment(lab, environment), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise LabError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def start(command: Sequence[str], *, lab: str, log_file: Path, environment: dict[str, str] | None = None) -> None:
    """Start a process that outlives this one, in a new session, with its output in `log_file`."""
    with log_file.open("ab") as log:
        subprocess.run(  # noqa: S603 - the lab's own fixed commands
            ["setsid", "--fork", *command],  # noqa: S607
            env=_environment(lab, environment),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            check=True,
        )


def wait_until(ready: Callable[[], bool], awaited: str, seconds: float = 60.0) -> None:
    """Wait until `ready`. Raises LabError after `seconds`, which is long because the machine may be busy.

    `awaited`: what the message of the error names.
    """
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            raise LabError(f"waited {seconds:g} s for {awaited}")
        time.sleep(0.05)


def processes_of(belongs: Callable[[str], bool]) -> set[int]:
    """Return ids of the processes whose lab's name satisfies `belongs`, without zombies: they have no environment."""
    processes = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and belongs(_lab_of(entry)):
            processes.add(int(entry.name))
    return processes - {os.getpid()}


def processes_in(namespace: str) -> set[int]:
    """Return ids of the processes in a network namespace, including the load's."""
    return {int(line) for line in run("ip", "netns", "pids", namespace).split()}


def stop(find: Callable[[], set[int]]) -> None:
    """End the processes that `find` returns, by SIGTERM, then by SIGKILL. Raises LabError if some do not end."""
    for asked in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + STOP_SECONDS
        signalled: set[int] = set()
        while (remaining := find()) and time.monotonic() < deadline:
            for process in remaining - signalled:
                _signal(process, asked)
            signalled |= remaining
            time.sleep(0.05)
        if not remaining:
            return
    raise LabError(f"processes {sorted(remaining)} do not end")


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


def _environment(lab: str, additional: dict[str, str] | None) -> dict[str, str]:
    """Return the environment of a process: times in UTC, no MIB files, and the module path of this process."""
    fixed = {"TZ": "UTC0", "MIBS": "", "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), MARK: lab}
    return {**os.environ, **fixed, **(additional or {})}

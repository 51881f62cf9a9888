"""The processes of a load command, those included that have left its process group.

fio's jobs call setsid(): no signal to the group of their parent reaches them, and they run on when it is killed. They
are told by a mark in the environment, which children inherit, where the system shows it (Linux: /proc).
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from sanpath.recorder.request import PYTHONPATH_BEFORE

MARK = "SANPATH_LOAD"
RECORDING = "SANPATH_RECORDING"


def environment(mark: str, run_id: str = "") -> dict[str, str]:
    """The environment of a load command: the person's own, so that a load written in Python finds its modules; with
    a mark that tells it from all others and, of one that outlives its recorder, the run id of the recording."""
    theirs = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", PYTHONPATH_BEFORE)}
    if before := os.environ.get(PYTHONPATH_BEFORE):
        theirs["PYTHONPATH"] = before
    return theirs | {MARK: mark} | ({RECORDING: run_id} if run_id else {})


def marked(mark: str) -> list[int]:
    """Ids of the processes that a command with this mark has started, itself included; [] where /proc is missing."""
    return _with(f"{MARK}={mark}")


def of_recording(run_id: str) -> list[int]:
    """Ids of the processes of every load of a recording that runs on this machine, and whose environment this user
    may read; [] where /proc is missing."""
    return sorted(_with(f"{RECORDING}={run_id}"))


def signal_all(group: int, mark: str, number: signal.Signals) -> None:
    """Signal a process group and every process with the mark."""
    signal_group(group, number)
    for process in marked(mark):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)


def signal_group(group: int, number: signal.Signals) -> None:
    """Signal a process group, if there is still one."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _with(entry: str) -> list[int]:
    wanted = os.fsencode(entry)
    return [int(p.name) for p in Path("/proc").glob("[0-9]*") if wanted in _environ(p).split(b"\0")]


def _environ(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""

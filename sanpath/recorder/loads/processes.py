"""The processes of a load command, including those that have left its process group.

fio's jobs call setsid(): signals to their parent's group do not reach them, and they survive when it is killed. They
are identified by a mark in the environment, which children inherit, if the system shows it (Linux: /proc).
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from sanpath.recorder.control import PYTHONPATH_BEFORE

MARK = "SANPATH_LOAD"
RECORDING = "SANPATH_RECORDING"


def environment(mark: str, run_id: str = "") -> dict[str, str]:
    """Return the environment of a load command.

    It is the user's environment, so that a load written in Python finds its modules. The mark distinguishes the load
    from all others; `run_id` identifies the recording of a load that outlives its recorder.
    """
    variables = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", PYTHONPATH_BEFORE)}
    if before := os.environ.get(PYTHONPATH_BEFORE):
        variables["PYTHONPATH"] = before
    return variables | {MARK: mark} | ({RECORDING: run_id} if run_id else {})


def marked(mark: str) -> list[int]:
    """Return the ids of a command with this mark and of its child processes; [] without /proc."""
    return _find_by_environment(f"{MARK}={mark}")


def load_processes(run_id: str) -> list[int]:
    """Return the ids of all processes of a recording's loads on this machine; [] without /proc.

    Only processes whose environment this user may read are included.
    """
    return sorted(_find_by_environment(f"{RECORDING}={run_id}"))


def signal_all(group: int, mark: str, number: signal.Signals) -> None:
    """Signal a process group and every process with the mark."""
    signal_group(group, number)
    for process in marked(mark):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)


def signal_group(group: int, number: signal.Signals) -> None:
    """Signal a process group if it still exists."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _find_by_environment(entry: str) -> list[int]:
    wanted = os.fsencode(entry)
    return [int(process.name) for process in Path("/proc").glob("[0-9]*") if wanted in _environ(process).split(b"\0")]


def _environ(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""

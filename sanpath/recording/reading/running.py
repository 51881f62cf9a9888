"""Distinguishes a recording that still grows from one whose recorder was killed: neither has an ending."""

from __future__ import annotations

import platform
import socket
import time
from typing import Literal

from sanpath.recording.format.recorder_starts import Start, latest
from sanpath.recording.reading.recording import Recording
from sanpath.recording.viewer_protocol import socket_path

SIGN_SECONDS = 45.0
"""Three times the interval of clock comparisons, each of which is a sign of life."""

Growth = Literal["is", "may be"]


def growth(recording: Recording) -> Growth | None:
    """Return whether a recorder still writes. "is": one on this machine answers at its socket. "may be": one on
    another machine wrote recently, and may have been killed since. None: none does."""
    open_starts = [s for s in latest([s for s in recording.starts if s.header.recorder]) if s.ending is None]
    here = [start for start in open_starts if start.header.host == platform.node()]
    if any(_answers(recording.manifest.run_id, start) for start in here):
        return "is"
    return "may be" if any(_wrote_just_now(recording, s) for s in open_starts if s not in here) else None


def _answers(run_id: str, start: Start) -> bool:
    path = socket_path(run_id, start.writer)
    if path is None:
        return False
    with socket.socket(socket.AF_UNIX) as connection:
        connection.setblocking(False)
        try:
            connection.connect(str(path))
        except BlockingIOError:
            return True  # Too many viewers connect at once.
        except OSError:
            return False
    return True


def _wrote_just_now(recording: Recording, start: Start) -> bool:
    sign = recording.signs_of_life.get(start.writer)
    return sign is not None and abs(time.time() - sign[1] / 1e6) <= SIGN_SECONDS

"""The live view over a recording, where there is a terminal for it, and the plain lines where there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from sanpath.cli.sessions.child_process import environment, python
from sanpath.recording.storage.store import Location

if TYPE_CHECKING:
    from sanpath.rulebook.site import Choice


def fits() -> bool:
    """Whether keys can be read from the terminal and a screen drawn on it; a job in the background must not try."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    if not all(stream is not None and stream.isatty() for stream in streams):
        return False
    return os.environ.get("TERM", "") not in ("", "dumb") and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()


def show(
    folder: Location,
    choice: Choice,
    ended: Callable[[], bool] | None = None,
    interrupt: Callable[[], None] | None = None,
    hint: str = "",
) -> None:
    """Show a recording until the person leaves or `ended` says so. `interrupt`: what Ctrl-C does; None: it leaves.
    `hint`: a line for who tries it out."""
    from sanpath.pulse.viewer import Viewer
    from sanpath.views.live.app import LiveView
    from sanpath.views.live.reading.feed import ReaderProcess

    command = python("sanpath.views.live.reading.reader", str(folder), *choice.arguments())
    LiveView(ReaderProcess(command, environment()), ended, interrupt, Viewer(folder), hint).run()


class Lines:
    """Plain lines about a recording on standard error, by a process of their own: the run must not wait for them.
    Ended when left."""

    def __init__(self, folder: Location, choice: Choice) -> None:
        self._command = python("sanpath.views.live.plain_lines", str(folder), *choice.arguments())
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            with self._process:
                self._process.terminate()

    def begin(self) -> None:
        """Have them written from now on."""
        if self._process is None:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
                self._command,
                stdin=subprocess.PIPE,
                stdout=sys.__stderr__ or subprocess.DEVNULL,
                env=environment(),
                start_new_session=True,
            )

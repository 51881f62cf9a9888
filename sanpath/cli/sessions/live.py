"""The live view of a recording on a terminal, or plain lines without one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from sanpath.cli.sessions.child_process import environment, python
from sanpath.extras import LIVE
from sanpath.recording.storage.store import Location, store_at

if TYPE_CHECKING:
    from sanpath.pulse.viewer import Viewer
    from sanpath.rulebook.site.options import Choice


def can_show_screen() -> bool:
    """Whether the terminal can be read and drawn on; a job in the background must not try."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    if not all(stream is not None and stream.isatty() for stream in streams):
        return False
    return os.environ.get("TERM", "") not in ("", "dumb") and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()


def is_usable() -> bool:
    """Whether the live view can be shown; prints a remark if only its library is missing."""
    if not can_show_screen():
        return False
    if LIVE.missing:
        print(f"sanpath: plain lines: the live view is not installed: {LIVE.command}", file=sys.stderr)
        return False
    return True


def show(
    folder: Location,
    choice: Choice,
    ended: Callable[[], bool] | None = None,
    interrupt: Callable[[], None] | None = None,
    begin: Callable[[], None] | None = None,
    hint: str = "",
) -> None:
    """Show a recording until the user quits or `ended` returns True. `interrupt`: the action of Ctrl-C; None: it
    quits. `begin` starts the run, once the screen is drawn. `hint`: a line for the user of a demo."""
    from sanpath.views.live.app import LiveView
    from sanpath.views.live.reading.feed import ReaderProcess

    command = python("sanpath.views.live.reading.reader", str(folder), *choice.arguments())
    LiveView(ReaderProcess(command, environment()), ended, interrupt, partial(_viewer, folder), begin, hint).run()


def _viewer(folder: Location) -> Viewer:
    from sanpath.pulse.viewer import Viewer  # It loads what takes longer than drawing the screen.

    return Viewer(folder)


class Lines:
    """Plain lines about a recording on standard error, from a separate process, so that the run does not wait for
    them. The process ends with the context."""

    def __init__(self, folder: Location, choice: Choice) -> None:
        self._folder = folder
        self._command = python("sanpath.views.live.plain_lines", str(folder), *choice.arguments())
        self._process: subprocess.Popen[bytes] | None = None
        self._named = False

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            with self._process:
                self._process.terminate()

    def name_recording(self) -> None:
        """Name the recording, once, as soon as its recorder writes into it."""
        if not self._named and store_at(self._folder).list("writers"):
            self._named = True
            print(f"sanpath: recording {self._folder}", file=sys.stderr)

    def begin(self) -> None:
        """Start the process, if it is not running."""
        if self._process is None:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
                self._command,
                stdin=subprocess.PIPE,
                stdout=sys.__stderr__ or subprocess.DEVNULL,
                env=environment(),
                start_new_session=True,
            )

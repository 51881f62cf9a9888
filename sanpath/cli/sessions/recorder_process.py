"""The command's side of the recorder process: start it, print progress while it runs, stop it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import BinaryIO

from sanpath.cli.sessions.child_process import environment, python
from sanpath.recorder.request import ABORT, STOP, RunRequest

PROGRESS_SECONDS = 5.0

Screen = Callable[[Callable[[], bool], Callable[[], None]], None]
"""Shows the run until its first argument returns True (it has ended) or the user quits; its second one interrupts
the run."""


class Interrupted:
    """Counts Ctrl-C while it is entered: the first stops the run, the second ends it at once."""

    def __init__(self, send: Callable[[str], None]) -> None:
        self.count = 0
        self._send = send

    def __enter__(self) -> Interrupted:
        self._before = signal.signal(signal.SIGINT, lambda *_: self.interrupt())
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def interrupt(self) -> None:
        """Handle one Ctrl-C."""
        self.count += 1
        self._send(STOP if self.count == 1 else ABORT)


def record(
    request: RunRequest,
    progress: Callable[[], None],
    screen: Screen | None = None,
    every_seconds: float = PROGRESS_SECONDS,
    control: Callable[[Callable[[str], None]], None] | None = None,
) -> tuple[int, bool]:
    """Run the recorder to its end. Returns its exit code and whether it was interrupted.

    `screen` is shown first, if there is one; after it `progress` is called, `every_seconds`. What they raise does not
    end the run: they only read the recording. `control` is given a function that sends a line to the recorder; then
    `progress` decides what is run, and is always called in time.
    The recorder has a session of its own: losing the terminal, or this process, does not end the test.
    """
    # A file, not a pipe: messages must not write over the screen, and the recorder must not wait for a dead screen.
    messages = tempfile.TemporaryFile() if screen is not None else None  # noqa: SIM115 - open as long as the process
    process = subprocess.Popen(  # noqa: S603 - our own interpreter
        python("sanpath.recorder"),
        stdin=subprocess.PIPE,
        stderr=messages,
        text=True,
        env=environment(),
        start_new_session=True,
    )
    pipe = process.stdin
    if pipe is None:
        raise RuntimeError("the recorder was started without a pipe")

    def send(command: str) -> None:
        try:
            pipe.write(f"{command}\n")
            pipe.flush()
        except (BrokenPipeError, ValueError):
            return  # The recorder has ended by itself.

    with Interrupted(send) as interrupted:
        send(request.model_dump_json())
        if control is not None:
            control(send)
        if screen is not None:
            _guarded(partial(screen, lambda: process.poll() is not None, interrupted.interrupt))
            if process.poll() is None:
                print("sanpath: the run goes on; Ctrl-C ends it", file=sys.stderr)
        relay = Relay(messages)
        due = time.monotonic() + every_seconds
        while (code := process.poll()) is None:
            time.sleep(0.1)
            relay.copy()
            if time.monotonic() >= due:
                began = time.monotonic()
                _guarded(progress)
                # Never more than a tenth of the time, unless the run waits for it.
                pause = 0.0 if control is not None else 10 * (time.monotonic() - began)
                due = time.monotonic() + max(every_seconds, pause)
        relay.copy()
    if code == 0 and interrupted.count:
        print("sanpath: interrupted; this is what was recorded until then", file=sys.stderr)
    return code, interrupted.count > 0


class Relay:
    """Copies the messages of the recorder from a file to standard error. None: the recorder writes there itself."""

    def __init__(self, messages: BinaryIO | None) -> None:
        self._messages, self._copied = messages, 0

    def copy(self) -> None:
        """Copy the new messages."""
        # pread: the file position is shared with the recorder, which writes there.
        while self._messages is not None and (added := os.pread(self._messages.fileno(), 1 << 16, self._copied)):
            self._copied += len(added)
            sys.stderr.buffer.write(added)
            sys.stderr.flush()


def _guarded(call: Callable[[], None]) -> None:
    try:
        call()
    except Exception as error:
        print(f"sanpath: the run cannot be shown: {type(error).__name__}: {error}", file=sys.stderr)

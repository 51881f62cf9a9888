"""The screen's end of the recorder process: start it, follow it with progress lines, stop it."""

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
"""Shows the run until it has ended (which its first argument tells) or is left; the second one interrupts the run."""


class Interrupted:
    """Counts Ctrl-C while it is entered: the first stops the run, the second ends it at once."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.count = 0
        self._tell = tell

    def __enter__(self) -> Interrupted:
        self._before = signal.signal(signal.SIGINT, lambda *_: self.hear())
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def hear(self) -> None:
        """One Ctrl-C."""
        self.count += 1
        self._tell(STOP if self.count == 1 else ABORT)


def record(
    request: RunRequest,
    progress: Callable[[], None],
    screen: Screen | None = None,
    every_seconds: float = PROGRESS_SECONDS,
) -> tuple[int, bool]:
    """Run the recorder to its end. Returns its exit code and whether it was interrupted.

    `screen` is shown first, if there is one; after it `progress` is called, `every_seconds`. What they raise does not
    end the run: they only look at the recording.
    The recorder has a session of its own: losing the terminal, or this process, does not end the test.
    """
    # A file, not a pipe: what the recorder says must not write over the screen, nor wait for a screen that has died.
    said = tempfile.TemporaryFile() if screen is not None else None  # noqa: SIM115 - open as long as the process
    process = subprocess.Popen(  # noqa: S603 - our own interpreter
        python("sanpath.recorder"),
        stdin=subprocess.PIPE,
        stderr=said,
        text=True,
        env=environment(),
        start_new_session=True,
    )
    pipe = process.stdin
    if pipe is None:
        raise RuntimeError("the recorder was started without a pipe")

    def tell(word: str) -> None:
        try:
            pipe.write(f"{word}\n")
            pipe.flush()
        except (BrokenPipeError, ValueError):
            return  # It has ended by itself.

    with Interrupted(tell) as interrupted:
        tell(request.model_dump_json())
        if screen is not None:
            _guarded(partial(screen, lambda: process.poll() is not None, interrupted.hear))
            if process.poll() is None:
                print("sanpath: the run goes on; Ctrl-C ends it", file=sys.stderr)
        relay = Relay(said)
        due = time.monotonic() + every_seconds
        while (code := process.poll()) is None:
            time.sleep(0.1)
            relay.copy()
            if time.monotonic() >= due:
                began = time.monotonic()
                _guarded(progress)
                # Never more than a tenth of the time.
                due = time.monotonic() + max(every_seconds, 10 * (time.monotonic() - began))
        relay.copy()
    if code == 0 and interrupted.count:
        print("sanpath: interrupted; this is what was recorded until then", file=sys.stderr)
    return code, interrupted.count > 0


class Relay:
    """Copies what the recorder has said into a file to our standard error. None: it speaks for itself."""

    def __init__(self, said: BinaryIO | None) -> None:
        self._said, self._copied = said, 0

    def copy(self) -> None:
        """Whatever is new."""
        # pread: the recorder writes at the file's own position, which it shares with us.
        while self._said is not None and (more := os.pread(self._said.fileno(), 1 << 16, self._copied)):
            self._copied += len(more)
            sys.stderr.buffer.write(more)
            sys.stderr.flush()


def _guarded(show: Callable[[], None]) -> None:
    try:
        show()
    except Exception as error:
        print(f"sanpath: the run cannot be shown: {type(error).__name__}: {error}", file=sys.stderr)

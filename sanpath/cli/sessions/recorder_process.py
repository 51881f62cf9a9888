"""The command's side of the recorder process: start it, print progress while it runs, stop it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from sanpath.cli.sessions.child_process import environment, python
from sanpath.recorder.control import ABORT, STOP

if TYPE_CHECKING:
    from sanpath.recorder.request import RunRequest

PROGRESS_SECONDS = 5.0

Screen = Callable[[Callable[[], bool], Callable[[], None], Callable[[], None]], None]
"""Shows the run until its first argument returns True (it has ended) or the user quits; its second one interrupts the
run. Its third one begins the run: it is called when the screen is drawn, in any thread, and takes seconds."""


class Interrupted:
    """Counts Ctrl-C while it is entered: the first stops the run, the second ends it immediately."""

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


class Recorder:
    """The recorder process. `make_request` is called at its start; `messages`: see Relay."""

    def __init__(self, make_request: Callable[[], RunRequest], messages: BinaryIO | None) -> None:
        self._make_request, self._messages = make_request, messages
        self._process: subprocess.Popen[str] | None = None
        self._failure: Exception | None = None
        self._beginning = threading.Lock()
        self._unsent: deque[str] = deque()

    def begin(self) -> None:
        """Start it, unless it was started before. Errors are raised by `process`."""
        with self._beginning:
            if self._process is not None or self._failure is not None:
                return
            try:
                request = self._make_request()
                self._unsent.appendleft(request.model_dump_json())
                self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
                    python("sanpath.recorder"),
                    stdin=subprocess.PIPE,
                    stderr=self._messages,
                    text=True,
                    env=environment(),
                    start_new_session=True,
                )
            except Exception as error:
                self._failure = error
        self._send()

    @property
    def process(self) -> subprocess.Popen[str]:
        """The process, which is started now if necessary."""
        self.begin()
        if self._process is None:
            raise self._failure or RuntimeError("the recorder was not started")
        return self._process

    def has_ended(self) -> bool:
        """Whether it has ended, or could not be started."""
        return self._failure is not None or (self._process is not None and self._process.poll() is not None)

    def send(self, command: str) -> None:
        """Send it a line, as soon as it has started."""
        self._unsent.append(command)
        self._send()

    def _send(self) -> None:
        pipe = self._process.stdin if self._process is not None else None
        if pipe is None:
            return
        try:
            while True:
                pipe.write(f"{self._unsent.popleft()}\n")
                pipe.flush()
        except IndexError:
            return  # Everything has been sent.
        except (BrokenPipeError, ValueError):  # The recorder has ended by itself.
            with contextlib.suppress(OSError):  # Or Python would try to send the rest at its exit, and report that.
                pipe.close()


def record(
    make_request: Callable[[], RunRequest],
    progress: Callable[[], None],
    screen: Screen | None = None,
    every_seconds: float = PROGRESS_SECONDS,
    control: Callable[[Callable[[str], None]], None] | None = None,
) -> tuple[int, bool]:
    """Run the recorder to its end. Returns its exit code and whether it was interrupted.

    `make_request` is called once the screen is drawn; its exceptions are raised here. `screen` is shown first, if
    there is one; afterwards `progress` is called, `every_seconds`. Their exceptions do not end the run: they only
    read the recording. `control` is given a function that sends a line to the recorder; then `progress` decides what
    is run, and is always called in time. The recorder has its own session: losing the terminal, or this process, does
    not end the test.
    """
    # A file, not a pipe: messages must not overwrite the screen, and the recorder must not wait for a dead screen.
    messages = tempfile.TemporaryFile() if screen is not None else None  # noqa: SIM115 - open as long as the process
    recorder = Recorder(make_request, messages)
    with Interrupted(recorder.send) as interrupted:
        if screen is not None:
            _guarded(partial(screen, recorder.has_ended, interrupted.interrupt, recorder.begin))
        process = recorder.process
        if screen is not None and process.poll() is None:
            print("sanpath: the run goes on; Ctrl-C ends it", file=sys.stderr)
        if control is not None:
            control(recorder.send)
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

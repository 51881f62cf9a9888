"""The screen's end of the recorder process: start it, follow it with progress lines, stop it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from types import FrameType

from sanpath.cli.child import environment, python
from sanpath.recorder.request import ABORT, STOP, RunRequest

PROGRESS_SECONDS = 5.0


class Interrupted:
    """Counts Ctrl-C while it is entered: the first stops the run, the second ends it at once."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.count = 0
        self._tell = tell

    def __enter__(self) -> Interrupted:
        self._before = signal.signal(signal.SIGINT, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _hear(self, _number: int, _frame: FrameType | None) -> None:
        self.count += 1
        self._tell(STOP if self.count == 1 else ABORT)


def record(request: RunRequest, progress: Callable[[], None]) -> tuple[int, bool]:
    """Run the recorder to its end. Returns its exit code and whether it was interrupted.

    `progress` is called every few seconds; what it raises does not end the run: it only looks at the recording.
    The recorder has a session of its own: losing the terminal, or this process, does not end the test.
    """
    process = subprocess.Popen(  # noqa: S603 - our own interpreter
        python("sanpath.recorder"), stdin=subprocess.PIPE, text=True, env=environment(), start_new_session=True
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
        due = time.monotonic() + PROGRESS_SECONDS
        while (code := process.poll()) is None:
            time.sleep(0.1)
            if time.monotonic() >= due:
                began = time.monotonic()
                _guarded(progress)
                # A long recording takes long to judge: never more than a tenth of the time.
                due = time.monotonic() + max(PROGRESS_SECONDS, 10 * (time.monotonic() - began))
    if code == 0 and interrupted.count:
        print("sanpath: interrupted; this is what was recorded until then", file=sys.stderr)
    return code, interrupted.count > 0


def _guarded(progress: Callable[[], None]) -> None:
    try:
        progress()
    except Exception as error:
        print(f"sanpath: no progress line: {type(error).__name__}: {error}", file=sys.stderr)

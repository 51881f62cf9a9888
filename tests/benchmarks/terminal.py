"""A command on a terminal of its own, as a person would run it."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

ROWS, COLUMNS = 48, 160


@contextmanager
def on_a_terminal(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    drawn: Callable[[bytes], None] = lambda _: None,
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Yield the process and the file descriptor that its keys are written to; the process is killed on exit.

    `drawn`: is called with what the command sends to its terminal, in a thread of its own.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    process = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env={**environment, "TERM": "xterm-256color"},
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    reading = threading.Thread(target=_read, args=(ours, drawn), daemon=True)
    reading.start()
    try:
        yield process, ours
    finally:
        process.kill()
        process.wait()
        reading.join(5)
        os.close(ours)


def _read(terminal: int, drawn: Callable[[bytes], None]) -> None:
    """As a terminal does; OSError: nobody writes any more."""
    with suppress(OSError):
        while data := os.read(terminal, 1 << 20):
            drawn(data)

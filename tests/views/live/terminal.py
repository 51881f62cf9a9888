"""A real terminal: tmux, with a server of its own; and what runs behind it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

from sanpath.cli.sessions.child_process import environment

PATIENCE_SECONDS = 60.0
SANPATH = (sys.executable, "-m", "sanpath")
READER = b"sanpath.views.live.reading.reader"
_LOOKING = (READER, b"sanpath.views.live.plain_lines")


class Terminal:
    """A command on a terminal of a given size. `close` it at the end."""

    def __init__(self, command: Sequence[str], cwd: Path, width: int, height: int) -> None:
        self._server = f"sanpath-{uuid.uuid4().hex[:8]}"
        # Ctrl-C reaches the shell, too, and must not end it.
        script = f"trap : INT; {shlex.join(command)}; echo exit code $?; exec sleep 600"
        self._tmux(
            *("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), "-c", str(cwd)),
            f"exec sh -c {shlex.quote(script)}",
        )

    def _tmux(self, *words: str) -> str:
        # With these variables a program would not ask the terminal for its size.
        variables = {name: value for name, value in environment().items() if name not in ("COLUMNS", "LINES")}
        done = subprocess.run(
            ["tmux", "-L", self._server, *words], env=variables, capture_output=True, text=True, check=True
        )
        return done.stdout

    def text(self, history: int = 0, escapes: bool = False) -> str:
        """What is on it, and so many lines of what has scrolled away; with `escapes` how it is drawn as well."""
        return self._tmux("capture-pane", *(("-e",) if escapes else ()), "-p", "-S", str(-history))

    def wait_for(self, *words: str, history: int = 0) -> str:
        """The screen, once all these words are on it."""
        until = time.monotonic() + PATIENCE_SECONDS
        while not all(word in (text := self.text(history)) for word in words):
            assert "exit code" not in text or "exit code" in " ".join(words), f"ended without {words}:\n{text}"
            assert time.monotonic() < until, f"waited in vain for {words}:\n{text}"
            time.sleep(0.1)
        return text

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def resize(self, width: int, height: int) -> None:
        """Again until tmux has done it: on a busy machine it may leave a window as it was."""
        until = time.monotonic() + PATIENCE_SECONDS
        while self._tmux("display-message", "-p", "#{pane_width} #{pane_height}").strip() != f"{width} {height}":
            assert time.monotonic() < until, "tmux does not change the size of the terminal"
            self._tmux("resize-window", "-x", str(width), "-y", str(height))
            time.sleep(0.1)

    def process(self) -> int:
        """The process id of the command."""
        shell = self._tmux("display-message", "-p", "#{pane_pid}").strip()
        return int(Path(f"/proc/{shell}/task/{shell}/children").read_text().split()[0])

    def close(self) -> None:
        # The server may have gone with its last session.
        subprocess.run(["tmux", "-L", self._server, "kill-server"], env=os.environ, capture_output=True, check=False)


Open = Callable[..., Terminal]
"""Starts sanpath with so many words, on a terminal of `size`."""


def readers_of(folder: Path, *which: bytes) -> list[int]:
    """Processes that look at this recording, all or of some modules; each test has a folder of its own."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if set(which or _LOOKING).intersection(words) and os.fsencode(folder) in words:
            found.append(int(path.name))
    return found

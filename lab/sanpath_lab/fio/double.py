"""A double of fio for the lab: starts the simulated load and prints fio's status stream.

    python -m sanpath_lab.fio.double --lab HOST:PORT [options of fio]

Of fio's options it heeds --output-format, --status-interval and --output; it accepts and ignores the rest.
"""

from __future__ import annotations

import argparse
import json
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import IO, Any, TextIO

from sanpath_lab.fio.document import document, render, summary

POLL_SECONDS = 0.1
INTERRUPTED = 128
"""fio's exit code after a signal."""


class Signals:
    """Remembers the first SIGINT or SIGTERM, so that no answer of the lab is left half read."""

    def __init__(self) -> None:
        self.number: int | None = None
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._remember)

    def _remember(self, number: int, _frame: FrameType | None) -> None:
        self.number = self.number or number


class Lab:
    """The lab's load control. Raises OSError when the lab is gone."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._connection = socket.create_connection((host, int(port)), timeout=30)
        self._lines: IO[bytes] = self._connection.makefile("rb")

    def do(self, command: str) -> dict[str, Any]:
        """Give a command; returns its answer."""
        self._connection.sendall(json.dumps({"do": command}).encode() + b"\n")
        line = self._lines.readline()
        if not line.endswith(b"\n"):
            raise ConnectionError("the lab has ended")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ConnectionError(answer["error"])
        return answer

    def finished(self) -> bool:
        """Return whether the load has ended; cheaper than its status."""
        return bool(self.do("ask")["finished"])


class Printer:
    """Prints documents and, at the end, a summary, as --output-format asks."""

    def __init__(self, formats: Sequence[str], out: TextIO) -> None:
        self._json = any(name.startswith("json") for name in formats)
        self._normal = "normal" in formats or not self._json
        self._out = out

    def status(self, status: dict[str, Any]) -> None:
        """A document in between."""
        if self._json:
            self._out.write(render(document(status)))
            self._out.flush()

    def final(self, status: dict[str, Any]) -> None:
        """The last document, the summary or both."""
        self.status(status)
        if self._normal:
            self._out.write(summary(status))
            self._out.flush()

    def note(self, text: str) -> None:
        """A line between documents, as fio writes it."""
        self._out.write(f"\n{text}\n")
        self._out.flush()


def _seconds(text: str) -> float:
    """A time as fio reads it: seconds unless it ends in ms."""
    if text.endswith("ms"):
        return float(text[:-2]) / 1000
    return float(text.removesuffix("s"))


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fio", allow_abbrev=False)
    parser.add_argument("--lab", required=True, metavar="HOST:PORT")
    parser.add_argument("--output-format", default="normal")
    parser.add_argument("--status-interval", type=_seconds, default=0.0)
    parser.add_argument("--output", type=Path)
    arguments, _ignored = parser.parse_known_args(argv)
    return arguments


def _run(lab: Lab, printer: Printer, interval_seconds: float, signals: Signals) -> int:
    lab.do("begin")
    due = time.monotonic() + interval_seconds
    while not lab.finished() and signals.number is None:
        if interval_seconds and time.monotonic() >= due:
            printer.status(lab.do("status"))
            due += interval_seconds
        pause = min(POLL_SECONDS, due - time.monotonic()) if interval_seconds else POLL_SECONDS
        time.sleep(max(0.0, pause))
    if signals.number is not None:
        printer.note(f"fio: terminating on signal {signals.number}")
        lab.do("stop")
        while not lab.finished():
            time.sleep(POLL_SECONDS)
    printer.final(lab.do("status"))
    return 0 if signals.number is None else INTERRUPTED


def main(argv: Sequence[str] | None = None) -> int:
    """Run the double; returns fio's exit code: 0, 128 after a signal, 1 when the lab is gone or busy."""
    arguments = _arguments(sys.argv[1:] if argv is None else argv)
    signals = Signals()
    try:
        with ExitStack() as stack:
            out = stack.enter_context(arguments.output.open("w")) if arguments.output else sys.stdout
            printer = Printer(arguments.output_format.split(","), out)
            return _run(Lab(arguments.lab), printer, arguments.status_interval, signals)
    except OSError as problem:
        print(f"fio: {problem}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())

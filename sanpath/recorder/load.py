"""The load command: started by the recorder, its output kept byte for byte and read while it grows."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import sys
from pathlib import Path
from typing import BinaryIO

from sanpath.errors import UsageError
from sanpath.model import Event, Poll, Rows
from sanpath.plugin import Clock, LoadReader, WrappedCommand
from sanpath.recorder.sink import Sink

TAIL_SECONDS = 0.1
INTERRUPT_SECONDS = 5.0
TERMINATE_SECONDS = 2.0


class Load:
    """One load command. Its output goes straight into files of `folder`, so it never waits for a reader."""

    def __init__(
        self, command: WrappedCommand, reader: LoadReader | None, source: str, folder: Path, clock: Clock, sink: Sink
    ):
        self._command, self._reader, self._source, self._clock, self._sink = command, reader, source, clock, sink
        self._output, self._errors = folder / "output", folder / "errors"
        self._stale: int | None = None
        self.exit_code: int | None = None
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start it in a process group of its own. Raises UsageError when it cannot be started."""
        self._output.parent.mkdir(parents=True, exist_ok=True)
        # A file of an earlier run under the name that the generator will write to is not its output.
        self._stale = _changed(self._followed)
        with self._output.open("wb") as out, self._errors.open("wb") as err:
            try:
                self._process = await asyncio.create_subprocess_exec(
                    *self._command.argv,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,
                )
            except OSError as error:
                raise UsageError(f"{self._command.argv[0]}: cannot be started: {error.strerror}") from error
        self._event("load-started", {"command": " ".join(without_credentials(self._command.argv))})

    async def follow(self) -> int:
        """Read until it has ended. Returns its exit code, 128 + n after signal n."""
        assert self._process is not None, "start() comes first"  # noqa: S101 - a misuse by the recorder itself
        wait = asyncio.ensure_future(self._process.wait())
        with self._errors.open("rb") as errors:
            output: BinaryIO | None = None
            while True:
                ended = wait.done()
                if output is None and _changed(self._followed) != self._stale:
                    output = self._followed.open("rb")
                self._read(output, errors)
                if ended:
                    break
                await asyncio.wait([wait], timeout=TAIL_SECONDS)
            if output is not None:
                output.close()
        self._end_group(signal.SIGTERM)
        code = wait.result()
        self.exit_code = 128 - code if code < 0 else code
        if self._reader is not None:
            for item in self._reader.finish(self._clock.now_us()):
                self._sink.take(self._source, self._clock.now_us(), item)
            self._show(self._reader.passthrough())
        if output is not None and self._command.output_file:
            self._output.with_name("output-file").write_bytes(self._followed.read_bytes())
        self._event("load-ended", {"exit_code": self.exit_code})
        return self.exit_code

    @property
    def _followed(self) -> Path:
        return Path(self._command.output_file) if self._command.output_file else self._output

    async def interrupt(self) -> None:
        """End it and its children: as Ctrl-C would, then harder."""
        for number, seconds in ((signal.SIGINT, INTERRUPT_SECONDS), (signal.SIGTERM, TERMINATE_SECONDS)):
            self._end_group(number)
            if self._process is None:
                return
            try:
                await asyncio.wait_for(asyncio.shield(self._process.wait()), seconds)
                return
            except TimeoutError:
                continue
        self.kill()

    def kill(self) -> None:
        """End it and its children at once."""
        self._end_group(signal.SIGKILL)

    def _end_group(self, number: signal.Signals) -> None:
        # fio's jobs are processes of their own and outlive a killed parent: the whole group is addressed.
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def _read(self, output: BinaryIO | None, errors: BinaryIO) -> None:
        added = output.read() if output is not None else b""
        if added and self._reader is not None:
            seen = self._clock.now_us()
            rows = 0
            for item in self._reader.feed(added, seen):
                self._sink.take(self._source, seen, item)
                rows += len(item.entity) if isinstance(item, Rows) else 0
            if rows:
                now = self._clock.now_us()
                self._sink.take(self._source, seen, Poll(self._source, seen, seen, now, "ok", rows=rows))
            self._show(self._reader.passthrough())
        elif added:
            self._show(added)
        self._show(errors.read())

    def _show(self, text: bytes) -> None:
        if text:
            sys.stderr.buffer.write(text)
            sys.stderr.flush()

    def _event(self, name: str, detail: dict[str, str | int | float | bool | None]) -> None:
        now = self._clock.now_us()
        self._sink.take(self._source, now, Event(now, name, detail))


def _changed(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


def without_credentials(argv: tuple[str, ...]) -> list[str]:
    """The command for the recording: a password inside a URI is masked."""
    return [re.sub(r"(://[^/@:\s]+):[^/@\s]+@", r"\1:***@", word) for word in argv]

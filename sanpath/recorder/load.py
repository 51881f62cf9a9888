"""The load command: started by the recorder, its output kept byte for byte and read while it grows."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import BinaryIO

from sanpath.errors import UsageError
from sanpath.model import Event, Poll, Rows
from sanpath.plugin import Clock, Item, LoadReader, WrappedCommand
from sanpath.recorder.processes import environment, marked, signal_all, signal_group
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
        # Unique among recordings: nobody else's load may be taken for this one.
        self._mark = f"{source}@{folder}"
        self._process: asyncio.subprocess.Process | None = None
        self._interrupted = False

    async def start(self) -> None:
        """Start it in a process group of its own. Raises UsageError when it cannot be started, or its output kept."""
        # A file of an earlier run under the name that the generator will write to is not its output.
        self._stale = _changed(self._followed)
        with self._opened(self._output) as out, self._opened(self._errors) as err:
            try:
                self._process = await asyncio.create_subprocess_exec(
                    *self._command.argv,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    env=environment(self._mark),
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
                    with contextlib.suppress(OSError):  # Another user's file: tried again.
                        output = self._followed.open("rb")
                self._read(output, errors)
                if ended:
                    break
                await asyncio.wait([wait], timeout=TAIL_SECONDS)
            if output is not None:
                output.close()
        status = wait.result()
        await self._end_leftovers(killed=status < 0)
        code = 128 - status if status < 0 else status
        if self._reader is not None:
            self._take(self._reader.finish, self._clock.now_us())
        if output is not None and self._command.output_file:
            with contextlib.suppress(OSError):  # Gone or unreadable by now: what was read of it is recorded.
                shutil.copyfile(self._followed, self._output.with_name("output-file"))
        self._event("load-ended", {"exit_code": code})
        return code

    def _opened(self, file: Path) -> BinaryIO:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            return file.open("wb")
        except OSError as error:  # Disk full.
            raise UsageError(f"{file}: the output of the load cannot be kept: {error.strerror}") from error

    @property
    def _followed(self) -> Path:
        return Path(self._command.output_file) if self._command.output_file else self._output

    async def interrupt(self) -> None:
        """End it and its children: as Ctrl-C would, then harder."""
        if self._process is None:
            return
        self._interrupted = True
        for number, seconds in ((signal.SIGINT, INTERRUPT_SECONDS), (signal.SIGTERM, TERMINATE_SECONDS)):
            signal_group(self._process.pid, number)
            try:
                await asyncio.wait_for(asyncio.shield(self._process.wait()), seconds)
                return
            except TimeoutError:
                continue
        self.kill()

    def kill(self) -> None:
        """End it and its children at once."""
        if self._process is not None:
            signal_all(self._process.pid, self._mark, signal.SIGKILL)

    async def _end_leftovers(self, killed: bool) -> None:
        """End its group, and after a violent end all of it: what outlives the command would disturb the next test."""
        assert self._process is not None, "start() comes first"  # noqa: S101 - a misuse by the recorder itself
        signal_group(self._process.pid, signal.SIGTERM)
        if not (killed or self._interrupted):
            return  # A command that ends by itself may leave a daemon behind on purpose.
        signal_all(self._process.pid, self._mark, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TERMINATE_SECONDS):
                while marked(self._mark):
                    await asyncio.sleep(TAIL_SECONDS)
        self.kill()

    def _read(self, output: BinaryIO | None, errors: BinaryIO) -> None:
        added = output.read() if output is not None else b""
        if added and self._reader is not None:
            self._take(partial(self._reader.feed, added), self._clock.now_us())
        elif added:
            self._show(added)
        self._show(errors.read())

    def _take(self, read: Callable[[int], Iterable[Item]], seen: int) -> None:
        """Record what the reader makes of the output; a reader that fails is given up, and the load goes on."""
        assert self._reader is not None, "there is nobody to read"  # noqa: S101 - a misuse by this class itself
        rows, failure = 0, ""
        try:
            for item in read(seen):
                self._sink.take(self._source, seen, item)
                rows += len(item.entity) if isinstance(item, Rows) else 0
            text = self._reader.passthrough()
        except Exception as error:  # a defect in one reader must not end the test
            failure, text = f"{type(error).__name__}: {error}"[:300], b""
            self._reader = None
        now = self._clock.now_us()
        if failure:
            self._sink.take(self._source, seen, Poll(self._source, seen, seen, now, "failed", "defect", failure))
        elif rows:
            self._sink.take(self._source, seen, Poll(self._source, seen, seen, now, "ok", rows=rows))
        self._show(text)

    def _show(self, text: bytes) -> None:
        # Losing the terminal does not end the test.
        with contextlib.suppress(OSError):
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

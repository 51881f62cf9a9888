"""A load command on this machine: its output is read as it grows, and stored with secrets masked."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from functools import partial
from pathlib import Path
from typing import BinaryIO

from sanpath.errors import UsageError
from sanpath.masking import masked_bytes, masked_words
from sanpath.plugin import WrappedCommand
from sanpath.recorder.loads.output import END_SECONDS, LoadOutput
from sanpath.recorder.loads.output_reader import OutputReading
from sanpath.recorder.loads.processes import environment, marked, signal_all, signal_group
from sanpath.recorder.loads.spool import CHUNK_BYTES
from sanpath.recorder.sources.background import run_in_background

TAIL_SECONDS = 0.1
"""How often to check whether a load has printed something."""
INTERRUPT_SECONDS = 5.0
"""How long a load may take to end after SIGINT, after which fio prints its result."""
TERMINATE_SECONDS = 2.0
"""The same after SIGTERM, before it is killed."""
_COPY_SECONDS = 60.0
"""How long copying the load's own output file may take at its end."""
_MAX_CHUNKS = 16
"""Maximum chunks that are read before checking whether the load has ended."""


class Load:
    """One load command.

    Its output goes into memory and from there into files of `folder`, so that it waits neither for a reader nor for a
    disk. `run_id`: the id of the recording.
    """

    def __init__(self, command: WrappedCommand, reading: OutputReading, source: str, folder: Path, run_id: str):
        self._command, self._reading = command, reading
        self._folder = folder
        self._stale_ns: int | None = None
        # Unique among all recordings, so that no other load is mistaken for this one.
        self._mark, self._run_id = f"{source}@{folder}", run_id
        self._process: asyncio.subprocess.Process | None = None
        self._interrupted = False

    async def start(self) -> None:
        """Start it in a new process group.

        Raises UsageError if it cannot be started or its output cannot be written.
        """
        # An existing file with the name of the output file is from an earlier run.
        self._stale_ns = _modified_ns(self._followed)
        self._output = LoadOutput(self._folder, self._reading.report)
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._command.argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=self._output.output.descriptor,
                stderr=self._output.errors.descriptor,
                env=environment(self._mark, self._run_id),
                start_new_session=True,
            )
        except OSError as error:
            self._output.close()
            raise UsageError(f"{self._command.argv[0]}: cannot be started: {error.strerror}") from error
        self._output.guard(self._process.pid)
        self._reading.event("load-started", {"command": " ".join(masked_words(self._command.argv))})

    async def follow(self) -> int:
        """Read the output until it has ended. Returns its exit code; 128 + n after signal n."""
        assert self._process is not None, "start() comes first"  # noqa: S101 - a misuse by the recorder itself
        wait = asyncio.ensure_future(self._process.wait())
        file: BinaryIO | None = None
        while True:
            ended = wait.done()
            if file is None and self._followed is not None and _modified_ns(self._followed) != self._stale_ns:
                with contextlib.suppress(OSError):  # The file belongs to another user: try again later.
                    file = self._followed.open("rb")
            # A load that writes faster than it is read must not delay the check for its end.
            for _ in range(_MAX_CHUNKS if not ended else sys.maxsize):
                if not await self._read(file):
                    break
            if ended:
                break
            await self._wait_for_output(wait)
        status = wait.result()
        await self._end_leftovers(killed=status < 0)
        code = 128 - status if status < 0 else status
        await self._reading.finish()
        self._reading.event("load-ended", {"exit_code": code})
        if file is not None and self._followed is not None:
            file.close()
            copying = partial(_copy_masked, self._followed, self._folder / "output-file")
            # It has disappeared, become unreadable or is too large: the part that was recorded remains.
            with contextlib.suppress(OSError, TimeoutError):
                await run_in_background(copying, _COPY_SECONDS)
        with contextlib.suppress(TimeoutError):  # Both the recording's disk and that of temporary files hang.
            await run_in_background(self._output.close, 2 * END_SECONDS)
        return code

    async def _wait_for_output(self, end: asyncio.Future[int]) -> None:
        """Wait until there is new output, or the load has ended; a followed file may have new output at any time.

        A bare callback checks for it: waking a task as often would cost the load five times as much.
        """
        loop, found = asyncio.get_running_loop(), asyncio.Event()
        timer: asyncio.TimerHandle | None = None

        def look() -> None:
            nonlocal timer
            if self._followed is not None or self._output.has_more:
                found.set()
            else:
                timer = loop.call_later(TAIL_SECONDS, look)

        def stop(_: object) -> None:
            found.set()

        timer = loop.call_later(TAIL_SECONDS, look)
        end.add_done_callback(stop)
        try:
            await found.wait()
        finally:
            end.remove_done_callback(stop)
            timer.cancel()

    @property
    def _followed(self) -> Path | None:
        """The file that is read while the load writes it; None: its standard output is read."""
        return Path(self._command.output_file) if self._command.output_file else None

    async def interrupt(self) -> None:
        """End it and its children: first with SIGINT, then with stronger signals."""
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
        """End it and its children immediately."""
        if self._process is not None:
            signal_all(self._process.pid, self._mark, signal.SIGKILL)

    async def _end_leftovers(self, killed: bool) -> None:
        """End its process group, and after a forced end all its processes: they would disturb the next test."""
        assert self._process is not None, "start() comes first"  # noqa: S101 - a misuse by the recorder itself
        signal_group(self._process.pid, signal.SIGTERM)
        if not (killed or self._interrupted):
            return  # A command that ended by itself may have left a daemon on purpose.
        signal_all(self._process.pid, self._mark, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TERMINATE_SECONDS):
                while marked(self._mark):
                    await asyncio.sleep(TAIL_SECONDS)
        self.kill()

    async def _read(self, file: BinaryIO | None) -> bool:
        """Read a chunk of new output. Returns whether there may be more."""
        output, errors = self._output.output.take(), self._output.errors.take()
        if self._followed is not None:
            output = file.read(CHUNK_BYTES) if file is not None else b""
        if output or errors:
            self._output.copy_soon()
        if output:
            await self._reading.feed(output)
        self._reading.show(errors)
        return bool(output or errors)


def _modified_ns(path: Path | None) -> int | None:
    try:
        return path.stat().st_mtime_ns if path is not None else None
    except OSError:
        return None


def _copy_masked(original: Path, copy: Path) -> None:
    with original.open("rb") as lines, copy.open("wb") as written:
        while block := lines.readlines(CHUNK_BYTES):
            written.write(masked_bytes(b"".join(block)))

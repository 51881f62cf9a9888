"""The load command: started by the recorder, its output kept byte for byte and read while it grows."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import signal
from pathlib import Path
from typing import BinaryIO

from sanpath.errors import UsageError
from sanpath.plugin import WrappedCommand
from sanpath.recorder.processes import environment, marked, signal_all, signal_group
from sanpath.recorder.reading import OutputReading

TAIL_SECONDS = 0.1
INTERRUPT_SECONDS = 5.0
TERMINATE_SECONDS = 2.0


class Load:
    """One load command. Its output goes straight into files of `folder`, so it never waits for a reader. `run_id`:
    of the recording."""

    def __init__(self, command: WrappedCommand, reading: OutputReading, source: str, folder: Path, run_id: str):
        self._command, self._reading = command, reading
        self._output, self._errors = folder / "output", folder / "errors"
        self._stale: int | None = None
        # Unique among recordings: nobody else's load may be taken for this one.
        self._mark, self._run_id = f"{source}@{folder}", run_id
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
                    env=environment(self._mark, self._run_id),
                    start_new_session=True,
                )
            except OSError as error:
                raise UsageError(f"{self._command.argv[0]}: cannot be started: {error.strerror}") from error
        self._reading.event("load-started", {"command": " ".join(without_credentials(self._command.argv))})

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
        self._reading.finish()
        if output is not None and self._command.output_file:
            with contextlib.suppress(OSError):  # Gone or unreadable by now: what was read of it is recorded.
                shutil.copyfile(self._followed, self._output.with_name("output-file"))
        self._reading.event("load-ended", {"exit_code": code})
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
        if added := output.read() if output is not None else b"":
            self._reading.feed(added)
        self._reading.show(errors.read())


def _changed(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


def without_credentials(argv: tuple[str, ...]) -> list[str]:
    """The command for the recording: a password inside a URI is masked."""
    return [re.sub(r"(://[^/@:\s]+):[^/@\s]+@", r"\1:***@", word) for word in argv]

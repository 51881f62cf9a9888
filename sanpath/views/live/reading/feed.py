"""The screen's end of the reader process."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import time
from collections.abc import Mapping, Sequence
from typing import Protocol

from sanpath.recording.writing.mark import MARK
from sanpath.views.live.reading.reader import SIZE_BYTES
from sanpath.views.live.reading.snapshot import Look


class Feed(Protocol):
    """Where the screen has its looks from."""

    async def look(self) -> Look:
        """A new look at the recording."""

    async def mark(self, text: str) -> str:
        """Note something in the recording, now. Returns why that could not be done, "" when it was."""

    async def close(self) -> None:
        """No more looks are wanted."""


class ReaderProcess:
    """A feed from `python -m sanpath.views.live.reading.reader`, started at first use and again after a crash."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._command, self._environment = command, environment
        self._process: asyncio.subprocess.Process | None = None
        # Whoever ends the reader while it is being started waits until there is something to end.
        self._starting = asyncio.Lock()
        # One question after the other: answers come in the order of the questions.
        self._asking = asyncio.Lock()

    async def look(self) -> Look:
        """A new look at the recording; a reader that has died is a look with a failure."""
        said = await self._ask("look")
        return said if isinstance(said, Look) else Look(time.time(), None, str(said))

    async def mark(self, text: str) -> str:
        """Note something in the recording, at the moment of the call."""
        said = await self._ask(f"{MARK} {time.time_ns() // 1000} {' '.join(text.split())}")
        return said if isinstance(said, str) else ""

    async def _ask(self, question: str) -> Look | str:
        async with self._asking:
            async with self._starting:
                process = self._process = self._process or await self._started()
            asked, answers = process.stdin, process.stdout
            if asked is None or answers is None:
                raise RuntimeError("the reader was started without pipes")
            try:
                asked.write(f"{question}\n".encode())
                await asked.drain()
                size = int.from_bytes(await answers.readexactly(SIZE_BYTES), "big")
                said: Look | str = pickle.loads(await answers.readexactly(size))  # noqa: S301 - our own process wrote it
            except (OSError, EOFError):
                await self.close()
                return "the process that reads the recording has died; it is started again"
            return said

    async def _started(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,  # It would write over the screen.
            env=self._environment,
            start_new_session=True,
        )

    async def close(self) -> None:
        """End the reader, whatever it is doing."""
        async with self._starting:
            process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

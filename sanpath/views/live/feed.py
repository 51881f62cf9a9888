"""The screen's end of the reader process."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import time
from collections.abc import Mapping, Sequence
from typing import Protocol

from sanpath.views.live.look import Look
from sanpath.views.live.reader import SIZE_BYTES


class Feed(Protocol):
    """Where the screen has its looks from."""

    async def look(self) -> Look:
        """A new look at the recording."""

    async def close(self) -> None:
        """No more looks are wanted."""


class ReaderProcess:
    """A feed from `python -m sanpath.views.live.reader`, started with the first look and again after a crash."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._command, self._environment = command, environment
        self._process: asyncio.subprocess.Process | None = None
        # Whoever ends the reader while it is being started waits until there is something to end.
        self._starting = asyncio.Lock()

    async def look(self) -> Look:
        """A new look at the recording; a reader that has died is a look with a failure."""
        async with self._starting:
            process = self._process = self._process or await self._started()
        asked, answers = process.stdin, process.stdout
        if asked is None or answers is None:
            raise RuntimeError("the reader was started without pipes")
        try:
            asked.write(b"look\n")
            await asked.drain()
            size = int.from_bytes(await answers.readexactly(SIZE_BYTES), "big")
            found: Look = pickle.loads(await answers.readexactly(size))  # noqa: S301 - our own process wrote it
        except (OSError, EOFError):
            await self.close()
            return Look(time.time(), None, "the process that reads the recording has died; it is started again")
        return found

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

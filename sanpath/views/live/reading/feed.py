"""The screen's side of the reader process."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import time
from collections.abc import Mapping, Sequence
from typing import Protocol

from sanpath.model import MARK
from sanpath.views.live.reading.snapshot import Snapshot

SIZE_BYTES = 8
"""Length of the size before each response: a big-endian integer."""
SNAPSHOT = "snapshot"
"""The line that requests a snapshot."""


class SnapshotFeed(Protocol):
    """The source of the screen's snapshots."""

    async def snapshot(self) -> Snapshot:
        """Return a new snapshot of the recording."""

    async def mark(self, text: str) -> str:
        """Add a mark to the recording, at the time of the call. Returns the reason for a failure, "" on success."""

    async def close(self) -> None:
        """Close the feed."""


class ReaderProcess:
    """Snapshots from `python -m sanpath.views.live.reading.reader`, started at first use and after a crash."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._command, self._environment = command, environment
        self._process: asyncio.subprocess.Process | None = None
        # `close` waits for a process that is just starting: otherwise it would survive.
        self._starting = asyncio.Lock()
        # Responses come in the order of the requests, so only one request is sent at a time.
        self._requesting = asyncio.Lock()

    async def snapshot(self) -> Snapshot:
        """Return a new snapshot of the recording. After the reader has died, it has a `failure`."""
        response = await self._request(SNAPSHOT)
        return response if isinstance(response, Snapshot) else Snapshot(time.time(), None, str(response))

    async def mark(self, text: str) -> str:
        """Add a mark to the recording. Returns the reason for a failure, "" on success."""
        response = await self._request(f"{MARK} {time.time_ns() // 1000} {' '.join(text.split())}")
        return response if isinstance(response, str) else ""

    async def _request(self, request: str) -> Snapshot | str:
        async with self._requesting:
            async with self._starting:
                process = self._process = self._process or await self._start()
            requests, responses = process.stdin, process.stdout
            if requests is None or responses is None:
                raise RuntimeError("the reader was started without pipes")
            try:
                requests.write(f"{request}\n".encode())
                await requests.drain()
                size = int.from_bytes(await responses.readexactly(SIZE_BYTES), "big")
                response: Snapshot | str = pickle.loads(await responses.readexactly(size))  # noqa: S301 - from our own process
            except (OSError, EOFError):
                await self.close()
                return "the process that reads the recording has died; it is started again"
            return response

    async def _start(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,  # It would overwrite the screen.
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

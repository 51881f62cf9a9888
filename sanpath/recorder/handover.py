"""The recorder's end of the socket through which viewers on this machine get its newest rows at once.

Nothing here may cost the recording anything: a viewer that does not read is left, and a defect ends the handing over.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from pathlib import Path

from sanpath.model import Poll, Rows
from sanpath.plugin import Clock, Item
from sanpath.pulse.newest import Newest, is_wanted, narrowed
from sanpath.recording.handover import LONGEST_BYTES, Handed, Hello, encoded, socket_path

BEHIND_BYTES = 2 * LONGEST_BYTES
"""What may wait for a viewer; who is further behind has to ask again."""
MOST_VIEWERS = 16
_OURS_ALONE = 0o600


class Handover:
    """Made in the recorder's loop. Only `take` is safe from any thread."""

    def __init__(self, run_id: str, writer: str, clock: Clock) -> None:
        self._path, self._clock = socket_path(run_id, writer), clock
        self._loop = asyncio.get_running_loop()
        self._newest = Newest()
        self._viewers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen, where this machine lets us; a run without is a run all the same."""
        if self._path is None:
            return
        _tidy(self._path.parent)
        try:
            self._server = await asyncio.start_unix_server(self._met, self._path)
            self._path.chmod(_OURS_ALONE)
        except OSError:
            await self.close()

    def take(self, source: str, item: Item | Poll) -> None:
        """One thing that is recorded at this moment."""
        if self._server is None or not isinstance(item, Handed) or not is_wanted(item):
            return
        told = narrowed(item) if isinstance(item, Rows) else item
        # A blocking source may come back from its SDK when the loop has ended.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._hand, source, told)

    async def close(self) -> None:
        """Nothing more is handed over."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
            for viewer in tuple(self._viewers):
                self._leave(viewer)
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()

    def _hand(self, source: str, item: Handed) -> None:
        try:
            self._newest.take(source, item)
            if self._viewers:
                line = encoded((source, item))
                for viewer in tuple(self._viewers):
                    self._write(viewer, line)
        except (
            Exception
        ):  # a defect here, or a collector's rows of another form, must not cost the recording anything
            for viewer in tuple(self._viewers):
                self._leave(viewer)

    def _write(self, viewer: asyncio.StreamWriter, line: bytes) -> None:
        if viewer.is_closing() or viewer.transport.get_write_buffer_size() + len(line) > BEHIND_BYTES:
            self._leave(viewer)
        else:
            viewer.write(line)

    async def _met(self, _: asyncio.StreamReader, viewer: asyncio.StreamWriter) -> None:
        """A viewer: it is told the newest that there is, and from now on what comes. What it may say is not read."""
        if isinstance(viewer.transport, asyncio.ReadTransport):
            viewer.transport.pause_reading()
        if self._server is None or len(self._viewers) >= MOST_VIEWERS:
            viewer.transport.abort()
            return
        self._write(viewer, encoded(Hello(self._clock.now_us(), time.monotonic_ns())))
        for said in self._newest.kept():
            self._write(viewer, encoded(said))
        self._viewers.add(viewer)

    def _leave(self, viewer: asyncio.StreamWriter) -> None:
        self._viewers.discard(viewer)
        viewer.transport.abort()


def _tidy(folder: Path) -> None:
    """Take away the sockets that killed recorders have left: nobody answers there."""
    with contextlib.suppress(OSError):
        for path in folder.glob("*.sock"):
            with socket.socket(socket.AF_UNIX) as asked:
                asked.setblocking(False)
                try:
                    asked.connect(str(path))
                except ConnectionRefusedError:
                    path.unlink()
                except OSError:
                    continue

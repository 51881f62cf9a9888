"""The recorder's end of the socket that sends its newest rows to viewers on this machine.

The recording must never suffer from it: a viewer that does not read is disconnected, and a defect disconnects all.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from pathlib import Path

from sanpath.model import Poll, Rows
from sanpath.plugin import Clock, Item
from sanpath.pulse.newest import Newest, is_wanted, select_needed_columns
from sanpath.recording.viewer_protocol import MAX_LINE_BYTES, Hello, LiveItem, encoded, socket_path

MAX_PENDING_BYTES = 2 * MAX_LINE_BYTES
"""Bytes that may wait for a viewer; a slower viewer is dropped and may reconnect."""
MAX_VIEWERS = 16
"""Maximum viewers at the same time; others read segments, so that viewers do not delay polls."""
_OWNER_ONLY = 0o600


class ViewerSocket:
    """Serves viewers. It is created in the recorder's loop; only `take` may be called from any thread."""

    def __init__(self, run_id: str, writer: str, clock: Clock) -> None:
        self._path, self._clock = socket_path(run_id, writer), clock
        self._loop = asyncio.get_running_loop()
        self._newest = Newest()
        self._viewers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen for viewers. If the socket cannot be created, the run goes on without it."""
        if self._path is None:
            return
        _remove_stale_sockets(self._path.parent)
        try:
            self._server = await asyncio.start_unix_server(self._welcome, self._path)
            self._path.chmod(_OWNER_ONLY)
        except OSError:
            await self.close()

    def take(self, source: str, item: Item | Poll) -> None:
        """Send an item that is being recorded."""
        if self._server is None or not isinstance(item, LiveItem) or not is_wanted(item):
            return
        live_item = select_needed_columns(item) if isinstance(item, Rows) else item
        # A blocking source may return from its SDK after the loop has ended.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._send, source, live_item)

    async def close(self) -> None:
        """Drop all viewers and remove the socket."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
            for viewer in tuple(self._viewers):
                self._drop(viewer)
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()

    def _send(self, source: str, item: LiveItem) -> None:
        try:
            self._newest.take(source, item)
            if self._viewers:
                line = encoded((source, item))
                for viewer in tuple(self._viewers):
                    self._write(viewer, line)
        except Exception:  # a defect here, or invalid rows of a collector, must not harm the recording
            for viewer in tuple(self._viewers):
                self._drop(viewer)

    def _write(self, viewer: asyncio.StreamWriter, line: bytes) -> None:
        if viewer.is_closing() or viewer.transport.get_write_buffer_size() + len(line) > MAX_PENDING_BYTES:
            self._drop(viewer)
        else:
            viewer.write(line)

    async def _welcome(self, _: asyncio.StreamReader, viewer: asyncio.StreamWriter) -> None:
        """Send the newest items to a new viewer, and all later ones from now on. Nothing is read from it."""
        if isinstance(viewer.transport, asyncio.ReadTransport):
            viewer.transport.pause_reading()
        if self._server is None or len(self._viewers) >= MAX_VIEWERS:
            viewer.transport.abort()
            return
        for live_item in self._newest.snapshot():
            self._write(viewer, encoded(live_item))
        self._write(viewer, encoded(Hello(self._clock.now_us(), time.monotonic_ns())))
        self._viewers.add(viewer)

    def _drop(self, viewer: asyncio.StreamWriter) -> None:
        self._viewers.discard(viewer)
        viewer.transport.abort()


def _remove_stale_sockets(folder: Path) -> None:
    """Remove the sockets of killed recorders, which nobody answers."""
    with contextlib.suppress(OSError):
        for path in folder.glob("*.sock"):
            with socket.socket(socket.AF_UNIX) as probe:
                probe.setblocking(False)
                try:
                    probe.connect(str(path))
                except ConnectionRefusedError:
                    path.unlink()
                except OSError:
                    continue

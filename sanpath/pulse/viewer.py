"""Follows a recording: takes the newest rows directly from its recorders, or else from its segments."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from dataclasses import replace

from sanpath.catalogue.catalogue import metrics
from sanpath.errors import SanpathError
from sanpath.model import Event, Poll, Rows
from sanpath.pulse.link_counters import WiredLink, wiring
from sanpath.pulse.model import Pulse
from sanpath.pulse.newest import METRICS, Newest
from sanpath.pulse.pulses import Pulses
from sanpath.recording.format.layout import read_manifest
from sanpath.recording.format.recorder_starts import Start, ended, latest, starts
from sanpath.recording.reading.recording import Recording
from sanpath.recording.reading.tail import FlushReader
from sanpath.recording.storage.store import Location, store_at
from sanpath.recording.viewer_protocol import MAX_LINE_BYTES, Hello, decoded, socket_path
from sanpath.topology.resolve import resolve

CHECK_SECONDS = 1.0
"""How often the viewer looks for recorders, and for new flushes of recorders that it cannot connect to."""
CONNECTED_SECONDS = 5.0
"""How often it looks for other recorders, new entities and marks while it is connected to every recorder: the delay
with which changes appear."""


class Viewer:
    """Follows a recording while `run` is running. `pulse` returns immediately, even during a read."""

    def __init__(self, folder: Location) -> None:
        self._folder = folder
        self._newest = Newest()
        self._pulses = Pulses(self._newest)
        self._starts: Sequence[Start] = ()
        self._flushed: dict[str, FlushReader] = {}
        self._listening: dict[str, asyncio.Task[None]] = {}
        self._read: set[str] = set()
        self._ahead_us: dict[str, int] = {}
        self._documents: list[str] = []
        self._inventory: list[str] = []
        self._wiring: Sequence[WiredLink] = ()

    async def run(self) -> None:
        """Follow until every writer has ended."""
        try:
            while not (self._starts and ended(self._starts)):
                # The recording does not exist yet, or its store hangs.
                with contextlib.suppress(SanpathError, OSError):
                    await self._update()
                await self._pause()
        finally:
            for task in self._listening.values():
                task.cancel()

    async def _pause(self) -> None:
        """Wait until it is time to look again; a recorder whose connection ends may have ended."""
        running = self._running()
        if self._inventory and running and self._listening.keys() >= running:
            listening = list(self._listening.values())
            await asyncio.wait(listening, timeout=CONNECTED_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(CHECK_SECONDS)

    def _running(self) -> set[str]:
        return {start.writer for start in latest(self._starts) if start.ending is None}

    def pulse(self) -> Pulse | None:
        """Return the current pulse. None: nothing is recorded yet or read yet, or recording has ended."""
        if not self._starts or ended(self._starts) or not self._read.issuperset(self._running()):
            return None
        # The clocks of recorders on this machine differ only by changes of the wall clock since their start.
        now_us = time.time_ns() // 1000 + min(self._ahead_us.values(), key=abs, default=0)
        started_us = min(start.header.started_us for start in self._starts)
        sources = {source.name: source for start in self._starts for source in start.header.sources}
        pulse = self._pulses.pulse(now_us, started_us, list(sources.values()), self._wiring, bool(self._ahead_us))
        return replace(pulse, additions=sum(not start.header.recorder for start in self._starts))

    async def _update(self) -> None:
        store = store_at(self._folder)
        documents = await asyncio.to_thread(store.list, "writers")
        if documents != self._documents:
            manifest = await asyncio.to_thread(read_manifest, self._folder)
            self._starts = await asyncio.to_thread(starts, store, set())
            self._documents = documents
            self._run_id = manifest.run_id
        if (inventory := await asyncio.to_thread(store.list, "inventory")) != self._inventory:
            self._wiring = await asyncio.to_thread(_wiring, self._folder)
            self._inventory = inventory
        for start in latest(self._starts):
            writer = start.writer
            if writer in self._listening or start.ending is not None:
                continue
            if (streams := await self._connect(writer)) is not None:
                self._listening[writer] = asyncio.create_task(self._listen(writer, *streams))
                continue
            if writer not in self._flushed:
                wanted_metrics = {"load": frozenset(metrics()["load"]), **METRICS}
                self._flushed[writer] = FlushReader(store, writer, start.header.sources, wanted_metrics)
            for source, item in await asyncio.to_thread(self._flushed[writer].new):
                self._newest.take(source, item)
            self._read.add(writer)

    async def _connect(self, writer: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        path = socket_path(self._run_id, writer)
        if path is None:
            return None
        try:
            return await asyncio.open_unix_connection(path, limit=MAX_LINE_BYTES)
        except OSError:
            return None

    async def _listen(self, writer: str, reader: asyncio.StreamReader, connection: asyncio.StreamWriter) -> None:
        """Take the items of a recorder until it ends or sends an invalid line."""
        try:
            while line := await reader.readline():
                match decoded(line):
                    case Hello(now_us, monotonic_ns):
                        elapsed_us = (time.monotonic_ns() - monotonic_ns) // 1000
                        self._read.add(writer)
                        self._ahead_us[writer] = now_us + elapsed_us - time.time_ns() // 1000
                    case (str(source), Rows() | Event() | Poll() as item):
                        self._newest.take(source, item)
        except (OSError, ValueError):
            pass  # From now on its segments are read, and the connection is tried again.
        finally:
            self._ahead_us.pop(writer, None)
            self._listening.pop(writer, None)
            connection.transport.abort()


def _wiring(folder: Location) -> Sequence[WiredLink]:
    """Return the links of all entities seen so far."""
    return wiring(resolve(Recording(folder).inventory()))

"""Controls the simulated load from the fio double: one JSON object per line over loopback TCP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from sanpath_lab.fio.load_status import DiskStatus, disk_status, load_status
from sanpath_lab.physics.load_model import LoadRun
from sanpath_lab.simulation import Simulation


@dataclass(frozen=True, slots=True)
class _Execution:
    """A run of the load, and the counters of the disks when it began."""

    run: LoadRun
    disks_before: tuple[DiskStatus, ...]


class LoadControl:
    """Requests are lines {"do": COMMAND}. The response to "status" is a LoadStatus; the response to "begin",
    "ask" and "stop" is {"finished": ...}.

    The first line of a connection begins the load. The response is {"error": ...} if another load is running.
    """

    def __init__(self, simulation: Simulation, catch_up: Callable[[], object]) -> None:
        self._simulation, self._catch_up = simulation, catch_up
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.StreamWriter] = set()

    async def start(self, host: str = "127.0.0.1") -> None:
        """Listen on a free port."""
        self._server = await asyncio.start_server(self._serve, host, 0)

    @property
    def address(self) -> tuple[str, int]:
        """Host and port it listens on. Raises RuntimeError before `start`."""
        if self._server is None:
            raise RuntimeError("load control has not been started")
        host, port = self._server.sockets[0].getsockname()[:2]
        return host, port

    async def stop(self) -> None:
        """Close the socket and every connection: since Python 3.12 `wait_closed` waits for the latter."""
        if self._server is not None:
            self._server.close()
            for connection in self._connections:
                connection.close()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one load generator. Its load stops when it disconnects, as the I/O of a dying process stops."""
        execution: _Execution | None = None
        self._connections.add(writer)
        try:
            while line := await reader.readline():
                self._catch_up()
                command = json.loads(line)["do"]
                if execution is None:
                    execution = self._begin()
                answer = self._answer(command, execution)
                writer.write(json.dumps(answer).encode() + b"\n")
                await writer.drain()
        except (ConnectionError, ValueError, KeyError):
            pass
        finally:
            if execution is not None:
                self._catch_up()
                execution.run.stop()
            self._connections.discard(writer)
            writer.close()

    def _answer(self, command: str, execution: _Execution | None) -> dict[str, Any]:
        if execution is None:
            return {"error": "a load is under way"}
        if command == "stop":
            execution.run.stop()
        if command == "status":
            return asdict(load_status(self._simulation, execution.run, execution.disks_before))
        return {"finished": execution.run.finished}

    def _begin(self) -> _Execution | None:
        try:
            return _Execution(self._simulation.begin_load(), disk_status(self._simulation))
        except RuntimeError:
            return None

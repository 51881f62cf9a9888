"""The loads of a run: created from their commands, each with a reader and a folder for its output."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sanpath.plugin import Clock, LoadReader, Spec, SshTarget, WrappedCommand
from sanpath.recorder.first_completed import either, sleep
from sanpath.recorder.loads.local import Load
from sanpath.recorder.loads.output_reader import ItemFilter, OutputReading
from sanpath.recorder.sink import Sink
from sanpath.recording.storage.store import Store

if TYPE_CHECKING:
    from sanpath.recorder.loads.remote import HostLoad

Reader = tuple[Spec, type[LoadReader]] | None
"""The collector and class that read the output of a load command; None: the output is not read."""
Hosts = Mapping[str, SshTarget | None]
"""Host name → how to log in; None: this machine. Empty: one load on this machine, without a barrier."""


class RunningLoad(Protocol):
    """A load command on one or several hosts."""

    async def start(self) -> None:
        """Start it. Raises UsageError."""
        ...

    async def follow(self) -> int:
        """Read the output until it has ended. Returns its exit code."""
        ...

    async def interrupt(self) -> None:
        """End the load as Ctrl-C would, then with stronger signals."""
        ...

    def kill(self) -> None:
        """End it immediately."""
        ...


class Loads:
    """Starts load commands, one at a time, for one writer of the recording `run_id`.

    `machines`: host of a load, None for the only load → the name of its machine. An unknown machine is missing.
    """

    def __init__(
        self,
        reader: Reader,
        hosts: Hosts,
        store: Store,
        writer: str,
        run_id: str,
        clock: Clock,
        sink: Sink,
        machines: Mapping[str | None, str],
    ) -> None:
        self._machines = machines
        self._reader, self._hosts, self._store, self._writer = reader, hosts, store, writer
        self._run_id, self._clock, self._sink = run_id, clock, sink
        self._outputs: list[tuple[Path, str]] = []
        self._current: RunningLoad | None = None

    async def run(
        self,
        argv: Sequence[str],
        stop: asyncio.Event,
        seconds: float | None = None,
        key: str = "",
        item_filter: ItemFilter | None = None,
        end_early: asyncio.Event | None = None,
        host: str | None = None,
    ) -> tuple[int, bool]:
        """Run a command to its end, until `stop`, for `seconds`, or until `end_early`.

        `key` distinguishes its output from that of other commands. `host`: the only host to run it on; None: all
        hosts. Returns its exit code, and whether sanpath ended it. Raises UsageError.
        """
        load = self._current = self._create_load(argv, key, item_filter, host)
        await load.start()
        if self._reader is None:
            hint = "choose a collector with --load NAME"
            with contextlib.suppress(OSError):  # The terminal may have been closed.
                print(f"sanpath: no collector reads the output of {argv[0]}; {hint}", file=sys.stderr)
        following = asyncio.create_task(load.follow())
        awaitables = [stop.wait(), sleep(seconds), *([end_early.wait()] if end_early else [])]
        await either(asyncio.shield(following), *awaitables)
        was_interrupted = not following.done()
        if was_interrupted:
            await load.interrupt()
        return await following, was_interrupted

    def kill(self) -> None:
        """End the running load immediately."""
        if self._current is not None:
            self._current.kill()

    def keep(self) -> str:
        """Move the outputs into the recording. Returns the reason for a failure, "" for none."""
        failed = ""
        for output, name in self._outputs:
            try:
                self._store.adopt(output, name)
            except OSError as error:
                failed = f"the load's output is left in {output}: {error}"
        return failed

    def _create_load(
        self, argv: Sequence[str], key: str, item_filter: ItemFilter | None, only_host: str | None
    ) -> RunningLoad:
        command = self._reader[1].wrap(argv) if self._reader else WrappedCommand(tuple(argv))
        if not self._hosts:
            name = load_name(self._reader, None)
            reader = self._reader[1]() if self._reader else None
            reading = OutputReading(reader, name, self._clock, self._sink, item_filter, self._machines.get(None))
            return Load(command, reading, name, self._output(key), self._run_id)
        from sanpath.recorder.loads.remote import HostLoads  # imports the SSH library, only when needed

        hosts = self._hosts if only_host is None else (only_host,)
        return HostLoads(command, [self._host_load(host, key, item_filter) for host in hosts])

    def _host_load(self, host: str, key: str, item_filter: ItemFilter | None) -> HostLoad:
        from sanpath.recorder.loads.remote import HostLoad

        name = load_name(self._reader, host)
        reader = self._reader[1](name) if self._reader else None
        reading = OutputReading(reader, name, self._clock, self._sink, item_filter, self._machines.get(host))
        return HostLoad(host, self._hosts[host], reading, self._output(key, host), self._clock)

    def _output(self, *labels: str) -> Path:
        """Return a folder for the output, which is moved into the recording at the end."""
        words = [re.sub(r"[^A-Za-z0-9_-]", "_", label) for label in labels if label]
        name = f"load/{'.'.join([self._writer, *words])}"
        output = self._store.scratch(name)
        self._outputs.append((output, name))
        return output


def load_name(reader: Reader, host: str | None) -> str:
    """Return the name of a load, both as an entity and as a source; `host` None: there is only one load."""
    name = reader[0].name if reader else "load"
    return f"{host}/{name}" if host else name

"""The loads of a run: made from their commands, with the reader of their output and a place to keep it."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sanpath import registry
from sanpath.plugin import Clock, LoadReader, Spec, SshTarget, WrappedCommand
from sanpath.recorder.first_completed import either, sleep
from sanpath.recorder.loads.local import Load
from sanpath.recorder.loads.output_reader import OutputReading, Through
from sanpath.recorder.sink import Sink
from sanpath.recording.storage.store import Store

if TYPE_CHECKING:
    from sanpath.recorder.loads.remote import HostLoad

Reader = tuple[Spec, type[LoadReader]] | None
"""Who reads the output of a load command; None: nobody."""
Hosts = Mapping[str, SshTarget | None]
"""Where a load runs, by name; None: on this machine. None at all: on this machine, without a barrier."""


class Started(Protocol):
    """A load command, on one host or on several."""

    async def start(self) -> None:
        """Start it. Raises UsageError."""
        ...

    async def follow(self) -> int:
        """Read until it has ended. Returns its exit code."""
        ...

    async def interrupt(self) -> None:
        """End it as Ctrl-C would, then harder."""
        ...

    def kill(self) -> None:
        """End it at once."""
        ...


class Loads:
    """Starts load commands, one at a time, for one writer of a recording; `run_id` is the recording's."""

    def __init__(
        self, reader: Reader, hosts: Hosts, store: Store, writer: str, run_id: str, clock: Clock, sink: Sink
    ) -> None:
        self._reader, self._hosts, self._store, self._writer = reader, hosts, store, writer
        self._run_id, self._clock, self._sink = run_id, clock, sink
        self._outputs: list[tuple[Path, str]] = []
        self._current: Started | None = None

    async def run(
        self,
        argv: Sequence[str],
        stop: asyncio.Event,
        seconds: float | None = None,
        key: str = "",
        through: Through | None = None,
        enough: asyncio.Event | None = None,
    ) -> tuple[int, bool]:
        """Run a command to its end, until `stop`, for `seconds` or until `enough`; `key` tells its output from that
        of others. Returns its exit code, and whether it was ended by us. Raises UsageError."""
        load = self._current = self._made(argv, key, through)
        await load.start()
        if self._reader is None:
            hint = "--load NAME says which collector does"
            with contextlib.suppress(OSError):  # The terminal may have gone.
                print(f"sanpath: nothing reads the output of {argv[0]}; {hint}", file=sys.stderr)
        following = asyncio.create_task(load.follow())
        waits = [stop.wait(), sleep(seconds), *([enough.wait()] if enough else [])]
        await either(asyncio.shield(following), *waits)
        ended_by_us = not following.done()
        if ended_by_us:
            await load.interrupt()
        return await following, ended_by_us

    def kill(self) -> None:
        """End what runs at once."""
        if self._current is not None:
            self._current.kill()

    def keep(self) -> str:
        """Bring the outputs into the recording. Returns why that failed, "" if it did not."""
        failed = ""
        for output, name in self._outputs:
            try:
                self._store.adopt(output, name)
            except OSError as error:
                failed = f"the load's output stays in {output}: {error}"
        return failed

    def _made(self, argv: Sequence[str], key: str, through: Through | None) -> Started:
        command = self._reader[1].wrap(argv) if self._reader else WrappedCommand(tuple(argv))
        if not self._hosts:
            name = load_name(self._reader, None)
            reader = self._reader[1]() if self._reader else None
            reading = OutputReading(reader, name, self._clock, self._sink, through)
            return Load(command, reading, name, self._output(key), self._run_id)
        from sanpath.recorder.loads.remote import HostLoads  # the SSH library: only where it is needed

        return HostLoads(command, [self._on(host, key, through) for host in self._hosts])

    def _on(self, host: str, key: str, through: Through | None) -> HostLoad:
        from sanpath.recorder.loads.remote import HostLoad

        name = load_name(self._reader, host)
        reader = self._reader[1](name) if self._reader else None
        reading = OutputReading(reader, name, self._clock, self._sink, through)
        return HostLoad(host, self._hosts[host], reading, self._output(key, host), self._clock)

    def _output(self, *parts: str) -> Path:
        """A folder for the output, to be taken into the recording at the end."""
        words = [re.sub(r"[^A-Za-z0-9_-]", "_", part) for part in parts if part]
        name = f"load/{'.'.join([self._writer, *words])}"
        output = self._store.scratch(name)
        self._outputs.append((output, name))
        return output


def load_name(reader: Reader, host: str | None) -> str:
    """What a load is called, as a thing and as the source of its samples; `host` None: the only one there is."""
    name = reader[0].name if reader else "load"
    return f"{host}/{name}" if host else name


def reader_of(argv: Sequence[str], named: str | None) -> Reader:
    """Who reads the output of a command. Raises UsageError for a name that nobody has."""
    return registry.load_reader(argv, named) if argv else None

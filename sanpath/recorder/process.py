"""The recorder process: reads its request from standard input, records until the load ends or it is told to stop.

A line "stop" on standard input ends the run; "abort" ends it at once. When the input is closed without a word the
screen has died: a run with an end of its own (a load command or a time) goes on, another one stops.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import re
import resource
import shutil
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace

import duckdb

from sanpath import __version__, registry
from sanpath.config import DEFAULT_NAME, Config, load_config
from sanpath.errors import ExitCode, SanpathError, UsageError
from sanpath.model import Poll, SourceEntity, SourceLink
from sanpath.plugin import Cost, Item, SourceConfig, Spec, SshTarget
from sanpath.recorder.first_completed import either, sleep
from sanpath.recorder.handover import Handover
from sanpath.recorder.loads.loads import Loads, Reader, load_name, reader_of
from sanpath.recorder.loads.local import without_credentials
from sanpath.recorder.loads.processes import of_recording
from sanpath.recorder.loads.sweep import SweepRun, alone
from sanpath.recorder.peers import Others, refuse_second_load, refuse_twice
from sanpath.recorder.request import ABORT, STOP, UNWRITTEN, RunRequest
from sanpath.recorder.sink import Sink, reason
from sanpath.recorder.sources.source import Source
from sanpath.recording.format import layout
from sanpath.recording.format.compaction import Retention
from sanpath.recording.format.documents import Declaration, Ending, Header
from sanpath.recording.format.layout import RECORDER
from sanpath.recording.format.writers import starts
from sanpath.recording.storage.store import store_at
from sanpath.recording.writing.clock import RecorderClock
from sanpath.recording.writing.store_clock import StoreClock
from sanpath.recording.writing.writer import Writer
from sanpath.sweep import commands
from sanpath.sweep.matrix import steps
from sanpath.sweep.plan import LOCAL

FIRST_POLL_SECONDS = 12.0
"""How long the load waits for the first answer of every source: the idle state is worth recording."""
LINGER_SECONDS = 3.0
"""How long the sources are polled after the load: what an array says of the last second comes later. One whose next
poll is further off is asked once more at its end."""
END_SECONDS = 4.0
"""How long a poll under way may take when the run ends, log-out included."""
ABORT_SECONDS = 2.0
POLL_SECONDS = 0.02


def main() -> int:
    """Entry point of the process. Returns its exit code; errors are one line on standard error."""
    asked = sys.stdin.readline()
    if not asked:
        return ExitCode.INTERRUPTED  # The screen went before it had asked for anything.
    request = RunRequest.model_validate_json(asked)
    try:
        recorder = Recorder(request)
        with asyncio.Runner() as runner:
            runner.run(recorder.run())
    except SanpathError as error:
        print(f"sanpath: {error}", file=sys.stderr)
        return error.exit_code
    if recorder.write_failure:
        print(f"sanpath: {recorder.write_failure}", file=sys.stderr)
        return UNWRITTEN
    return ExitCode.OK


class Recorder:
    """One run. Raises UsageError on what can be told before anything connects."""

    def __init__(self, request: RunRequest) -> None:
        self._request = request
        self._config = selected(load_config(request.config, request.only_sources), request.only_sources)
        self._reader = _reader(request)
        self._clock = RecorderClock()
        self._manifest = layout.create(request.folder, request.plan)
        self._lock = alone(request.folder, self._manifest.run_id) if request.sweep else None
        self._store = store_at(request.folder)
        name = re.sub(r"[^A-Za-z0-9_.]", "_", request.recorder)
        keep_seconds = request.keep_seconds or self._config.keep_seconds
        retention = Retention(keep_seconds, self._clock.now_us) if keep_seconds else None
        self._writer = Writer(request.folder, f"{name}.{self._clock.anchor_us:x}", retention=retention)
        self.write_failure = ""

    async def run(self) -> None:
        """Record from start to end."""
        handover = Handover(self._manifest.run_id, self._writer.name, self._clock)
        self._sink = Sink(self._writer, self._clock, handover.take)
        self._stop = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        hosts = hosts_of(self._request, self._config)
        run_id = self._manifest.run_id
        self._loads = Loads(self._reader, hosts, self._store, self._writer.name, run_id, self._clock, self._sink)
        try:
            self._write_header()
        except OSError as error:
            raise UsageError(f"{self._request.folder}: cannot be written: {error.strerror or error}") from error
        known: tuple[SourceEntity | SourceLink, ...] = (*self._config.entities, *self._config.links)
        for item in known:
            self._sink.take("config", self._clock.now_us(), item)
        for source, item in self._load_runs():
            self._sink.take(source, self._clock.now_us(), item)
        self._listen()
        await handover.start()
        others = self._others()
        sources = [self._source(config) for config in self._config.sources]
        flushing = asyncio.create_task(self._sink.run())
        others.start()
        polling = self._start_sources(sources)
        try:
            code = await self._until_end(sources)
        finally:
            self._stop.set()
            others.stop()
            await _ended(polling)
            self._account_for_hung(sources)
            flushing.cancel()
            await handover.close()
            await self._sink.flush()
            why = self._sink.close()
            lost = f"the last {self._sink.waiting} rows could not be written: {why}" if why else ""
            self.write_failure = lost or self._loads.keep()
        usage = resource.getrusage(resource.RUSAGE_SELF)
        if not self.write_failure:
            cpu_seconds = usage.ru_utime + usage.ru_stime
            ended = self._clock.now_us()
            ending = Ending(ended_us=ended, load_exit_code=code, recorder_cpu_seconds=cpu_seconds)
            try:
                self._writer.end(ending)
            except (OSError, duckdb.Error) as error:
                self.write_failure = f"the end of the recording could not be written: {reason(error)}"

    def _others(self) -> Others:
        """The recording may be written by several recorders. Who has no end of its own ends with their load."""

        def take(seen: int, item: Item) -> None:
            self._sink.take(RECORDER, seen, item)

        def load_ended() -> None:
            with contextlib.suppress(RuntimeError):  # The loop has ended by itself.
                self._loop.call_soon_threadsafe(self._stop.set)

        without_end = not self._request.has_load and self._request.for_seconds is None
        clock = StoreClock(self._store, self._writer.name, self._clock)
        return Others(self._store, clock, take, load_ended if without_end else None)

    def _load_runs(self) -> Iterator[tuple[str, SourceEntity | SourceLink]]:
        """(source, thing or link): a load that is started on this machine runs here, unless the configuration says
        where it does; one that is started on a host runs there."""
        said = any(tie.relation == "runs_on" and tie.from_end[0] == "load" for tie in self._config.links)
        hosts: Sequence[str | None] = self._request.hosts or ([] if said or self._reader is None else [None])
        for host in hosts:
            load, machine = load_name(self._reader, host), platform.node() if host in (None, LOCAL) else host
            yield load, SourceEntity("load", load, load, {"name": (load,)})
            yield load, SourceEntity("host", machine, machine, {"name": (machine,)})
            where = "this machine" if host in (None, LOCAL) else f"host {host}"
            yield load, SourceLink("runs_on", ("load", load), ("host", machine), f"started by sanpath on {where}")

    async def _until_end(self, sources: list[Source]) -> int | None:
        """Runs the load, or waits for the end. Returns the load's exit code, None: there was none, or we ended it."""
        request = self._request
        if not request.has_load:
            await either(self._stop.wait(), sleep(request.for_seconds))
            return None
        await either(self._stop.wait(), _polled(sources))
        if self._stop.is_set():
            return None
        if request.sweep:
            code = await SweepRun(request.sweep, self._loads, self._clock, self._sink, self._stop).run()
        else:
            ended, ended_by_us = await self._loads.run(request.load, self._stop, request.for_seconds)
            code = None if ended_by_us else ended
        if sources:
            for source in sources:
                source.ask_after_us = self._clock.now_us()
            await either(self._stop.wait(), sleep(LINGER_SECONDS))
        return code

    def _source(self, config: SourceConfig) -> Source:
        from sanpath.transport.context import LiveContext  # the protocol libraries: only where sources are polled

        made = registry.collector_class(registry.spec(config.collector))

        def context(cost: Cost) -> LiveContext:
            return LiveContext(self._clock, cost)

        return Source(config, lambda: made(config), context, self._clock, self._sink, made.runs_in == "thread")

    def _start_sources(self, sources: list[Source]) -> list[asyncio.Task[None] | threading.Thread]:
        start = self._clock.now_us()
        started: list[asyncio.Task[None] | threading.Thread] = []
        for source in sources:
            if source.blocking:
                arguments = (source, start, self._stop, self._loop)
                thread = threading.Thread(target=_run_in_thread, args=arguments, name=source.name, daemon=True)
                thread.start()
                started.append(thread)
            else:
                started.append(asyncio.create_task(source.run(start, self._stop), name=source.name))
        return started

    def _account_for_hung(self, sources: list[Source]) -> None:
        for source in sources:
            if source.busy_since is not None:
                now = self._clock.now_us()
                message = "the poll had not returned when the run ended"
                poll = Poll(source.name, source.busy_since, source.busy_since, now, "failed", "unreachable", message)
                self._sink.take(source.name, now, poll)

    def _listen(self) -> None:
        """Stop on a word from the screen or on SIGTERM."""
        self._loop.add_signal_handler(signal.SIGTERM, self._stop.set)
        self._loop.add_signal_handler(signal.SIGINT, self._stop.set)
        threading.Thread(target=self._hear, name="stdin", daemon=True).start()

    def _hear(self) -> None:
        for line in sys.stdin:
            if line.strip() == STOP:
                self._loop.call_soon_threadsafe(self._stop.set)
                return self._hear_abort()
        if not self._request.has_load and self._request.for_seconds is None:
            self._loop.call_soon_threadsafe(self._stop.set)
        return None

    def _hear_abort(self) -> None:
        for line in sys.stdin:
            if line.strip() == ABORT:
                self._loop.call_soon_threadsafe(self._abort)

    def _abort(self) -> None:
        self._loads.kill()
        self._sink.flush_at_once(ABORT_SECONDS)
        os._exit(ExitCode.INTERRUPTED)

    def _write_header(self) -> None:
        specs = [
            (config.name, registry.spec(config.collector), config.every_seconds) for config in self._config.sources
        ]
        if self._reader is not None:
            names = [load_name(self._reader, host) for host in self._request.hosts or (None,)]
            specs += [(name, self._reader[0], 1.0) for name in names]
        self._writer.header(
            Header(
                writer=self._writer.name,
                run_id=self._manifest.run_id,
                tool_version=__version__,
                host=platform.node(),
                recorder=self._request.recorder,
                started_us=self._clock.anchor_us,
                load_command=without_credentials(_as_typed(self._request)),
                plan=self._request.plan,
                sources=tuple(_declaration(*spec) for spec in specs),
            )
        )


def check_request(request: RunRequest, config: Config) -> None:
    """Everything that can be told before a device is asked. Raises UsageError."""
    if request.writer and not re.fullmatch(r"[A-Za-z0-9_.-]{1,63}", request.writer):
        raise UsageError("--writer: a name has up to 63 letters, digits, _, . and -")
    read = selected(config, request.only_sources).sources
    hosts = hosts_of(request, config)
    argv = _argv(request)
    if argv and (found := _reader(request)) is not None:
        wrapped = found[1].wrap(argv)
        if hosts and wrapped.output_file:
            raise UsageError(
                f"{argv[0]} writes to {wrapped.output_file}, which is not read on other hosts: leave it out"
            )
    if argv and (not hosts or LOCAL in hosts) and shutil.which(argv[0]) is None:
        raise UsageError(f"{argv[0]}: there is no such command, or it may not be executed")
    if not request.has_load and not config.sources:
        raise UsageError("nothing to record: `sanpath init` asks for sources; or name a load command after --")
    if (manifest := layout.check(request.folder, request.plan)) is not None:
        loads = [load_name(_reader(request), host) for host in request.hosts or (None,)] if request.has_load else []
        told = starts(store_at(request.folder), set())
        if request.has_load:
            refuse_second_load(told, request.folder, request.plan, of_recording(manifest.run_id))
        refuse_twice(told, request.recorder, [*(source.name for source in read), *loads])


def selected(config: Config, only: tuple[str, ...]) -> Config:
    """The configuration with only these sources; all of them when none is named. Raises UsageError."""
    known = [source.name for source in config.sources]
    for name in only:
        if name not in known:
            raise UsageError(f"--only-sources: no source is called {name!r}; there are: {', '.join(known) or 'none'}")
    if not only:
        return config
    return replace(config, sources=tuple(s for s in config.sources if s.name in only))


def hosts_of(request: RunRequest, config: Config) -> dict[str, SshTarget | None]:
    """How to reach the hosts that run the load, by name; None: this machine. Raises UsageError for unknown ones."""
    for name in request.hosts:
        if name != LOCAL and name not in config.hosts:
            there = ", ".join((LOCAL, *config.hosts))
            raise UsageError(
                f"no host is called {name!r} under hosts in {config.path or DEFAULT_NAME}; there are: {there}"
            )
    return {name: config.hosts.get(name) for name in request.hosts}


def _reader(request: RunRequest) -> Reader:
    return reader_of(_argv(request), "fio" if request.sweep else request.load_reader)


def _argv(request: RunRequest) -> tuple[str, ...]:
    """The load command, of a sweep that of its first step; empty for none."""
    return commands.fio(request.sweep.plan, steps(request.sweep.plan)[0]) if request.sweep else request.load


def _as_typed(request: RunRequest) -> tuple[str, ...]:
    return ("sanpath", "sweep", request.sweep.file) if request.sweep else request.load


def _declaration(name: str, spec: Spec, every_seconds: float) -> Declaration:
    every_seconds = max(every_seconds, spec.cadence_seconds)
    return Declaration(name=name, collector=spec.name, every_seconds=every_seconds, tables=spec.tables)


def _run_in_thread(source: Source, start: int, stop: asyncio.Event, loop: asyncio.AbstractEventLoop) -> None:
    """A blocking source: its own loop, and its own event that follows the recorder's."""

    async def run() -> None:
        own, here = asyncio.Event(), asyncio.get_running_loop()

        async def follow() -> None:
            await stop.wait()
            here.call_soon_threadsafe(own.set)

        asyncio.run_coroutine_threadsafe(follow(), loop)
        await source.run(start, own)

    asyncio.run(run())


async def _ended(polling: list[asyncio.Task[None] | threading.Thread]) -> None:
    """Until every source has ended, at most END_SECONDS; tasks that have not are cancelled, threads left to die."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(END_SECONDS):
            while not all(p.done() if isinstance(p, asyncio.Task) else not p.is_alive() for p in polling):
                await asyncio.sleep(POLL_SECONDS)
    for task in polling:
        if isinstance(task, asyncio.Task):
            task.cancel()


async def _polled(sources: list[Source]) -> None:
    """Until every source has been polled once, at most FIRST_POLL_SECONDS."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(FIRST_POLL_SECONDS):
            # Blocking sources live in other threads: asking is simpler than signalling across loops.
            while not all(source.polled.is_set() for source in sources):
                await asyncio.sleep(POLL_SECONDS)

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
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import duckdb

from sanpath import __version__, registry
from sanpath.config import Config, load_config
from sanpath.errors import ExitCode, SanpathError, UsageError
from sanpath.model import Poll, Thing, Tie
from sanpath.plugin import Cost, SourceConfig, Spec, WrappedCommand
from sanpath.recorder.load import Load, without_credentials
from sanpath.recorder.request import ABORT, STOP, RunRequest
from sanpath.recorder.sink import Sink, reason
from sanpath.recorder.source import Source
from sanpath.recording import layout
from sanpath.recording.clock import RecorderClock
from sanpath.recording.documents import Declaration, Ending, Header
from sanpath.recording.store import store_at
from sanpath.recording.write import Writer

FIRST_POLL_SECONDS = 12.0
"""How long the load waits for the first answer of every source: the idle state is worth recording."""
LINGER_SECONDS = 3.0
"""How long the sources are polled after the load: what an array says of the last second comes later."""
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
        print("sanpath: the last rows could not be written", file=sys.stderr)
        return 1
    return ExitCode.OK


class Recorder:
    """One run. Raises UsageError on what can be told before anything connects."""

    def __init__(self, request: RunRequest) -> None:
        self._request = request
        self._config = selected(load_config(request.config), request.only_sources)
        self._reader = _reader(request)
        self._clock = RecorderClock()
        self._manifest = layout.create(request.folder)
        self._store = store_at(request.folder)
        host = re.sub(r"[^A-Za-z0-9_.]", "_", platform.node()) or "host"
        self._writer = Writer(request.folder, f"{host}.{self._clock.anchor_us:x}")
        self._output: Path | None = None
        self.write_failure = ""

    async def run(self) -> None:
        """Record from start to end."""
        self._sink = Sink(self._writer, self._clock)
        self._stop = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        try:
            self._write_header()
        except OSError as error:
            raise UsageError(f"{self._request.folder}: cannot be written: {error.strerror or error}") from error
        known: tuple[Thing | Tie, ...] = (*self._config.things, *self._config.ties)
        for item in known:
            self._sink.take("config", self._clock.now_us(), item)
        for item in self._load_runs_here():
            self._sink.take(self._reader[0].name if self._reader else "load", self._clock.now_us(), item)
        self._listen()
        sources = [self._source(config) for config in self._config.sources]
        flushing = asyncio.create_task(self._sink.run())
        polling = self._start_sources(sources)
        try:
            code = await self._until_end(sources)
        finally:
            self._stop.set()
            await _ended(polling)
            self._account_for_hung(sources)
            flushing.cancel()
            await self._sink.flush()
            self.write_failure = self._sink.close() or self._keep_output()
        usage = resource.getrusage(resource.RUSAGE_SELF)
        if not self.write_failure:
            cpu_seconds = usage.ru_utime + usage.ru_stime
            ended = self._clock.now_us()
            ending = Ending(ended_us=ended, load_exit_code=code, recorder_cpu_seconds=cpu_seconds)
            try:
                self._writer.end(ending)
            except (OSError, duckdb.Error) as error:
                self.write_failure = reason(error)

    def _load_runs_here(self) -> tuple[Thing | Tie, ...]:
        """The load is started on this machine, so it runs here, unless the configuration says where it does."""
        said = any(tie.relation == "runs_on" and tie.from_end[0] == "load" for tie in self._config.ties)
        if said or self._reader is None:
            return ()
        name, host = self._reader[0].name, platform.node()
        started = Tie("runs_on", ("load", name), ("host", host), "started by sanpath on this machine")
        return (Thing("load", name, name, {"name": (name,)}), Thing("host", host, host, {"name": (host,)}), started)

    async def _until_end(self, sources: list[Source]) -> int | None:
        """Runs the load, or waits for the end. Returns the load's exit code, None: there was none, or we ended it."""
        if not self._request.load:
            await _either(self._stop.wait(), _sleep(self._request.for_seconds))
            return None
        await _either(self._stop.wait(), _polled(sources))
        if self._stop.is_set():
            return None
        command, reader, name = self._wrapped()
        self._output = self._store.scratch(self._output_name)
        self._load = Load(command, reader, name, self._output, self._clock, self._sink)
        await self._load.start()
        if self._reader is None:
            hint = "--load NAME says which collector does"
            with contextlib.suppress(OSError):  # The terminal may have gone.
                print(f"sanpath: nothing reads the output of {self._request.load[0]}; {hint}", file=sys.stderr)
        following = asyncio.create_task(self._load.follow())
        await _either(self._stop.wait(), asyncio.shield(following), _sleep(self._request.for_seconds))
        ended_by_us = not following.done()
        if ended_by_us:
            await self._load.interrupt()
        code = await following
        if sources:
            await _either(self._stop.wait(), _sleep(LINGER_SECONDS))
        return None if ended_by_us else code

    @property
    def _output_name(self) -> str:
        return f"load/{self._writer.name}"

    def _keep_output(self) -> str:
        """Bring the load's output into the recording. Returns why that failed, "" if it did not."""
        if self._output is None:
            return ""
        try:
            self._store.adopt(self._output, self._output_name)
        except OSError as error:
            return f"the load's output stays in {self._output}: {error}"
        return ""

    def _wrapped(self) -> tuple[WrappedCommand, Any, str]:
        if self._reader is None:
            return WrappedCommand(self._request.load), None, "load"
        spec, reader = self._reader
        return reader.wrap(self._request.load), reader(), spec.name

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
        if not self._request.load and self._request.for_seconds is None:
            self._loop.call_soon_threadsafe(self._stop.set)
        return None

    def _hear_abort(self) -> None:
        for line in sys.stdin:
            if line.strip() == ABORT:
                self._loop.call_soon_threadsafe(self._abort)

    def _abort(self) -> None:
        if load := getattr(self, "_load", None):
            load.kill()
        self._sink.flush_at_once(ABORT_SECONDS)
        os._exit(ExitCode.INTERRUPTED)

    def _write_header(self) -> None:
        specs = [
            (config.name, registry.spec(config.collector), config.every_seconds) for config in self._config.sources
        ]
        if self._reader is not None:
            specs.append((self._reader[0].name, self._reader[0], 1.0))
        self._writer.header(
            Header(
                writer=self._writer.name,
                run_id=self._manifest.run_id,
                tool_version=__version__,
                host=platform.node(),
                started_us=self._clock.anchor_us,
                load_command=without_credentials(self._request.load),
                sources=tuple(_declaration(*spec) for spec in specs),
            )
        )


def check_request(request: RunRequest, config: Config) -> None:
    """Everything that can be told before a device is asked. Raises UsageError."""
    selected(config, request.only_sources)
    if request.load and (found := _reader(request)) is not None:
        found[1].wrap(request.load)
    if request.load and shutil.which(request.load[0]) is None:
        raise UsageError(f"{request.load[0]}: there is no such command, or it may not be executed")
    if not request.load and not config.sources:
        raise UsageError("nothing to record: name sources in sanpath.yaml, or a load command after --")
    layout.check(request.folder)


def selected(config: Config, only: tuple[str, ...]) -> Config:
    """The configuration with only these sources; all of them when none is named. Raises UsageError."""
    known = [source.name for source in config.sources]
    for name in only:
        if name not in known:
            raise UsageError(f"--only-sources: no source is called {name!r}; there are: {', '.join(known) or 'none'}")
    if not only:
        return config
    return Config(config.path, tuple(s for s in config.sources if s.name in only), config.things, config.ties)


def _reader(request: RunRequest) -> tuple[Spec, Any] | None:
    return registry.load_reader(request.load, request.load_reader) if request.load else None


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


async def _sleep(seconds: float | None) -> None:
    await asyncio.sleep(seconds if seconds is not None else float("inf"))


async def _either(*waits: Coroutine[Any, Any, Any] | asyncio.Future[Any]) -> None:
    """Until the first of them is done; the others are cancelled, but for what is shielded."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()

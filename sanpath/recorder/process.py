"""The recorder process: reads its request from standard input and records until the load ends or a stop is requested.

A line "stop" on standard input ends the run, a further line "abort" immediately. If the input is closed without a
line, the command that started it has died: a run with a load command or a time limit goes on, any other run stops.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import re
import resource
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import duckdb

from sanpath import __version__, registry
from sanpath.config import load_config
from sanpath.errors import ExitCode, SanpathError, UsageError
from sanpath.masking import masked_words
from sanpath.model import Poll, SourceEntity, SourceLink
from sanpath.plugin import SourceConfig, Spec
from sanpath.recorder.control import ABORT, STOP, UNWRITTEN
from sanpath.recorder.first_completed import either, sleep
from sanpath.recorder.loads.loads import Loads, load_name
from sanpath.recorder.loads.sweep import ProbeRun, SweepRun, lock_sweep
from sanpath.recorder.other_recorders import OtherRecorders
from sanpath.recorder.request import RunRequest
from sanpath.recorder.request_check import load_hosts, reader_of, select_sources
from sanpath.recorder.sink import Sink, error_text
from sanpath.recorder.sources.source import CLOSE_SECONDS, Source
from sanpath.recorder.viewer_socket import ViewerSocket
from sanpath.recording.format import layout
from sanpath.recording.format.compaction import Retention
from sanpath.recording.format.documents import Declaration, Ending, Header
from sanpath.recording.format.layout import CONFIG, RECORDER
from sanpath.recording.storage.store import store_at
from sanpath.recording.writing.clock import RecorderClock
from sanpath.recording.writing.store_clock import StoreClock
from sanpath.recording.writing.writer import Writer
from sanpath.sweep.plan import LOCAL

FIRST_POLL_SECONDS = 12.0
"""How long the load waits for the first poll of every source, so that the idle state is recorded."""
LINGER_SECONDS = 3.0
"""How long the sources are polled after the load, at least: an array reports the last second with a delay.

Longer if the samples of a source are later (`Collector.delay_seconds`). A source whose next poll is due later is
polled once more at the end.
"""
END_SECONDS = 4.0
"""How long a poll may continue when the run ends. Then it is cancelled, and has CLOSE_SECONDS to log out."""
ABORT_SECONDS = 2.0
"""How long writing pending rows may take when the run is aborted."""
POLL_SECONDS = 0.02
"""How often to check whether sources have polled, or have ended."""


def main() -> int:
    """Run the process and return its exit code. Errors are one line on standard error."""
    line = sys.stdin.readline()
    if not line:
        return ExitCode.INTERRUPTED  # The parent process ended before it sent a request.
    request = RunRequest.model_validate_json(line)
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
    """One run. Raises UsageError for mistakes that can be detected before any connection."""

    def __init__(self, request: RunRequest) -> None:
        self._request = request
        self._config = select_sources(load_config(request.config, request.only_sources), request.only_sources)
        self._reader = reader_of(request)
        self._clock = RecorderClock()
        self._manifest = layout.create(request.folder, request.plan)
        self._lock = lock_sweep(request.folder, self._manifest.run_id) if request.sweep else None
        self._store = store_at(request.folder)
        recorder_name = re.sub(r"[^A-Za-z0-9_.]", "_", request.recorder)
        keep_seconds = request.keep_seconds or self._config.keep_seconds
        retention = Retention(keep_seconds, self._clock.now_us) if keep_seconds else None
        self._writer = Writer(request.folder, f"{recorder_name}.{self._clock.anchor_us:x}", retention=retention)
        self.write_failure = ""

    async def run(self) -> None:
        """Record from start to end. `write_failure` is set if the recording could not be written completely."""
        viewers = ViewerSocket(self._manifest.run_id, self._writer.name, self._clock)
        self._sink = Sink(self._writer, self._clock, viewers.take)
        self._stop = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._set_up_loads()
        self._record_configuration()
        self._listen()
        await viewers.start()
        other_recorders = self._other_recorders()
        sources = [self._create_source(config) for config in self._config.sources]
        flushing = asyncio.create_task(self._sink.run())
        other_recorders.start()
        polling = self._start_sources(sources)
        try:
            code = await self._run_until_end(sources)
        finally:
            self._stop.set()
            other_recorders.stop()
            await _wait_until_ended(sources, polling)
            self._record_hung_polls(sources)
            flushing.cancel()
            await viewers.close()
            await self._sink.flush()
            failure = self._sink.close()
            lost = f"the last {self._sink.waiting} rows could not be written: {failure}" if failure else ""
            self.write_failure = lost or self._loads.keep()
        if not self.write_failure:
            self._write_end(code)

    def _set_up_loads(self) -> None:
        hosts = load_hosts(self._request, self._config)
        run_id = self._manifest.run_id
        machines = self._machine_names()
        self._loads = Loads(
            self._reader, hosts, self._store, self._writer.name, run_id, self._clock, self._sink, machines
        )
        self._sweep: SweepRun | None = None
        if self._request.sweep:
            runs = ProbeRun if self._request.sweep.by_order else SweepRun
            self._sweep = runs(self._request.sweep, self._loads, self._clock, self._sink, self._stop)

    def _record_configuration(self) -> None:
        """Record what is known before the first poll. Raises UsageError: the recording cannot be written."""
        try:
            self._write_header()
        except OSError as error:
            raise UsageError(f"{self._request.folder}: cannot be written: {error.strerror or error}") from error
        configured: tuple[SourceEntity | SourceLink, ...] = (*self._config.entities, *self._config.links)
        for item in configured:
            self._sink.take(CONFIG, self._clock.now_us(), item)
        for source, item in self._load_machines():
            self._sink.take(source, self._clock.now_us(), item)

    def _write_end(self, load_exit_code: int | None) -> None:
        """Write that the recording is complete, and the recorder's own cost."""
        usage = resource.getrusage(resource.RUSAGE_SELF)
        ending = Ending(
            ended_us=self._clock.now_us(),
            load_exit_code=load_exit_code,
            recorder_cpu_seconds=usage.ru_utime + usage.ru_stime,
        )
        try:
            self._writer.end(ending)
        except (OSError, duckdb.Error) as error:
            self.write_failure = f"the end of the recording could not be written: {error_text(error)}"

    def _other_recorders(self) -> OtherRecorders:
        """Watch the other recorders of the recording; a run without load or time limit ends with their load."""

        def load_ended() -> None:
            with contextlib.suppress(RuntimeError):  # The loop has already ended.
                self._loop.call_soon_threadsafe(self._stop.set)

        without_end = not self._request.has_load and self._request.for_seconds is None
        clock = StoreClock(self._store, self._writer.name, self._clock)
        take = partial(self._sink.take, RECORDER)
        return OtherRecorders(self._store, clock, take, load_ended if without_end else None)

    def _machine_names(self) -> Mapping[str | None, str]:
        """Return host of a load, None for the only load → the name of its machine.

        A load that is started locally runs on this machine, unless the configuration assigns another one. A load that
        is started on a host runs on that host.
        """
        placed = any(link.relation == "runs_on" and link.from_end[0] == "load" for link in self._config.links)
        hosts: Sequence[str | None] = self._request.hosts or ([] if placed or self._reader is None else [None])
        return {host: platform.node() if host is None or host == LOCAL else host for host in hosts}

    def _load_machines(self) -> Iterator[tuple[str, SourceEntity | SourceLink]]:
        """Yield (source, entity or link) for the machines that the loads run on."""
        for host, machine in self._machine_names().items():
            load = load_name(self._reader, host)
            yield load, SourceEntity("load", load, load, {"name": (load,)})
            yield load, SourceEntity("host", machine, machine, {"name": (machine,)})
            machine_text = "this machine" if host in (None, LOCAL) else f"host {host}"
            yield (
                load,
                SourceLink("runs_on", ("load", load), ("host", machine), f"started by sanpath on {machine_text}"),
            )

    async def _run_until_end(self, sources: list[Source]) -> int | None:
        """Run the load, or wait for the end of the run.

        Returns the load's exit code. None: there was no load, or sanpath ended it.
        """
        request = self._request
        if not request.has_load:
            await either(self._stop.wait(), sleep(request.for_seconds))
            return None
        await either(self._stop.wait(), _wait_until_polled(sources))
        if self._stop.is_set():
            return None
        if self._sweep is not None:
            code = await self._sweep.run()
        else:
            exit_code, ended_by_us = await self._loads.run(request.load, self._stop, request.for_seconds)
            code = None if ended_by_us else exit_code
        if sources:
            now_us = self._clock.now_us()
            delays = {source.name: source.load_ended(now_us) for source in sources}
            seconds = max(LINGER_SECONDS, *delays.values())
            if late := [name for name, delay in delays.items() if delay > LINGER_SECONDS]:
                text = f"sanpath: reading the last samples of {', '.join(late)} for {seconds:.0f} s; Ctrl-C ends that"
                print(text, file=sys.stderr, flush=True)
            await either(self._stop.wait(), sleep(seconds))
        return code

    def _create_source(self, config: SourceConfig) -> Source:
        from sanpath.transport.live_context import LiveContext  # imports protocol libraries, which only polling needs

        collector = registry.collector_class(registry.spec(config.collector))(config)
        return Source(config, collector, partial(LiveContext, self._clock), self._clock, self._sink)

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

    def _record_hung_polls(self, sources: list[Source]) -> None:
        for source in sources:
            if source.busy_since is not None:
                now = self._clock.now_us()
                message = "the poll had not returned when the run ended"
                poll = Poll(source.name, source.busy_since, source.busy_since, now, "failed", "unreachable", message)
                self._sink.take(source.name, now, poll)

    def _listen(self) -> None:
        """Stop on a line from standard input, on SIGTERM or on SIGINT."""
        self._loop.add_signal_handler(signal.SIGTERM, self._stop.set)
        self._loop.add_signal_handler(signal.SIGINT, self._stop.set)
        threading.Thread(target=self._read_commands, name="stdin", daemon=True).start()

    def _read_commands(self) -> None:
        for line in sys.stdin:
            if line.strip() == STOP:
                self._loop.call_soon_threadsafe(self._stop.set)
                return self._read_abort()
            if isinstance(self._sweep, ProbeRun):
                self._loop.call_soon_threadsafe(self._sweep.execute_command, line)
        # The process that judges the steps of a probe, and watches their effect on other hosts, has ended.
        is_abandoned = isinstance(self._sweep, ProbeRun)
        if is_abandoned or (not self._request.has_load and self._request.for_seconds is None):
            self._loop.call_soon_threadsafe(self._stop.set)
        return None

    def _read_abort(self) -> None:
        for line in sys.stdin:
            if line.strip() == ABORT:
                self._loop.call_soon_threadsafe(self._abort)

    def _abort(self) -> None:
        self._loads.kill()
        self._sink.flush_within(ABORT_SECONDS)
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
                load_command=masked_words(_typed_command(self._request)),
                plan=self._request.plan,
                sources=tuple(_declare(*spec) for spec in specs),
            )
        )


def _typed_command(request: RunRequest) -> tuple[str, ...]:
    command = "probe" if request.sweep and request.sweep.by_order else "sweep"
    return ("sanpath", command, request.sweep.file) if request.sweep else request.load


def _declare(name: str, spec: Spec, every_seconds: float) -> Declaration:
    every_seconds = max(every_seconds, spec.cadence_seconds)
    return Declaration(name=name, collector=spec.name, every_seconds=every_seconds, tables=spec.tables)


def _run_in_thread(source: Source, start: int, stop: asyncio.Event, loop: asyncio.AbstractEventLoop) -> None:
    """Run a blocking source in its own loop, with a stop event that follows the recorder's."""

    async def run() -> None:
        local_stop, thread_loop = asyncio.Event(), asyncio.get_running_loop()

        async def follow() -> None:
            await stop.wait()
            thread_loop.call_soon_threadsafe(local_stop.set)

        asyncio.run_coroutine_threadsafe(follow(), loop)
        await source.run(start, local_stop)

    asyncio.run(run())


async def _wait_until_ended(sources: list[Source], polling: list[asyncio.Task[None] | threading.Thread]) -> None:
    """Wait until every source has ended, at most END_SECONDS and CLOSE_SECONDS.

    After END_SECONDS the current polls are cancelled, but a log-out may finish: a device keeps a session until it is
    closed. Threads are daemons.
    """
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(END_SECONDS):
            while not all(work.done() if isinstance(work, asyncio.Task) else not work.is_alive() for work in polling):
                await asyncio.sleep(POLL_SECONDS)
    tasks = []
    for source, work in zip(sources, polling, strict=True):
        if isinstance(work, asyncio.Task):
            tasks.append(work)
            if source.busy_since is not None:
                work.cancel()
    if tasks:
        _, late = await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
        for task in late:
            task.cancel()


async def _wait_until_polled(sources: list[Source]) -> None:
    """Wait until every source has been polled once, at most FIRST_POLL_SECONDS."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(FIRST_POLL_SECONDS):
            # Blocking sources run in other threads: polling is simpler than signals between loops.
            while not all(source.polled.is_set() for source in sources):
                await asyncio.sleep(POLL_SECONDS)

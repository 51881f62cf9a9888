"""Runs the same load on several hosts: connects to all, then starts all at the same moment."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import asyncssh

from sanpath.errors import UsageError
from sanpath.masking import masked_words
from sanpath.model import Scalar
from sanpath.plugin import Clock, SshTarget, WrappedCommand
from sanpath.recorder.loads.local import INTERRUPT_SECONDS, TERMINATE_SECONDS
from sanpath.recorder.loads.output import END_SECONDS, LoadOutput
from sanpath.recorder.loads.output_reader import OutputReading
from sanpath.recorder.loads.remote_shell import CONNECTION_LOST, Shell, open_shell
from sanpath.recorder.loads.spool import Spool
from sanpath.recorder.sources.background import run_in_background

_CLOCK_READINGS = 5
"""Readings of the host's clock; the one with the shortest round trip counts."""
_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class HostClock:
    """A host's clock minus ours, within ± `uncertainty_seconds`; both None if the host reports no time."""

    offset_seconds: float | None
    uncertainty_seconds: float | None


class HostLoad:
    """The load on one host. Its output is written to `folder`, with secrets masked."""

    def __init__(
        self, name: str, target: SshTarget | None, reading: OutputReading, folder: Path, clock: Clock
    ) -> None:
        self.name, self._target, self._reading, self._folder = name, target, reading, folder
        self._time = clock
        self._shell: Shell | None = None
        self.clock = HostClock(None, None)

    async def open(self, command: WrappedCommand) -> None:
        """Connect and read the host's clock. Raises UsageError."""
        self._shell = await open_shell(self.name, self._target, command.argv)
        self.clock = min(
            [await self._read_clock(self._shell) for _ in range(_CLOCK_READINGS)],
            key=lambda reading: reading.uncertainty_seconds or float("inf"),
        )
        offset = {"offset_seconds": self.clock.offset_seconds, "uncertainty_seconds": self.clock.uncertainty_seconds}
        self._reading.event("clock", {"host": self.name, **offset})
        words = " ".join(masked_words(command.argv))
        self._reading.event("load-started", {"command": words, "host": self.name})

    def go(self) -> None:
        """Start the load."""
        self._opened.stdin.write(b"go\n")

    async def began(self) -> float | None:
        """Return when it was started, in seconds of our clock; None: unknown."""
        host_seconds = _seconds(await self._opened.stdout.readline())
        return (
            None
            if host_seconds is None or self.clock.offset_seconds is None
            else host_seconds - self.clock.offset_seconds
        )

    async def follow(self) -> int:
        """Read the output until the load has ended. Returns its exit code."""
        shell = self._opened
        load_output = LoadOutput(self._folder, self._reading.report)
        await asyncio.gather(
            self._copy(shell.stdout, load_output.output, self._reading.feed),
            self._copy(shell.stderr, load_output.errors, self._show),
        )
        code = await shell.wait_for_end()
        shell.close()
        await self._reading.finish()
        with contextlib.suppress(TimeoutError):  # Both the recording's disk and that of temporary files hang.
            await run_in_background(load_output.close, 2 * END_SECONDS)
        self._reading.event("load-ended", {"exit_code": code, "host": self.name})
        return code

    def event(self, name: str, detail: Mapping[str, Scalar]) -> None:
        """Record an event."""
        self._reading.event(name, detail)

    def end(self) -> None:
        """Ask the host's shell to end the load: first with SIGINT, then with stronger signals."""
        with contextlib.suppress(OSError):
            self._opened.stdin.write_eof()

    def close(self) -> None:
        """Close the connection to the host."""
        if self._shell is not None:
            self._shell.close()

    @property
    def _opened(self) -> Shell:
        assert self._shell is not None, "open() comes first"  # noqa: S101 - a misuse by the recorder itself
        return self._shell

    async def _read_clock(self, shell: Shell) -> HostClock:
        sent_seconds = self._time.now_us() / 1e6
        shell.stdin.write(b"clock\n")
        host_seconds = _seconds(await shell.stdout.readline())
        answered_seconds = self._time.now_us() / 1e6
        if host_seconds is None:
            return HostClock(None, None)
        # The host read its clock between question and answer: assume the middle, ± half of the round trip.
        return HostClock(host_seconds - (sent_seconds + answered_seconds) / 2, (answered_seconds - sent_seconds) / 2)

    async def _show(self, text: bytes) -> None:
        self._reading.show(text)

    async def _copy(
        self, stream: asyncio.StreamReader, spool: Spool, take: Callable[[bytes], Awaitable[None]]
    ) -> None:
        with contextlib.suppress(OSError, asyncssh.Error):  # A broken connection ends the output.
            while chunk := await stream.read(_CHUNK_BYTES):
                spool.write(chunk)
                await take(spool.take())


class HostLoads:
    """One load command on several hosts, with a barrier at the start; then each load runs on its own."""

    def __init__(self, command: WrappedCommand, hosts: Sequence[HostLoad]) -> None:
        self._command, self._hosts = command, hosts
        self._following: list[asyncio.Task[int]] = []
        self._interrupted = False

    async def start(self) -> None:
        """Connect to all hosts, then start all loads at the same moment. Raises UsageError if a host fails."""
        try:
            await asyncio.gather(*(host.open(self._command) for host in self._hosts))
        except UsageError:
            self.kill()
            raise
        for host in self._hosts:
            host.go()
        began = await asyncio.gather(*(host.began() for host in self._hosts))
        start_seconds = [moment for moment in began if moment is not None]
        spread = max(start_seconds) - min(start_seconds) if len(start_seconds) == len(began) else None
        uncertainty = max((host.clock.uncertainty_seconds or 0.0 for host in self._hosts), default=0.0)
        self._hosts[0].event(
            "barrier",
            {
                "hosts": ",".join(host.name for host in self._hosts),
                "spread_seconds": spread,
                "uncertainty_seconds": uncertainty,
            },
        )

    async def follow(self) -> int:
        """Wait until all have ended. Returns the exit code of the first that failed, otherwise 0."""
        self._following = [asyncio.create_task(self._follow_host(host)) for host in self._hosts]
        codes = await asyncio.gather(*self._following)
        return next((code for code in codes if code), 0)

    async def interrupt(self) -> None:
        """End all loads. On a host that does not answer, its shell ends the load."""
        self._interrupted = True
        for host in self._hosts:
            host.end()
        if self._following:
            await asyncio.wait(self._following, timeout=INTERRUPT_SECONDS + 2 * TERMINATE_SECONDS)
        self.kill()

    def kill(self) -> None:
        """Close all connections: each host's shell then ends its load."""
        for host in self._hosts:
            host.close()

    async def _follow_host(self, host: HostLoad) -> int:
        code = await host.follow()
        if code and not self._interrupted:
            reason = "its connection was lost" if code == CONNECTION_LOST else f"it ended with exit code {code}"
            with contextlib.suppress(OSError):  # The terminal may have been closed.
                print(f"sanpath: the load on host {host.name}: {reason}", file=sys.stderr)
        return code


def _seconds(line: bytes) -> float | None:
    try:
        return float(line)
    except ValueError:
        return None

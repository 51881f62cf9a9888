"""The same load on several hosts in lock-step: connected first, then started at the same moment."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import asyncssh

from sanpath.errors import UsageError
from sanpath.model import Scalar
from sanpath.plugin import Clock, SshTarget, WrappedCommand
from sanpath.recorder.loads.local import INTERRUPT_SECONDS, TERMINATE_SECONDS, without_credentials
from sanpath.recorder.loads.output import END_SECONDS, LoadOutput
from sanpath.recorder.loads.output_reader import OutputReading
from sanpath.recorder.loads.remote_shell import GONE, Shell, opened
from sanpath.recorder.loads.spool import Spool
from sanpath.recorder.sources.background import in_background

_CLOCK_READINGS = 5
_PART_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class HostClock:
    """A host's clock minus ours, true within `uncertainty_seconds`; both None when the host does not tell."""

    offset_seconds: float | None
    uncertainty_seconds: float | None


class HostLoad:
    """The load on one host. Its output is kept in `folder`, byte for byte."""

    def __init__(
        self, name: str, target: SshTarget | None, reading: OutputReading, folder: Path, clock: Clock
    ) -> None:
        self.name, self._target, self._reading, self._folder = name, target, reading, folder
        self._time = clock
        self._shell: Shell | None = None
        self.clock = HostClock(None, None)

    async def open(self, command: WrappedCommand) -> None:
        """Connect and look at the host's clock. Raises UsageError."""
        self._shell = await opened(self.name, self._target, command.argv)
        self.clock = min(
            [await self._clock_reading(self._shell) for _ in range(_CLOCK_READINGS)],
            key=lambda reading: reading.uncertainty_seconds or float("inf"),
        )
        told = {"offset_seconds": self.clock.offset_seconds, "uncertainty_seconds": self.clock.uncertainty_seconds}
        self._reading.event("clock", {"host": self.name, **told})
        words = " ".join(without_credentials(command.argv))
        self._reading.event("load-started", {"command": words, "host": self.name})

    def go(self) -> None:
        """Start the load."""
        self._opened.stdin.write(b"go\n")

    async def began(self) -> float | None:
        """When it was started, seconds of our clock; None: not known."""
        told = _seconds(await self._opened.stdout.readline())
        return None if told is None or self.clock.offset_seconds is None else told - self.clock.offset_seconds

    async def follow(self) -> int:
        """Read until it has ended."""
        shell = self._opened
        kept = LoadOutput(self._folder, self._reading.tell)
        await asyncio.gather(
            self._copy(shell.stdout, kept.output, self._reading.feed),
            self._copy(shell.stderr, kept.errors, self._show),
        )
        code = await shell.ended()
        shell.close()
        await self._reading.finish()
        with contextlib.suppress(TimeoutError):  # Both disks hang, the recording's and that of temporary files.
            await in_background(kept.close, 2 * END_SECONDS)
        self._reading.event("load-ended", {"exit_code": code, "host": self.name})
        return code

    def event(self, name: str, detail: Mapping[str, Scalar]) -> None:
        """Record what happened."""
        self._reading.event(name, detail)

    def end(self) -> None:
        """Have it ended as Ctrl-C would, then harder."""
        with contextlib.suppress(OSError):
            self._opened.stdin.write_eof()

    def close(self) -> None:
        """Let go of the host."""
        if self._shell is not None:
            self._shell.close()

    @property
    def _opened(self) -> Shell:
        assert self._shell is not None, "open() comes first"  # noqa: S101 - a misuse by the recorder itself
        return self._shell

    async def _clock_reading(self, shell: Shell) -> HostClock:
        asked = self._time.now_us() / 1e6
        shell.stdin.write(b"clock\n")
        told = _seconds(await shell.stdout.readline())
        answered = self._time.now_us() / 1e6
        if told is None:
            return HostClock(None, None)
        # Read somewhere between question and answer: the middle, give or take half the round trip.
        return HostClock(told - (asked + answered) / 2, (answered - asked) / 2)

    async def _show(self, text: bytes) -> None:
        self._reading.show(text)

    async def _copy(
        self, stream: asyncio.StreamReader, spool: Spool, take: Callable[[bytes], Awaitable[None]]
    ) -> None:
        with contextlib.suppress(OSError, asyncssh.Error):  # A connection that breaks is the end of the output.
            while part := await stream.read(_PART_BYTES):
                spool.write(part)
                await take(spool.take())


class HostLoads:
    """One load command on several hosts: a barrier at the start; then each goes on by itself."""

    def __init__(self, command: WrappedCommand, hosts: Sequence[HostLoad]) -> None:
        self._command, self._hosts = command, hosts
        self._following: list[asyncio.Task[int]] = []
        self._interrupted = False

    async def start(self) -> None:
        """Connect to all, then start all at the same moment. Raises UsageError when one of them cannot."""
        try:
            await asyncio.gather(*(host.open(self._command) for host in self._hosts))
        except UsageError:
            self.kill()
            raise
        for host in self._hosts:
            host.go()
        began = await asyncio.gather(*(host.began() for host in self._hosts))
        told = [moment for moment in began if moment is not None]
        spread = max(told) - min(told) if len(told) == len(began) else None
        doubt = max((host.clock.uncertainty_seconds or 0.0 for host in self._hosts), default=0.0)
        self._hosts[0].event(
            "barrier",
            {
                "hosts": ",".join(host.name for host in self._hosts),
                "spread_seconds": spread,
                "uncertainty_seconds": doubt,
            },
        )

    async def follow(self) -> int:
        """Until all have ended. Returns the exit code of the first that failed, else 0."""
        self._following = [asyncio.create_task(self._followed(host)) for host in self._hosts]
        codes = await asyncio.gather(*self._following)
        return next((code for code in codes if code), 0)

    async def interrupt(self) -> None:
        """End them all; a host that does not answer is left to its own shell, which ends the load there."""
        self._interrupted = True
        for host in self._hosts:
            host.end()
        if self._following:
            await asyncio.wait(self._following, timeout=INTERRUPT_SECONDS + 2 * TERMINATE_SECONDS)
        self.kill()

    def kill(self) -> None:
        """Let go of all: each host ends its load when it notices."""
        for host in self._hosts:
            host.close()

    async def _followed(self, host: HostLoad) -> int:
        code = await host.follow()
        if code and not self._interrupted:
            why = "its connection was lost" if code == GONE else f"it ended with exit code {code}"
            with contextlib.suppress(OSError):  # The terminal may have gone.
                print(f"sanpath: the load on host {host.name}: {why}", file=sys.stderr)
        return code


def _seconds(line: bytes) -> float | None:
    try:
        return float(line)
    except ValueError:
        return None

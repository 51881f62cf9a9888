"""Files and commands of the Unix host that sanpath runs on."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

from sanpath.plugin import CollectorError, CommandReply, Cost, Failure
from sanpath.transport import unix_socket

NO_PROGRAM = 127
"""Exit code of a shell for a program that does not exist (POSIX)."""

MAX_FILE_BYTES = 1 << 20
"""Size limit of a file: /proc/diskstats of 9,000 devices has this size, other files have a few hundred bytes."""

MAX_OUTPUT_BYTES = 64 << 20
"""Size limit of each output of a command, the same as for an answer over SSH."""

CANNOT_EXECUTE = 126
"""Exit code of a shell for a command that it cannot execute (POSIX)."""

_CHUNK_BYTES = 64 << 10
_WILDCARDS = frozenset("*?[")
_KILL_SECONDS = 1.0

EXTRA_PATH = "/usr/sbin:/sbin"
"""Folders of administrators' programs, which the PATH of monitoring accounts often lacks."""


class LocalMachine:
    """`plugin.Machine` on this machine. Reading blocks: a collector that uses it runs in a thread.

    A file in a later root overrides the one in an earlier root.
    """

    def __init__(self, cost: Cost, roots: Sequence[Path] = (Path("/"),)) -> None:
        self._roots, self._cost = list(roots), cost

    async def read(self, patterns: Sequence[str]) -> dict[str, bytes]:
        """Read every non-empty file that matches a pattern; this counts as one request."""
        self._cost.requests += 1
        files = {path: content for path in self._candidates(patterns) if (content := self._read_file(path))}
        self._cost.bytes_in += sum(map(len, files.values()))
        return files

    async def names(self, patterns: Sequence[str]) -> list[str]:
        """List the existing paths that match the patterns."""
        self._cost.requests += 1
        return [path for path in self._candidates(patterns) if any(map(os.path.exists, self._paths_in_roots(path)))]

    async def run(self, command: Sequence[str]) -> CommandReply:
        """Run a command. It is killed if this call is cancelled, or if its output does not end.

        Raises CollectorError, UNREADABLE, for more than MAX_OUTPUT_BYTES of output.
        """
        self._cost.requests += 1
        environment = os.environ | {"LC_ALL": "C", "PATH": f"{os.environ.get('PATH', os.defpath)}:{EXTRA_PATH}"}
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=environment,
                process_group=0,
            )
        except OSError as error:
            return CommandReply(NO_PROGRAM, b"", str(error.strerror).encode())
        except ValueError:
            return invalid_argument_reply()
        streams = [asyncio.ensure_future(_output(command[0], s)) for s in (process.stdout, process.stderr)]
        try:
            output, errors = await asyncio.gather(*streams)
            await process.wait()
        finally:
            for stream in streams:
                stream.cancel()
            await asyncio.gather(*streams, return_exceptions=True)
            if process.returncode is None:
                await _kill(process)
        self._cost.bytes_in += len(output) + len(errors)
        return CommandReply(process.returncode or 0, output, errors)

    async def exchange(
        self, socket_path: str, request: bytes, is_complete: Callable[[bytes], bool], timeout_seconds: float
    ) -> bytes:
        """Send a request to a Unix socket of this machine and return the answer."""
        self._cost.requests += 1
        connection = asyncio.open_unix_connection(socket_path)
        answer = await unix_socket.exchange(socket_path, connection, request, is_complete, timeout_seconds)
        self._cost.bytes_in += len(answer)
        return answer

    async def close(self) -> None:
        """Do nothing: no connection is open."""

    def _candidates(self, patterns: Sequence[str]) -> list[str]:
        """List the paths that may match. A pattern without a wildcard is not checked: reading it costs the same."""
        paths = {pattern for pattern in patterns if not _WILDCARDS.intersection(pattern)}
        for root in self._roots:
            for pattern in patterns:
                if pattern not in paths:
                    paths |= {f"/{path.relative_to(root)}" for path in root.glob(pattern.lstrip("/"))}
        return sorted(paths)

    def _paths_in_roots(self, path: str) -> list[Path]:
        return [root / path.lstrip("/") for root in reversed(self._roots)]

    def _read_file(self, path: str) -> bytes:
        for file_path in self._paths_in_roots(path):
            try:
                if file_path.is_file():
                    with file_path.open("rb") as file:
                        # Python reserves as much memory as it may read, and nearly all files are short.
                        content = file.read(_CHUNK_BYTES)
                        if len(content) == _CHUNK_BYTES:
                            content += file.read(MAX_FILE_BYTES + 1 - _CHUNK_BYTES)
                        return check_size(path, content)
            except OSError:
                continue
        return b""


def invalid_argument_reply() -> CommandReply:
    """Return the reply to a command with an invalid word, which a name from another machine may contain."""
    return CommandReply(CANNOT_EXECUTE, b"", b"a name of it has a character that no argument can have")


async def _kill(process: asyncio.subprocess.Process) -> None:
    """Kill a process and its children, and wait for the end of its outputs, which must be read for that."""
    with contextlib.suppress(ProcessLookupError, PermissionError, TimeoutError):
        os.killpg(process.pid, signal.SIGKILL)
        async with asyncio.timeout(_KILL_SECONDS):  # A process that hangs in the kernel does not end.
            for stream in (process.stdout, process.stderr):
                while stream is not None and await stream.read(_CHUNK_BYTES):
                    pass
            await process.wait()


async def _output(program: str, stream: asyncio.StreamReader | None) -> bytes:
    """Read one output of a command. Raises CollectorError, UNREADABLE, if it is too long."""
    received = bytearray()
    while stream is not None and (chunk := await stream.read(_CHUNK_BYTES)):
        received += chunk
        if len(received) > MAX_OUTPUT_BYTES:
            message = f"{program} writes more than {MAX_OUTPUT_BYTES >> 20} MiB"
            raise CollectorError(Failure.UNREADABLE, message)
    return bytes(received)


def check_size(path: str, content: bytes) -> bytes:
    """Return the content of a file. Raises UNREADABLE if it is larger than MAX_FILE_BYTES."""
    if len(content) > MAX_FILE_BYTES:
        raise CollectorError(Failure.UNREADABLE, f"{path} holds more than {MAX_FILE_BYTES >> 20} MiB")
    return content

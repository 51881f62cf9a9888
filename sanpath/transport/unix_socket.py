"""One request to a Unix stream socket over any connection. A local one costs no process."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol

from sanpath.plugin import CollectorError, Failure

MAX_ANSWER_BYTES = 16 << 20
"""Size limit of an answer: the block statistics of a machine with 100 disks take 0.3 MiB."""
_CHUNK_BYTES = 64 << 10
_REFUSED = (errno.EACCES, errno.EPERM)


class Reader(Protocol):
    """The reading side of a stream, of asyncio or of asyncssh."""

    async def read(self, n: int) -> bytes:
        """Read at most `n` bytes; b"" at the end."""
        ...


class Writer(Protocol):
    """The writing side of a stream, of asyncio or of asyncssh."""

    def write(self, data: bytes) -> None:
        """Queue bytes to be sent."""
        ...

    def close(self) -> None:
        """Close the stream."""
        ...


async def exchange(
    socket_path: str,
    connection: Awaitable[tuple[Reader, Writer]],
    request: bytes,
    is_complete: Callable[[bytes], bool],
    timeout_seconds: float,
) -> bytes:
    """Send a request over a connection that is being opened, and read the answer. See `plugin.Machine.exchange`."""
    received, writer = bytearray(), None
    try:
        async with asyncio.timeout(timeout_seconds):
            reader, writer = await connection
            writer.write(request)
            while not is_complete(bytes(received)) and (chunk := await reader.read(_CHUNK_BYTES)):
                received += chunk
                if len(received) > MAX_ANSWER_BYTES:
                    message = f"{socket_path}: answers with more than {MAX_ANSWER_BYTES >> 20} MiB"
                    raise CollectorError(Failure.UNREADABLE, message)
    except TimeoutError as error:
        message = f"{socket_path}: gave no answer in {timeout_seconds:g} s; another client may be connected"
        raise CollectorError(Failure.UNREACHABLE, message) from error
    except OSError as error:
        failure = Failure.REFUSED if error.errno in _REFUSED else Failure.UNREACHABLE
        raise CollectorError(failure, f"{socket_path}: {error.strerror or error}") from error
    except UnicodeEncodeError as error:  # The path may come from another machine.
        raise CollectorError(Failure.UNREACHABLE, f"{socket_path!r}: no path can have this name") from error
    finally:
        if writer is not None:
            with suppress(OSError):
                writer.close()
    return bytes(received)

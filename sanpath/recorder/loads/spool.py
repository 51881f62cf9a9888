"""A memory file that a load writes into: writes neither fail nor wait for the recording's disk."""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import tempfile

from sanpath.masking import masked_bytes

CHUNK_BYTES = 1 << 20
"""Maximum bytes that a reader gets at once."""
LIMIT_BYTES = 256 << 20
"""Maximum output that waits for its disk: hours of a load generator's output, little beside its buffers."""
_MAX_LINE_BYTES = 1 << 12
"""Maximum line that is held back until it is complete, so that a secret in it is masked as a whole."""


class Spool:
    """Bytes in the order in which they were written; positions count from the first byte.

    `descriptor`: a memory file that another process created; None: create one. `taken`: the position of the reader.
    `copied`: the position of the copy on the disk. Bytes before both positions take no memory,
    except the last few.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self.descriptor = _memory_file() if descriptor is None else descriptor
        self.taken = self.copied = self._dropped = 0

    @property
    def size(self) -> int:
        """Number of bytes written."""
        return os.fstat(self.descriptor).st_size

    def write(self, added: bytes) -> None:
        """Append bytes."""
        remaining = memoryview(added)
        while remaining:
            remaining = remaining[os.write(self.descriptor, remaining) :]

    def take(self) -> bytes:
        """Return the next bytes for the reader, at most CHUNK_BYTES. A reader far behind skips to the last bytes."""
        if self.size - self.taken > LIMIT_BYTES:
            self.taken = self.size - CHUNK_BYTES
        added = os.pread(self.descriptor, CHUNK_BYTES, self.taken)
        self.taken += len(added)
        return added

    def copy(self, file: int, ended: bool = True) -> bool:
        """Append the next chunk to a file on the disk, with secrets masked. Returns whether there was any.

        `ended`: the last line is complete; otherwise it waits, because a secret in it may be incomplete. Raises
        OSError.
        """
        before = min(self.copied, _MAX_LINE_BYTES)  # After a failed write, the remaining bytes begin inside a line.
        block = os.pread(self.descriptor, before + CHUNK_BYTES, self.copied - before)
        start, end = block.rfind(b"\n", 0, before) + 1, len(block)
        if not ended or end == before + CHUNK_BYTES:
            complete = block.rfind(b"\n", before) + 1
            end = complete or (end if end == before + CHUNK_BYTES else before)
        chunk = masked_bytes(block[start:end])[before - start :]
        self.copied += os.write(file, chunk) if chunk else 0
        return bool(chunk)

    def drop(self) -> None:
        """Free the memory of bytes that were both read and copied."""
        page = mmap.ALLOCATIONGRANULARITY
        end = min(self.taken, self.copied - _MAX_LINE_BYTES) // page * page
        if end > self._dropped and hasattr(mmap, "MADV_REMOVE"):
            # ValueError: the load has truncated its output.
            with contextlib.suppress(OSError, ValueError):
                with mmap.mmap(self.descriptor, end - self._dropped, offset=self._dropped) as pages:
                    pages.madvise(mmap.MADV_REMOVE)
                self._dropped = end

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self.descriptor)


def _memory_file() -> int:
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("sanpath-output")
    else:
        with tempfile.TemporaryFile(buffering=0) as file:
            descriptor = os.dup(file.fileno())
    # A process that reopens it, as a shell does with /dev/stdout, must append as well.
    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_APPEND)
    return descriptor

"""A file in memory that a load writes into: it neither fails nor waits, whatever happens to the recording's disk."""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import tempfile

PART_BYTES = 1 << 20
LIMIT_BYTES = 256 << 20
"""So much of an output may wait for its disk: hours of what a load generator says, and little beside its buffers."""


class Spool:
    """Bytes in the order in which they were written; positions count from the first. `descriptor`: of such a file
    that another process has made, None: a new one.

    `taken`: up to where its reader has it; `copied`: up to where the disk has it. What both have takes no memory.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self.descriptor = _made() if descriptor is None else descriptor
        self.taken = self.copied = self._dropped = 0

    @property
    def size(self) -> int:
        """How much was written."""
        return os.fstat(self.descriptor).st_size

    def write(self, added: bytes) -> None:
        """Add to its end."""
        rest = memoryview(added)
        while rest:
            rest = rest[os.write(self.descriptor, rest) :]

    def take(self) -> bytes:
        """What its reader has not had, at most PART_BYTES; of a reader that is far behind, what is left."""
        if self.size - self.taken > LIMIT_BYTES:
            self.taken = self.size - PART_BYTES
        added = os.pread(self.descriptor, PART_BYTES, self.taken)
        self.taken += len(added)
        return added

    def copy(self, file: int) -> bool:
        """Append a part to a file what the disk has not got. Returns whether there was any. Raises OSError."""
        part = os.pread(self.descriptor, PART_BYTES, self.copied)
        self.copied += os.write(file, part) if part else 0
        return bool(part)

    def drop(self) -> None:
        """Give back the memory of what both have."""
        page = mmap.ALLOCATIONGRANULARITY
        end = min(self.taken, self.copied) // page * page
        if end > self._dropped and hasattr(mmap, "MADV_REMOVE"):
            # ValueError: the load has truncated its output.
            with contextlib.suppress(OSError, ValueError):
                with mmap.mmap(self.descriptor, end - self._dropped, offset=self._dropped) as pages:
                    pages.madvise(mmap.MADV_REMOVE)
                self._dropped = end

    def close(self) -> None:
        """Let go of it."""
        os.close(self.descriptor)


def _made() -> int:
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("sanpath-output")
    else:
        with tempfile.TemporaryFile(buffering=0) as file:
            descriptor = os.dup(file.fileno())
    # Whoever opens it anew, as a shell does with /dev/stdout, adds to it like all others.
    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_APPEND)
    return descriptor

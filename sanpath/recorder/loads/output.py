"""The output of a load: buffered in memory, and copied into files as fast as their disk allows."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from sanpath.errors import UsageError
from sanpath.recorder.loads import output_copier
from sanpath.recorder.loads.spool import LIMIT_BYTES, Spool

COPY_SECONDS = 1.0
"""How often output is copied that no reader has taken yet."""
RETRY_SECONDS = 1.0
"""How often a copy is retried on a disk that accepts nothing."""
END_SECONDS = 5.0
"""How long the end of a load waits for a slow disk."""
_FILES = ("output", "errors")


class LoadOutput:
    """Standard output and standard error of one load, copied into files of `folder`.

    The copying thread calls `report` with a one-line message when the disk fails and when it recovers; the flag says
    whether to record the message. Raises UsageError if the files cannot be created.
    """

    def __init__(self, folder: Path, report: Callable[[str, bool], None]) -> None:
        self._folder, self._report = folder, report
        self._files = [_open(folder / name) for name in _FILES]
        self.spools = [Spool() for _ in _FILES]
        self._lock = threading.Lock()
        self._ended, self._found = threading.Event(), threading.Event()
        self._failed_since: float | None = None
        self._reason = ""
        self._abandoned: set[Spool] = set()
        self._copier: subprocess.Popen[bytes] | None = None
        # A disk that hangs must not delay the end of the process.
        self._thread = threading.Thread(target=self._copy, name="output", daemon=True)
        self._thread.start()

    @property
    def output(self) -> Spool:
        """Standard output."""
        return self.spools[0]

    @property
    def errors(self) -> Spool:
        """Standard error."""
        return self.spools[1]

    @property
    def has_more(self) -> bool:
        """Whether a reader has not yet taken all output."""
        return any(spool.size > spool.taken for spool in self.spools)

    def copy_soon(self) -> None:
        """Copy new output now: its reader has found some."""
        self._found.set()

    def guard(self, group: int) -> None:
        """Start a process that copies the output of this process group if the recorder is killed."""
        descriptors = [spool.descriptor for spool in self.spools]
        files = [
            f"{descriptor}:{self._folder.absolute() / name}"
            for descriptor, name in zip(descriptors, _FILES, strict=True)
        ]
        with contextlib.suppress(OSError):  # No memory for another process: the test continues without it.
            self._copier = subprocess.Popen(  # noqa: S603 - sanpath itself
                [sys.executable, "-P", "-m", output_copier.__name__, str(group), *files],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=descriptors,
                start_new_session=True,
            )

    def close(self) -> None:
        """Wait until the output of the ended load is on the disk; the rest goes into a temporary file."""
        self._ended.set()
        self._found.set()
        self._thread.join(END_SECONDS)
        for spool, name in zip(self.spools, _FILES, strict=True):
            if spool.copied < spool.size and spool not in self._abandoned:
                self._rescue(spool, name)
        self._stop_copier()
        if not self._thread.is_alive():  # Otherwise the process hangs in a write to them.
            for spool, file, name in zip(self.spools, self._files, _FILES, strict=True):
                try:
                    os.close(file)
                except OSError as error:  # NFS reports failed writes only at this point.
                    if spool.size:
                        self._report(f"the {name} of the load may be incomplete: {error.strerror}", True)
                spool.close()

    def _copy(self) -> None:
        """Copy until everything is copied, or until the load has ended and the disk accepts no more."""
        while True:
            if self._failed_since is None:
                self._found.wait(COPY_SECONDS)
                self._found.clear()
            else:
                self._ended.wait(RETRY_SECONDS)
            ended = self._ended.is_set()
            failed = list(self._failures(ended))
            self._report_failures(failed)
            if ended:
                return

    def _failures(self, ended: bool) -> Iterator[str]:
        for spool, file in zip(self.spools, self._files, strict=True):
            if spool in self._abandoned:
                spool.copied = spool.size
            try:
                while spool.size - spool.copied <= LIMIT_BYTES and spool.copy(file, ended):
                    spool.drop()
            except OSError as error:
                yield error.strerror or str(error)
            if spool.size - spool.copied > LIMIT_BYTES:
                self._give_up(spool)
            spool.drop()

    def _report_failures(self, failed: list[str]) -> None:
        if failed and self._failed_since is None:
            self._failed_since, self._reason = time.monotonic(), failed[0]
            self._report(f"the output of the load cannot be kept and waits in memory: {self._reason}", False)
        elif not failed and self._failed_since is not None:
            seconds, self._failed_since = time.monotonic() - self._failed_since, None
            if not self._abandoned:
                self._report(
                    f"the output of the load waited {seconds:.0f} s in memory and is complete: {self._reason}", True
                )

    def _give_up(self, spool: Spool) -> None:
        """Drop the output: more of it waits than allowed."""
        self._abandoned.add(spool)
        reason = self._reason or "its disk is too slow"
        self._report(f"only the first {spool.copied:,} bytes of the output of the load are kept: {reason}", True)
        spool.copied = spool.size
        self._stop_copier()

    def _stop_copier(self) -> None:
        """Stop the copying process."""
        if self._copier is not None and self._copier.stdin is not None:
            with contextlib.suppress(OSError):  # It was killed.
                self._copier.stdin.write(output_copier.DONE)
                self._copier.stdin.close()
            self._copier.wait()
        self._copier = None

    def _rescue(self, spool: Spool, name: str) -> None:
        """Write what the disk has not accepted into a temporary file."""
        start, reason = spool.copied, self._reason or "its disk is too slow"
        try:
            handle, path = tempfile.mkstemp(prefix=f"sanpath-{name}-")
            with os.fdopen(handle, "wb", buffering=0) as file:
                while spool.copy(file.fileno()):
                    pass
        except OSError as error:
            self._report(f"the {name} of the load from byte {start:,} on is lost: {reason}; {error.strerror}", True)
        else:
            self._report(f"the {name} of the load from byte {start:,} on is in {path}: {reason}", True)


def _open(file: Path) -> int:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        return os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:  # Disk full.
        raise UsageError(f"{file}: the output of the load cannot be kept: {error.strerror}") from error

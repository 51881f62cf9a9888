"""The output of a load: in memory first, and copied from there into files as fast as their disk takes it."""

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

COPY_SECONDS = 0.1
RETRY_SECONDS = 1.0
END_SECONDS = 5.0
"""How long the end of a load waits for a disk that takes its output slowly."""
_FILES = ("output", "errors")


class LoadOutput:
    """Both outputs of one load, kept as files of `folder`. `tell`: told in one line when the disk does not take them,
    and what came of it, by the thread that copies; the flag: whether it belongs into the recording.

    Raises UsageError when the files cannot be made.
    """

    def __init__(self, folder: Path, tell: Callable[[str, bool], None]) -> None:
        self._folder, self._tell = folder, tell
        self._files = [_opened(folder / name) for name in _FILES]
        self.spools = [Spool() for _ in _FILES]
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._failed_at: float | None = None
        self._why = ""
        self._gone: set[Spool] = set()
        self._copier: subprocess.Popen[bytes] | None = None
        # A disk that hangs must not hold the end of the process.
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

    def guard(self, group: int) -> None:
        """Have another process keep the output of this process group when this process is killed."""
        descriptors = [spool.descriptor for spool in self.spools]
        files = [f"{d}:{self._folder.absolute() / name}" for d, name in zip(descriptors, _FILES, strict=True)]
        with contextlib.suppress(OSError):  # No memory for one more process: the test goes on without.
            self._copier = subprocess.Popen(  # noqa: S603 - sanpath itself
                [sys.executable, "-P", "-m", output_copier.__name__, str(group), *files],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=descriptors,
                start_new_session=True,
            )

    def close(self) -> None:
        """The load has ended: wait until its output is on the disk, and put elsewhere what does not go there."""
        self._ended.set()
        self._thread.join(END_SECONDS)
        for spool, name in zip(self.spools, _FILES, strict=True):
            if spool.copied < spool.size and spool not in self._gone:
                self._rescue(spool, name)
        self._relieve()
        if not self._thread.is_alive():  # Else it hangs in a write of them.
            for spool, file, name in zip(self.spools, self._files, _FILES, strict=True):
                try:
                    os.close(file)
                except OSError as error:  # NFS says only now that it has not kept what it had taken.
                    if spool.size:
                        self._tell(f"the {name} of the load may not be whole: {error.strerror}", True)
                spool.close()

    def _copy(self) -> None:
        """Until all is copied or, at the end of the load, the disk takes no more of it."""
        while True:
            ended = self._ended.wait(COPY_SECONDS if self._failed_at is None else RETRY_SECONDS)
            failed = list(self._failures())
            self._look_at(failed)
            if ended:
                return

    def _failures(self) -> Iterator[str]:
        for spool, file in zip(self.spools, self._files, strict=True):
            if spool in self._gone:
                spool.copied = spool.size
            try:
                while spool.size - spool.copied <= LIMIT_BYTES and spool.copy(file):
                    spool.drop()
            except OSError as error:
                yield error.strerror or str(error)
            if spool.size - spool.copied > LIMIT_BYTES:
                self._give_up(spool)
            spool.drop()

    def _look_at(self, failed: list[str]) -> None:
        if failed and self._failed_at is None:
            self._failed_at, self._why = time.monotonic(), failed[0]
            self._tell(f"the output of the load cannot be kept and waits in memory: {self._why}", False)
        elif not failed and self._failed_at is not None:
            seconds, self._failed_at = time.monotonic() - self._failed_at, None
            if not self._gone:
                self._tell(f"the output of the load waited {seconds:.0f} s in memory and is whole: {self._why}", True)

    def _give_up(self, spool: Spool) -> None:
        """The load says more than may wait."""
        self._gone.add(spool)
        why = self._why or "its disk is too slow"
        self._tell(f"only the first {spool.copied:,} bytes of what the load said are kept: {why}", True)
        spool.copied = spool.size
        self._relieve()

    def _relieve(self) -> None:
        """No other process has to keep it any more."""
        if self._copier is not None and self._copier.stdin is not None:
            with contextlib.suppress(OSError):  # It was killed.
                self._copier.stdin.write(output_copier.DONE)
                self._copier.stdin.close()
            self._copier.wait()
        self._copier = None

    def _rescue(self, spool: Spool, name: str) -> None:
        """Put what the disk has not taken where there is room."""
        begin, why = spool.copied, self._why or "its disk is too slow"
        try:
            handle, place = tempfile.mkstemp(prefix=f"sanpath-{name}-")
            with os.fdopen(handle, "wb", buffering=0) as file:
                while spool.copy(file.fileno()):
                    pass
        except OSError as error:
            self._tell(f"the {name} of the load from byte {begin:,} on is lost: {why}; {error.strerror}", True)
        else:
            self._tell(f"the {name} of the load from byte {begin:,} on is in {place}: {why}", True)


def _opened(file: Path) -> int:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        return os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:  # Disk full.
        raise UsageError(f"{file}: the output of the load cannot be kept: {error.strerror}") from error

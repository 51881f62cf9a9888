"""What a person sees of an import: how far it is, and what came of it."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sanpath.recorder.importing.importer import Imported

_SILENT_SECONDS = 2.0
_EVERY_SECONDS = 0.5


class Progress:
    """A line on a terminal with the share that was read and the time that remains, once it takes long."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._size = file.stat().st_size
        self._began = self._said = time.monotonic()

    def __enter__(self) -> Progress:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Clear the line."""
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr)

    def read(self, count: int) -> None:
        """So many bytes were read."""
        now = time.monotonic()
        if now - self._began < _SILENT_SECONDS or now - self._said < _EVERY_SECONDS or not sys.stderr.isatty():
            return
        self._said = now
        share = min(1.0, count / self._size) if self._size else 1.0
        remains = (now - self._began) * (1 - share) / share if share else 0.0
        line = f"{self._file.name}: {share:.0%}, {count / 1e6:,.0f} MB read, about {remains:,.0f} s remain"
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)

    def summary(self, done: Imported) -> str:
        """What was imported, and what to know of it."""
        lines = [f"{self._file.name}: {done.source}, {done.title}"]
        if done.first is not None and done.last is not None:
            lines.append(f"  {moment(done.first)} to {moment(done.last)} UTC, {done.rows:,} samples")
        lines += [f"  step {step}" for step in done.steps[:20]]
        if len(done.steps) > 20:
            lines.append(f"  and {len(done.steps) - 20} more steps")
        lines += [f"  note: {text}" for text in dict.fromkeys(done.remarks)]
        return "\n".join(lines)


def moment(microseconds: int) -> str:
    """A time in UTC, for people."""
    return datetime.fromtimestamp(microseconds / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S")

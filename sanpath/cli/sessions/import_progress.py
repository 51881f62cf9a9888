"""The progress of an import on the terminal, and its summary."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from sanpath.masking import printable
from sanpath.units import first_of, percent_rounded

if TYPE_CHECKING:
    from sanpath.recorder.importing.importer import Imported

_SILENT_SECONDS = 2.0
_EVERY_SECONDS = 0.5
_MAX_NAMES = 5


class Progress:
    """A line on a terminal with the share read so far and the remaining time, for long imports."""

    def __init__(self, *files: Path) -> None:
        self._names = printable(first_of([file.name for file in files], _MAX_NAMES))
        self._size = sum(file.stat().st_size for file in files)
        self._began = self._printed_at = time.monotonic()

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
        """Report the number of bytes read so far."""
        now = time.monotonic()
        if now - self._began < _SILENT_SECONDS or now - self._printed_at < _EVERY_SECONDS or not sys.stderr.isatty():
            return
        self._printed_at = now
        share = min(1.0, count / self._size) if self._size else 1.0
        remaining_seconds = (now - self._began) * (1 - share) / share if share else 0.0
        done = f"{percent_rounded(share)}, {count / 1e6:,.0f} MB read"
        line = f"{self._names}: {done}, about {remaining_seconds:,.0f} s remain"
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)

    def summary(self, imported: Imported) -> str:
        """What was imported, and the remarks about it."""
        lines = [f"{self._names}: {imported.source}, {imported.title}"]
        if imported.first is not None and imported.last is not None:
            lines.append(f"  {utc_text(imported.first)} to {utc_text(imported.last)} UTC, {imported.rows:,} samples")
        lines += [f"  step {step}" for step in imported.steps[:20]]
        if len(imported.steps) > 20:
            lines.append(f"  and {len(imported.steps) - 20} more steps")
        lines += [f"  note: {text}" for text in dict.fromkeys(imported.remarks)]
        return "\n".join(lines)


def utc_text(microseconds: int) -> str:
    """A time in UTC, for people."""
    return datetime.fromtimestamp(microseconds / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S")

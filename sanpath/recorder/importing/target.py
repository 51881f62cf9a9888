"""The recording that an import writes into, and free names in it."""

from __future__ import annotations

import platform
import re
from collections.abc import Collection

from sanpath.recording.reading.recording import Recording
from sanpath.recording.storage.store import Location, store_at
from sanpath.recording.writing.clock import RecorderClock


def open_recording(folder: Location) -> Recording | None:
    """Open the recording in a folder. None: there is none yet."""
    store = store_at(folder)
    return Recording(folder) if store.exists() and store.list("") else None


def source_names(recording: Recording | None) -> set[str]:
    """Return the names of a recording's sources; None has none."""
    return {declaration.name for declaration in recording.declarations} if recording is not None else set()


def free_name(name: str, taken: Collection[str]) -> str:
    """Return the name of a source, with a number if the recording already has a source of that name."""
    numbers = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return name if name not in taken else next(free for free in numbers if free not in taken)


def writer_name(clock: RecorderClock) -> str:
    """Return a unique name for the writer of an import: this machine and the start of `clock`."""
    host = re.sub(r"[^A-Za-z0-9_.]", "_", platform.node()) or "host"
    return f"{host}.{clock.anchor_us:x}"

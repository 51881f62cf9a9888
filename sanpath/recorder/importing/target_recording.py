"""The recording that an import writes into: its sources, those of other machines, and free names in it."""

from __future__ import annotations

import platform
import re
from collections import defaultdict
from collections.abc import Collection

from sanpath.model import SourceEntity
from sanpath.recording.reading.recording import Recording
from sanpath.recording.storage.store import Location, store_at
from sanpath.recording.writing.clock import RecorderClock
from sanpath.topology.machine_names import spellings


def open_recording(folder: Location) -> Recording | None:
    """Open the recording in a folder. None: there is none yet."""
    store = store_at(folder)
    return Recording(folder) if store.exists() and store.list("") else None


def source_names(recording: Recording | None) -> set[str]:
    """Return the names of a recording's sources; empty without a recording."""
    return {declaration.name for declaration in recording.declarations} if recording is not None else set()


def sources_of_other_hosts(recording: Recording, *hosts: str | None) -> set[str]:
    """Return the sources that name machines, but none of `hosts`. Empty if no host is given: then any source may
    belong to the host."""
    own = [host for host in hosts if host is not None]
    if not own:
        return set()
    machines: dict[str, set[str]] = defaultdict(set)
    for source, _, item in recording.inventory():
        if isinstance(item, SourceEntity) and item.kind in ("host", "vm"):
            machines[source].add(item.label or item.local_id)
    known = spellings((*own, *sorted({name for names in machines.values() for name in names})))
    wanted = {known[host.casefold()] for host in own}
    return {source for source, names in machines.items() if wanted.isdisjoint(known[n.casefold()] for n in names)}


def free_name(name: str, taken: Collection[str]) -> str:
    """Return the name, with a number if it is already taken."""
    numbers = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return name if name not in taken else next(free for free in numbers if free not in taken)


def writer_name(clock: RecorderClock) -> str:
    """Return a unique name for the writer of an import: this machine and the start of `clock`."""
    host = re.sub(r"[^A-Za-z0-9_.]", "_", platform.node()) or "host"
    return f"{host}.{clock.anchor_us:x}"

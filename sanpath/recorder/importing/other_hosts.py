"""Finds the sources of a recording that are of another machine than the file that is being imported."""

from __future__ import annotations

from collections import defaultdict

from sanpath.model import SourceEntity
from sanpath.recording.reading.recording import Recording
from sanpath.topology.machine_names import spellings

_MACHINES = ("host", "vm")


def of_other_hosts(recording: Recording, host: str | None) -> set[str]:
    """Return the sources that name machines, none of which is `host`. None: not known, so any may be of it."""
    if host is None:
        return set()
    machines: dict[str, set[str]] = defaultdict(set)
    for source, _, item in recording.inventory():
        if isinstance(item, SourceEntity) and item.kind in _MACHINES:
            machines[source].add(item.label or item.local_id)
    known = spellings((host, *sorted({name for names in machines.values() for name in names})))
    wanted = known[host.casefold()]
    return {source for source, names in machines.items() if wanted not in {known[name.casefold()] for name in names}}

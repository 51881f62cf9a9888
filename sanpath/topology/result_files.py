"""Adds what is missing for result files: their machine, and lines of sanpath.yaml that name only the first of several
files.

Both are added when a recording is read, so that the order of the imports does not matter.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from sanpath.model import SourceEntity, SourceLink
from sanpath.recording.format.layout import CONFIG
from sanpath.topology.keys import Local, label_of
from sanpath.topology.machine_names import spellings

_EVIDENCE = "the only machine of the recording"
_NUMBERED = re.compile(r"(.+)-\d+")
"""An import's name for the load of a further file of the same generator."""


def link_to_only_machine(
    entities: Mapping[Local, SourceEntity], links: Collection[tuple[str, SourceLink]]
) -> Iterator[tuple[str, SourceEntity | SourceLink]]:
    """Yield (source, entity or link) for each source with a load or block devices but without a machine.

    Nothing if the recording has several machines. A hypervisor does not count: the file is from the guest that is
    read, or from the only guest.
    """
    parts = _without_machine(entities, links)
    machines = _machines(entities, links) if parts else []
    if len(machines) != 1:
        return
    for source, locals_of_source in parts.items():
        for item in link_to_machine(source, machines[0], locals_of_source, _EVIDENCE):
            yield source, item


def link_to_machine(
    source: str, name: str, parts: Collection[tuple[str, str]], evidence: str
) -> Iterator[SourceEntity | SourceLink]:
    """Yield what a file would report if it named its machine.

    `source`: that of the file. `parts`: its loads and block devices, (kind, local id)."""
    # A machine named in the file itself has the name of the source.
    for machine_id in dict.fromkeys((name, source)):
        yield SourceEntity("host", machine_id, name, {"name": (name,)})
    for kind, local_id in parts:
        yield SourceLink("runs_on" if kind == "load" else "attached_to", (kind, local_id), ("host", name), evidence)


def repeat_for_numbered_loads(
    entities: Mapping[Local, SourceEntity], links: Collection[tuple[str, SourceLink]]
) -> Iterator[SourceLink]:
    """Yield a copy of a load's link in sanpath.yaml for each further result file of that load, such as `fio-2`.

    Not for a file with its own line, nor for one of another machine.
    """
    machines: dict[str, set[str]] = defaultdict(set)
    declared: dict[str, list[SourceLink]] = defaultdict(list)
    for source, link in links:
        kind, name = link.from_end
        if kind == "load" and link.relation == "runs_on":
            machines[name].add(link.to_end[1].casefold())
        if kind == "load" and source == CONFIG:
            declared[name].append(link)
    for name in dict.fromkeys(local_id for _, kind, local_id in entities if kind == "load"):
        first = match[1] if (match := _NUMBERED.fullmatch(name)) else ""
        if name not in declared and first in declared and machines[name] <= machines[first]:
            yield from (replace(link, from_end=("load", name)) for link in declared[first])


def _without_machine(
    entities: Mapping[Local, SourceEntity], links: Collection[tuple[str, SourceLink]]
) -> dict[str, list[tuple[str, str]]]:
    """Return source → its loads and block devices, of sources that report no machine."""
    placed = {
        link.from_end
        for source, link in links
        if link.relation == "runs_on" or (link.relation == "attached_to" and source == CONFIG)
    }
    jobs = {(source, link.from_end[1]) for source, link in links if link.relation == "member_of"}
    with_machine = {source for source, kind, _ in entities if kind in ("host", "vm", "array")}
    with_machine |= {source for source, kind, local_id in entities if kind == "load" and (kind, local_id) in placed}
    parts: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for (source, kind, local_id), entity in entities.items():
        is_part = kind == "load" or (kind == "lun" and "device" in entity.ids)
        known = source in with_machine or (source, local_id) in jobs or (kind, local_id) in placed
        if is_part and not known:
            parts[source].append((kind, local_id))
    return parts


def _machines(entities: Mapping[Local, SourceEntity], links: Collection[tuple[str, SourceLink]]) -> list[str]:
    """Return the names of the machines that are read or declared, not of those that only an array reports."""
    arrays = {source for source, kind, _ in entities if kind == "array"} - {CONFIG}
    names = [label_of(entities, local) for local in entities if local[1] == "host" and local[0] not in arrays]
    guests: dict[str, set[str]] = defaultdict(set)
    for source, link in links:
        if link.relation == "runs_on" and link.from_end[0] == "vm":
            vm, host = (label_of(entities, (source, *end)) for end in (link.from_end, link.to_end))
            guests[host.casefold()].add(vm)
    known = spellings([*names, *(guest for of_host in guests.values() for guest in sorted(of_host))])
    machines = dict.fromkeys(known[name.casefold()] for name in names)
    for host, of_host in guests.items():
        spelled = {known[guest.casefold()] for guest in of_host}
        read = spelled & machines.keys()
        machines.pop(known.get(host, ""), None)  # A hypervisor runs no load itself.
        machines |= dict.fromkeys(sorted(read or spelled))
    return list(machines)

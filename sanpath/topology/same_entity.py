"""Finds the reports of several sources about the same entity: they share a name or a join key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import networkx as nx

from sanpath.model import SourceEntity, SourceLink
from sanpath.topology.keys import TRUST, Local, normalise

_COPIED_KEYS = ("iqn", "nqn", "ip")
"""Keys that are configured, not built in: clones of a machine share them, and so do several private networks."""
_DEVICES = ("lun", "hba", "path", "vdisk")
"""Kinds that a source reports about a host that it reads. An array also knows hosts, but none of these."""

Links = Iterable[tuple[str, SourceLink]]


def same_entities(
    entities: Mapping[Local, SourceEntity],
    names: Mapping[Local, str],
    links: Links,
    duplicates: Iterable[tuple[Local, Local]],
) -> dict[Local, set[Local]]:
    """Return report → all reports about the same entity, itself included; reports with no other are left out.

    Machines that are read and have different names are different, even if they share an IQN, an NQN or an IP address;
    so are their adapters. If an array's host has initiators of several machines, it is none of them. `duplicates`:
    pairs that are known to be the same.
    """
    machines = _machines(entities, names, links)
    # Most entities share no key with any other.
    graph: nx.Graph[Local] = nx.Graph(duplicates)
    for (_, key, _), sharing in _by_key(entities, names).items():
        if len(sharing) == 1:
            continue
        for group in _compatible(sharing, machines) if key in _COPIED_KEYS else (sharing,):
            # The first report is of a machine that is read, so that all others become its neighbours.
            first, *others = sorted(group, key=lambda local: local not in machines)
            graph.add_edges_from((first, other) for other in others)
    graph.remove_nodes_from([*_between_machines(graph, machines)])
    return {local: group for group in nx.connected_components(graph) for local in group}


def _by_key(
    entities: Mapping[Local, SourceEntity], names: Mapping[Local, str]
) -> dict[tuple[str, str, str], list[Local]]:
    """Return (kind, kind of key, value) → the reports with that key."""
    by_key: dict[tuple[str, str, str], list[Local]] = defaultdict(list)
    for local, entity in entities.items():
        by_key[entity.kind, "name", names[local]].append(local)
        for key, values in entity.ids.items():
            for value in values if key in TRUST and key != "name" else ():
                if normal := normalise(key, value):
                    by_key[entity.kind, key, _scope(entity.kind, names[local]) + normal].append(local)
    return by_key


def _scope(kind: str, name: str) -> str:
    """Return a prefix that limits a join key to one host: a LUN is a device of one, a volume may be seen by
    several."""
    return f"{name.partition('/')[0]}/" if kind == "lun" and "/" in name else ""


def _machines(entities: Mapping[Local, SourceEntity], names: Mapping[Local, str], links: Links) -> dict[Local, str]:
    """Return report → name of its machine, for hosts that are read and their adapters.

    A machine named by its address may be any machine.
    """
    machines: dict[Local, str] = {}
    for source, link in links:
        host, device = (source, *link.to_end), (source, *link.from_end)
        if link.relation != "attached_to" or link.from_end[0] not in _DEVICES or link.to_end[0] != "host":
            continue
        name = names.get(host)
        if name and normalise("ip", name) is None:
            machines[host] = name
            if link.from_end[0] == "hba" and device in entities:
                machines[device] = machines[host]
    return machines


def _compatible(sharing: Sequence[Local], machines: Mapping[Local, str]) -> Iterator[Sequence[Local]]:
    """Yield the reports with a copied key that may be the same: all, or those of each of several machines."""
    by_machine: dict[str, list[Local]] = defaultdict(list)
    for local in sharing:
        if local in machines:
            by_machine[machines[local]].append(local)
    if len(by_machine) < 2:
        yield sharing
    else:
        yield from by_machine.values()


def _between_machines(graph: nx.Graph[Local], machines: Mapping[Local, str]) -> Iterator[Local]:
    """Yield the reports of hosts that are connected with several machines only by keys: they are groups of hosts."""
    for group in nx.connected_components(graph):
        read = [local for local in group if local in machines]
        if len({machines[local] for local in read}) < 2:
            continue
        parts = {
            local: number
            for number, part in enumerate(nx.connected_components(graph.subgraph(read)))
            for local in part
        }
        for local in group - parts.keys():
            if len({parts[neighbour] for neighbour in graph[local] if neighbour in parts}) > 1:
                yield local

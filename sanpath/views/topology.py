"""The topology as a tree for people and as JSON for programs."""

from __future__ import annotations

import json

import networkx as nx

from sanpath.masking import printable
from sanpath.topology.paths import io_paths, loads_with_machine, machine_of, targets_of
from sanpath.topology.port_descriptions import description, ports_without_cable
from sanpath.topology.topology import Topology

_MAX_PORTS = 20
"""Maximum descriptions of ports that are printed."""


def as_json(topology: Topology) -> str:
    """One JSON object: entities, links with their evidence, I/O paths, and failed joins."""
    loads = loads_with_machine(topology)
    content = {
        "entities": [
            {"id": e.id, "kind": e.kind, "ids": dict(e.ids), "attributes": dict(e.attributes), "known_as": e.known_as}
            for e in sorted(topology.entities.values(), key=lambda e: e.id)
        ],
        "links": [
            {"relation": k.relation, "from": k.from_entity, "to": k.to_entity, "evidence": k.evidence}
            for k in topology.links
        ],
        "io_paths": [
            {
                "load": p.load,
                "host": p.host,
                "hba": p.hba,
                "cables": [c.id for c in p.cables],
                "array_port": p.array_port,
            }
            for load in loads
            for p in io_paths(topology, load)
        ],
        "unjoined": [{"what": u.subject, "why": u.reason} for u in topology.unjoined],
    }
    return json.dumps(content, indent=2) + "\n"


def as_graphml(topology: Topology) -> str:
    """The graph for yEd, Gephi and similar tools: nodes with kind and label, edges with relation and evidence."""
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    for entity in topology.entities.values():
        graph.add_node(_xml(entity.id), kind=entity.kind, label=_xml(entity.label))
    for link in topology.links:
        evidence = _xml("; ".join(link.evidence))
        graph.add_edge(_xml(link.from_entity), _xml(link.to_entity), relation=link.relation, evidence=evidence)
    return "\n".join(nx.generate_graphml(graph)) + "\n"


def _xml(text: str) -> str:
    """The text without control characters, which XML forbids. Names that differ only in them remain different."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def as_tree(topology: Topology) -> str:
    """Each load with its paths and volumes, then every join with its evidence, then the failed joins."""
    lines: list[str] = []
    for load in topology.of_kind("load"):
        machine = machine_of(topology, load.id)
        if machine is None:
            continue
        lines.append(f"{load.id} on {machine}")
        for path in io_paths(topology, load.id):
            lines.append(f"  {path.hba}")
            lines += [f"    {cable.switch_port}" for cable in path.cables]
            lines.append(f"      {path.array_port}")
        lines += [f"  volume {volume}" for volume in sorted(targets_of(topology, load.id)[1])]
    lines.append("")
    lines.append("joins")
    for link in sorted(topology.links, key=lambda k: (k.relation, k.from_entity)):
        lines.append(f"  {link.from_entity} {link.relation} {link.to_entity}   [{'; '.join(link.evidence)}]")
    lines.append("")
    lines.append("not joined" if topology.unjoined else "everything that a source named was joined")
    lines += [f"  {u.subject}: {u.reason}" for u in topology.unjoined]
    lines += _open_ports(topology)
    return "".join(f"{printable(line)}\n" for line in lines)


def _open_ports(topology: Topology) -> list[str]:
    """The number of switch ports that lead to an unknown device, and their descriptions, which may name it."""
    ports = ports_without_cable(topology)
    if not ports:
        return []
    described = [port for port in ports if description(port)][:_MAX_PORTS]
    lines = [f'  {port.id}   [port description "{description(port)}"]' for port in described]
    return ["", f"switch ports with an unknown device at the other end: {len(ports)}", *lines]

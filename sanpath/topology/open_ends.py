"""Links of paths that cannot be followed to their end, because a switch in the middle is not read.

Starting from the test's initiators and from its array ports, every link between switches and every port without a
known peer may carry the test's I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from sanpath.topology.identity import Topology
from sanpath.topology.paths import Cable, cables, initiators_of, targets_of


def open_ends(topology: Topology, loads: Sequence[str]) -> list[Cable]:
    """Return the links that may carry the I/O of loads without a known path. A port without a known peer is a
    link."""
    end_cables = cables(topology)
    initiators = {hba for load in loads for hba in initiators_of(topology, load)}
    ports, volumes = targets_of(topology, *loads)
    arrays = {array for volume in volumes for array in topology.related(volume, "member_of", "array")}
    targets = ports | {port for array in arrays for port in topology.related(array, "member_of", "array_port")}
    switch_by_port, peer_by_port = _owners(topology), _peers(topology)
    near_host = _reached(
        switch_by_port, peer_by_port, (c.switch_port for c in end_cables if not initiators.isdisjoint(c.devices))
    )
    near_array = _reached(switch_by_port, peer_by_port, (c.switch_port for c in end_cables if c.device in targets))
    cabled_ports = {c.switch_port for c in end_cables}
    free = {port: switch for port, switch in switch_by_port.items() if port not in cabled_ports}
    return [
        *_between(topology, free, peer_by_port, near_host - near_array, "array"),
        *_between(topology, free, peer_by_port, near_array - near_host, "host"),
    ]


def _owners(topology: Topology) -> dict[str, str]:
    """Return port → its switch."""
    switches: dict[str, str] = {}
    for link in topology.links:
        kinds = {topology.entities[end].kind: end for end in (link.from_entity, link.to_entity)}
        if link.relation == "member_of" and kinds.keys() == {"switch_port", "switch"}:
            switches[kinds["switch_port"]] = kinds["switch"]
    return switches


def _peers(topology: Topology) -> dict[str, str]:
    """Return port of a switch → port of another one that it is cabled to, in both directions."""
    peers: dict[str, str] = {}
    for link in topology.links:
        kinds = {topology.entities[end].kind for end in (link.from_entity, link.to_entity)}
        if link.relation in ("cabled_to", "logged_in") and kinds == {"switch_port"}:
            peers |= {link.from_entity: link.to_entity, link.to_entity: link.from_entity}
    return peers


def _reached(switch_by_port: Mapping[str, str], peer_by_port: Mapping[str, str], ports: Iterable[str]) -> set[str]:
    """Return the switches of these ports, and all that links between switches lead to."""
    neighbours: dict[str, set[str]] = {}
    for port, peer in peer_by_port.items():
        if port in switch_by_port and peer in switch_by_port:
            neighbours.setdefault(switch_by_port[port], set()).add(switch_by_port[peer])
    reached = {switch_by_port[port] for port in ports if port in switch_by_port}
    pending = list(reached)
    while pending:
        new = neighbours.get(pending.pop(), set()) - reached
        reached |= new
        pending += new
    return reached


def _between(
    topology: Topology,
    free: Mapping[str, str],
    peer_by_port: Mapping[str, str],
    switches: set[str],
    facing: Literal["host", "array"],
) -> Iterator[Cable]:
    for port, switch in free.items():
        peer = peer_by_port.get(port)
        if switch not in switches or (peer is not None and peer < port):
            continue
        if peer is None:
            yield Cable(port, port, port, "switch", facing, f"{switch}--")
        else:
            names = "--".join(topology.entities[end].label for end in (port, peer))
            yield Cable(f"link:{names}", port, peer, "switch", facing, f"{switch}--{free.get(peer, '')}")

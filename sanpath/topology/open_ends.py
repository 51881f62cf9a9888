"""Links of paths that cannot be followed to their end, because a switch between them is not read.

Starting from the test's initiators and from its array ports, every link between switches and every port without a
known peer may carry the test's I/O. Where no device is known at any port, its bytes tell which end a port faces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import Literal

from sanpath.topology.paths import Cable, cables, initiators_of, targets_of
from sanpath.topology.topology import Topology


def open_ends(topology: Topology, loads: Sequence[str]) -> list[Cable]:
    """Return the links that may carry the I/O of loads without a known path. A port without a peer counts as one."""
    end_cables = cables(topology)
    initiators = {hba for load in loads for hba in initiators_of(topology, load)}
    ports, volumes = targets_of(topology, *loads)
    arrays = {array for volume in volumes for array in topology.related(volume, "member_of", "array")}
    targets = ports | {port for array in arrays for port in topology.related(array, "member_of", "array_port")}
    switch_by_port, peer_by_port = _owners(topology), _peers(topology)
    # If no source names the test's initiators or target ports, they may be any.
    at_hosts = [c for c in end_cables if (not initiators.isdisjoint(c.devices) if initiators else c.side == "host")]
    at_arrays = [c for c in end_cables if (not targets.isdisjoint(c.devices) if targets else c.side == "array")]
    near_host = _reachable_switches(switch_by_port, peer_by_port, (cable.switch_port for cable in at_hosts))
    near_array = _reachable_switches(switch_by_port, peer_by_port, (cable.switch_port for cable in at_arrays))
    cabled_ports = {c.switch_port for c in end_cables}
    free = {port: switch for port, switch in switch_by_port.items() if port not in cabled_ports}
    only_host, only_array = (
        {switch: hops for switch, hops in near.items() if switch not in other}
        for near, other in ((near_host, near_array), (near_array, near_host))
    )
    return [
        *_between(topology, free, peer_by_port, only_host, "array"),
        *_between(topology, free, peer_by_port, only_array, "host"),
    ]


def ports_by_traffic(topology: Topology, faces_host: Mapping[str, bool]) -> list[Cable]:
    """Return the links of switches if no source names a device at any of their ports.

    `faces_host`: port → whether hosts are behind it, by the direction of its bytes; idle ports are left out."""
    if cables(topology):
        return []
    switches, peers = _owners(topology), _peers(topology)
    found = []
    for port, faces in faces_host.items():
        facing: Literal["host", "array"] = "host" if faces else "array"
        if port not in switches:
            continue
        if (peer := peers.get(port)) is None:
            found.append(Cable(port, port, port, "switch", facing, f"{switches[port]}--"))
        elif faces or peer not in faces_host:
            names = "--".join(topology.entities[end].label for end in (port, peer))
            found.append(
                Cable(f"link:{names}", port, peer, "switch", facing, f"{switches[port]}--{switches.get(peer)}")
            )
    return found


def _owners(topology: Topology) -> dict[str, str]:
    """Return port → its switch."""
    switches: dict[str, str] = {}
    for link in topology.links:
        kinds = {topology.entities[end].kind: end for end in (link.from_entity, link.to_entity)}
        if link.relation == "member_of" and kinds.keys() == {"switch_port", "switch"}:
            switches[kinds["switch_port"]] = kinds["switch"]
    return switches


def _peers(topology: Topology) -> dict[str, str]:
    """Return switch port → switch port at the other end of its cable, in both directions."""
    peers: dict[str, str] = {}
    for link in topology.links:
        kinds = {topology.entities[end].kind for end in (link.from_entity, link.to_entity)}
        if link.relation in ("cabled_to", "logged_in") and kinds == {"switch_port"}:
            peers |= {link.from_entity: link.to_entity, link.to_entity: link.from_entity}
    return peers


def _reachable_switches(
    switch_by_port: Mapping[str, str], peer_by_port: Mapping[str, str], ports: Iterable[str]
) -> dict[str, int]:
    """Return the switches that can be reached from these ports → fewest links between switches."""
    neighbours: dict[str, set[str]] = {}
    for port, peer in peer_by_port.items():
        if port in switch_by_port and peer in switch_by_port:
            neighbours.setdefault(switch_by_port[port], set()).add(switch_by_port[peer])
    hops = {switch_by_port[port]: 0 for port in ports if port in switch_by_port}
    pending = list(hops)
    for switch in pending:
        for neighbour in sorted(neighbours.get(switch, set()) - hops.keys()):
            hops[neighbour] = hops[switch] + 1
            pending.append(neighbour)
    return hops


def _between(
    topology: Topology,
    free: Mapping[str, str],
    peer_by_port: Mapping[str, str],
    hops: Mapping[str, int],
    facing: Literal["host", "array"],
) -> Iterator[Cable]:
    """Yield the links of switches that lead away from one end of the path. `hops`: switch → links from that end."""

    def from_end(port: str) -> tuple[float, str]:
        return hops.get(free.get(port, ""), inf), port

    for port, switch in free.items():
        peer = peer_by_port.get(port)
        # A link between switches is counted at the port nearer to the end, which faces away from it.
        if switch not in hops or (peer is not None and from_end(peer) < from_end(port)):
            continue
        if peer is None:
            yield Cable(port, port, port, "switch", facing, f"{switch}--")
        else:
            names = "--".join(topology.entities[end].label for end in (port, peer))
            yield Cable(f"link:{names}", port, peer, "switch", facing, f"{switch}--{free.get(peer, '')}")

"""Links on a way that cannot be followed to its end, because a switch in the middle is not read.

From the test's initiators and from its array ports on, every link between switches and every port behind which nobody
is known may carry it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from sanpath.topology.identity import Topology
from sanpath.topology.paths import Cable, cables, initiators_of, targets_of


def open_ends(topology: Topology, loads: Sequence[str]) -> list[Cable]:
    """Those links of loads that no way is known of; a port without a known peer has its own name."""
    ends = cables(topology)
    initiators = {hba for load in loads for hba in initiators_of(topology, load)}
    ports, volumes = targets_of(topology, *loads)
    arrays = {array for volume in volumes for array in topology.related(volume, "member_of", "array")}
    targets = ports | {port for array in arrays for port in topology.related(array, "member_of", "array_port")}
    owner, peers = _owners(topology), _peers(topology)
    near_host = _reached(owner, peers, (c.switch_port for c in ends if not initiators.isdisjoint(c.devices)))
    near_array = _reached(owner, peers, (c.switch_port for c in ends if c.device in targets))
    taken = {c.switch_port for c in ends}
    free = {port: switch for port, switch in owner.items() if port not in taken}
    return [
        *_between(topology, free, peers, near_host - near_array, "array"),
        *_between(topology, free, peers, near_array - near_host, "host"),
    ]


def _owners(topology: Topology) -> dict[str, str]:
    """Port → its switch."""
    found: dict[str, str] = {}
    for link in topology.links:
        kinds = {topology.entities[end].kind: end for end in (link.from_entity, link.to_entity)}
        if link.relation == "member_of" and kinds.keys() == {"switch_port", "switch"}:
            found[kinds["switch_port"]] = kinds["switch"]
    return found


def _peers(topology: Topology) -> dict[str, str]:
    """Port of a switch → port of another that it is cabled to, both ways."""
    found: dict[str, str] = {}
    for link in topology.links:
        kinds = {topology.entities[end].kind for end in (link.from_entity, link.to_entity)}
        if link.relation in ("cabled_to", "logged_in") and kinds == {"switch_port"}:
            found |= {link.from_entity: link.to_entity, link.to_entity: link.from_entity}
    return found


def _reached(owner: Mapping[str, str], peers: Mapping[str, str], ports: Iterable[str]) -> set[str]:
    """The switches of these ports, and those that links between switches lead to."""
    beside: dict[str, set[str]] = {}
    for port, peer in peers.items():
        if port in owner and peer in owner:
            beside.setdefault(owner[port], set()).add(owner[peer])
    found = {owner[port] for port in ports if port in owner}
    left = list(found)
    while left:
        new = beside.get(left.pop(), set()) - found
        found |= new
        left += new
    return found


def _between(
    topology: Topology,
    free: Mapping[str, str],
    peers: Mapping[str, str],
    switches: set[str],
    facing: Literal["host", "array"],
) -> Iterator[Cable]:
    for port, switch in free.items():
        peer = peers.get(port)
        if switch not in switches or (peer is not None and peer < port):
            continue
        if peer is None:
            yield Cable(port, port, port, "switch", facing, f"{switch}--")
        else:
            names = "--".join(topology.entities[end].label for end in (port, peer))
            yield Cable(f"link:{names}", port, peer, "switch", facing, f"{switch}--{free.get(peer, '')}")

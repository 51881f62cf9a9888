"""Finds switches that are not read yet: ports of hosts and arrays without a switch, and unread neighbours."""

from __future__ import annotations

from collections.abc import Iterator

from sanpath.topology.topology import Topology

_LINKS = ("logged_in", "cabled_to", "attached_to")


def missing_switches(topology: Topology) -> list[str]:
    """Return a sentence for each port that has no switch port, and for each unknown neighbour of a switch.

    The ports are those of initiators and targets. A neighbour is unknown if a switch reports a cable to it and no
    source reads it. Each sentence names a switch to look for next."""
    return [*_ports(topology), *_neighbours(topology)]


def _ports(topology: Topology) -> Iterator[str]:
    for kind, role in (("hba", "initiator"), ("array_port", "target port")):
        for port in topology.of_kind(kind):
            switch_ports = [
                port_id for relation in _LINKS for port_id in topology.related(port.id, relation, "switch_port")
            ]
            keys = [key for name in ("wwpn", "nqn", "iqn", "mac") for key in port.ids.get(name, ())]
            # Without an identifier, no switch can report its cable.
            if keys and not switch_ports:
                yield f"{role} {port.label} ({keys[0]}) is at no switch that is read"


def _neighbours(topology: Topology) -> Iterator[str]:
    for unjoined in topology.unjoined:
        if "switch_port" in unjoined.subject:
            yield f"{unjoined.subject}: {unjoined.reason}"

"""Which switches are still missing: ports of hosts and arrays without one, and neighbours that nobody reads."""

from __future__ import annotations

from collections.abc import Iterator

from sanpath.topology.identity import Topology

_LINKS = ("logged_in", "cabled_to", "attached_to")


def missing_switches(topology: Topology) -> list[str]:
    """A sentence for each initiator and target port that is at no switch port that was read, and for each end of a
    cable that a switch tells of and no source knows: what to look for next."""
    return [*_ports(topology), *_neighbours(topology)]


def _ports(topology: Topology) -> Iterator[str]:
    for kind, what in (("hba", "initiator"), ("array_port", "target port")):
        for port in topology.of_kind(kind):
            at = [s for relation in _LINKS for s in topology.related(port.id, relation, "switch_port")]
            keys = [key for name in ("wwpn", "nqn", "iqn", "mac") for key in port.ids.get(name, ())]
            # Without an identifier nothing could tell where it is cabled.
            if keys and not at:
                yield f"{what} {port.label} ({keys[0]}) is at no switch that is read"


def _neighbours(topology: Topology) -> Iterator[str]:
    for unjoined in topology.unjoined:
        if "switch_port" in unjoined.what:
            yield f"{unjoined.what}: {unjoined.why}"

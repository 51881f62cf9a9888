"""Network ports of a host whose bytes cannot be those of the test, by arithmetic."""

from __future__ import annotations

from collections.abc import Mapping

from sanpath.facts.host.tested_machines import UnderTest, as_number
from sanpath.facts.load.validity import validity_facts
from sanpath.facts.table import FactRow, FactValue
from sanpath.model import DIRECTIONS, Direction
from sanpath.topology.topology import Topology

_CARRIES_TEST_RATIO = 0.9
"""Bytes of all network ports together, over the test's, from which they may have carried it, allowing for clocks and
headers: as for the verdict's links."""
_FOREIGN_RATIO = 0.01
"""Share of a port's bytes below which the test's bytes do not fill it: sanpath's own choice."""


def other_traffic(
    topology: Topology, step: UnderTest, uses: Mapping[str, Mapping[str, FactValue]]
) -> Mapping[str, FactRow]:
    """Return for each port whether its bytes in a direction are not the test's.

    They are not if the test moves next to nothing in that direction, or more than all network ports of its only host
    together. A port with a path, or of another technology, is there for storage. `uses`: use of each port of the
    host.
    """
    network = [port for port in uses if _is_network_port(topology, port)]
    return {
        port: {
            f"not_of_test_{direction}": port in network and _is_other(topology, step, direction, uses, port, network)
            for direction in DIRECTIONS
        }
        for port in uses
    }


def _is_other(
    topology: Topology,
    step: UnderTest,
    direction: Direction,
    uses: Mapping[str, Mapping[str, FactValue]],
    port: str,
    network: list[str],
) -> bool:
    name = f"bytes_per_second_{direction}"
    tested = sum(load.bytes_per_second for load in step.loads if load.direction == direction)
    own, *others = [as_number(uses[each].get(name)) for each in (port, *(each for each in network if each != port))]
    if own is None or not all(load.bytes_per_second for load in step.loads):
        return False
    if tested < _FOREIGN_RATIO * own:
        return True
    # A file cache answers a part of the test: the rest may fill a port that is slower than the test.
    is_direct = all(validity_facts(topology, load, step.loads)["direct"] is True for load in step.loads)
    moved = own + sum(other or 0.0 for other in others)
    return is_direct and len(step.hosts) == 1 and None not in others and moved < _CARRIES_TEST_RATIO * tested


def _is_network_port(topology: Topology, port: str) -> bool:
    is_ethernet = topology.entities[port].attributes.get("technology") == "ethernet"
    return is_ethernet and not topology.related(port, "attached_to", "path")

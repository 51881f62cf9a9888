"""The speed of links whose bytes no source counts."""

from __future__ import annotations

from typing import cast

from sanpath.catalogue.capacity import Capacity, Technology, link_capacity
from sanpath.facts.table import FactTable
from sanpath.model import Scalar
from sanpath.topology.paths import Cable
from sanpath.topology.topology import Topology


def cable_capacity(topology: Topology, links: FactTable, cable: Cable) -> Capacity | None:
    """Return the capacity of a link. None: its speed is unknown, or its agent reports one that its own counters
    contradict. `links`: the facts of all links."""
    counted = list(links.select(entity=cable.id))
    port = topology.entities[cable.switch_port]
    speeds = [row["negotiated_bits_per_second"] for row in counted if row["capacity_bytes_per_second"] is not None]
    if counted and not speeds:
        return None
    port_speed = port.attributes.get("speed_bits_per_second")
    if port.kind != "switch_port":
        port_speed = port_speed or port.attributes.get("capable_bits_per_second")
    technology = port.attributes.get("technology") or ("fibre_channel" if "wwpn" in port.ids else None)
    return capacity_at(technology, speeds[-1] if speeds else port_speed)


def capacity_at(technology: Scalar, speed: Scalar) -> Capacity | None:
    """Return the capacity of a link of this technology at a speed in bits a second. None: one of them is unknown."""
    if technology not in ("fibre_channel", "ethernet") or not isinstance(speed, int | float):
        return None
    return link_capacity(cast(Technology, technology), float(speed))

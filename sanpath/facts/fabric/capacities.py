"""The speed of links whose bytes no source counts."""

from __future__ import annotations

from typing import cast

from sanpath.catalogue.link_capacity import Capacity, Technology, link_capacity
from sanpath.facts.host.tested_machines import as_number
from sanpath.facts.table import FactTable, FactValue
from sanpath.model import Scalar
from sanpath.topology.paths import Cable
from sanpath.topology.topology import Topology


def cable_capacity(topology: Topology, links: FactTable, cable: Cable) -> Capacity | None:
    """Return the capacity of a link. None: its speed is unknown, or its agent reports one that its own counters
    contradict. `links`: the facts of all links."""
    speeds = _negotiated(links, cable)
    if not speeds and links.select(entity=cable.id):
        return None
    port = topology.entities[cable.switch_port]
    technology = port.attributes.get("technology") or ("fibre_channel" if "wwpn" in port.ids else None)
    reported = [*speeds[-1:], *_at_ends(topology, cable, "speed_bits_per_second").values()]
    return capacity_at(technology, reported[0] if reported else _highest_speed(topology, cable))


def is_speed_read(topology: Topology, links: FactTable, cable: Cable) -> bool:
    """Whether a source reports the speed of a link: its counters, or one of its ends. Both run at the same speed."""
    return bool(_negotiated(links, cable) or _at_ends(topology, cable, "speed_bits_per_second"))


def _negotiated(links: FactTable, cable: Cable) -> list[FactValue]:
    """Return the speeds with which a switch counts a link, in bits a second, one for each of its rows."""
    rows = links.select(entity=cable.id)
    return [row["negotiated_bits_per_second"] for row in rows if row["capacity_bytes_per_second"] is not None]


def _highest_speed(topology: Topology, cable: Cable) -> float | None:
    """Return the highest speed that both ends of a link support, in bits a second. None: the device's speed is not
    known. A switch's port alone often supports more than what is behind it."""
    capable = _at_ends(topology, cable, "capable_bits_per_second")
    return min(capable.values()) if cable.device in capable else None


def _at_ends(topology: Topology, cable: Cable, attribute: str) -> dict[str, float]:
    """Return an attribute of the ends of a link that have it. If several devices are behind a port, none of them
    counts as its end."""
    ends = [cable.switch_port, *(() if cable.uplink_of else (cable.device,))]
    values = {end: as_number(topology.entities[end].attributes.get(attribute)) for end in ends}
    return {end: value for end, value in values.items() if value is not None}


def capacity_at(technology: Scalar, speed: Scalar) -> Capacity | None:
    """Return the capacity of a link of this technology at a speed in bits a second. None: one of them is unknown."""
    if technology not in ("fibre_channel", "ethernet") or not isinstance(speed, int | float):
        return None
    return link_capacity(cast(Technology, technology), float(speed))

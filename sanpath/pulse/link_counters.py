"""Maps links to the switch port counters of their two directions: the only part of a topology that a pulse needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from sanpath.catalogue.link_capacity import Technology
from sanpath.topology.paths import Cable, cables, io_paths, loads_with_machine
from sanpath.topology.topology import Topology


@dataclass(frozen=True, slots=True)
class Port:
    """A switch port by its source's id, with its byte counters of reads and writes."""

    source: str
    entity: str
    read: str
    write: str


@dataclass(frozen=True, slots=True)
class WiredLink:
    """A link with the ports that may count its bytes; the first port that reports them is used."""

    entity: str
    technology: Technology
    ports: tuple[Port, ...]


def wiring(topology: Topology) -> tuple[WiredLink, ...]:
    """Return every link with a switch port at one end; for links between switches, those that the load can use."""
    loads = loads_with_machine(topology)
    between = {
        cable.id: cable for path in io_paths(topology, *loads) for cable in path.cables if cable.side == "switch"
    }
    return tuple(_wired(topology, cable) for cable in [*cables(topology), *between.values()])


def _wired(topology: Topology, cable: Cable) -> WiredLink:
    attributes = topology.entities[cable.switch_port].attributes
    technology = cast(Technology, attributes.get("technology") or "ethernet")
    ends = [cable, cable.from_far_end] if cable.side == "switch" else [cable]
    return WiredLink(cable.id, technology, tuple(port for end in ends for port in _ports(topology, end)))


def _ports(topology: Topology, cable: Cable) -> Iterator[Port]:
    read, write = (f"bytes_{cable.counter(direction)}_total" for direction in ("read", "write"))
    for source, local in topology.entities[cable.switch_port].known_as:
        yield Port(source, local, read, write)

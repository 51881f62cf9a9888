"""Facts of the planes of guest and host: latency wherever a clock was read between the load and the fabric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isclose

from sanpath.catalogue.load import planes as catalogue_planes
from sanpath.facts.host.under_test import figure
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.facts.table import FactRow, FactTable, number
from sanpath.model import DIRECTIONS, Direction
from sanpath.topology.identity import Topology
from sanpath.topology.paths import hosts_of, machines_of

_SAME = 0.05
"""A device carries the load's I/O when their rates agree within this."""
_A_WINDOW = 0.2
"""By how much they may differ besides where one window tells all: it is another part of the step than the load's."""
_BLOCK_DEVICES = ("guest_block", "windows_disk")
"""Planes at which an operating system counts what it has given to a device."""
_ALL = 0.99
"""Share of a device's I/Os in one direction from which a mean over both directions is that direction's."""


def planes_of(topology: Topology, load: LoadFacts, planes: FactTable) -> list[FactRow]:
    """The planes on the path of the load's I/O that were observed, from the load down; one row a plane.

    Only what carries the load's bytes (its operations, where bytes are not counted: they may be split on the way) is
    on its path: one device, or all those of the load together. A device that several loads share tells of none.
    """
    path = path_of(topology, load)
    order = catalogue_planes()
    found: dict[str, FactRow] = {}
    here = planes.select(step=load.step, direction=load.direction)
    carrying = [row for row in here if _carries(row, load)]
    for row in [
        *_finest(row for row in carrying if row["entity"] in path),
        *_by_its_bytes(topology, load, path, carrying),
    ]:
        found.setdefault(str(row["plane"]), row)
    for plane in {str(row["plane"]) for row in here} - found.keys():
        several = beside_each_other(topology, load, planes, plane)
        if len(several) > 1 and _carries(row := together(several), load):
            found[plane] = row
    return [found[name] for name in sorted(found, key=lambda name: order[name].order)]


def beside_each_other(topology: Topology, load: LoadFacts, planes: FactTable, plane: str) -> list[FactRow]:
    """One row for each device that the load may pass at a plane: of several sources that of the finest clock."""
    path = path_of(topology, load)
    here = planes.select(step=load.step, direction=load.direction, plane=plane)
    return _finest(row for row in here if row["entity"] in path)


def _finest(rows: Iterable[FactRow]) -> list[FactRow]:
    """One row a device and plane: of several sources that of the finest clock, and of these the lowest: what is more
    holds a queue above."""
    found: dict[tuple[str, str], FactRow] = {}
    for row in sorted(rows, key=lambda row: (number(row, "resolution_seconds"), number(row, "latency_seconds"))):
        found.setdefault((str(row["entity"]), str(row["plane"])), row)
    return list(found.values())


def together(rows: Sequence[FactRow]) -> FactRow:
    """Devices beside each other as one: rates and I/Os in flight added, latency a mean over the I/Os. It is called
    what the device with the most I/Os in flight is called; a depth that one of them does not tell is not known."""
    operations = sum(number(row, "ops_per_second") for row in rows)
    flying = sum(number(row, "in_flight_measured") for row in rows)
    depths = [row["queue_depth"] for row in rows]
    largest = max(rows, key=lambda row: number(row, "in_flight_measured"))
    return {
        **largest,
        "windows": min(int(number(row, "windows")) for row in rows),
        "ops_per_second": operations,
        "bytes_per_second": sum(number(row, "bytes_per_second") for row in rows) or None,
        "in_flight_measured": flying,
        "latency_seconds": flying / operations,
        "resolution_seconds": max(number(row, "resolution_seconds") for row in rows),
        "queue_depth": None if None in depths else sum(number(row, "queue_depth") for row in rows),
    }


def _by_its_bytes(topology: Topology, load: LoadFacts, path: set[str], carrying: Sequence[FactRow]) -> list[FactRow]:
    """Where nobody says on which LUN of the host the load or its virtual disks lie, the one that carries the load's
    bytes; [] where several do. A path carries what its multipath map does: the map is the LUN."""
    if any(entity.startswith("lun:") and not _in_guest(topology, load, entity) for entity in path):
        return []
    hosts = {host for root in load.roots for host in hosts_of(topology, root)}
    own = {lun for host in hosts for lun in topology.related(host, "attached_to", "lun")}
    own -= {link.from_entity for link in topology.links if link.relation == "member_of"}
    rows = [row for row in carrying if row["entity"] in own]
    return rows if len({row["entity"] for row in rows}) == 1 else []


def _in_guest(topology: Topology, load: LoadFacts, lun: str) -> bool:
    """Whether a block device is that of a virtual machine which the load runs in."""
    machines = {machine for root in load.roots for machine in machines_of(topology, root)}
    guests = {machine for machine in machines if machine.startswith("vm:")}
    return any(machine in guests for machine in topology.related(lun, "attached_to"))


def plane_rows(
    topology: Topology, samples: Mapping[str, Sequence[StepSamples]], clocks: Mapping[str, Mapping[str, str | None]]
) -> Iterator[FactRow]:
    """One row a block device or virtual disk, plane, step and direction with I/O. `clocks`: entity kind → source →
    plane of its latencies."""
    for kind in ("lun", "vdisk"):
        for sample in samples.get(kind, ()):
            entity = topology.known_as.get((sample.source, kind, sample.entity), f"{kind}:{sample.entity}")
            for direction in DIRECTIONS:
                operations = sample.rate(f"ops_{direction}_total")
                if not operations:
                    continue
                for plane, seconds, resolution in _latencies(sample, direction, clocks[kind].get(sample.source)):
                    yield {
                        "entity": entity,
                        "step": sample.step,
                        "direction": direction,
                        "windows": sample.windows,
                        "plane": plane,
                        "ops_per_second": operations,
                        "bytes_per_second": sample.rate(f"bytes_{direction}_total"),
                        "latency_seconds": seconds,
                        "resolution_seconds": resolution,
                        "in_flight_measured": operations * seconds,
                        "queue_depth": _depth(topology, entity, plane, sample),
                    }


def _depth(topology: Topology, entity: str, plane: str, sample: StepSamples) -> float | None:
    """I/Os that are let through to a plane at once. None: nobody tells, or it is a block device with fewer requests
    than slots."""
    if plane == "device":
        return sample.means.get("queue_depth")
    about = topology.entities[entity].attributes if entity in topology.entities else {}
    slots, requests = figure(about.get("queue_depth")), figure(about.get("nr_requests"))
    if plane not in _BLOCK_DEVICES or (slots is not None and requests is not None and requests < slots):
        return None
    return slots


def _latencies(sample: StepSamples, direction: Direction, plane: str | None) -> Iterator[tuple[str, float, float]]:
    """(plane, mean latency, by how much it may be off either way) of what one source tells of one device."""
    operations = sample.rate(f"ops_{direction}_total")
    waited = sample.rate(f"latency_seconds_{direction}_total")
    if operations and waited is not None:
        yield plane or "guest_block", waited / operations, 0.0
    elif (own := _mean(sample, "latency", direction)) is not None:
        yield plane or "guest_block", *own
    below = _mean(sample, "device", direction)
    if below is not None:
        yield "device", *below
        held = _mean(sample, "kernel", direction)
        if held is not None:
            yield "kernel", below[0] + held[0], below[1] + held[1]


def _mean(sample: StepSamples, part: str, direction: Direction) -> tuple[float, float] | None:
    """A mean that the source gives as such: the middle of where it may lie, and half that range. None: not told."""
    for name in (f"{part}_seconds_mean_{direction}", f"{part}_seconds_mean"):
        seconds = sample.means.get(name)
        if seconds is not None and (name.endswith(direction) or _one_way(sample, direction)):
            half = sample.resolutions.get(name, 0.0) / 2
            return seconds + half, half
    return None


def _one_way(sample: StepSamples, direction: Direction) -> bool:
    rates = {d: sample.rate(f"ops_{d}_total") or 0.0 for d in DIRECTIONS}
    return rates[direction] >= _ALL * sum(rates.values())


def path_of(topology: Topology, load: LoadFacts) -> set[str]:
    """Block devices and virtual disks that the load's I/O may pass."""
    found: set[str] = set()
    for root in load.roots:
        found |= set(topology.related(root, "attached_to" if root.startswith("host:") else "targets", "lun"))
        disks = [disk for m in machines_of(topology, root) for disk in topology.related(m, "attached_to", "vdisk")]
        found |= {*disks, *(lun for disk in disks for lun in topology.related(disk, "backed_by", "lun"))}
    return found


def _carries(row: FactRow, load: LoadFacts) -> bool:
    apart = _SAME + _A_WINDOW / max(1.0, number(row, "windows"))
    if row["bytes_per_second"] and load.bytes_per_second:
        return isclose(number(row, "bytes_per_second"), load.bytes_per_second, rel_tol=apart)
    return isclose(number(row, "ops_per_second"), load.ops_per_second, rel_tol=apart)

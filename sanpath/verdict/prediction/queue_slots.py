"""How many I/Os the queues above the storage let through: of virtual disks, and of block devices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sanpath.facts.compute import Facts
from sanpath.facts.host.virtual_disks import QUEUES
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import FactRow, number
from sanpath.verdict.prediction.change import Change

_MORE = 1.05
"""A queue that was seen to hold this many times its depth has another depth than is told."""
_PART = 0.05
"""A block device with less of the load's I/Os is no part of the test."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Queues beside each other that all I/Os pass. `slots`: I/Os of one direction of the load they let through."""

    entity: str
    slots: float


def stages(facts: Facts, load: LoadFacts, change: Change) -> list[Stage]:
    """The queues whose depth is known, each machine's together. Both directions share a queue as they do now."""
    here = [other for other in facts.loads if other.step == load.step]
    mine = load.in_flight_measured / sum(other.in_flight_measured for other in here)
    by_machine: dict[str, list[FactRow]] = {}
    for row in _bottom(facts, facts.tables["device"].select(step=load.step)):
        if row["operations_per_second"] is None or number(row, "operations_per_second") >= _PART * sum(
            other.ops_per_second for other in here
        ):
            by_machine.setdefault(_level(facts, str(row["entity"])), []).append(row)
    told = [_stage(rows, [_depth(row, change) for row in rows]) for rows in by_machine.values()]
    disks = facts.tables["virtual_disk"].select(step=load.step)
    # A guest's block device and its virtual disk have one queue, the driver's: another depth there is no default.
    in_guest = any(own in facts.topology.entities and _level(facts, own) == "vm" for own in change.slots)
    if disks and not (in_guest and change.slots.keys().isdisjoint(str(row["entity"]) for row in disks)):
        told.append(_stage(disks, [_disk_depth(row, change) for row in disks]))
    return [Stage(stage.entity, stage.slots * mine) for stage in told if stage is not None]


def _stage(rows: Sequence[FactRow], depths: Iterable[float | None]) -> Stage | None:
    known = [depth for depth in depths if depth is not None]
    return Stage(str(rows[0]["entity"]), sum(known)) if len(known) == len(rows) else None


def _depth(row: FactRow, change: Change) -> float | None:
    """I/Os a block device lets through. None: not told, or it was seen to let more through, or nothing saw it."""
    if (wanted := change.slots.get(str(row["entity"]))) is not None:
        return wanted
    if row["queue_depth"] is None or not (row["in_flight"] or row["operations_per_second"]):
        return None
    depth = number(row, "queue_depth")
    if row["competing_limit"] is not None and number(row, "virtual_machines") > 1:
        depth = min(depth, number(row, "competing_limit"))
    return depth if number(row, "in_flight") <= _MORE * depth else None


def _disk_depth(row: FactRow, change: Change) -> float | None:
    """The same of a virtual disk, whose guest's driver is taken to have its default."""
    if (wanted := change.slots.get(str(row["entity"]))) is not None:
        return wanted
    depth, together = QUEUES.get(str(row["controller_type"]), (None, None))
    seen, adapter = number(row, "in_flight"), number(row, "adapter_in_flight")
    if depth is None or together is None or not seen or seen > _MORE * depth or adapter > _MORE * together:
        return None
    return float(depth)


def _bottom(facts: Facts, rows: Sequence[FactRow]) -> list[FactRow]:
    """Devices that lie on no other of the test: a volume manager's device queues nothing by itself."""
    listed = {str(row["entity"]) for row in rows}
    upper = {
        link.to_entity
        for link in facts.topology.links
        if link.relation == "member_of" and link.from_entity in listed and link.to_entity in listed
    }
    return [row for row in rows if str(row["entity"]) not in upper]


def _level(facts: Facts, device: str) -> str:
    """vm or host, whose device it is."""
    owners = facts.topology.related(device, "attached_to")
    return next((facts.topology.entities[owner].kind for owner in owners), "host")

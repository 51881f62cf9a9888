"""The number of I/Os that queues above the storage admit: queues of virtual disks, and of block devices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sanpath.facts.facts import Facts
from sanpath.facts.host.virtual_disks import QUEUES, exceeds
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import FactRow, number
from sanpath.verdict.places.host_queues import throttle
from sanpath.whatif.change import Change

_MIN_SHARE = 0.05
"""Share of the load's I/Os below which a block device is not part of the test."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Parallel queues: each I/O passes one of them. `slots`: number of I/Os of one direction of the load that they
    admit together."""

    entity: str
    slots: float


def stages(facts: Facts, load: LoadFacts, change: Change) -> list[Stage]:
    """The queues of known depth, grouped by the kind of their machine. Both directions keep their present shares of a
    queue."""
    direction_share = load.in_flight_measured / facts.in_flight_in(load.step)
    least = _MIN_SHARE * facts.ops_per_second_in(load.step)
    by_owner_kind: dict[str, list[FactRow]] = {}
    for row in _lowest_devices(facts, facts.tables["device"].select(step=load.step)):
        if row["operations_per_second"] is None or number(row, "operations_per_second") >= least:
            by_owner_kind.setdefault(_owner_kind(facts, str(row["entity"])), []).append(row)
    result = [_stage(rows, [_depth(row, change) for row in rows]) for rows in by_owner_kind.values()]
    disks = facts.tables["virtual_disk"].select(step=load.step)
    # A guest's block device and its virtual disk share the driver's queue: a depth in the change replaces its
    # default.
    in_guest = any(
        device in facts.topology.entities and _owner_kind(facts, device) == "vm" for device in change.slots
    )
    if disks and not (in_guest and change.slots.keys().isdisjoint(str(row["entity"]) for row in disks)):
        result.append(_stage(disks, [_disk_depth(row, change) for row in disks]))
    return [Stage(stage.entity, stage.slots * direction_share) for stage in result if stage is not None]


def unread_queue_reason(facts: Facts, load: LoadFacts, change: Change) -> str | None:
    """Why the effect of a different queue depth cannot be predicted: the queue was not read in the step. None: it
    was."""
    tables = [facts.tables[name] for name in ("device", "virtual_disk")]
    rows = [row for table in tables for row in table.select(step=load.step)]
    read = {str(row["entity"]) for row in rows if row["in_flight"] or row.get("operations_per_second")}
    throttling = throttle(facts, load)
    unread = sorted(change.slots.keys() - read - ({throttling.entity} if throttling is not None else set()))
    return f"how many I/Os {unread[0]} lets through was not read in this step" if unread else None


def _stage(rows: Sequence[FactRow], depths: Iterable[float | None]) -> Stage | None:
    known = [depth for depth in depths if depth is not None]
    return Stage(str(rows[0]["entity"]), sum(known)) if len(known) == len(rows) else None


def _depth(row: FactRow, change: Change) -> float | None:
    """Number of I/Os that a block device admits. None: its depth is unknown, it admitted more than its depth, or no
    source observed it."""
    if (new_depth := change.slots.get(str(row["entity"]))) is not None:
        return new_depth
    if row["queue_depth"] is None or not (row["in_flight"] or row["operations_per_second"]):
        return None
    depth = number(row, "queue_depth")
    if row["competing_limit"] is not None and number(row, "virtual_machines") > 1:
        depth = min(depth, number(row, "competing_limit"))
    return None if exceeds(number(row, "in_flight"), depth) else depth


def _disk_depth(row: FactRow, change: Change) -> float | None:
    """The same for a virtual disk, if the guest's driver uses its default."""
    if (new_depth := change.slots.get(str(row["entity"]))) is not None:
        return new_depth
    depth, adapter_depth = QUEUES.get(str(row["controller_type"]), (None, None))
    in_flight, adapter_in_flight = number(row, "in_flight"), number(row, "adapter_in_flight")
    if (
        depth is None
        or adapter_depth is None
        or not in_flight
        or exceeds(in_flight, depth)
        or exceeds(adapter_in_flight, adapter_depth)
    ):
        return None
    return float(depth)


def _lowest_devices(facts: Facts, rows: Sequence[FactRow]) -> list[FactRow]:
    """Devices that do not consist of other devices of the test: a volume manager's device has no queue of its own."""
    listed = {str(row["entity"]) for row in rows}
    upper = {
        link.to_entity
        for link in facts.topology.links
        if link.relation == "member_of" and link.from_entity in listed and link.to_entity in listed
    }
    return [row for row in rows if str(row["entity"]) not in upper]


def _owner_kind(facts: Facts, device: str) -> str:
    """vm or host: the kind of the machine that has the device."""
    owners = facts.topology.related(device, "attached_to")
    return next((facts.topology.entities[owner].kind for owner in owners), "host")

"""Queues of the host below the last clock that was read there: a LUN's queue, and an initiator's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from sanpath.facts.host.planes import devices_of_load
from sanpath.facts.table import number
from sanpath.units import count
from sanpath.verdict.hypotheses.claim import Claim, Evidence, limited_by
from sanpath.verdict.hypotheses.likelihoods import DEPTH_ERROR, at_limit, full_queue
from sanpath.verdict.places.table import PlaceTable

_ADAPTER = -2.0
"""Log-odds of an initiator's queue: by their drivers, adapters admit a thousand I/Os and more, LUNs some dozens."""
_HYPERVISOR = -0.5
"""Log-odds of the hypervisor's queue, where the guest's depth is known: mostly it is the deeper one."""
_BELOW_ERROR = 0.1
"""Error of the I/Os below a queue: the array's clock times them, not the host's."""
_SETTING = -3.0
"""Least log-odds by a depth that was reported in another step."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """Claims for the queues of a host that no source reads below the load or the guest, and one for the initiator."""
    explains = table.indices("array_door") or table.indices("fabric", "below")
    if not explains:
        return
    slots = tuple(_slot_evidence(table, max(explains)))
    if host_is_unread(table):
        yield from _queues_above(table, explains)
    ports = list(dict.fromkeys(path.hba for path in table.paths))
    ports = ports or table.initiators
    rows = [
        row
        for row in table.facts.tables["initiator"].select(step=table.load.step)
        if row["entity"] in ports and row["queue_filled_ratio"] is not None
    ]
    if rows:
        row = max(rows, key=lambda row: number(row, "queue_filled_ratio"))
        words = f"{count(number(row, 'in_flight'))} of {count(number(row, 'queue_depth'))} of its slots are in use"
        weight, entity = at_limit(number(row, "queue_filled_ratio"), DEPTH_ERROR), str(row["entity"])
        # I/Os that wait for a slot of the adapter wait in the kernel, above the device's clock.
        explains |= table.indices("host_queue")
        slots = ()
    elif ports := [port for port in ports if _has_a_queue(table, port)]:
        words, weight, entity = "how many I/Os the initiator lets through was not read", 0.0, ports[0]
    else:
        return
    yield _claim(table, "hba", entity, explains, (Evidence(words, weight), *slots), _ADAPTER)


def _queues_above(table: PlaceTable, explains: frozenset[int]) -> Iterator[Claim]:
    """One claim for the LUN, and one for an unknown queue: that of a LUN that is not known, or of a hypervisor."""
    luns, depth = _luns(table)
    unread = Evidence("how long I/Os wait in the host was not read", 0.0)
    if luns:
        slots = _slot_evidence(table, max(explains), len(luns), depth)
        evidence = (unread, *slots, *_room_evidence(table, luns, depth))
        yield _claim(table, "lun", luns[0], explains, evidence, coincident=luns[1:])
    is_hypervisor = bool(luns) and depth is not None and _in_virtual_machine(table)
    if is_hypervisor or not luns:
        evidence = (unread, *_slot_evidence(table, max(explains)))
        prior = _HYPERVISOR if is_hypervisor else 0.0
        # The entity is not known, so none is accused.
        yield replace(_claim(table, "unseen", None, explains, evidence, prior), verdict="cannot_tell")


def _has_a_queue(table: PlaceTable, port: str) -> bool:
    """Whether an initiator has a queue of its own: a network card has none, software initiators queue in the block
    layer."""
    return table.facts.topology.entities[port].attributes.get("technology") != "ethernet"


def _slot_evidence(table: PlaceTable, index: int, queues: int = 1, depth: float | None = None) -> Iterator[Evidence]:
    """Evidence of the number of I/Os that each of several parallel queues would let through.

    It needs a clock below the queues. `depth`: slots of each queue, None: unknown.
    """
    if table.array is None or index + 1 >= len(table.segments):
        return
    slots = table.in_flight_below(index) / queues
    below_words = " below each LUN" if queues > 1 else " below it"
    if depth:
        words = f"{slots:.1f} I/Os are{below_words} on average, of {count(depth)} slots"
        yield Evidence(words, _at_depth(slots / depth))
    else:
        yield Evidence(f"{slots:.1f} I/Os are{below_words} on average", full_queue(slots))


def _room_evidence(table: PlaceTable, luns: Sequence[str], depth: float | None) -> Iterator[Evidence]:
    """Evidence against queues of which one alone has more slots than the load keeps in flight, wherever its I/Os
    wait."""
    in_flight = table.facts.in_flight_in(table.load.step)
    if depth and (weight := _at_depth(min(1.0, in_flight / depth))) < 0:
        each = " of each LUN" if len(luns) > 1 else ""
        yield Evidence(f"{count(in_flight)} I/Os are outstanding in all, of {count(depth)} slots{each}", weight)


def _depth(table: PlaceTable, luns: Sequence[str]) -> float | None:
    """Slots of each LUN's queue as the host or guest reported them in another step. None: unknown."""
    entities = table.facts.topology.entities
    depths = {entities[lun].attributes.get("queue_depth") for lun in luns}
    depth = depths.pop() if len(depths) == 1 else None
    return float(depth) if isinstance(depth, int | float) else None


def _at_depth(filled: float) -> float:
    return max(_SETTING, at_limit(filled, _BELOW_ERROR))


def host_is_unread(table: PlaceTable) -> bool:
    """Whether a host below the load, or below its virtual machine, has no clock that was read."""
    topology = table.facts.topology
    queues = [segment.queue for segment in table.segments if segment.queue is not None]
    host_side = [q for q in queues if q.layer != "guest" or topology.related(q.entity, "attached_to", "host")]
    return bool(table.machines) and not (host_side if _in_virtual_machine(table) else queues)


def _in_virtual_machine(table: PlaceTable) -> bool:
    return any(table.facts.topology.entities[machine].kind == "vm" for machine in table.machines)


def _luns(table: PlaceTable) -> tuple[list[str], float | None]:
    """The LUNs of the load that no source reads, or the guest's devices that stand for them, and the slots of each.

    Empty: none is known, or nothing tells a guest's queue from its hypervisor's. None: the slots are unknown, or the
    devices are read, so that another queue is meant.
    """
    path = devices_of_load(table.facts.topology, table.load)
    luns = sorted(entity for entity in path if entity.startswith("lun:"))
    rows = table.facts.tables["plane"].select(step=table.load.step, direction=table.load.direction)
    read_entities = {str(row["entity"]) for row in rows}
    unread = [lun for lun in luns if lun not in read_entities]
    if not unread:
        return luns, None
    depth = _depth(table, unread)
    return ([] if depth is None and _in_virtual_machine(table) else unread), depth


def _claim(
    table: PlaceTable,
    kind: str,
    entity: str | None,
    explains: frozenset[int],
    evidence: Sequence[Evidence],
    prior: float = 0.0,
    coincident: Sequence[str] = (),
) -> Claim:
    because = (evidence[0].words, f"{table.wait_words(explains)} pass below the host's last clock that was read")
    overturn_if = ("a deeper queue that does not raise throughput",)
    conclude = partial(
        limited_by,
        table,
        layer="host",
        because=because,
        overturn_if=overturn_if,
        waits_inside=True,
        coincident=tuple(coincident),
    )
    return Claim(kind, entity, explains, evidence, conclude, prior)

"""Queues of the host below the last clock that was read there: a LUN's queue, and an initiator's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from sanpath.facts.planes import path_of
from sanpath.facts.table import number
from sanpath.topology.paths import initiators_of, machines_of
from sanpath.verdict.hypotheses.claim import Claim, Conclusion, Evidence, at_limit, full_queue
from sanpath.verdict.model import Bottleneck, Kind
from sanpath.verdict.places.table import PlaceTable
from sanpath.verdict.units import count, duration

_ADAPTER = -2.0
"""Log-odds of an initiator's queue: adapters admit a thousand I/Os and more, LUNs some dozens, by their drivers."""
_DEPTH_ERROR = 0.05


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One for the LUN where nobody reads the host below the load or the guest, and one for the initiator."""
    explains = table.indices("array_door") or table.indices("fabric", "below")
    if not explains:
        return
    slots = tuple(_slots(table, max(explains)))
    if _is_unread(table):
        evidence = (Evidence("how long I/Os wait in the host was not read", 0.0), *slots)
        lun, conclude = _lun(table), partial(_conclude, table)
        # Which of the host's LUNs carries the load may not be known: then none is accused.
        kind: Kind = "cannot_tell" if lun is None else "bottleneck"
        yield Claim(kind, "unseen" if lun is None else "lun", lun, explains, evidence, "saturates", conclude)
    ports = [hba for root in table.load.roots for hba in initiators_of(table.facts.topology, root)]
    rows = [
        row
        for row in table.facts.tables["initiator"].select(step=table.load.step)
        if row["entity"] in ports and row["queue_filled_ratio"] is not None
    ]
    if rows:
        row = max(rows, key=lambda row: number(row, "queue_filled_ratio"))
        words = f"{count(number(row, 'in_flight'))} of {count(number(row, 'queue_depth'))} of its slots are in use"
        weight, entity = at_limit(number(row, "queue_filled_ratio"), _DEPTH_ERROR), str(row["entity"])
        # What waits for a slot of the adapter waits in the kernel, above the device's clock.
        explains |= table.indices("host_queue")
        slots = ()
    elif ports:
        words, weight, entity = "how many I/Os the initiator lets through was not read", 0.0, ports[0]
    else:
        return
    evidence = (Evidence(words, weight), *slots)
    yield Claim("bottleneck", "hba", entity, explains, evidence, "saturates", partial(_conclude, table), _ADAPTER)


def _slots(table: PlaceTable, index: int) -> Iterator[Evidence]:
    """How many I/Os would be let through, if what lies below was timed."""
    if table.array is not None and index + 1 < len(table.segments):
        slots = table.passing(index)
        yield Evidence(f"{slots:.1f} I/Os are below it in the mean", full_queue(slots))


def _is_unread(table: PlaceTable) -> bool:
    """Whether there is a host below the load, or below its virtual machine, of which no clock was read."""
    topology, load = table.facts.topology, table.load
    queues = [segment.queue for segment in table.segments if segment.queue is not None]
    machines = [machine for root in load.roots for machine in machines_of(topology, root)]
    virtual = any(topology.entities[machine].kind == "vm" for machine in machines)
    return bool(machines) and (not queues or (virtual and all(queue.layer == "guest" for queue in queues)))


def _lun(table: PlaceTable) -> str | None:
    """The LUN of the load that nobody reads. None: none is known."""
    read = {segment.queue.entity for segment in table.segments if segment.queue is not None}
    luns = sorted(e for e in path_of(table.facts.topology, table.load) if e.startswith("lun:"))
    return next((lun for lun in luns if lun not in read), None)


def _conclude(table: PlaceTable, named: Sequence[Claim]) -> Conclusion:
    load, first = table.load, named[0]
    entity = str(first.entity)
    wait = sum(table.segments[i].wait[1] for i in first.explains)
    because = (
        first.evidence[0].words,
        f"about {duration(wait)} of {duration(load.latency_seconds)} pass below the host's last clock that was read",
    )
    bottleneck = Bottleneck(
        entity=entity,
        kind=first.kind,
        layer="host",
        direction=load.direction,
        ceiling_bytes_per_second=load.bytes_per_second,
        ceiling_ops_per_second=load.ops_per_second,
        wait_at=entity,
        because=because,
        overturn_if=("a deeper queue that does not raise throughput",),
    )
    return Conclusion((bottleneck,), because)

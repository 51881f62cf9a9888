"""Little's law, N = X R: the I/Os in flight at every observed plane, and the law as a sentence of a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sanpath.diagnosis.model import InFlight, PlaneInFlight
from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import SINGLE_DIRECTION, LoadFacts
from sanpath.facts.storage.load_volumes import array_side, array_time
from sanpath.facts.table import number
from sanpath.model import Step
from sanpath.units import counted, duration, iops, outstanding
from sanpath.verdict.places.host_queues import HostQueue, host_queues

_QUEUES = {"vdisk": "virtual_disk", "lun": "device"}
"""Entity kind → fact table that has its queue depth."""


def in_flight(facts: Facts, step: Step, loads: Sequence[LoadFacts]) -> InFlight:
    """The I/Os in flight of one step. `loads`: its directions; Little's law is stated for the busier one."""
    if not loads:
        return InFlight(step.offered, None)
    main = max(loads, key=lambda load: (load.bytes_per_second, load.ops_per_second))
    planes = tuple(plane for load in loads for plane in _planes(facts, load))
    measured = sum(load.in_flight_measured for load in loads)
    flushes = max(load.flushes_in_flight for load in loads)
    return InFlight(loads[0].in_flight_configured, measured, little(facts, main), planes, flushes)


def _planes(facts: Facts, load: LoadFacts) -> Iterator[PlaneInFlight]:
    """The planes from the load down; the array last, if its times are those of the test's own I/Os."""
    operations = load.ops_per_second
    low, high = load.latency_bounds
    bounds = operations * low, operations * high
    yield PlaneInFlight("load", load.entity, load.direction, bounds, load.in_flight_configured)
    for queue in host_queues(facts, load):
        plane, seconds, measured = queue.below.plane, queue.below.seconds, queue.below.in_flight
        error = queue.below.whole_error_seconds
        spread = measured * error / seconds if seconds else 0.0
        bounds = max(0.0, measured - spread), measured + spread
        depth, others = _queue_depth(facts, load, queue), queue.others_admitted
        yield PlaneInFlight(plane, queue.entity, load.direction, bounds, depth, others)
    if (row := array_time(load, array_side(facts.topology, load, facts.tables))) is not None:
        inside_seconds, error = (
            number(row, "array_seconds") + number(row, "qos_limit_seconds"),
            number(row, "spread_seconds"),
        )
        rate = number(row, "ops_per_second")
        yield PlaneInFlight(
            "array",
            str(row["entity"]),
            load.direction,
            (rate * (inside_seconds - error), rate * (inside_seconds + error)),
        )


def _queue_depth(facts: Facts, load: LoadFacts, queue: HostQueue) -> float | None:
    """How many I/Os of both directions the plane admits: all parallel devices together, like the I/Os measured there.
    None: no source reports it."""
    if queue.depth is not None and (queue.devices == 1 or queue.in_slots is None):
        return queue.depth
    table = facts.tables[_QUEUES.get(queue.entity.partition(":")[0], "device")]
    rows = table.select(step=load.step, entity=queue.entity)
    depths = [number(row, "queue_depth") for row in rows if row["queue_depth"] is not None]
    return min(depths, default=queue.depth)


def throughput(facts: Facts, load: LoadFacts) -> str:
    """The throughput of a step; for a mix, the direction's and the total."""
    total = facts.ops_per_second_in(load.step)
    if load.ops_per_second >= SINGLE_DIRECTION * total:
        return iops(total)
    return f"{load.ops_per_second:,.0f} {load.direction}s a second of {iops(total)}"


def little(facts: Facts, load: LoadFacts) -> str:
    """The sentence R = N / X with its figures. For a mix, those of one direction, because Little's law holds for each
    direction."""
    if load.ops_per_second >= SINGLE_DIRECTION * facts.ops_per_second_in(load.step):
        in_flight = outstanding(load.in_flight_measured)
        return f"{duration(load.latency_seconds)} = {in_flight} / {iops(load.ops_per_second)}"
    in_flight = counted(load.in_flight_measured, f"outstanding {load.direction}")
    rate = f"{load.ops_per_second:,.0f} {load.direction}s a second"
    return f"{duration(load.latency_seconds)} = {in_flight} / {rate}"

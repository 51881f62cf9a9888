"""What would limit next: the binding links relieved to the speed that both ends of their path can do.

The low end of a prediction is what the rest of the path was seen to bear; the high end the smallest of the next link
ceiling and N / R0, with the I/Os that get through to the storage as N: a queue above it holds the others back.
"""

from __future__ import annotations

from collections.abc import Sequence

from sanpath.catalogue.capacity import Capacity, link_capacity
from sanpath.facts.compute import Facts
from sanpath.facts.loads import LoadFacts
from sanpath.facts.pairs import array_side, array_time
from sanpath.facts.table import FactRow, number
from sanpath.verdict.budget import wire_seconds
from sanpath.verdict.model import Next
from sanpath.verdict.queues import throttle
from sanpath.verdict.units import count


def next_limit(facts: Facts, load: LoadFacts, binding: Sequence[FactRow]) -> Next | None:
    """What limits once all of `binding` are relieved together. None: nothing says what they could do otherwise."""
    size = load.operation_bytes
    relieved = {str(row["entity"]): faster for row in binding if (faster := _relieved(row)) is not None}
    if size is None or len(relieved) < len(binding):
        return None
    rows = facts.tables["link"].select(step=load.step, direction=load.direction, on_loaded_path=True)
    limits = [_link_limit(row, relieved.get(str(row["entity"])), size) for row in rows]
    slots = throttle(facts, load)
    if (floor := _floor(facts, load, relieved)) is not None:
        if slots is not None:
            through = f"with the {count(slots.admitted)} I/Os it lets through"
            limits.append((slots.admitted / floor, slots.entity, through))
        else:
            limits.append((load.in_flight_measured / floor, load.entity, "with what it keeps in flight"))
    limits += _data_sheets(facts, load, size)
    high, entity, change = min(limits)
    low = load.ops_per_second
    # Clocks that overlap can make the parts longer than the whole; what was seen is possible all the same.
    high = max(high, low)
    in_flight = load.in_flight_measured
    return Next(entity, change, (low, high), (in_flight / high, in_flight / low))


def _data_sheets(facts: Facts, load: LoadFacts, size: float) -> list[tuple[float, str, str]]:
    """What a person noted down that the array or its volume can do."""
    row = array_side(facts.topology, load, facts.tables)
    ends = [str(row["entity"])] if row is not None else []
    ends += [array for end in ends for array in facts.topology.related(end, "member_of", "array")]
    told = [
        (e, unit, value, source)
        for (e, unit, direction), (value, source) in facts.by_hand.ceilings.items()
        if e in ends and direction in (None, load.direction)
    ]
    return [
        (value if unit == "ops_per_second" else value / size, entity, f"by {source}")
        for entity, unit, value, source in told
    ]


def _link_limit(row: FactRow, faster: Capacity | None, size: float) -> tuple[float, str, str]:
    ceiling = number(row, "ceiling_bytes_per_second") or float("inf")
    if faster is None:
        return ceiling / size, str(row["entity"]), ""
    return ceiling * _gain(row, faster) / size, str(row["entity"]), f"at {faster.name}"


def _gain(row: FactRow, faster: Capacity) -> float:
    """How many times more of the test the link carries at another speed; what others send over it stays."""
    full, foreign = number(row, "full_ratio"), number(row, "foreign_bytes_per_second")
    now = number(row, "capacity_bytes_per_second") * full - foreign
    return (faster.data_bytes_per_second * full - foreign) / now if now > 0 else 1.0


def _relieved(row: FactRow) -> Capacity | None:
    """The speed that both ends of the path can do. None: not known, or not faster than now."""
    able = row["path_capable_bits_per_second"]
    now = number(row, "capacity_bytes_per_second")
    if not isinstance(able, int | float) or not now:
        return None
    faster = link_capacity("fibre_channel" if row["technology"] == "fibre_channel" else "ethernet", float(able))
    return faster if faster is not None and faster.data_bytes_per_second > now else None


def _floor(facts: Facts, load: LoadFacts, relieved: dict[str, Capacity]) -> float | None:
    """Latency below every queue: the array's own time and one transfer at the new speeds."""
    array = array_time(load, array_side(facts.topology, load, facts.tables))
    faster = {entity: capacity.data_bytes_per_second for entity, capacity in relieved.items()}
    wire = wire_seconds(facts, load, faster)
    if array is None or wire is None:
        return None
    return number(array, "array_seconds") + wire

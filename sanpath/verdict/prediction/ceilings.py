"""What each element of the loaded path lets through, as it was recorded or as it is thought to be.

Links: what they carry of the test (utilisation law, measured shares). Queues and the load itself: the I/Os they keep
in flight over the latency without a queue (Little's law); that latency is an interval, from what the array and the
wire need to what the calmest step of the test saw. Limits that were set, data sheets, and what was proven saturated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sanpath.catalogue.capacity import Technology, counted_per_payload
from sanpath.facts.compute import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.storage.load_volumes import array_side, array_time
from sanpath.facts.table import FactRow, number
from sanpath.topology.paths import targets_of
from sanpath.verdict.model import Interval
from sanpath.verdict.places.host_queues import throttle
from sanpath.verdict.places.segments import wire_seconds
from sanpath.verdict.prediction.change import Change
from sanpath.verdict.prediction.path_spread import Used, used_paths
from sanpath.verdict.prediction.queue_slots import stages
from sanpath.verdict.step_judgement import Judgement
from sanpath.verdict.units import bandwidth, count, iops

_STORAGE = ("array", "volume", "controller", "media")
"""Kinds of bottlenecks that publish no ceiling and have one all the same."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What an element lets through of one direction of the load, I/Os a second, [low, high]. `change`: at what.
    `in_flight`: I/Os it keeps in flight, for queues and the load; None: it is no queue."""

    entity: str
    ops_per_second: Interval
    change: str
    in_flight: float | None = None


def ceilings(
    facts: Facts, load: LoadFacts, change: Change, r0: Interval | None, judged: Sequence[Judgement] = ()
) -> list[Ceiling]:
    """Every ceiling that is known. `r0`: latency without a queue under the change; `judged`: the judgement of this
    step, then those of other steps of the same I/O."""
    found = [*_links(facts, load, change), *_caps(facts, load, change), *_data_sheets(facts, load)]
    if r0 is not None:
        found += _queues(facts, load, change, r0)
    computed = {ceiling.entity for ceiling in found}
    if (used := used_paths(facts, load, change)) is not None and used.policy.switch_operations is not None:
        computed.add("path_policy")
    return found + _proven(judged, change, computed)


def unloaded(facts: Facts, load: LoadFacts, change: Change, calm: LoadFacts | None) -> Interval | None:
    """Latency without a queue, [low, high]: at least what the array and one transfer take, at most what the calmest
    step saw. `calm`: a step of the same I/O in which nothing was full. None: nothing tells."""
    speeds = {link: capacity.data_bytes_per_second for link, capacity in change.speeds.items()}
    wire, before = wire_seconds(facts, load, speeds), wire_seconds(facts, load)
    inside = [
        number(row, "array_seconds")
        for other in facts.loads
        if other.comparable(load)
        and (row := array_time(other, array_side(facts.topology, other, facts.tables))) is not None
    ]
    low = min(inside) + wire if inside and wire is not None else None
    high = None
    if calm is not None:
        high = calm.latency_seconds + ((wire - before) if wire is not None and before is not None else 0.0)
    if low is None or high is None:
        known = low if high is None else high
        return None if known is None or known <= 0 else (known, known)
    return (min(low, high), high) if high > 0 else (low, low)


def kept(facts: Facts, load: LoadFacts, change: Change) -> float:
    """I/Os of this direction that the load keeps in flight under a change."""
    if change.in_flight is None:
        return load.in_flight_measured
    total = sum(other.in_flight_measured for other in facts.loads if other.step == load.step)
    return load.in_flight_measured * change.in_flight / total


def _queues(facts: Facts, load: LoadFacts, change: Change, r0: Interval) -> list[Ceiling]:
    """The load, and every queue above the storage that lets through less than it keeps in flight."""
    flying = kept(facts, load, change)
    found = [(load.entity, flying, "with what it keeps in flight")]
    told = stages(facts, load, change)
    found += [(stage.entity, stage.slots, f"with the {count(stage.slots)} I/Os it lets through") for stage in told]
    known = {*change.slots, *(stage.entity for stage in told)}
    if (held := throttle(facts, load)) is not None and held.entity not in known:
        found.append((held.entity, held.admitted, f"with the {count(held.admitted)} I/Os it lets through"))
    return [
        Ceiling(entity, (n / r0[1], n / r0[0]), words, n)
        for entity, n, words in found
        if n <= flying and n < float("inf")
    ]


def _links(facts: Facts, load: LoadFacts, change: Change) -> list[Ceiling]:
    size = load.operation_bytes
    if size is None:
        return []
    used = used_paths(facts, load, change)
    rows = facts.tables["link"].select(step=load.step, direction=load.direction)
    if used is None or not (change.policies or used.in_turn):
        return [_as_shared(row, change, size, _beside(row, rows)) for row in rows if row["on_loaded_path"] is True]
    rates = _rates(facts, load, change, size)
    found = []
    flying = min([kept(facts, load, change), *(stage.slots for stage in stages(facts, load, change))])
    if (alone := used.one_after_the_other(rates, flying)) is not None:
        batch = count(used.policy.switch_operations or 0)
        found.append(Ceiling(used.lun, (alone, alone), f"with Round Robin after every {batch} I/Os"))
    if not change.policies:
        shared = (_as_shared(row, change, size, _beside(row, rows)) for row in rows if row["on_loaded_path"] is True)
        return [*found, *shared]
    return [*found, *_as_spread(facts, change, used, rates)]


def unspread(facts: Facts, load: LoadFacts, change: Change) -> str | None:
    """Why nobody can tell what another path policy would do. None: it can be told, or no policy is changed."""
    if not change.policies or load.operation_bytes is None:
        return None
    used = used_paths(facts, load, change)
    if used is None:
        return "the paths of the test's LUN are not known, or it uses several LUNs"
    rates = _rates(facts, load, change, load.operation_bytes)
    lacking = sorted({link for way in used.ways for link in way.links} - set(rates))
    return f"nobody read the speed of {lacking[0]}" if lacking else None


def _rates(facts: Facts, load: LoadFacts, change: Change, size: float) -> dict[str, float]:
    """Link → I/Os a second if all of the test crossed it. A step too short for a switch borrows from another."""
    rows = facts.tables["link"].select(direction=load.direction)
    rows.sort(key=lambda row: row["step"] == load.step)
    known = {str(row["entity"]): _for_the_test(row, change, size) for row in rows}
    return {link: rate / size for link, rate in known.items() if rate is not None}


def _beside(row: FactRow, rows: Sequence[FactRow]) -> int:
    """How many links of the host, or of the array, carry the test side by side; 0 for those between switches."""
    if row["side"] not in ("host", "array"):
        return 0
    return sum(other["side"] == row["side"] and other["on_loaded_path"] is True for other in rows)


def _as_shared(row: FactRow, change: Change, size: float, beside: int) -> Ceiling:
    """A link with the share of the test that it was measured to carry, or with the same as those beside it."""
    entity = str(row["entity"])
    ceiling = number(row, "ceiling_bytes_per_second") or float("inf")
    faster = change.speeds.get(entity)
    if faster is None:
        evenly = ceiling * max(1.0, number(row, "share") * beside) if change.evenly else ceiling
        return Ceiling(entity, (ceiling / size, evenly / size), f"at {row['speed']}" if row["speed"] else "")
    full, foreign = number(row, "full_ratio"), number(row, "foreign_bytes_per_second")
    now = number(row, "capacity_bytes_per_second") * full - foreign
    gain = (faster.data_bytes_per_second * full - foreign) / now if now > 0 else 1.0
    return Ceiling(entity, (ceiling * gain / size,) * 2, f"at {faster.name}")


def _as_spread(facts: Facts, change: Change, used: Used, rates: dict[str, float]) -> list[Ceiling]:
    """Links with the share that a policy would give them."""
    names = {str(row["entity"]): row["speed"] for row in facts.tables["link"]}
    found = []
    for link, share in used.shares(rates).items():
        if share > 0 and link in rates:
            speed = change.speeds[link].name if link in change.speeds else names[link]
            found.append(Ceiling(link, (rates[link] / share,) * 2, f"at {speed}"))
    return found


def _for_the_test(row: FactRow, change: Change, size: float) -> float | None:
    """Payload a second that a link could carry if all of the test crossed it. None: its speed is not known."""
    entity, capacity = str(row["entity"]), number(row, "capacity_bytes_per_second")
    if entity in change.speeds:
        capacity = change.speeds[entity].data_bytes_per_second
    if not capacity:
        return None
    foreign = row["foreign_bytes_per_second"]
    others = number(row, "foreign_bytes_per_second") if foreign is not None else _all_others(row)
    technology: Technology = "fibre_channel" if row["technology"] == "fibre_channel" else "ethernet"
    full = number(row, "full_ratio")
    return max(0.0, capacity * full - others) / counted_per_payload(technology, size)


def _all_others(row: FactRow) -> float:
    return 0.0 if row["on_loaded_path"] else number(row, "bytes_per_second")


def _caps(facts: Facts, load: LoadFacts, change: Change) -> list[Ceiling]:
    """Limits that somebody set: of volumes at the array, and of virtual disks."""
    size = load.operation_bytes
    total = sum(other.ops_per_second for other in facts.loads if other.step == load.step)
    moved = sum(other.bytes_per_second for other in facts.loads if other.step == load.step)
    volumes = sorted(targets_of(facts.topology, *load.roots)[1])
    found = []
    if len(volumes) == 1 and size and volumes[0] not in change.lifted:
        about = facts.topology.entities[volumes[0]].attributes
        for unit, all_of_it, say in (("ops_per_second", total, iops), ("bytes_per_second", moved, bandwidth)):
            limit = change.caps.get((volumes[0], unit), about.get(f"qos_{unit}"))
            mine = load.ops_per_second if unit == "ops_per_second" else load.bytes_per_second
            if isinstance(limit, int | float) and 0 < limit < float("inf") and all_of_it:
                allowed = limit * mine / all_of_it / (1.0 if unit == "ops_per_second" else size)
                found.append(Ceiling(volumes[0], (allowed,) * 2, f"with its QoS limit of {say(limit)}"))
    disks = facts.tables["virtual_disk"].select(step=load.step)
    if len(disks) == 1 and total:
        entity = str(disks[0]["entity"])
        limit = change.caps.get((entity, "ops_per_second"), number(disks[0], "limit_ops_per_second"))
        if not 0 < limit < float("inf"):
            return found
        found.append(Ceiling(entity, (limit * load.ops_per_second / total,) * 2, f"with its limit of {iops(limit)}"))
    return found


def _data_sheets(facts: Facts, load: LoadFacts) -> list[Ceiling]:
    """What a person noted down that the array or its volume can do."""
    row = array_side(facts.topology, load, facts.tables)
    ends = [str(row["entity"])] if row is not None else []
    ends += [array for end in ends for array in facts.topology.related(end, "member_of", "array")]
    found = []
    for (entity, unit, direction), (value, source) in facts.by_hand.ceilings.items():
        size = 1.0 if unit == "ops_per_second" else load.operation_bytes
        if entity in ends and size and direction in (None, load.direction):
            found.append(Ceiling(entity, (value / size,) * 2, f"by {source}"))
    return found


def _proven(judged: Sequence[Judgement], change: Change, computed: set[str]) -> list[Ceiling]:
    """What steps showed of elements that publish no ceiling: they were saturated at what was reached.

    `judged`: the step itself, then others of the same I/O, of which only a storage that was proven to be full counts:
    it is so at any load. `computed`: entities and kinds that have a ceiling of their own already."""
    if not judged:
        return []
    reached = (judged[0].load.ops_per_second,) * 2
    if judged[0].kind == "generator_limited":
        return [Ceiling(judged[0].load.entity, reached, "with the CPU time of its process")]
    if judged[0].kind == "demand_limited":
        return [Ceiling(judged[0].load.entity, reached, "which asks for no more")]
    found: dict[str, float] = {}
    for place, one in enumerate(judged):
        for bottleneck in one.bottlenecks:
            entity, kind = bottleneck.entity, bottleneck.kind
            lifted = entity in change.slots or entity in change.lifted or (kind == "path_policy" and change.policies)
            lifted = lifted or (one.kind == "configured_cap" and any(entity == capped for capped, _ in change.caps))
            counts = place == 0 or (one.kind == "bottleneck" and kind in _STORAGE)
            known = (
                entity in computed and (kind in ("lun", "vdisk") or one.kind == "configured_cap")
            ) or kind in computed
            if kind != "link" and counts and not known and not lifted:
                found[entity] = max(found.get(entity, 0.0), one.load.ops_per_second)
    return [Ceiling(entity, (most, most), "which was saturated at that") for entity, most in found.items()]

"""The throughput that each element of the loaded path allows, as recorded or under a change.

Links: the throughput of the test at which they are full (utilisation law, measured shares). Queues and the load
itself: the number of I/Os that they keep in flight, divided by the latency without a queue (Little's law). That
latency is an interval, from the time that the array and the wire need to the latency of the lightest step. Other
ceilings: configured limits, and data sheets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from sanpath.catalogue.link_capacity import Capacity, Technology, counted_per_payload
from sanpath.diagnosis.model import Interval
from sanpath.facts.fabric.link_measures import filled_ratio, is_saturated, wire_seconds
from sanpath.facts.facts import Facts
from sanpath.facts.figures.model import BEATEN_RATIO
from sanpath.facts.host.disk_limits import Rates, counted_operations
from sanpath.facts.host.tested_machines import as_number
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.storage.load_volumes import array_side, array_time, volumes_of
from sanpath.facts.table import FactRow, number
from sanpath.model import DIRECTIONS
from sanpath.units import count, iops
from sanpath.verdict.places.host_queues import throttle
from sanpath.verdict.places.path_links import COINCIDENT
from sanpath.verdict.places.set_limits import RATES, SetLimit, configured_limits, own_limit
from sanpath.whatif.change import Change
from sanpath.whatif.path_spread import PathUse, used_paths
from sanpath.whatif.queue_slots import stages

_OTHERS_RATIO = 1.05
"""Ratio of counted throughput to the test's from which others use a limit too: array and load agree more closely."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The throughput that an element allows for one direction of the load, in I/Os a second, [low, high].

    `change`: the setting that gives this ceiling, in words. `in_flight`: number of I/Os that a queue or the load
    keeps in flight; None: the element is neither.
    """

    entity: str
    ops_per_second: Interval
    change: str
    in_flight: float | None = None


def ceilings(facts: Facts, load: LoadFacts, change: Change, r0: Interval | None) -> list[Ceiling]:
    """All known ceilings. `r0`: latency without a queue under the change, None: unknown."""
    caps = [*_caps(facts, load, change), *_group_caps(facts, load, change)]
    found = [*_links(facts, load, change), *caps, *_data_sheets(facts, load)]
    return found if r0 is None else [*found, *_queues(facts, load, change, r0)]


def unloaded_interval(facts: Facts, load: LoadFacts, change: Change, lightest: LoadFacts | None) -> Interval | None:
    """Latency without a queue in seconds, [low, high]. None: unknown.

    Low is the time of the array, one transfer and the shortest round trip; high is the latency of the lightest step,
    and no less than transfer and round trip. `lightest`: a step of the same I/O in which no element was full.
    """
    wire, wire_before = wire_times(facts, load, change)
    array_times = [
        number(row, "array_seconds")
        for other_load in facts.loads
        if other_load.comparable(load)
        and (row := array_time(other_load, array_side(facts.topology, other_load, facts.tables))) is not None
    ]
    way = _shortest_round_trip(facts, load)
    low = min(array_times) + wire + way if array_times and wire is not None else None
    high = None
    if lightest is not None:
        slower = wire - wire_before if wire is not None and wire_before is not None else 0.0
        high = lightest.latency_seconds + slower
    if low is None or high is None:
        single = low if high is None else high
        return None if single is None or single <= 0 else (single, single)
    return (min(low, high), max(high, wire + way if wire and way else 0.0)) if high > 0 else (low, low)


def _shortest_round_trip(facts: Facts, load: LoadFacts) -> float:
    """Seconds of the shortest round trip between the host and its target, which no setting shortens. 0: not read."""
    rows = facts.tables["tcp_connection"].select(direction=load.direction)
    read = [row.get("round_trip_seconds_min") for row in rows if row["on_loaded_path"]]
    known = [float(each) for each in read if isinstance(each, float)]
    return min(known) if known and len(known) == len(read) else 0.0


def wire_times(facts: Facts, load: LoadFacts, change: Change) -> tuple[float | None, float | None]:
    """Seconds of one transfer on the links, under a change and as recorded. None: unknown."""
    speeds = {link: capacity.data_bytes_per_second for link, capacity in change.speeds.items()}
    return wire_seconds(facts.tables["link"], load, speeds), wire_seconds(facts.tables["link"], load)


def in_flight_under(facts: Facts, load: LoadFacts, change: Change) -> float:
    """Number of I/Os of this direction that the load keeps in flight under a change."""
    if change.in_flight is None:
        return load.in_flight_measured
    return load.in_flight_measured * change.in_flight / facts.in_flight_in(load.step)


def _queues(facts: Facts, load: LoadFacts, change: Change, r0: Interval) -> list[Ceiling]:
    """Ceilings of the load, and of every queue above the storage that admits fewer I/Os than the load keeps in
    flight."""
    in_flight = in_flight_under(facts, load, change)
    stages_found = [(load.entity, in_flight, "with its outstanding I/Os")]
    known_stages = stages(facts, load, change)
    stages_found += [
        (stage.entity, stage.slots, f"with the {count(stage.slots)} I/Os it lets through") for stage in known_stages
    ]
    named = {*change.slots, *change.lifted, *(stage.entity for stage in known_stages)}
    if (queue := throttle(facts, load)) is not None and queue.entity not in named:
        stages_found.append((queue.entity, queue.admitted, f"with the {count(queue.admitted)} I/Os it lets through"))
    return [
        Ceiling(entity, (n / r0[1], n / r0[0]), words, n)
        for entity, n, words in stages_found
        if n <= in_flight and n < float("inf")
    ]


def _links(facts: Facts, load: LoadFacts, change: Change) -> list[Ceiling]:
    size = load.operation_bytes
    if size is None:
        return []
    path_use = used_paths(facts, load, change)
    rows = facts.tables["link"].select(step=load.step, direction=load.direction)
    used = [row for row in rows if row["on_loaded_path"] is True]
    shared = [_as_shared(row, change, size, _parallel_links(row, used)) for row in used]
    shared += _full_the_other_way(facts, load, change, used)
    if path_use is None or not (change.policies or path_use.in_turn or path_use.adapts):
        return shared
    rates = _rates(facts, load, change, size)
    if not change.policies and not path_use.in_turn:
        return _as_adapted(shared, _as_spread(facts, change, path_use, rates)) if change.speeds else shared
    result = []
    in_flight = min([in_flight_under(facts, load, change), *(stage.slots for stage in stages(facts, load, change))])
    if (in_turn := path_use.one_after_the_other(rates, in_flight)) is not None:
        batch = count(path_use.policy.switch_operations or 0)
        result.append(Ceiling(path_use.lun, (in_turn, in_turn), f"with Round Robin after every {batch} I/Os"))
    return [*result, *(_as_spread(facts, change, path_use, rates) if change.policies else shared)]


def unknown_spread_reason(facts: Facts, load: LoadFacts, change: Change) -> str | None:
    """Why the effect of a different path policy cannot be predicted. None: it can, or no policy is changed."""
    if not change.policies or load.operation_bytes is None:
        return None
    path_use = used_paths(facts, load, change)
    if path_use is None:
        return "the paths of the test's LUN are not known, or it uses several LUNs"
    rates = _rates(facts, load, change, load.operation_bytes)
    missing = sorted({link for path in path_use.paths for link in path.links} - set(rates))
    return f"the speed of {missing[0]} is not measured" if missing else None


def _rates(facts: Facts, load: LoadFacts, change: Change, size: float) -> dict[str, float]:
    """Link → I/Os a second that it carries if the whole test crosses it. If a step is too short for a switch's polls,
    the row of another step is used."""
    rows = facts.tables["link"].select(direction=load.direction)
    rows.sort(key=lambda row: row["step"] == load.step)
    rates = {str(row["entity"]): _available_bytes_per_second(row, change, size) for row in rows}
    return {link: rate / size for link, rate in rates.items() if rate is not None}


def _parallel_links(row: FactRow, used: Sequence[FactRow]) -> int:
    """Number of links of the host, or of the array, that carry the test in parallel; 0 for links between switches."""
    return sum(link["side"] == row["side"] for link in used) if row["side"] in ("host", "array") else 0


def _as_shared(row: FactRow, change: Change, size: float, parallel: int) -> Ceiling:
    """The ceiling of a link: with its measured share of the test, or with equal shares of all parallel links."""
    entity = str(row["entity"])
    ceiling = number(row, "ceiling_bytes_per_second") or float("inf")
    faster = change.speeds.get(entity)
    if faster is None or faster.data_bytes_per_second == number(row, "capacity_bytes_per_second"):
        # Links that are used in turn have different shares in each window. With equal shares, the whole capacity of
        # each link counts.
        even_ceiling = max(ceiling, parallel * (_available_bytes_per_second(row, change, size) or 0.0))
        even_ceiling = even_ceiling if change.evenly else ceiling
        return Ceiling(entity, (ceiling / size, even_ceiling / size), f"at {row['speed']}" if row["speed"] else "")
    gain = _gain(row, faster)
    if not gain:
        return Ceiling(entity, (0.0, 0.0), f"at {faster.name}")
    # Bytes that the link counts beyond the frames of the test may belong to the test or to other hosts.
    without_others = (_available_bytes_per_second(row, change, size) or 0.0) / (number(row, "share") or 1.0)
    return Ceiling(entity, (ceiling * gain / size, max(ceiling * gain, without_others) / size), f"at {faster.name}")


def _gain(row: FactRow, speed: Capacity) -> float:
    """Ratio of what others' bytes leave of a link at another speed to what they leave now. 0: they alone fill it."""
    full, foreign = number(row, "full_ratio"), number(row, "foreign_bytes_per_second")
    available = number(row, "capacity_bytes_per_second") * full - foreign
    possible = max(0.0, speed.data_bytes_per_second * full - foreign)
    return possible / available if available > 0 else float(possible > 0)


def _full_the_other_way(facts: Facts, load: LoadFacts, change: Change, used: Sequence[FactRow]) -> Iterator[Ceiling]:
    """The ceilings of links that are full in the opposite direction, in which each I/O sends its command or gets its
    answer. It waits in the queue of the data there, and becomes faster as they do."""
    own = {row["entity"]: filled_ratio(row) or 0.0 for row in used}
    for row in facts.tables["link"].select(step=load.step):
        filled = filled_ratio(row)
        is_own = row["direction"] == load.direction or row["entity"] not in own
        if is_own or filled is None or not is_saturated(row) or filled <= own[row["entity"]] + COINCIDENT:
            continue
        faster = change.speeds.get(str(row["entity"]))
        gain = _gain(row, faster) if faster is not None else 1.0
        speed = faster.name if faster is not None else row["speed"]
        rate = load.ops_per_second / filled * gain
        yield Ceiling(str(row["entity"]), (rate, rate), f"at {speed}, full of {row['direction']}s")


def _as_spread(facts: Facts, change: Change, path_use: PathUse, rates: dict[str, float]) -> list[Ceiling]:
    """The ceilings of links with the shares of the test that a policy would give them."""
    names = {str(row["entity"]): row["speed"] for row in facts.tables["link"]}
    result = []
    for link, share in path_use.shares(rates).items():
        if share > 0 and link in rates:
            speed = change.speeds[link].name if link in change.speeds else names[link]
            result.append(Ceiling(link, (rates[link] / share,) * 2, f"at {speed}"))
    return result


def _as_adapted(shared: Sequence[Ceiling], spread: Sequence[Ceiling]) -> list[Ceiling]:
    """The ceilings of links whose shares follow their speeds: from that with the measured shares, which a load with
    few outstanding I/Os may keep, to that with the shares of the policy."""
    by_entity = {ceiling.entity: ceiling.ops_per_second for ceiling in spread}
    ends = [(each, (*each.ops_per_second, *by_entity.get(each.entity, each.ops_per_second))) for each in shared]
    return [replace(each, ops_per_second=(min(found), max(found))) for each, found in ends]


def _available_bytes_per_second(row: FactRow, change: Change, size: float) -> float | None:
    """Payload bytes a second of the test that a link could carry if the whole test crossed it. None: its speed is
    unknown."""
    entity, capacity = str(row["entity"]), number(row, "capacity_bytes_per_second")
    if entity in change.speeds:
        capacity = change.speeds[entity].data_bytes_per_second
    if not capacity:
        return None
    # If the test's bytes are unknown, all bytes of a link that the test does not cross belong to other hosts.
    others_only = row["foreign_bytes_per_second"] is None and not row["on_loaded_path"]
    foreign_rate = number(row, "bytes_per_second" if others_only else "foreign_bytes_per_second")
    full = number(row, "full_ratio")
    return max(0.0, capacity * full - foreign_rate) / counted_per_payload(technology_of(row), size)


def technology_of(row: FactRow) -> Technology:
    """The technology of a link: Ethernet if it is not Fibre Channel."""
    return "fibre_channel" if row["technology"] == "fibre_channel" else "ethernet"


def _caps(facts: Facts, load: LoadFacts, change: Change) -> list[Ceiling]:
    """Ceilings from configured limits: of volumes, their groups and hosts, and of virtual disks."""
    volumes = sorted(volumes_of(facts.topology, load, facts.tables))
    result, limits = [], list(_with_changes(configured_limits(facts, load), volumes, change))
    for set_limit in limits:
        total = sum(getattr(step_load, set_limit.rate) for step_load in facts.loads_in(load.step))
        fullest = max(each.used_ratio for each in limits if each.entity == set_limit.entity)
        is_lifted = set_limit.entity in change.lifted and set_limit.used_ratio >= (1 - COINCIDENT) * fullest
        # With several volumes or groups, the part of the test that each carries is unknown.
        is_of_part = set_limit.is_of_volume and len(volumes) > 1
        if is_lifted or is_of_part or not total:
            continue
        # The test can use only the part of the limit that others do not use.
        others = set_limit.throughput - total if set_limit.throughput > _OTHERS_RATIO * total else 0.0
        if 0 < set_limit.limit < float("inf"):
            operations = load.ops_per_second * max(0.0, set_limit.limit - others) / total
            result.append(Ceiling(set_limit.entity, (operations,) * 2, f"with {set_limit.words}"))
    ops_per_second = facts.ops_per_second_in(load.step)
    disks = facts.tables["virtual_disk"].select(step=load.step)
    if len(disks) == 1 and disks[0]["entity"] not in change.lifted and ops_per_second:
        entity = str(disks[0]["entity"])
        limit_now = number(disks[0], "limit_ops_per_second")
        limit = change.caps.get((entity, "ops_per_second"), limit_now)
        if 0 < limit < float("inf"):
            loads = facts.loads_in(load.step)
            rates = Rates(
                {each.direction: each.ops_per_second for each in loads},
                {each.direction: each.bytes_per_second for each in loads},
            )
            operation_bytes = as_number(facts.topology.entities[entity].attributes.get("limit_operation_bytes"))
            counted = counted_operations(rates, DIRECTIONS, operation_bytes, limit_now or float("inf"))
            allowed = limit * load.ops_per_second / counted
            result.append(Ceiling(entity, (allowed,) * 2, f"with its limit of {iops(limit)}"))
    return result


def _group_caps(facts: Facts, load: LoadFacts, change: Change) -> Iterator[Ceiling]:
    """Ceilings from the limits of control groups that the whole load passes: what others in a group leave of them."""
    for row in facts.tables["control_group"].select(step=load.step):
        entity, used = str(row["entity"]), number(row, f"limit_used_ratio_{load.direction}")
        by_others = used * number(row, "limit_foreign_ratio")
        if row["test_ratio"] == 1 and entity not in change.lifted and used > by_others:
            allowed = load.ops_per_second * max(0.0, 1 - by_others) / (used - by_others)
            yield Ceiling(entity, (allowed,) * 2, f"with its limit of {row['limit']}")


def _with_changes(limits: Iterable[SetLimit], volumes: Sequence[str], change: Change) -> Iterator[SetLimit]:
    """Yield the configured limits. A changed limit replaces the volume's own one."""
    changes = {(volume, rate): change.caps.get((volume, rate)) for volume in volumes for rate in RATES}
    for limit in limits:
        changed = changes.pop((limit.entity, limit.rate), None) if limit.is_own else None
        yield limit if changed is None else own_limit(limit.entity, limit.rate, changed, limit.throughput)
    for (volume, rate), changed in changes.items():
        if changed is not None:
            yield own_limit(volume, rate, changed)


def _data_sheets(facts: Facts, load: LoadFacts) -> list[Ceiling]:
    """Ceilings that were entered by hand for the array or its volume."""
    row = array_side(facts.topology, load, facts.tables)
    ends = [str(row["entity"])] if row is not None else []
    ends += [array for end in ends for array in facts.topology.related(end, "member_of", "array")]
    sheets = [figures for figures in facts.figures if figures.quantity == "ceiling"]
    beaten = {(f.entity, f.unit, f.direction) for f in sheets if (f.used_ratio or 0.0) > BEATEN_RATIO}
    loads = facts.loads_in(load.step)
    result = []
    for (entity, unit, direction), (value, source) in facts.by_hand.ceilings.items():
        size = 1.0 if unit == "ops_per_second" else load.operation_bytes
        is_beaten = (entity, unit, direction) in beaten
        if entity in ends and size and direction in (None, load.direction) and not is_beaten:
            # A figure without a direction is the sum of both directions.
            share = 1.0 if direction else getattr(load, unit) / sum(getattr(each, unit) for each in loads)
            result.append(Ceiling(entity, (share * value / size,) * 2, f"by {source}"))
    return result

"""The table of places of one load, step and direction: everything that the hypotheses are judged by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import FLAT, LoadFacts
from sanpath.facts.storage.load_volumes import SHARED, array_side, volumes_of
from sanpath.facts.table import FactRow, FactValue, number
from sanpath.model import DIRECTIONS, Step
from sanpath.topology.paths import IoPath, array_of, hosts_of, initiators_of, io_paths, machines_of, targets_of
from sanpath.units import duration
from sanpath.verdict.places.host_queues import HostQueue, host_queues
from sanpath.verdict.places.latency_segment import GAPS, LatencySegment
from sanpath.verdict.places.processors import busy_for_load, is_background_busy, quota_used
from sanpath.verdict.places.scaling import CLEARLY_FASTER, Slope, falls_each_time, has_changed, same_io, slopes
from sanpath.verdict.places.segments import segments
from sanpath.verdict.places.submission import blocked_ratio
from sanpath.verdict.places.tcp_path import MAX_ROUND_TRIPS, TcpPath, tcp_path

HARDLY = "hardly any"
"""The beginning of wait_words if hardly anything waits."""
_MIN_WAIT_RATIO = 1e-3
"""Share of the latency below which a wait has no figure: clocks are not that exact."""
_MAX_PROCESSOR_USE = 0.99
"""The highest processor utilisation that is counted, since the wait in M/M/c grows without bound: sanpath's own
choice."""
_MAY_BE_FULL_RATIO, _SEEN_FULL_RATIO = 0.75, 0.9
"""Shares of the time that threads wait to submit. From the first, their device may be full although some slots are
free; from the second, it is full if its depth is not read."""
_FREE_RATIO = 0.1
"""Idle share of a machine's processors from which a thread finds a free one."""
_LIGHTER_RATIO = 0.8
"""Largest share of the I/Os in flight in a lighter step."""
_FOLLOWING_ELASTICITY = 0.9
"""Elasticity from which throughput follows the I/Os in flight: sanpath's own choice."""
_SAME_LATENCY_RATIO = 1.25
"""Ratio to the smallest latency of the lighter steps up to which the step with the fewest I/Os in flight is the best
reference."""
_MAX_ARRAY_GAIN_SHARE = 0.55
"""Share of the test's gain that the array's total gain must stay below for others to have lost the rest: one half,
plus a tolerance for measured throughputs."""
_POLLS_OF_A_WINDOW = 3.0
"""Poll intervals within which a source surely gives a whole window: of two polls, one may be late, as in
LATE_POLLS."""


@dataclass(frozen=True, slots=True)
class PlaceTable:
    """Everything that is known about the path of one load in one step and direction.

    `segments`: from the load down. `links`: those that carry the load, and those that may (`on_loaded_path` None).
    `array`: the array's report on the load's traffic, None: nothing. `arrays`: those that the topology has behind the
    load. `uncounted`: links on its path whose bytes no source counts. `paths`: every path that its I/O can take.
    `same_io`: loads of other steps with the same I/O; `towards_fewer`, `towards_more`: slopes of throughput to those
    with fewer, and with more, I/Os in flight, None: there is no such step. `in_flight_ratio`: I/Os in flight of both
    directions, and flushes, over those configured, None: unknown. `windows`: whole windows of the slowest source, 0
    if one gave nothing in this step and something in another. `awaited`: sources that read the path and gave nothing
    yet, because the step is too short for one of their windows. `processor_wait_seconds`: the longest wait of an I/O
    for processors of the load's machine or of the array, 0 if no source reports them. `blocked_ratio`: share of the
    time that the load's threads wait to submit an I/O. `machine_rows`: facts of the load's machines and of their
    hosts. `opposite_direction`: the table of the load's other direction, if it has one. `tcp`: TCP's report on its
    connections, None: nothing.
    """

    facts: Facts
    load: LoadFacts
    step: Step
    segments: tuple[LatencySegment, ...]
    links: tuple[FactRow, ...]
    array: FactRow | None
    arrays: tuple[str, ...]
    uncounted: tuple[str, ...]
    paths: tuple[IoPath, ...]
    same_io: tuple[LoadFacts, ...]
    towards_fewer: Slope | None
    towards_more: Slope | None
    in_flight_ratio: float | None
    windows: int
    processor_wait_seconds: float
    blocked_ratio: float
    machine_rows: tuple[FactRow, ...]
    awaited: tuple[str, ...] = ()
    opposite_direction: tuple[PlaceTable, ...] = ()
    tcp: TcpPath | None = None

    def rows(self, kind: str, **equal: FactValue) -> list[FactRow]:
        """The facts of one kind in the load's step, in rows whose columns have these values."""
        return self.facts.tables[kind].select(step=self.load.step, **equal)

    @property
    def queues(self) -> list[HostQueue]:
        """The queues of guest and host, from the load down."""
        return [segment.queue for segment in self.segments if segment.queue is not None]

    @property
    def on_path(self) -> list[FactRow]:
        """The links that certainly carry the load."""
        return [row for row in self.links if row["on_loaded_path"]]

    @property
    def opposite_links(self) -> list[FactRow]:
        """The opposite direction of `links`. Every I/O crosses its links in both: the responses of writes travel with
        the data of reads, and the commands of reads with the data of writes."""
        entities = {row["entity"] for row in self.links}
        both = self.rows("link")
        return [row for row in both if row["direction"] != self.load.direction and row["entity"] in entities]

    @property
    def has_ethernet(self) -> bool:
        """Whether the load crosses Ethernet, by the links that carry it or may, or by its hosts' initiators."""
        initiators = [self.facts.topology.entities[hba].attributes for hba in self.initiators]
        return any(each.get("technology") == "ethernet" for each in (*self.links, *initiators))

    def wait_words(self, indices: Iterable[int]) -> str:
        """Words for how much of the latency is likely to be waiting in these segments."""
        wait = min(self.load.latency_seconds, sum(self.segments[index].wait[1] for index in indices))
        about = HARDLY if wait < _MIN_WAIT_RATIO * self.load.latency_seconds else f"about {duration(wait)}"
        return f"{about} of {duration(self.load.latency_seconds)}"

    @property
    def machines(self) -> list[str]:
        """The machines that the load runs on, hosts or virtual machines."""
        return [machine for root in self.load.roots for machine in machines_of(self.facts.topology, root)]

    @property
    def in_guest(self) -> bool:
        """Whether the load, or a part of it, runs in a virtual machine."""
        return any(self.facts.topology.entities[machine].kind == "vm" for machine in self.machines)

    @property
    def initiators(self) -> list[str]:
        """The initiators of the load's hosts."""
        return [hba for root in self.load.roots for hba in initiators_of(self.facts.topology, root)]

    @property
    def crosses_a_network(self) -> bool:
        """Whether the load is known to leave its host: over paths, over TCP, or by an initiator that is only for
        storage. Every host has network cards."""
        known = self.facts.topology.entities
        is_storage_alone = any(known[hba].attributes.get("technology") != "ethernet" for hba in self.initiators)
        return bool(self.paths) or self.tcp is not None or is_storage_alone

    @property
    def targets(self) -> set[str]:
        """The target ports that the load is known to use."""
        return targets_of(self.facts.topology, *self.load.roots)[0]

    @property
    def array_ports(self) -> set[str]:
        """All target ports of the arrays."""
        return {p for array in self.arrays for p in self.facts.topology.related(array, "member_of", "array_port")}

    @property
    def transfer(self) -> frozenset[int]:
        """Indices of the segments in which frames wait: the transfer, if the array or TCP times one."""
        return self.in_tcp or self.indices("fabric", "below") or self.indices("before_array_clock")

    @property
    def in_tcp(self) -> frozenset[int]:
        """Indices of the segments in TCP, by its own clock."""
        return frozenset(i for i, segment in enumerate(self.segments) if segment.is_tcp)

    @property
    def before_transfer(self) -> frozenset[int]:
        """Indices of the segments in which commands wait behind stalled frames. Time outside TCP is not among
        them."""
        return frozenset() if self.in_tcp else self.indices("before_array_clock") - self.transfer

    @property
    def gaps(self) -> frozenset[int]:
        """Indices of the segments between the host's last clock and the array's, or of everything below the
        host's."""
        return self.indices(*GAPS)

    @property
    def above_array_clock(self) -> frozenset[int]:
        """Indices of the segments above the array's own clock; all if it has none."""
        return self.indices("host_queue", "host_receive") | self.gaps

    @property
    def below_host(self) -> frozenset[int]:
        """Indices of the segments below the host's last clock, without the wait for a configured limit."""
        return self.gaps | self.indices("array_queue", "array_service")

    @property
    def others_share(self) -> float:
        """Share of the bytes at the load's arrays, in both directions, that does not belong to the test; 0 if nothing
        counts them."""
        rows = [row for row in self.rows("array") if row["entity"] in self.arrays]
        rows = rows or self.rows("link", side="array", on_loaded_path=True)
        bytes_per_second = sum(number(row, "bytes_per_second") for row in rows)
        tests = sum(load.bytes_per_second or 0.0 for load in self.facts.loads_in(self.step.name))
        return max(0.0, 1 - tests / bytes_per_second) if bytes_per_second else 0.0

    @property
    def is_alone(self) -> bool:
        """Whether the load's arrays and the links that carry it count no bytes but the test's."""
        arrays = [row for row in self.rows("array") if row["entity"] in self.arrays]
        counted = [row["foreign_ratio"] for row in (*arrays, *self.on_path)]
        return bool(arrays) and all(isinstance(ratio, float) and ratio <= SHARED for ratio in counted)

    @property
    def takes_from_others(self) -> bool:
        """Whether the test's gain from more I/Os in flight was a loss of others: it did clearly more than with half
        as many I/Os in flight or fewer, and the array's total grew by less than half of that."""
        if self.array is None:
            return False
        facts, load, entity = self.facts, self.load, array_of(self.facts.topology, str(self.array["entity"]))

        def rates(step: str) -> tuple[float, float]:
            rows = facts.tables["array"].select(step=step, entity=entity)
            of_test = sum(other.ops_per_second for other in facts.test_loads_in(step))
            return of_test, sum(number(row, "ops_per_second") for row in rows)

        test, whole = rates(load.step)
        lighter = [rates(other.step) for other in facts.loads if other.comparable(load) and other.at_most_half(load)]
        return whole > test * (1 + SHARED) and any(
            test > (1 + FLAT) * lighter_test and whole - lighter_whole < _MAX_ARRAY_GAIN_SHARE * (test - lighter_test)
            for lighter_test, lighter_whole in lighter
            if lighter_whole
        )

    def falls_each_time(self, other: LoadFacts) -> bool:
        """Whether more outstanding I/Os make throughput fall, between this load and another step's."""
        return falls_each_time(self.load, other, self.same_io, [step.name for step in self.facts.steps])

    def seconds(self, indices: Iterable[int]) -> float:
        """Seconds that an I/O spends in these segments."""
        return sum(self.segments[index].middle for index in indices)

    def in_flight_inside(self, *kinds: str) -> float:
        """Mean number of I/Os of both directions inside segments of these kinds (Little's law)."""
        tables = (self, *self.opposite_direction)
        return sum(table.load.ops_per_second * table.seconds(table.indices(*kinds)) for table in tables)

    def in_flight_below(self, index: int) -> float:
        """Mean number of I/Os of both directions below a segment, and below all others of its kind."""
        total = 0.0
        for table in (self, *self.opposite_direction):
            last = max(table.indices(self.segments[index].kind), default=len(table.segments))
            total += table.load.ops_per_second * table.seconds(range(last + 1, len(table.segments)))
        return total

    def indices(self, *kinds: str) -> frozenset[int]:
        """Indices of the segments of these kinds."""
        return frozenset(i for i, segment in enumerate(self.segments) if segment.kind in kinds)


def place_tables(facts: Facts, loads: Sequence[LoadFacts]) -> list[PlaceTable]:
    """One table for each load. Virtual machines may have moved, so each step has its own topology."""
    tables = {(load.step, load.entity, load.direction): _table(facts.in_step(load.step), load) for load in loads}
    result = []
    for (step, entity, direction), table in tables.items():
        others = [tables[key] for d in DIRECTIONS if d != direction and (key := (step, entity, d)) in tables]
        segments_of_load = tuple(_with_nearest_distance(segment, others) for segment in table.segments)
        result.append(replace(table, opposite_direction=tuple(others), segments=segments_of_load))
    return result


def _with_nearest_distance(segment: LatencySegment, others: Sequence[PlaceTable]) -> LatencySegment:
    """The segment, with at most the distance that the load's other direction has."""
    seconds = [s.seconds[1] for other in others for s in other.segments if s.kind == segment.kind]
    if segment.kind not in ("fabric", "before_array_clock") or not seconds:
        return segment
    farthest = MAX_ROUND_TRIPS["write"] * max(seconds)
    low, likely, high = (max(own, w - farthest) for own, w in zip(segment.own_wait, segment.wait, strict=True))
    return replace(segment, own_wait=(low, likely, high))


def _were_read_in_another_step(facts: Facts, load: LoadFacts, entities: Iterable[str]) -> bool:
    """Whether a link or array of the path was read in another step, and not at all in the load's."""
    for entity in entities:
        rows = [*facts.tables["link"].select(entity=entity), *facts.tables["array"].select(entity=entity)]
        steps = {row["step"] for row in rows if row["bytes_per_second"] is not None}
        if steps and load.step not in steps:
            return True
    return False


def _awaited(facts: Facts, step: Step, unseen: Mapping[str, Iterable[str]]) -> set[str]:
    """The sources that read one of these, and poll so rarely that the current step is too short for one of their
    windows. `unseen`: part of the setup → its elements that nothing was read of in the step."""
    if not step.is_open:
        return set()
    rows = {str(row["entity"]).removeprefix("source:"): row for row in facts.tables["source"].rows}
    return {
        source
        for part, entities in unseen.items()
        for entity in entities
        for source, _ in facts.topology.entities[entity].known_as
        if (row := rows.get(source)) is not None
        and part in str(row["parts"]).split(",")
        and step.seconds < _POLLS_OF_A_WINDOW * number(row, "every_seconds")
    }


def _table(facts: Facts, load: LoadFacts) -> PlaceTable:
    key = {"step": load.step, "direction": load.direction}
    link_rows = facts.tables["link"].select(**key)
    # A cable with a port that is down carries nothing, so nothing can fill it.
    down = {str(row["entity"]) for row in link_rows if row["down"]}
    links = [row for row in link_rows if row["on_loaded_path"] is not False and row["entity"] not in down]
    array_row = array_side(facts.topology, load, facts.tables)
    rows = [row for row in links if row["on_loaded_path"]] + ([array_row] if array_row is not None else [])
    windows = [int(number(row, "windows")) for row in rows] + ([] if load.summary else [load.windows])
    all_paths = io_paths(facts.topology, *load.roots)
    paths = [path for path in all_paths if down.isdisjoint(cable.id for cable in path.cables)] or all_paths
    arrays = _arrays_of(facts, load, paths)
    same = same_io(facts.loads, load)
    same = [] if has_changed([load, *same]) else same
    towards_fewer, towards_more = slopes(load, same)
    counted = {str(row["entity"]) for row in link_rows if row["utilisation"] is not None}
    ports = {cable.id: cable.switch_port for path in paths for cable in path.cables}
    uncounted = {link: port for link, port in ports.items() if link not in counted | down}
    array_rows = [row for row in facts.tables["array"].select(**key) if row["bytes_per_second"] is not None]
    unread_arrays = arrays - {str(row["entity"]) for row in array_rows}
    in_flight_ratio = _in_flight_ratio(facts, load)
    machine_rows = _machine_rows(facts, load)
    quota, _ = quota_used(facts, load)
    processors_used = max([quota, *(busy_for_load(row) for row in machine_rows)])
    # A thread that does not run waits for a processor if none is idle.
    blocked = blocked_ratio(facts, load, in_flight_ratio) * min(1.0, max(0.0, 1 - processors_used) / _FREE_RATIO)
    lightest = _lightest(load, same, towards_fewer)
    lighter_ratio = _lighter_ratio(facts, load, lightest, arrays)
    step = next(step for step in facts.steps if step.name == load.step)
    return PlaceTable(
        facts=facts,
        load=load,
        step=step,
        segments=_with_full_device(segments(facts, load, lightest, lighter_ratio), blocked),
        links=tuple(links),
        array=array_row,
        arrays=tuple(sorted(arrays)),
        uncounted=tuple(uncounted),
        paths=tuple(paths),
        same_io=tuple(same),
        towards_fewer=towards_fewer,
        towards_more=towards_more,
        in_flight_ratio=in_flight_ratio,
        windows=0
        if _were_read_in_another_step(facts, load, (*uncounted, *arrays))
        else min(windows, default=load.windows),
        processor_wait_seconds=_processor_wait_seconds(facts, load, same, processors_used, arrays),
        blocked_ratio=blocked,
        machine_rows=tuple(machine_rows),
        awaited=tuple(sorted(_awaited(facts, step, {"fabric": uncounted.values(), "array": unread_arrays}))),
        tcp=tcp_path(facts, load),
    )


def _lightest(load: LoadFacts, same: Sequence[LoadFacts], towards_fewer: Slope | None) -> LoadFacts | None:
    """The load of the step with the fewest of the same I/Os in flight that shows how long they take without a queue.
    None: there is no such step."""
    # One system does not lose throughput with more I/Os. Otherwise service takes longer now, or something has begun.
    lighter = [
        other
        for other in same
        if other.in_flight_measured <= _LIGHTER_RATIO * load.in_flight_measured
        and other.ops_per_second <= CLEARLY_FASTER * load.ops_per_second
    ]
    if towards_fewer is not None and towards_fewer.elasticity >= _FOLLOWING_ELASTICITY:
        # Only times that grew can be waiting. If still fewer I/Os were faster, something has changed.
        nearest_seconds = towards_fewer.other_load.latency_seconds
        lighter = [other for other in lighter if nearest_seconds <= _SAME_LATENCY_RATIO * other.latency_seconds]
    # A first step may be slow for another reason, such as a cold cache.
    least_seconds = min((other.latency_seconds for other in lighter), default=0.0)
    as_fast = [other for other in lighter if other.latency_seconds <= _SAME_LATENCY_RATIO * least_seconds]
    return min(as_fast, key=lambda other: other.in_flight_measured, default=None)


def _in_flight_ratio(facts: Facts, load: LoadFacts) -> float | None:
    """I/Os in flight over those configured, as in PlaceTable."""
    if load.unlimited_ratio is not None:
        return min(1.0, load.unlimited_ratio)  # The unused I/Os of paced jobs show nothing about the others.
    in_flight = _in_flight_of(facts, load)
    # A load of unknown settings always has at least one I/O outstanding, unless it pauses.
    is_paused = in_flight < 1 and not load.seen_at_array
    return load.filled_ratio(in_flight) or (in_flight if is_paused else None)


def _in_flight_of(facts: Facts, load: LoadFacts) -> float:
    """The operations of both directions that the load waits for. While a load waits for a flush (fsync), or for a
    file to be created, it requests no I/O, although it wants more. The load, a multipath device and its paths count
    the same flushes."""
    devices = facts.tables["device"].select(step=load.step)
    of_devices = (number(row, "flushes_in_flight") for row in devices)
    loads = facts.loads_in(load.step)  # Both directions of a job have its flushes.
    flushes = max([*of_devices, *(each.flushes_in_flight for each in loads)], default=0.0)
    metadata = max((each.metadata_in_flight for each in loads), default=0.0)
    return max(facts.in_flight_in(load.step) + flushes + metadata, _write_back_in_flight(facts, load))


def _arrays_of(facts: Facts, load: LoadFacts, paths: Sequence[IoPath]) -> set[str]:
    """The arrays of the load's target ports and volumes."""
    ports, volumes = targets_of(facts.topology, *load.roots)[0], volumes_of(facts.topology, load, facts.tables)
    ends = (*ports, *volumes, *(path.array_port for path in paths))
    return {array for end in ends for array in facts.topology.related(end, "member_of", "array")}


def _with_full_device(path: tuple[LatencySegment, ...], blocked: float) -> tuple[LatencySegment, ...]:
    """The segments, corrected if the load's threads show that the first device is fuller than its depth suggests.
    `blocked`: share of the time that they wait to submit."""
    first = path[0]
    least = _SEEN_FULL_RATIO if first.filled_ratio is None else max(_MAY_BE_FULL_RATIO, first.filled_ratio)
    if first.queue is None or blocked < least:
        return path
    admitted = first.queue.admitted if first.slots is None else first.slots * (first.filled_ratio or 0.0)
    return (replace(first, slots=admitted / blocked, filled_ratio=blocked), *path[1:])


def _lighter_ratio(facts: Facts, load: LoadFacts, lighter: LoadFacts | None, arrays: Set[str]) -> float:
    """The rate of the load's arrays (of all, if these are not known) in a lighter step over their rate now, at most
    1. 1: nothing counts it. It is read from their own counters, their volumes', or those of the switch ports to
    arrays that carry the load."""
    if lighter is None:
        return 1.0
    volumes = {volume for array in arrays for volume in facts.topology.related(array, "member_of", "volume")}
    ports: dict[str, FactValue] = {"side": "array", "on_loaded_path": True}
    for kind, fact, which, own in (
        ("array", "ops", {}, arrays or None),
        ("volume", "ops", {}, volumes if arrays else None),
        ("link", "bytes", ports, None),
    ):
        rows = (
            [row for row in facts.tables[kind].select(step=each.step, **which) if own is None or row["entity"] in own]
            for each in (load, lighter)
        )
        now, then = (sum(number(row, f"{fact}_per_second") for row in of_step) for of_step in rows)
        if now:
            return min(1.0, then / now)
    return 1.0


def _write_back_in_flight(facts: Facts, load: LoadFacts) -> float:
    """I/Os of both directions outstanding at the load's block device, at most as many as the load may keep
    outstanding. 0: no source reports it.

    They exceed the load's own if its writes end in a file cache: a thread that waits for room in the cache, or for
    write-back, also wants more.
    """
    loads = [each for each in facts.loads_in(load.step) if each.entity == load.entity]
    at_device = sum(queues[0].below.in_flight for each in loads if (queues := host_queues(facts, each)))
    return min(at_device, load.in_flight_configured or 0.0)


def _processor_wait_seconds(
    facts: Facts, load: LoadFacts, same: Sequence[LoadFacts], processors_used: float, arrays: Set[str]
) -> float:
    """The longest wait of an I/O for processors, in seconds. `processors_used`: utilisation of the processors on the
    load's side.

    M/M/c: rho / ((1 - rho) X) times the share of I/Os that wait, which is less than one for any number of processors.
    """
    fact, rows = "controller_busy_ratio", facts.tables["array"].select(step=load.step, direction=load.direction)
    filled = [
        row
        for row in rows
        if (not arrays or row["entity"] in arrays)
        and not is_background_busy(facts, load, same, str(row["entity"]), fact)
    ]
    busy = min(max([processors_used, *(number(row, fact) for row in filled)]), _MAX_PROCESSOR_USE)
    return busy / (1 - busy) / facts.ops_per_second_in(load.step)


def _machine_rows(facts: Facts, load: LoadFacts) -> list[FactRow]:
    """The rows of the load's machine and its host."""
    topology = facts.topology
    machines = {end for root in load.roots for end in (*machines_of(topology, root), *hosts_of(topology, root))}
    return [row for row in facts.tables["host"].select(step=load.step) if row["entity"] in machines]

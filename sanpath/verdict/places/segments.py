"""The segments of a load's latency: what lies between two neighbouring clocks on the path of an I/O.

Every segment has its time as an interval, and of that time what is waiting: (low, likely, high). What a source says
is narrow, what follows from a difference or is not told apart is wide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Literal, cast

from sanpath.catalogue.capacity import Technology, counted_per_payload, full_ratio
from sanpath.facts.compute import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.storage.load_volumes import SHARED, array_side, same_operations
from sanpath.facts.table import FactRow, number
from sanpath.model import Layer
from sanpath.verdict.model import Interval
from sanpath.verdict.places.host_queues import HostQueue, host_queues

SegmentKind = Literal["host_queue", "fabric", "array_door", "cap", "array_queue", "array_service", "below"]
"""`fabric`: transfer by the array's clock, or all between the host's and the array's clock. `array_door`: what is
left between the two where the array times the transfer itself. `below`: all below the last clock that was read."""

_SOFTWARE_SECONDS = 30e-6
"""System call, block layer and interrupt of one I/O on a current host (fio on null_blk: 5 to 50 µs)."""
_ROUND_TRIP_SECONDS = 60e-6
"""Command and status over a few switches and two adapters; each of them adds microseconds."""
_LINK_BYTES_PER_SECOND = 800e6
"""Data rate of 8GFC, assumed for the transfer of a block where no link was read."""
_SLOWEST_SERVICE_SECONDS = 0.03
"""What takes longer has waited, whoever serves it: a vendor expects 17 to 20 ms of a LUN on its slowest drives."""
_ARRAY = "the array's own clock"
_BY_ARRAY = "transfer by the array's clock"
_BETWEEN = "between the host's and the array's clock"
_SERVICE_HIDES = 0.2
"""Share of the saturated arrays whose own queue shows nothing of it: to wait for media is a part of their service."""
_SERVED_AT_ONCE = (8.0, 64.0)
"""I/Os inside that fill hardly any array, and that fill one as probably as not, if nothing else is known: the number
that arrays serve at once is anything from a few drives' to some thousands, as probable by its logarithm."""
_OTHERS_MIX = (0.3, 2.0)
"""By how much an array's mean over several hosts' I/Os may differ from that of the test's own."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Seconds of an I/O between two clocks. `entity`: what lies there, None: not known. `wait`: (low, likely, high)
    seconds of waiting. `door_seconds`: from its door to the end of the I/O. `slots`: I/Os of both directions it lets
    through at once, `filled`: share of them in use; both None where nobody tells. `source`: what tells its time.
    `lost`: as `wait`, where waiting needs no other I/O in flight, as for a time-out. `hides`: probability that what
    it is told to take would contain waiting if it were saturated; 0: its waiting is told."""

    kind: SegmentKind
    entity: str | None
    layer: Layer
    seconds: Interval
    source: str
    wait: tuple[float, float, float] = (0.0, 0.0, 0.0)
    door_seconds: float = 0.0
    slots: float | None = None
    filled: float | None = None
    queue: HostQueue | None = None
    lost: tuple[float, float, float] = (0.0, 0.0, 0.0)
    hides: float = 0.0

    @property
    def blind(self) -> bool:
        """Whether service and waiting in it are told as one: then any share between low and high is as probable."""
        return self.kind == "below" or (self.kind == "array_service" and self.source != _ARRAY)

    @property
    def middle(self) -> float:
        """The middle of its time."""
        return sum(self.seconds) / 2

    @property
    def wait_shares(self) -> tuple[float, float, float]:
        """Waiting as a share of the time from its door on: low, likely, high."""
        low, likely, high = (min(1.0, wait / self.door_seconds) if self.door_seconds else 0.0 for wait in self.wait)
        return low, likely, high


def segments(
    facts: Facts, load: LoadFacts, wire: float | None, flying: float, calm: Sequence[Segment] = ()
) -> list[Segment]:
    """From the load down. `wire`: seconds a block takes on the slowest link, None: no link was read. `flying`:
    I/Os in flight, both directions. `calm`: the segments with fewer of the same in flight: what takes longer now has
    begun to wait."""
    queues = host_queues(facts, load)
    found = [_host_queue(facts, load, queue) for queue in queues]
    low, high = load.latency_interval or (load.latency_seconds, load.latency_seconds)
    if queues:
        last = queues[-1]
        low, high = last.below_seconds - last.resolution_seconds, last.below_seconds + last.resolution_seconds
    found = _closed(found + _below(facts, load, (low, high)), load)
    size = load.operation_bytes or 0.0
    transfer = wire if wire is not None else size / _LINK_BYTES_PER_SECOND
    before = {_same_place(one): one for one in calm}
    # Of N in flight at most N - 1 wait for one that is served.
    most = 1 - 1 / max(1.0, flying)
    counted = wire is not None
    waiting = [
        replace(
            s,
            wait=_wait(s, transfer, counted, most, before.get(_same_place(s))),
            lost=_alone(s, transfer, counted, 1.0, None),
            hides=_hides(s, load, before.get(_same_place(s))),
        )
        for s in found
    ]
    doors: list[Segment] = []
    rest = 0.0
    for segment in reversed(waiting):
        rest += max(0.0, segment.middle)
        doors.append(replace(segment, door_seconds=rest))
    return doors[::-1]


def _closed(found: Sequence[Segment], load: LoadFacts) -> list[Segment]:
    """No segment takes longer than the I/O less what the others take at least: sources that round say less."""
    whole = load.latency_interval[1] if load.latency_interval is not None else load.latency_seconds
    sure = sum(segment.seconds[0] for segment in found)
    return [
        replace(s, seconds=(s.seconds[0], min(s.seconds[1], max(s.seconds[0], whole - (sure - s.seconds[0])))))
        for s in found
    ]


def wire_seconds(facts: Facts, load: LoadFacts, speeds: Mapping[str, float] | None = None) -> float | None:
    """Time of one block on the slowest link of the loaded path, frames and gaps included; None: unknown. `speeds`:
    link → data rate in bytes a second, for links that are thought to run at another one."""
    rows = facts.tables["link"].select(step=load.step, direction=load.direction, on_loaded_path=True)
    size, speeds = load.operation_bytes, speeds or {}
    times = []
    for row in rows:
        rate = speeds.get(str(row["entity"]), number(row, "capacity_bytes_per_second"))
        if rate and size and row["technology"] in ("fibre_channel", "ethernet"):
            technology = cast(Technology, row["technology"])
            times.append(size * counted_per_payload(technology, size) / full_ratio(technology, size) / rate)
    return max(times, default=None)


def _same_place(segment: Segment) -> tuple[str, str | None]:
    """An array tells of its volumes in one step and of itself in another."""
    return segment.kind, segment.entity if segment.kind == "host_queue" else None


def _host_queue(facts: Facts, load: LoadFacts, queue: HostQueue) -> Segment:
    both = [other for other in facts.loads if other.step == load.step]
    # Both directions share the slots; where devices lie beside each other the busiest names the queue, and it may be
    # another for reads than for writes.
    admitted = sum(
        q.admitted
        for other in both
        for q in host_queues(facts, other)
        if q.plane == queue.plane and (q.entity == queue.entity or other.entity == load.entity)
    )
    slots = queue.depth
    return Segment(
        "host_queue",
        queue.entity,
        queue.layer,
        (max(0.0, queue.seconds - queue.off_seconds), queue.seconds + queue.off_seconds),
        f"latency at the {queue.above} less that at {queue.entity}",
        slots=slots,
        filled=admitted / slots if slots else None,
        queue=queue,
    )


def _below(facts: Facts, load: LoadFacts, below: Interval) -> list[Segment]:
    row = array_side(facts.topology, load, facts.tables)
    if row is not None and row["array_seconds"] is not None and same_operations(load, row):
        return _array(row, below)
    if row is not None and row["response_seconds"] is not None and same_operations(load, row):
        return _response(row, below)
    return [Segment("below", None, "array_front", below, "all below the last clock that was read")]


def _array(row: FactRow, below: Interval) -> list[Segment]:
    entity, spread = str(row["entity"]), number(row, "spread_seconds")
    less, more = _OTHERS_MIX if number(row, "foreign_ratio") > SHARED else (1.0, 1.0)
    middle = sum(below) / 2
    parts = {name: number(row, f"{name}_seconds") for name in ("qos_limit", "queue", "service")}
    inside = sum(parts.values())
    # What the array says may not be longer than the I/O took at the host.
    fits = min(1.0, below[1] / inside) if inside > below[1] > 0 and more > 1 else 1.0
    parts = {name: seconds * fits for name, seconds in parts.items()}
    gap = max(0.0, middle - sum(parts.values()))
    off = (below[1] - below[0]) / 2 + spread + (more - 1) * sum(parts.values()) / 2
    found = []
    if row["san_seconds"] is not None:
        transfer = min(number(row, "san_seconds"), gap)
        rest = max(0.0, gap - transfer)
        found.append(Segment("array_door", entity, "array_front", _within(rest, off), _BETWEEN))
        found.append(Segment("fabric", None, "fabric", (transfer, transfer), _BY_ARRAY))
    else:
        found.append(Segment("fabric", None, "fabric", _within(gap, off), _BETWEEN))
    if parts["qos_limit"]:
        found.append(Segment("cap", entity, "array_front", _scaled(parts["qos_limit"], less, more), _ARRAY))
    if row["queue_seconds"] is not None:
        found.append(Segment("array_queue", entity, "array_back", _scaled(parts["queue"], less, more), _ARRAY))
    service = _scaled(parts["service"], less, more)
    source = _ARRAY if row["queue_seconds"] is not None else "array, its queue not told apart"
    found.append(Segment("array_service", entity, "array_back", service, source))
    return found


def _response(row: FactRow, below: Interval) -> list[Segment]:
    """An array that tells its own part and the transfer as one."""
    told, middle = number(row, "response_seconds"), sum(below) / 2
    gap = max(0.0, middle - told)
    off = (below[1] - below[0]) / 2
    return [
        Segment("array_door", str(row["entity"]), "array_front", _within(gap, off), "above the array's clock"),
        Segment("below", str(row["entity"]), "array_front", (told, told), "array, the transfer included"),
    ]


def _hides(segment: Segment, load: LoadFacts, calm: Segment | None) -> float:
    """What an array calls service may contain the wait for its media, the more probably the more I/Os are inside; a
    step with fewer of them tells."""
    if segment.kind != "array_service" or segment.source != _ARRAY or calm is not None:
        return 0.0
    few, many = _SERVED_AT_ONCE
    inside = max(few, load.ops_per_second * segment.middle)
    return _SERVICE_HIDES * min(1.0, log(inside / few) / log(many / few))


def _within(middle: float, off: float) -> Interval:
    return max(0.0, middle - off), middle + off


def _scaled(seconds: float, less: float, more: float) -> Interval:
    """An interval with the figure in its middle, as far as others' I/Os may blur it."""
    off = seconds * max(1 - less, (more - 1) / 2)
    return max(0.0, seconds - off), seconds + off


def _wait(
    segment: Segment, wire: float, counted: bool, most: float, calm: Segment | None
) -> tuple[float, float, float]:
    low, likely, high = _alone(segment, wire, counted, most, calm)
    if calm is not None:
        # What it waited then, and by how much it has grown since.
        low = min(low, calm.wait[0] + max(0.0, segment.seconds[0] - calm.seconds[1]))
        likely = min(likely, calm.wait[1] + max(0.0, segment.middle - calm.middle))
        high = min(high, calm.wait[2] + max(0.0, segment.seconds[1] - calm.seconds[0]))
    return low, likely, high


def _alone(
    segment: Segment, wire: float, counted: bool, most: float, calm: Segment | None
) -> tuple[float, float, float]:
    low, high = segment.seconds
    middle = segment.middle
    grown = max(0.0, low - calm.seconds[1]) if calm is not None else 0.0
    match segment.kind:
        case "cap" | "array_queue":
            return low, middle, high
        case "host_queue":
            return max(0.0, most * low - 4 * _SOFTWARE_SECONDS), max(0.0, most * middle - _SOFTWARE_SECONDS), high
        case "fabric" | "array_door":
            least = _ROUND_TRIP_SECONDS + (wire if segment.kind == "fabric" or counted else 0.0)
            timed = segment.source == _BY_ARRAY
            sure = low - 1.3 * wire - _ROUND_TRIP_SECONDS if timed else low - 2 * least - _ROUND_TRIP_SECONDS
            sure = max(grown, sure) if counted else grown
            # One I/O in flight waits for nobody of its own; in a transfer others may be before it.
            own = 1.0 if timed else most
            return max(0.0, own * sure), max(0.0, own * middle - least), high
        case "array_service" if segment.source == _ARRAY:
            return grown, grown + 0.05 * (middle - grown), grown + 0.5 * max(0.0, high - grown)
        case _:
            end = max(grown, most * high - (wire if segment.kind == "below" else 0.0))
            sure = min(end, max(grown, low - _SLOWEST_SERVICE_SECONDS - wire))
            return sure, (sure + end) / 2, end

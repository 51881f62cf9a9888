"""The array is saturated: before its own clock starts, at its controllers, or at the media behind them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import log

from sanpath.facts.fabric.link_measures import wire_seconds
from sanpath.facts.load.loads import flat_beyond, flat_over_load
from sanpath.facts.storage.load_volumes import volumes_of
from sanpath.facts.table import FactRow, number
from sanpath.model import Layer
from sanpath.topology.paths import array_of, unread_ports_of_parts
from sanpath.units import duration, percent
from sanpath.verdict.evidence.likelihoods import NO_BURSTS, UNEXPLAINED, excess_weight, limit_weight
from sanpath.verdict.evidence.step import array_slowed_down
from sanpath.verdict.hypotheses.claim import (
    UNREAD,
    Claim,
    Conclusion,
    Evidence,
    StatedFields,
    conclusion_of,
    share_gone,
    taken_from_others,
)
from sanpath.verdict.hypotheses.queues import array_utilisation_evidence
from sanpath.verdict.hypotheses.unread_queues import below_last_clock, idle_alone_evidence
from sanpath.verdict.places.host_queues import DEPTH_ERROR, below_queues
from sanpath.verdict.places.processors import follows_load, is_background_busy
from sanpath.verdict.places.table import PlaceTable
from sanpath.verdict.places.tcp_path import held_up

_UNCOUNTED_LINKS_WEIGHT = -1.2
"""Log-odds of a wait before the array's clock if uncounted links explain the gap equally well: sanpath's own choice,
1 to 3."""
_MAX_OUTSIDE_TCP_WEIGHT = 1.0
"""Largest log-likelihood ratio of a wait before the array's clock if TCP holds the data for a small part of the time
between the clocks: the rest passes on a machine at one end, and the host counts its own queues and processors.
sanpath's own choice, 3 to 1."""
_MIN_IDLE = -4.0
"""Smallest log-odds of an array with less than one I/O inside: the load may come in bursts."""
_MAX_LATE_READ_WEIGHT = 4.0
"""Largest log-likelihood ratio of the array if received data wait at the target until it reads them."""
_SLOWDOWN_WEIGHT = 3.0
"""Log-likelihood ratio if the array became clearly slower, and the load clearly lost throughput, within one step.
Nothing else does that."""
_UNREPORTED_PART_WEIGHT = -2.5
"""Log-odds that the limit is a part of the array that is neither controller nor media, or only one of many: sanpath's
own choice, 1 to 12."""
_BUSY_CONTROLLER_RATIO = 0.9
"""Busy ratio from which the controllers are the front end that limits."""
_BEFORE_CLOCK = 0.5
"""Factor on the evidence of full controllers for a wait before the array's clock: most of their wait would show after
that clock has started."""
_UTILISATION_NAMES = {
    "controller_busy_ratio": "the processors of the busiest controller of {} are",
    "controller_core_ratio": "the busiest core of the controllers of {} is",
    "media_busy_ratio": "the busiest media of {} are",
    "write_cache_used_ratio": "the write caches of {} are",
}
_CORE = "controller_core_ratio"
_PROCESSORS = ("controller_busy_ratio", _CORE)
_WRITE_CACHE = "write_cache_used_ratio"
_MEDIA = "media_busy_ratio"
_READ_PARTS = ("controller_busy_ratio", _MEDIA)
_EMPTY_QUEUE_RATIO, _QUEUE_SHOWS_NOTHING = 0.1, log(0.4)
"""Largest ratio of queue time to service time at which an array's own queue shows nothing. And the logarithm of the
share of saturated arrays with such a queue, if their service time has grown: sanpath's own choice, 2 to 3. The
service time grows if I/Os wait behind the controllers, for media, journal or mirror; the queue is in front of the
controllers. Either place may be full."""
_QUEUE_TO_SERVICE = 2.0
"""Ratio of queue to service time from which I/Os wait for the controllers, not for the media, unless the service time
has grown by `_SERVICE_GROWTH`."""
_SERVICE_GROWTH = 1.5
"""Growth of the service time, relative to the other loads, from which the media are saturated."""
_OVERTURN = (
    "throughput that grows by more than 5 % with more outstanding I/Os",
    "a job of the array or another host's load that ends while the test runs",
)


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim for the wait before the array's clock, and one for the wait inside."""
    row = table.array
    if row is None or not table.indices("array_service", "cap"):
        yield from _unread_array_claim(table)
    else:
        # Volumes are not saturated themselves, even if only they report the test's I/Os.
        entity = array_of(table.facts.topology, str(row["entity"]))
        # If the array times the transfer itself, a wait in the transfer is not before its clock.
        before_clock = table.indices("before_array_clock") or table.indices("fabric")
        before, evidence = tuple(_before_clock(table, row)), tuple(_evidence_inside(table, row))
        inside, share = table.indices("array_queue", "array_service"), table.others_share
        # I/Os without a slot inside wait before the clock, like those above a full queue of the host.
        slots = tuple(_device_slots(table))
        full = before_clock if slots else frozenset[int]()
        conclude = partial(_waits_before_clock, table)
        yield Claim("array", entity, before_clock, before, conclude, UNREAD, others_share=share)
        conclude = partial(_saturated, table)
        yield Claim("array", entity, inside, (*evidence, *slots), conclude, may_explain=full, others_share=share)


def _unread_array_claim(table: PlaceTable) -> Iterator[Claim]:
    """A claim for an array whose own time was not read, or is a mean over several hosts' I/Os. The utilisation of its
    parts does not depend on whose I/Os they serve."""
    arrays = table.arrays or [path.array_port for path in table.paths][:1] or sorted(table.targets)[:1]
    roots, topology = table.load.roots, table.facts.topology
    unread = [port for root in roots for port in unread_ports_of_parts(topology, root)] if table.arrays else []
    for entity in (*arrays, *unread[:1]):
        rows = table.rows("array", direction=table.load.direction, entity=entity)
        row: FactRow = next(iter(rows), table.array or {})
        late, is_shared = _read_late(table), row.get("array_seconds") is not None
        time_words = "includes I/Os that are not the load's" if is_shared else "was not read"
        words = Evidence(f"the array's own time {time_words}", 0.0)
        evidence, explains = (words, *late, *_parts(table, row)), table.gaps - table.in_tcp
        # Commands that the array reads late do not show which part is full: a full back end also holds up the front
        # end.
        layer: Layer = "array_front" if _has_full_controllers(table, row) else "array_back"
        conclude = partial(_by_exclusion, table, row, layer)
        yield Claim("array", entity, explains, evidence, conclude, UNREAD, others_share=table.others_share)


def _before_clock(table: PlaceTable, row: FactRow) -> Iterator[Evidence]:
    """Evidence for and against a wait before the array's clock."""
    # Uncounted links may explain it too, unless TCP's own clock separates them.
    counted = [link["utilisation"] is not None for link in table.on_path] or [False]
    if not table.in_tcp and (table.uncounted or not all(counted)):
        yield Evidence("not all links in between were counted", _UNCOUNTED_LINKS_WEIGHT)
    yield from _outside_tcp(table)
    yield from _read_late(table)
    yield from idle_alone_evidence(table, below_last_clock(table))
    processors = _utilisations(table, row, *_PROCESSORS)
    if (full := max(processors, key=lambda evidence: evidence.weight, default=None)) is not None:
        yield replace(full, weight=full.weight * _BEFORE_CLOCK)
    yield from _device_slots(table)


def _device_slots(table: PlaceTable) -> Iterator[Evidence]:
    """Evidence of a full block device behind the load's volumes. One with free slots excludes nothing: a session or
    thread of the target may be full, or one of several hardware queues."""
    volumes = volumes_of(table.facts.topology, table.load, table.facts.tables)
    rows = [each for each in table.rows("volume") if each["entity"] in volumes]
    used = max((number(each, "device_slots_ratio") for each in rows), default=0.0)
    if (weight := limit_weight(used, DEPTH_ERROR, NO_BURSTS)) > 0:
        words = f"the block device behind the volume has {percent(used)} of its slots in use: other I/Os wait for one"
        yield Evidence(words, weight)


def _outside_tcp(table: PlaceTable) -> Iterator[Evidence]:
    """Evidence from the share of the time between the clocks in which TCP holds the data."""
    gap = table.seconds(table.gaps)
    if table.tcp is not None and table.tcp.round_trip_seconds is not None and table.in_tcp and gap:
        spent, round_trip = table.seconds(table.in_tcp), duration(table.tcp.round_trip_seconds)
        words = f"the data of an I/O spends {duration(spent)} in TCP, and a round trip takes {round_trip}"
        yield Evidence(words, _MAX_OUTSIDE_TCP_WEIGHT * max(0.0, 1 - spent / gap))


def _read_late(table: PlaceTable) -> tuple[Evidence, ...]:
    """Evidence from TCP's clocks that a busy target does not read received data. If its sending is held up, that may
    be the reason."""
    if table.tcp is None:
        return ()
    sends = table.tcp.rows if table.load.direction == "read" else ()
    blocked = max((held_up(row, kind) for row in sends for kind in ("receive_window", "send_buffer")), default=0.0)
    seconds = table.tcp.unread_by_target_seconds * (1 - blocked)
    weight = excess_weight(seconds / table.load.cycle_seconds, UNEXPLAINED, _MAX_LATE_READ_WEIGHT)
    words = f"commands and data wait {duration(seconds)} at the target until it reads them"
    return (Evidence(words, weight),) if weight > 0 else ()


def _utilisations(table: PlaceTable, row: FactRow, *facts: str) -> Iterator[Evidence]:
    """Evidence of array parts that report to be full.

    A part that was as busy with fewer I/Os does not count, because I/Os do not fill it. A write cache may still be
    full of earlier writes. One part with headroom excludes nothing: another may be full. Flash serves many I/Os at
    once, and is busy with a few, unless its use is in proportion to them.
    """
    array = table.facts.topology.entities.get(str(row.get("entity")))
    is_flash = array is not None and array.attributes.get("media") == "flash"
    for fact in facts:
        if is_flash and fact == _MEDIA and not _is_in_proportion(table, row, fact):
            continue
        if (used := row.get(fact)) is None or (weight := limit_weight(float(used), bursts=NO_BURSTS)) <= 0:
            continue
        if fact == _WRITE_CACHE or not _is_background_busy(table, row, fact):
            yield Evidence(f"{_UTILISATION_NAMES[fact].format(row['entity'])} at {percent(float(used))}", weight)


def _has_full_controllers(table: PlaceTable, row: FactRow) -> bool:
    fact = "controller_busy_ratio"
    return number(row, fact) >= _BUSY_CONTROLLER_RATIO and not _is_background_busy(table, row, fact)


def _is_background_busy(table: PlaceTable, row: FactRow, fact: str) -> bool:
    """Whether processors or media of the array are as busy with fewer I/Os, so that I/Os do not fill them."""
    return is_background_busy(table.facts, table.load, table.same_io, str(row["entity"]), fact)


def _is_in_proportion(table: PlaceTable, row: FactRow, fact: str) -> bool:
    return follows_load(table.facts, table.load, table.same_io, str(row["entity"]), fact)


def _parts(table: PlaceTable, row: FactRow) -> Iterator[Evidence]:
    """Evidence of full parts that serve this direction, or that none is full if controllers and media report."""
    served = _READ_PARTS if table.load.direction == "read" else (*_READ_PARTS, _WRITE_CACHE)
    yield from _utilisations(table, row, *served)
    if row.get("controller_busy_ratio") is None or row.get(_MEDIA) is None:
        return
    # The mean of a controller hides a full core, and work that runs on one core only.
    busiest = max(number(row, fact) for fact in (*served, _CORE))
    least = _UNREPORTED_PART_WEIGHT if row.get(_CORE) is not None else _UNREPORTED_PART_WEIGHT / 2
    weight = max(least, limit_weight(busiest, bursts=NO_BURSTS))
    if weight < 0:
        yield Evidence(f"controllers and media of {row['entity']} are at most at {percent(busiest)}", weight)


def _evidence_inside(table: PlaceTable, row: FactRow) -> Iterator[Evidence]:
    """Evidence for and against saturation behind the array's own clock."""
    if array_slowed_down(row):
        retained, growth = number(row, "held_throughput"), number(row, "growth_within")
        words = (
            f"from the first quarter of the step to the last, throughput falls to {percent(retained)}, and the array "
            f"takes {growth:.1f} times as long: it was not saturated when the step began"
        )
        yield Evidence(words, _SLOWDOWN_WEIGHT)
    yield from _parts(table, row)
    yield from taken_from_others(table)
    yield from _without_queue(table)
    yield from array_utilisation_evidence(table)
    # An array is busy only while an I/O is inside (utilisation law).
    inside = table.in_flight_inside("array_queue", "array_service") / max(1e-3, 1 - table.others_share)
    if (weight := limit_weight(min(1.0, inside), DEPTH_ERROR)) < 0:
        yield Evidence(f"{inside:.2f} I/Os are inside on average, so it is idle at times", max(_MIN_IDLE, weight))


def _without_queue(table: PlaceTable) -> Iterator[Evidence]:
    """Evidence from an array's own queue that is empty although the reported service time is longer than with fewer
    I/Os."""
    queue = sum(table.segments[index].wait[1] for index in table.indices("array_queue"))
    service = [table.segments[index] for index in table.indices("array_service")]
    grown = sum(segment.wait[0] for segment in service if not segment.hidden_wait_probability)
    if table.indices("array_queue") and queue < _EMPTY_QUEUE_RATIO * grown:
        yield Evidence("its own queue holds hardly any I/O", _QUEUE_SHOWS_NOTHING)


def _saturated(table: PlaceTable, claims: Sequence[Claim]) -> Conclusion:
    """The conclusion that I/Os spend most of the time waiting inside the array."""
    facts, load, array = table.facts, table.load, table.array or {}
    inside, below = number(array, "array_seconds"), below_queues(facts, load)
    is_flat = flat_over_load(facts.loads, load) is not None or flat_beyond(facts.loads, load) is not None
    reached = load.quarters[1] if array_slowed_down(array) and load.quarters is not None else load.ops_per_second
    layer = _layer(table, array)
    because = (
        *(evidence.words for evidence in claims[0].evidence if evidence.weight > 0),
        *_growth_reasons(array),
        *(("the array serves an I/O as fast as at the other loads",) if layer == "array_front" else ()),
        *(("throughput does not grow with the load",) if is_flat else ()),
        f"its own time is {duration(inside)} of the {duration(below)} below the queue of the operating system",
    )
    ceiling_ratio, gone = reached / load.ops_per_second, _removable_latency_ratio(array)
    return conclusion_of(table, layer, because, _OVERTURN, ceiling_ratio=ceiling_ratio, explains=gone)(claims)


def _waits_before_clock(table: PlaceTable, claims: Sequence[Claim]) -> Conclusion:
    """The conclusion that most of the time passes between the clocks of host and array, and no link between them
    explains it."""
    load, entity = table.load, str(claims[0].entity)
    gap = table.seconds(claims[0].explains)
    transfer_seconds = wire_seconds(table.facts.tables["link"], load)
    busiest = max(table.on_path, key=lambda row: number(row, "utilisation"), default=None)
    because = [
        f"{duration(gap)} of {duration(load.latency_seconds)} pass between the clocks of the host and {entity}"
    ]
    if transfer_seconds is not None:
        because.append(f"the transfer of a block takes {duration(transfer_seconds)}")
    if busiest is not None and busiest["utilisation"] is not None:
        because.append(f"the busiest link, {busiest['entity']}, is at {percent(number(busiest, 'utilisation'))}")
    read = [evidence.words for evidence in claims[0].evidence if evidence.weight > 0]
    because += read or ["an array may delay I/Os before its own clock starts"]
    layer: Layer = "array_back" if any(_device_slots(table)) else "array_front"
    return conclusion_of(table, layer, because, _OVERTURN)(claims)


def _by_exclusion(table: PlaceTable, row: FactRow, layer: Layer, claims: Sequence[Claim]) -> Conclusion:
    """The conclusion for an array without a time for the test's own I/Os: a part of it is full, or nothing else
    explains the wait. `row`: what was read of the array."""
    time_words, *full = (evidence.words for evidence in claims[0].evidence if evidence.weight >= 0)
    because = (
        f"{table.wait_words(claims[0].explains)} are spent waiting beyond the last layer that was measured",
        *(full or ["nothing that was read accounts for it"]),
        time_words,
    )
    used = max((number(row, fact) for fact in _UTILISATION_NAMES if row.get(fact) is not None), default=None)
    stated = StatedFields(utilisation=used if full else None, by_exclusion=not full)
    return conclusion_of(table, layer, because, _OVERTURN, **stated)(claims)


def _layer(table: PlaceTable, array: FactRow) -> Layer:
    """The front end if I/Os queue and service takes no longer than at other loads, else the back end."""
    if _has_full_controllers(table, array):
        return "array_front"
    # An array that slows down within a step had a buffer in front of the media, which has filled.
    if array_slowed_down(array) or number(array, "queue_ratio") < _QUEUE_TO_SERVICE:
        return "array_back"
    facts, load, entity = table.facts, table.load, str(array["entity"])
    other_steps = {other.step for other in facts.loads if other.comparable(load) and other.step != load.step}
    rows = facts.tables[entity.partition(":")[0]].select(entity=entity, direction=load.direction)
    service_times = [number(row, "service_seconds") for row in rows if row["step"] in other_steps]
    usual = min((seconds for seconds in service_times if seconds), default=0.0)
    return "array_front" if number(array, "service_seconds") < _SERVICE_GROWTH * usual else "array_back"


def _growth_reasons(array: FactRow) -> Iterator[str]:
    if number(array, "queue_ratio") >= 1:
        queue, service = number(array, "queue_seconds"), number(array, "service_seconds")
        yield f"I/Os wait {duration(queue)} in the array to be served for {duration(service)}"
    if (growth := number(array, "growth")) > 1:
        yield f"the array's service and queue time is {growth:.1f} times as long as at the lowest load"


def _removable_latency_ratio(array: FactRow) -> float | None:
    """Share of the latency that disappears with the limit: (R - R without the limit) / R.

    Without the limit, an I/O would take as long as at the lowest load, or as long as its service alone. The wait
    above the array disappears too, because the array causes it.
    """
    inside_seconds, growth = number(array, "array_seconds"), number(array, "growth")
    seconds_without = inside_seconds / growth if growth > 1 else number(array, "service_seconds")
    return share_gone(seconds_without, inside_seconds) if inside_seconds and seconds_without else None

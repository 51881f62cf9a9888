"""Predicts each step of the test under another configuration, and what would limit it then.

The high end of a prediction is the lowest known ceiling. Elements that are k times as fast give at most k times the
present throughput. The low end is the throughput that the untested remainder of the path has carried, and a little
more if no I/Os queued in it. If the remainder keeps its latency, throughput lies between two bounds. The lower is a
closed loop over one queue with exponential service (mean value analysis, Reiser and Lavenberg 1980). The upper is the
high end, which a queue with constant service reaches. A step whose throughput the known ceilings do not explain is
not predicted: something else limits it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from sanpath.diagnosis.model import Grade, Interval
from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.storage.load_volumes import array_side, array_time
from sanpath.facts.table import number
from sanpath.topology.paths import hosts_of, machines_of
from sanpath.units import iops
from sanpath.verdict.evidence.healthy import requested_rate
from sanpath.verdict.evidence.step import unread_parts
from sanpath.verdict.model import Judgement
from sanpath.verdict.run_verdict import lightest_judgement
from sanpath.whatif.ceilings import Ceiling, in_flight_under, unknown_spread_reason, unloaded_interval, wire_times
from sanpath.whatif.change import UNCHANGED, Change
from sanpath.whatif.next_limit import order
from sanpath.whatif.proven_ceilings import all_ceilings, array_dominates
from sanpath.whatif.queue_slots import unread_queue_reason

_NO_GAIN = 1.01
"""Ratio of the predicted throughput to the present one up to which a change gains nothing."""
_EXPLAINED_RATIO = 0.85
"""Ratio of a step's throughput to such a closed loop's from which the known ceilings explain the step."""
_MAX_IN_FLIGHT = 10_000
"""Number of I/Os in flight beyond which throughput no longer grows at any latency of a storage network."""
_MODEL_ERROR = 0.03
"""Relative error of a likely value: frames of a link, shares of paths, the latency without a queue."""
_LOW_QUEUEING = 0.1
"""Ratio of queue to service time below which an array has the headroom `_HEADROOM`."""
_HEADROOM = 1.4
"""Smallest ratio of possible to carried throughput of the remainder of the path, if I/Os queue for a tenth of their
service time.

Eight servers are then busy for seven tenths of the time, and fewer servers for less (Erlang C).
"""
_R0_UNKNOWN = "the latency without a queue: too few I/Os may be outstanding to reach this"
_EXCEEDS_RATIO = 1.03
"""Ratio from which a prediction exceeds the highest throughput that an element has carried."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """One direction of a step as it was recorded, and its prediction.

    `limit`: the entity that limited it, None: unknown; `grade`: how well the verdict of the step is supported.
    `kept_in_flight`: I/Os of this direction in flight under the change. `entity` and `change`: the entity that would
    limit, and its setting. `likely_ops_per_second`: the throughput if untested elements keep their latency, None: the
    latency without a queue is unknown. `ceilings`: known ceilings under the change, the lowest first. `untested`:
    elements that have never carried the predicted throughput. `unknown`: why nothing is predicted; every predicted
    field is then None.
    """

    step: str
    direction: str
    in_flight: float
    ops_per_second: float
    latency_seconds: float
    limit: str | None
    grade: Grade = "C"
    kept_in_flight: float = 0.0
    entity: str | None = None
    change: str = ""
    predicted_ops_per_second: Interval | None = None
    predicted_latency_seconds: Interval | None = None
    likely_ops_per_second: Interval | None = None
    ceilings: tuple[Ceiling, ...] = ()
    untested: tuple[str, ...] = ()
    unknown: str | None = None

    @property
    def likely(self) -> float | None:
        """The middle of the likely interval. A later run is compared with it."""
        return sum(self.likely_ops_per_second) / 2 if self.likely_ops_per_second is not None else None


@dataclass(frozen=True, slots=True)
class Check:
    """A prediction compared with the run that followed.

    `held`: whether the measured value lies in the interval, apart from chance. `error`: ratio of the measured value
    to the middle of the likely interval, minus one; None: there was no likely interval.
    """

    step: str
    direction: str
    predicted_ops_per_second: Interval
    likely_ops_per_second: Interval | None
    measured_ops_per_second: float
    held: bool
    error: float | None


def check_prediction(prediction: Prediction, measured: float, chance: float) -> Check | None:
    """Compare a prediction with a measured value. None: nothing was predicted.

    `measured`: operations a second of the same step after the change. `chance`: largest relative difference between
    two means that may be chance.
    """
    predicted = prediction.predicted_ops_per_second
    if predicted is None:
        return None
    is_within = predicted[0] * (1 - chance) <= measured <= predicted[1] * (1 + chance)
    error = measured / prediction.likely - 1 if prediction.likely else None
    return Check(
        prediction.step, prediction.direction, predicted, prediction.likely_ops_per_second, measured, is_within, error
    )


def predict(facts: Facts, judgements: Sequence[Judgement], judged: Judgement, change: Change) -> Prediction:
    """The prediction of one direction of a step under a change."""
    load = judged.load
    before = ceilings_under(facts, judgements, judged, UNCHANGED)
    limit = before[0].entity if before else None
    recorded = (load.step, load.direction, load.in_flight_measured, load.ops_per_second, load.latency_seconds)
    r0_known = _known_unloaded(facts, judgements, judged)
    reason = unknown_spread_reason(facts, load, change) or unread_queue_reason(facts, load, change)
    reason = reason or _unexplained(load, judged, before, r0_known, change)
    if reason is not None:
        return Prediction(*recorded, judged.limiter, unknown=reason)
    r0 = unloaded_under(facts, judgements, judged, change)
    after = ceilings_under(facts, judgements, judged, change)
    if not after:
        return Prediction(*recorded, limit, unknown="the next limit is not known")
    # A ceiling of 0: others use all of that element.
    if (full := next((c for c in after if c.ops_per_second[0] <= 0), None)) is not None:
        return Prediction(*recorded, limit, unknown=f"others alone fill {full.entity} {full.change}".rstrip())
    first, in_flight = after[0], in_flight_under(facts, load, change)
    is_slower = first.entity in change.speeds and first.ops_per_second[1] < load.ops_per_second
    gains_nothing = change != UNCHANGED and first.ops_per_second[1] <= _NO_GAIN * load.ops_per_second
    if len(load.roots) > 1 and (is_slower or (gains_nothing and _is_of_one_machine(facts, load, first.entity))):
        reason = f"{first.entity} would limit one of several loads, but not the others"
        return Prediction(*recorded, limit, unknown=reason)
    high = first.ops_per_second[1]
    highest = max(other_load.ops_per_second for other_load in facts.loads if other_load.comparable(load))
    is_raised = high >= min(c.ops_per_second[1] for c in before) * 0.999
    if is_raised:
        high = max(high, load.ops_per_second)
    high = min(high, load.ops_per_second * _most_gain(load, change, before, (after, in_flight)))
    likely = _likely(after, in_flight, r0, high)
    likely_low = likely[0] if likely is not None else high
    low = min(highest * _headroom(facts, load), max(min(highest, likely_low), (1 - _MODEL_ERROR) * likely_low))
    if is_raised:
        low = max(low, load.ops_per_second)
    # Steps of a load with a rate of its own differ by that rate, whatever is in flight.
    is_paced = judged.kind == "demand_limited" or requested_rate(facts, load) is not None
    if change == Change(in_flight=change.in_flight) and not is_paced:
        (low, high), likely = _as_measured(facts, load, in_flight, (low, high), likely)
    return Prediction(
        *recorded,
        limit,
        judged.grade,
        in_flight,
        first.entity,
        first.change,
        (low, high),
        (in_flight / high, in_flight / low),
        (max(low, likely[0]), high) if likely is not None else None,
        tuple(after),
        untested(facts, judgements, judged, change, high),
    )


def _most_gain(
    load: LoadFacts, change: Change, before: Sequence[Ceiling], after: tuple[Sequence[Ceiling], float]
) -> float:
    """Largest ratio of the throughput under a change to that as recorded, at least 1. Infinite: not known.

    k times the I/Os in a closed loop, or devices that are k times as fast, give at most k times the throughput. All
    devices k times as fast give exactly that, and the change makes only some of them faster. `after`: the ceilings
    under the change, and the number of I/Os in flight.
    """
    ceilings, in_flight = after
    is_counted = all(c.in_flight is not None for c in before if c.entity in change.slots)
    if not is_counted or change.policies or change.lifted or change.evenly:
        # It is not known how many I/Os a queue let through if its slots were not counted.
        return inf
    changed = {*change.speeds, *(entity for entity, _ in change.caps)}
    gain = max([0.0, *(_raised(entity, before, ceilings) - 1 for entity in changed)])
    more_in_flight = max(1.0, _admitted(ceilings, in_flight) / _admitted(before, load.in_flight_measured))
    return (1 + (1 + _MODEL_ERROR) * gain) * more_in_flight


def _raised(entity: str, before: Sequence[Ceiling], after: Sequence[Ceiling]) -> float:
    """Largest ratio of the ceilings of an element under a change to those as recorded. Infinite: not known."""
    lowest_before = min((c.ops_per_second[0] for c in before if c.entity == entity), default=0.0)
    highest_after = max((c.ops_per_second[1] for c in after if c.entity == entity), default=inf)
    return highest_after / lowest_before if lowest_before > 0 else inf


def _is_of_one_machine(facts: Facts, load: LoadFacts, entity: str) -> bool:
    """Whether a device, volume or link belongs to some of the machines of a load, so that the others' I/Os do not
    pass it."""
    topology, rows = facts.topology, facts.tables["link"].select(step=load.step, entity=entity)
    ends = {str(row[end]) for row in rows for end in ("sender", "receiver")} & topology.entities.keys()
    if entity in topology.entities:
        ends |= {entity, *topology.related(entity, "backed_by", "lun")}
    owners = {machine for end in ends for machine in topology.related(end, "attached_to")}
    machines = ({*machines_of(topology, root), *hosts_of(topology, root)} for root in load.roots)
    return bool(owners) and any(owners.isdisjoint(of_root) for of_root in machines)


def ceilings_under(facts: Facts, judgements: Sequence[Judgement], judged: Judgement, change: Change) -> list[Ceiling]:
    """All known ceilings of a step under a change, the lowest first."""
    load = judged.load
    r0 = unloaded_under(facts, judgements, judged, change)
    same_io = [judged, *(j for j in judgements if j is not judged and j.load.comparable(load))]
    return sorted(all_ceilings(facts, change, r0, same_io), key=order)


def unloaded_under(
    facts: Facts, judgements: Sequence[Judgement], judged: Judgement, change: Change
) -> Interval | None:
    """Latency without a queue in seconds, [low, high]. None: unknown. If it is unknown as recorded, its bounds under
    a change are one transfer and the lowest latency of a step with at most half the I/Os in flight."""
    load = judged.load
    r0 = unloaded_interval(facts, load, change, _lightest_load(facts, judgements, judged))
    if r0 is not None or change == UNCHANGED:
        return r0
    fewer = [other for other in facts.loads if other.comparable(load) and other.at_most_half(load)]
    wire, wire_before = wire_times(facts, load, change)
    if not fewer or not wire or wire_before is None:
        return None
    return wire, max(wire, min(other.latency_seconds for other in fewer) + wire - wire_before)


def _headroom(facts: Facts, load: LoadFacts) -> float:
    """Smallest ratio of possible to carried throughput of the remainder of the path, given the wait of I/Os in it."""
    row = array_side(facts.topology, load, facts.tables)
    links = [r for r in facts.tables["link"].select(step=load.step, direction=load.direction) if r["on_loaded_path"]]
    if row is None or row["queue_seconds"] is None or unread_parts(facts, load, links, row):
        return 1.0
    return _HEADROOM if number(row, "queue_ratio") < _LOW_QUEUEING else 1.0


def _as_measured(
    facts: Facts, load: LoadFacts, in_flight: float, predicted: Interval, likely: Interval | None
) -> tuple[Interval, Interval | None]:
    """The prediction, bounded by the measured steps with fewer and with more I/Os in flight.

    It applies if only the number in flight changes. More I/Os give no less throughput, unless it fell before.
    """
    measured = sorted(
        (other_load.in_flight_measured, other_load.ops_per_second)
        for other_load in facts.loads
        if other_load.comparable(load)
    )
    with_fewer = [ops for n, ops in measured if n <= in_flight]
    with_more = [ops for n, ops in measured if n >= in_flight]
    if with_fewer and with_more:
        low, high = sorted((with_fewer[-1], with_more[0]))
        predicted = low, high
    elif with_fewer and with_fewer[-1] >= (1 - _MODEL_ERROR) * max(with_fewer):
        low, high = with_fewer[-1], inf
    elif with_more:
        low, high = 0.0, with_more[0]
    else:
        low, high = 0.0, inf
    return _between(predicted, low, high), _between(likely, low, high) if likely is not None else None


def _between(interval: Interval, low: float, high: float) -> Interval:
    return min(max(interval[0], low), high), min(max(interval[1], low), high)


def explaining(facts: Facts, judgements: Sequence[Judgement], judged: Judgement) -> Ceiling | None:
    """The lowest ceiling of a step as recorded, if it explains the step's throughput. None: it does not."""
    load = judged.load
    r0 = unloaded_interval(facts, load, UNCHANGED, _lightest_load(facts, judgements, judged))
    before = all_ceilings(facts, UNCHANGED, r0, (judged,))
    return None if _unexplained(load, judged, before, r0, UNCHANGED) else min(before, key=order)


def _lightest_load(facts: Facts, judgements: Sequence[Judgement], judged: Judgement) -> LoadFacts | None:
    lightest = lightest_judgement(facts, judgements, judged)
    return lightest.load if lightest is not None else None


def _unexplained(
    load: LoadFacts, judged: Judgement, before: Sequence[Ceiling], r0: Interval | None, change: Change
) -> str | None:
    """Why nothing can be predicted from this step. None: the known ceilings explain its throughput."""
    if load.operation_bytes is None:
        return "the load counts no bytes, so that its share of the links is not known"
    if r0 is None and (change.slots or change.in_flight is not None):
        return "the latency without a queue is not known: add a step with few outstanding I/Os"
    if not before:
        return f"nothing that could limit it was measured: {judged.first_reason}"
    least = _allowed(load, before, r0)
    if load.ops_per_second >= _EXPLAINED_RATIO * least:
        return None
    advice = judged.experiment.in_words if judged.experiment is not None else judged.first_reason
    return (
        f"{iops(load.ops_per_second)} are less than any known limit allows "
        f"({iops(least)}): the limit was not found; {advice}"
    )


def is_unexplained(facts: Facts, judgements: Sequence[Judgement], judged: Judgement) -> bool:
    """Whether the known ceilings allow clearly more throughput than a step reached."""
    load, before = judged.load, ceilings_under(facts, judgements, judged, UNCHANGED)
    r0 = _known_unloaded(facts, judgements, judged)
    return bool(before) and load.ops_per_second < _EXPLAINED_RATIO * _allowed(load, before, r0)


def _allowed(load: LoadFacts, before: Sequence[Ceiling], r0: Interval | None) -> float:
    """Lower bound, in I/Os a second, of the throughput that the ceilings of a step allow as recorded."""
    expected = _likely(before, load.in_flight_measured, r0, min(c.ops_per_second[1] for c in before))
    return expected[0] if expected is not None else min(c.ops_per_second[1] for c in before)


def _known_unloaded(facts: Facts, judgements: Sequence[Judgement], judged: Judgement) -> Interval | None:
    """Latency without a queue as recorded, in seconds. None: unknown, or the array may have been full at any load."""
    lightest = _lightest_load(facts, judgements, judged)
    if lightest is None and _may_be_full(facts, judged.load):
        return None
    return unloaded_interval(facts, judged.load, UNCHANGED, lightest)


def _may_be_full(facts: Facts, load: LoadFacts) -> bool:
    """Whether most of the time passes in the array: then it may have been full in every recorded step."""
    row = array_time(load, array_side(facts.topology, load, facts.tables))
    return row is not None and array_dominates(facts, load, row)


def _likely(after: Sequence[Ceiling], in_flight: float, r0: Interval | None, high: float) -> Interval | None:
    """Throughput of a closed loop over the lowest ceiling, and the highest possible. None: R0 is unknown."""
    if r0 is None:
        return None
    admitted = _admitted(after, in_flight)
    ceiling = min((c.ops_per_second[0] for c in after if c.in_flight is None), default=float("inf"))
    return min(high, closed_loop(admitted, r0[1], ceiling)), high


def _admitted(ceilings: Sequence[Ceiling], in_flight: float) -> float:
    """Number of I/Os that can be at the storage at once."""
    return min([in_flight, *(c.in_flight for c in ceilings if c.in_flight is not None)])


def closed_loop(in_flight: float, r0: float, ceiling: float) -> float:
    """Operations a second of `in_flight` I/Os, by mean value analysis of one queue and a delay.

    The queue has exponential service at `ceiling` operations a second. The delay is the rest of `r0`, the latency in
    seconds without a queue.
    """
    if ceiling <= 0:
        return 0.0
    service = min(1 / ceiling, r0)
    queued = throughput = 0.0
    for n in range(1, min(_MAX_IN_FLIGHT, max(1, round(in_flight))) + 1):
        waited = service * (1 + queued)
        throughput = n / (r0 - service + waited)
        queued = throughput * waited
    return throughput


def untested(
    facts: Facts, judgements: Sequence[Judgement], judged: Judgement, change: Change, high: float
) -> tuple[str, ...]:
    """Elements that have never carried the predicted throughput, and assumptions that were never tested."""
    load, found = judged.load, []
    if len(load.roots) > 1:
        found.append("a different split between the loads: each is assumed to keep its share")
    row = array_side(facts.topology, load, facts.tables)
    if row is None:
        found.append("the array: nothing was read of it")
    else:
        entity = str(row["entity"])
        rows = facts.tables[entity.partition(":")[0]].select(entity=entity, direction=load.direction)
        same_io_steps = {other_load.step for other_load in facts.loads if other_load.comparable(load)}
        carried = max(number(r, "ops_per_second") for r in rows if r["step"] in same_io_steps)
        if high > _EXCEEDS_RATIO * carried:
            found.append(f"{entity}: has carried {iops(carried)} and no more")
    if unloaded_interval(facts, load, change, _lightest_load(facts, judgements, judged)) is None:
        found.append(_R0_UNKNOWN)
    return tuple(found)

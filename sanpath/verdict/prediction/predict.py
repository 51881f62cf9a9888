"""What the test would reach with another configuration, step by step, and what would limit it then.

The high end of a prediction is the smallest ceiling that is known. The low end is what the untested rest of the path
was seen to bear, and a little more where nothing queued in it. Where the rest keeps the latency it had, throughput
lies between that of a closed loop over one queue with exponential service (mean value analysis, Reiser and Lavenberg
1980) and the high end, which a queue with constant service reaches. A step whose throughput the known ceilings do not
explain is not predicted: something else holds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sanpath.facts.compute import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.storage.load_volumes import array_side, array_time
from sanpath.facts.table import FactRow, number
from sanpath.verdict.evidence.step import array_dominates, flat_beyond, not_seen, queues_inside
from sanpath.verdict.model import Grade, Interval, Next
from sanpath.verdict.prediction.ceilings import Ceiling, ceilings, kept, unloaded, unspread
from sanpath.verdict.prediction.change import AS_IT_IS, Change
from sanpath.verdict.prediction.relief import faster_link
from sanpath.verdict.step_judgement import Judgement
from sanpath.verdict.units import iops

_EXPLAINED = 0.85
"""Share of what such a closed loop reaches from which on the known ceilings explain a step."""
_FREE = 0.5
"""Probability that something held a step, from which on it does not tell the latency without a queue."""
_MOST = 10_000
"""I/Os in flight beyond which throughput no longer grows for any latency of a storage network."""
_MODEL = 0.03
"""What is likely is off by as much: frames of a link, shares of paths, the latency without a queue."""
_HARDLY_QUEUES = 0.1
_ROOM = 1.4
"""Where I/Os queue a tenth of their service time, eight servers are busy for seven tenths of the time, and fewer are
busy less (Erlang C)."""
_BEYOND = 1.03
"""A prediction above this many times what an element was seen to bear goes beyond it."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """One direction of a step as it was, and as it would be.

    `limit`: what held it, None: not known; `grade`: how well the verdict of the step is borne out. `kept_in_flight`:
    I/Os of this direction in flight under the change. `entity` and `change`: what would limit, and at what.
    `likely_ops_per_second`: where throughput lies if what was not tested keeps its latency, None: the latency without
    a queue is not known. `ceilings`: those known under the change, the lowest first. `untested`: what was never seen
    to bear as much. `unknown`: why nothing is predicted; everything predicted is None then.
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
        """The middle of what is likely: what a run that follows is held against."""
        return sum(self.likely_ops_per_second) / 2 if self.likely_ops_per_second is not None else None


@dataclass(frozen=True, slots=True)
class Check:
    """A prediction held against the run that followed. `held`: what was measured lies in the interval, but for
    chance; `error`: measured over the middle of what was likely, less one, None: nothing was."""

    step: str
    direction: str
    predicted_ops_per_second: Interval
    likely_ops_per_second: Interval | None
    measured_ops_per_second: float
    held: bool
    error: float | None


def checked(prediction: Prediction, measured: float, chance: float) -> Check | None:
    """`measured`: operations a second of the same step after the change; `chance`: relative, by how much two means
    may differ. None: nothing was predicted."""
    told = prediction.predicted_ops_per_second
    if told is None:
        return None
    held = told[0] * (1 - chance) <= measured <= told[1] * (1 + chance)
    error = measured / prediction.likely - 1 if prediction.likely else None
    return Check(prediction.step, prediction.direction, told, prediction.likely_ops_per_second, measured, held, error)


def predict(facts: Facts, judgements: Sequence[Judgement], judged: Judgement, change: Change) -> Prediction:
    """What one direction of a step would reach under a change."""
    load, calm = judged.load, _calm_load(facts, judgements, judged)
    same = [judged, *(j for j in judgements if j is not judged and j.load.comparable(load))]
    r0_before = unloaded(facts, load, AS_IT_IS, calm)
    before = ceilings(facts, load, AS_IT_IS, r0_before, same)
    limit = min(before, key=_order).entity if before else None
    as_it_was = (load.step, load.direction, load.in_flight_measured, load.ops_per_second, load.latency_seconds)
    told = r0_before if calm is not None or not _may_be_full(facts, load) else None
    why = unspread(facts, load, change) or _unexplained(load, judged, before, told, change)
    if why is not None:
        return Prediction(*as_it_was, judged.limiter, unknown=why)
    r0 = unloaded(facts, load, change, calm)
    after = sorted(ceilings(facts, load, change, r0, same), key=_order)
    if not after:
        return Prediction(*as_it_was, limit, unknown="nothing that would limit then is known")
    first, flying = after[0], kept(facts, load, change)
    if len(load.roots) > 1 and first.entity in change.speeds and first.ops_per_second[1] < load.ops_per_second:
        why = f"{first.entity} would hold one of several loads, and the others keep their own pace"
        return Prediction(*as_it_was, limit, unknown=why)
    high = first.ops_per_second[1]
    seen = max(other.ops_per_second for other in facts.loads if other.comparable(load))
    raised = high >= min(c.ops_per_second[1] for c in before) * 0.999
    if raised:
        high = max(high, load.ops_per_second)
    if replace(change, slots={}, in_flight=None) == AS_IT_IS:
        # A closed loop is concave: k times as many I/Os give at most k times the throughput.
        more = _through(after, flying) / _through(before, load.in_flight_measured)
        high = min(high, load.ops_per_second * max(1.0, more))
    likely = _likely(after, flying, r0, high)
    most = likely[0] if likely is not None else high
    low = min(seen * _room(facts, load), max(min(seen, most), (1 - _MODEL) * most))
    if raised:
        low = max(low, load.ops_per_second)
    if change == Change(in_flight=change.in_flight):
        (low, high), likely = _as_measured(facts, load, flying, (low, high), likely)
    return Prediction(
        *as_it_was,
        limit,
        judged.grade,
        flying,
        first.entity,
        first.change,
        (low, high),
        (flying / high, flying / low),
        (max(low, likely[0]), high) if likely is not None else None,
        tuple(after),
        tuple(_untested(facts, load, high, r0)),
    )


def _room(facts: Facts, load: LoadFacts) -> float:
    """How many times what was seen the rest of the path bears at least, by what it was seen to wait."""
    row = array_side(facts.topology, load, facts.tables)
    links = [r for r in facts.tables["link"].select(step=load.step, direction=load.direction) if r["on_loaded_path"]]
    if row is None or row["queue_seconds"] is None or not_seen(facts, load, links, row):
        return 1.0
    return _ROOM if not queues_inside(row, _HARDLY_QUEUES) else 1.0


def _as_measured(
    facts: Facts, load: LoadFacts, flying: float, told: Interval, likely: Interval | None
) -> tuple[Interval, Interval | None]:
    """Where only the number in flight changes and steps with fewer and with more were run, those bound it."""
    seen = sorted((other.in_flight_measured, other.ops_per_second) for other in facts.loads if other.comparable(load))
    fewer = [ops for n, ops in seen if n <= flying]
    more = [ops for n, ops in seen if n >= flying]
    if not fewer or not more:
        return told, likely
    low, high = sorted((fewer[-1], more[0]))
    if likely is not None:
        likely = min(max(likely[0], low), high), min(max(likely[1], low), high)
    return (low, high), likely


def explaining(facts: Facts, judgements: Sequence[Judgement], judged: Judgement) -> Ceiling | None:
    """The lowest ceiling of a step as it was, where that explains what it reached; None: it does not."""
    load = judged.load
    r0 = unloaded(facts, load, AS_IT_IS, _calm_load(facts, judgements, judged))
    before = ceilings(facts, load, AS_IT_IS, r0, (judged,))
    return None if _unexplained(load, judged, before, r0, AS_IT_IS) else min(before, key=_order)


def next_limit(facts: Facts, load: LoadFacts, binding: Sequence[FactRow]) -> Next | None:
    """What limits once all links of `binding` are relieved together. None: nothing says what they could do."""
    speeds = {str(row["entity"]): faster for row in binding if (faster := faster_link(row)) is not None}
    if load.operation_bytes is None or len(speeds) < len(binding):
        return None
    change = Change(speeds=speeds)
    first = min(ceilings(facts, load, change, unloaded(facts, load, change, None)), key=_order)
    low = load.ops_per_second
    # Clocks that overlap can make the parts longer than the whole; what was seen is possible all the same.
    high = max(first.ops_per_second[1], low)
    in_flight = load.in_flight_measured
    return Next(first.entity, first.change, (low, high), (in_flight / high, in_flight / low))


def calmest(facts: Facts, judgements: Sequence[Judgement], judged: Judgement) -> Judgement | None:
    """The step with the fewest of the same I/Os in flight. None: something was full in it already."""
    same = [j for j in judgements if j.load.comparable(judged.load)]
    calm = min(same, key=lambda j: j.load.in_flight_measured)
    if calm.limit_probability >= _FREE or flat_beyond(facts, calm.load) is not None:
        return None
    return calm


def _calm_load(facts: Facts, judgements: Sequence[Judgement], judged: Judgement) -> LoadFacts | None:
    calm = calmest(facts, judgements, judged)
    return calm.load if calm is not None else None


def _order(ceiling: Ceiling) -> tuple[float, str, str]:
    return ceiling.ops_per_second[1], ceiling.entity, ceiling.change


def _unexplained(
    load: LoadFacts, judged: Judgement, before: Sequence[Ceiling], r0: Interval | None, change: Change
) -> str | None:
    """Why nothing can be predicted from this step. None: the known ceilings explain what it reached."""
    if load.operation_bytes is None:
        return "the load counts no bytes, so that its share of the links is not known"
    if r0 is None and (change.slots or change.in_flight is not None):
        return "the latency without a queue is not known: add a step with few I/Os in flight"
    if not before:
        return f"nothing that could limit it was seen: {_first(judged)}"
    expected = _likely(before, load.in_flight_measured, r0, min(c.ops_per_second[1] for c in before))
    least = expected[0] if expected is not None else min(c.ops_per_second[1] for c in before)
    if load.ops_per_second >= _EXPLAINED * least:
        return None
    rest = judged.experiment.in_words if judged.experiment is not None else _first(judged)
    return (
        f"{iops(load.ops_per_second)} are less than anything known would hold it to "
        f"({iops(least)}): what limits it was not found; {rest}"
    )


def _may_be_full(facts: Facts, load: LoadFacts) -> bool:
    """Whether most of the time passes in the array, which may have been full at any load that was tried."""
    row = array_time(load, array_side(facts.topology, load, facts.tables))
    return row is not None and array_dominates(facts, load, row)


def _first(judged: Judgement) -> str:
    return judged.because[0] if judged.because else "no evidence"


def _likely(after: Sequence[Ceiling], flying: float, r0: Interval | None, high: float) -> Interval | None:
    """Throughput of a closed loop over the lowest ceiling, and the most it can be. None: R0 is not known."""
    if r0 is None:
        return None
    through = _through(after, flying)
    ceiling = min((c.ops_per_second[0] for c in after if c.in_flight is None), default=float("inf"))
    return min(high, closed_loop(through, r0[1], ceiling)), high


def _through(told: Sequence[Ceiling], flying: float) -> float:
    """I/Os that get through to the storage at once."""
    return min([flying, *(c.in_flight for c in told if c.in_flight is not None)])


def closed_loop(in_flight: float, r0: float, ceiling: float) -> float:
    """Operations a second of `in_flight` I/Os that pass one queue, exponential service at `ceiling` a second, and
    what else `r0` seconds without a queue consist of: mean value analysis of one queue and a delay."""
    service = min(1 / ceiling, r0)
    queued = throughput = 0.0
    for n in range(1, min(_MOST, max(1, round(in_flight))) + 1):
        waited = service * (1 + queued)
        throughput = n / (r0 - service + waited)
        queued = throughput * waited
    return throughput


def _untested(facts: Facts, load: LoadFacts, high: float, r0: Interval | None) -> list[str]:
    """What was never seen to bear what is predicted, and what is not known of it."""
    found = []
    if len(load.roots) > 1:
        found.append("other shares of the loads: each is taken to give the part of the test that it gave")
    row = array_side(facts.topology, load, facts.tables)
    if row is None:
        found.append("the array: nothing was read of it")
    else:
        entity = str(row["entity"])
        rows = facts.tables[entity.partition(":")[0]].select(entity=entity, direction=load.direction)
        same = {other.step for other in facts.loads if other.comparable(load)}
        borne = max(number(r, "ops_per_second") for r in rows if r["step"] in same)
        if high > _BEYOND * borne:
            found.append(f"{entity}: seen to bear {iops(borne)} and no more")
    if r0 is None:
        found.append("the latency without a queue: what is in flight may not be enough for it")
    return found

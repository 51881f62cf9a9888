"""From the judgements of all steps to the verdict of the run: knee, unloaded latency, what comes next, headline."""

from __future__ import annotations

from collections.abc import Sequence

from sanpath.catalogue.capacity import Capacity, link_capacity
from sanpath.facts.compute import Facts
from sanpath.facts.pairs import array_side, array_time
from sanpath.facts.table import FactRow, number
from sanpath.verdict.budget import wire_seconds
from sanpath.verdict.evidence import flat_beyond
from sanpath.verdict.explain import headline
from sanpath.verdict.judgement import Judgement
from sanpath.verdict.model import R0, Cleared, Next, Verdict

SAME_THROUGHPUT = 0.03


def deciding(judgements: Sequence[Judgement]) -> Judgement:
    """The judgement of the step with the highest throughput; within 3 %, that with most in flight."""
    best = max(j.load.bytes_per_second for j in judgements)
    near = [j for j in judgements if j.load.bytes_per_second >= best * (1 - SAME_THROUGHPUT)]
    return max(near, key=lambda j: (j.load.in_flight_measured, j.load.bytes_per_second))


def run_verdict(facts: Facts, judgements: Sequence[Judgement], cleared: Sequence[Cleared]) -> Verdict:
    """The verdict of the run."""
    if not judgements:
        why = "no I/O of a load was seen: nothing can be judged"
        return Verdict(
            "cannot_tell", "C", "", why, (), None, None, R0(None, None), None, "run a load that sanpath reads"
        )
    judged = deciding(judgements)
    r0 = unloaded(facts, judgements, judged)
    knee = judged.load.ops_per_second * r0.seconds if r0.seconds and judged.limiter else None
    same = [j for j in judgements if j.load.comparable(judged.load)]
    fewest = min(j.load.in_flight_measured for j in same)
    below = fewest if judged.limiter and knee is None else None
    return Verdict(
        judged.kind,
        judged.grade,
        judged.load.step,
        headline(facts, judged, same, _beside(judgements, judged), cleared),
        tuple(b for j in (judged, *_beside(judgements, judged)) for b in j.bottlenecks),
        knee,
        below,
        r0,
        what_next(facts, judged, r0),
        judged.decide_with,
    )


def _beside(judgements: Sequence[Judgement], judged: Judgement) -> list[Judgement]:
    """The other direction of the same step, where it is full as well: each has a limit of its own."""
    return [j for j in judgements if j is not judged and j.load.step == judged.load.step and j.limiter is not None]


def unloaded(facts: Facts, judgements: Sequence[Judgement], judged: Judgement) -> R0:
    """Latency without a queue: that of the step with fewest I/Os in flight, if nothing was saturated in it."""
    same = [j for j in judgements if j.load.comparable(judged.load)]
    calm = min(same, key=lambda j: j.load.in_flight_measured)
    if calm.limiter is not None or flat_beyond(facts, calm.load) is not None:
        return R0(None, None)
    return R0(calm.load.latency_seconds, calm.load.step)


def what_next(facts: Facts, judged: Judgement, r0: R0) -> Next | None:
    """What limits once the binding link and all coincident ones run at the speed that both ends of the path can do.

    Between the highest throughput already seen through the untested elements, and the smaller of the next ceiling
    and N / R0. None: nothing says what the links could do otherwise.
    """
    load, limiter = judged.load, judged.limiter
    size = load.operation_bytes
    if limiter is None or not limiter.startswith("link:") or size is None:
        return None
    rows = facts.tables["link"].select(step=load.step, direction=load.direction, on_loaded_path=True)
    ceilings: list[tuple[float, str, str]] = []
    for row in rows:
        ceiling = number(row, "ceiling_bytes_per_second") or float("inf")
        change = ""
        if row["entity"] == limiter or row["entity"] in judged.bottlenecks[0].coincident:
            faster = _relieved(row)
            if faster is None:
                return None
            ceiling, change = ceiling * _gain(row, faster), f"at {faster.name}"
        ceilings.append((ceiling, str(row["entity"]), change))
    ceiling, entity, change = min(ceilings)
    high = ceiling / size
    floor = r0.seconds or _floor(facts, judged)
    if floor:
        high = min(high, load.in_flight_measured / floor)
    low = min(load.ops_per_second, high)
    in_flight = load.in_flight_measured
    return Next(entity, change, (low, high), (in_flight / high, in_flight / low))


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
    faster = link_capacity("fibre_channel" if str(row["speed"]).endswith("GFC") else "ethernet", float(able))
    return faster if faster is not None and faster.data_bytes_per_second > now else None


def _floor(facts: Facts, judged: Judgement) -> float | None:
    array = array_time(judged.load, array_side(facts.topology, judged.load, facts.tables))
    wire = wire_seconds(facts, judged.load)
    if array is None or wire is None:
        return None
    return number(array, "array_seconds") + wire

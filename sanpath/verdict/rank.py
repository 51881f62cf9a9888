"""From the judgements of all steps to the verdict of the run: knee, unloaded latency, what comes next, headline."""

from __future__ import annotations

from collections.abc import Sequence

from sanpath.catalogue.capacity import link_capacity
from sanpath.facts.compute import Facts
from sanpath.facts.pairs import array_side
from sanpath.facts.table import FactRow, number
from sanpath.verdict.budget import wire_seconds
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
    r0 = unloaded(judgements, judged)
    knee = judged.load.ops_per_second * r0.seconds if r0.seconds and judged.limiter else None
    same = [j for j in judgements if j.load.direction == judged.load.direction]
    fewest = min(j.load.in_flight_measured for j in same)
    below = fewest if judged.limiter and knee is None else None
    return Verdict(
        judged.kind,
        judged.grade,
        judged.load.step,
        headline(facts, judged, same, cleared),
        judged.bottlenecks,
        knee,
        below,
        r0,
        what_next(facts, judged, r0),
        judged.decide_with,
    )


def unloaded(judgements: Sequence[Judgement], judged: Judgement) -> R0:
    """Latency without a queue: that of the step with fewest I/Os in flight, if nothing was saturated in it."""
    same = [j for j in judgements if j.load.direction == judged.load.direction]
    calm = min(same, key=lambda j: j.load.in_flight_measured)
    if calm.limiter is not None:
        return R0(None, None)
    return R0(calm.load.latency_seconds, calm.load.step)


def what_next(facts: Facts, judged: Judgement, r0: R0) -> Next | None:
    """What limits once the binding link and all coincident ones run at the speed that both ends of the path can do.

    Between the highest throughput already seen through the untested elements, and the smaller of the next ceiling
    and N / R0. None: nothing says what the links could do otherwise.
    """
    load, limiter = judged.load, judged.limiter
    if limiter is None or not limiter.startswith("link:"):
        return None
    rows = facts.tables["link"].select(step=load.step, direction=load.direction, on_loaded_path=True)
    ceilings: list[tuple[float, str, str]] = []
    for row in rows:
        ceiling = number(row, "ceiling_bytes_per_second")
        change = ""
        if row["entity"] == limiter or row["entity"] in judged.bottlenecks[0].coincident:
            faster = _relieved(row)
            if faster is None:
                return None
            ceiling, change = ceiling * faster[0], f"at {faster[1]}"
        ceilings.append((ceiling, str(row["entity"]), change))
    ceiling, entity, change = min(ceilings)
    size = load.bytes_per_second / load.ops_per_second
    high = ceiling / size
    floor = r0.seconds or _floor(facts, judged)
    if floor:
        high = min(high, load.in_flight_measured / floor)
    low = min(load.ops_per_second, high)
    in_flight = load.in_flight_measured
    return Next(entity, change, (low, high), (in_flight / high, in_flight / low))


def _relieved(row: FactRow) -> tuple[float, str] | None:
    """How many times more the link carries at the speed its path's ends can do, and the name of that speed."""
    able = row["path_capable_bits_per_second"]
    now = number(row, "capacity_bytes_per_second")
    if not isinstance(able, int | float) or not now:
        return None
    faster = link_capacity("fibre_channel" if str(row["speed"]).endswith("GFC") else "ethernet", float(able))
    if faster is None or faster.data_bytes_per_second <= now:
        return None
    return faster.data_bytes_per_second / now, faster.name


def _floor(facts: Facts, judged: Judgement) -> float | None:
    array, wire = array_side(facts.topology, judged.load, facts.tables), wire_seconds(facts, judged.load)
    if array is None or array["array_seconds"] is None or wire is None:
        return None
    return number(array, "array_seconds") + wire

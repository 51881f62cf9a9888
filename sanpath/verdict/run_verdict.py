"""The verdict of the run from the judgements of all steps: knee, latency without a queue, next limit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import hypot

from sanpath.diagnosis.model import R0, Verdict
from sanpath.facts.facts import Facts
from sanpath.facts.load.busiest_device import BusiestDevice
from sanpath.facts.load.load_events import has_generator
from sanpath.facts.load.loads import CLEARLY_MORE, SAME_THROUGHPUT, LoadFacts, flat_beyond
from sanpath.facts.samples.step_samples import MIN_WINDOWS
from sanpath.facts.table import number
from sanpath.model import START
from sanpath.units import bandwidth, count, counted, iops, join_names
from sanpath.verdict.evidence.step import answered_by_memory
from sanpath.verdict.model import Judgement
from sanpath.verdict.places.host_queues import host_queues
from sanpath.verdict.places.scaling import same_io
from sanpath.verdict.places.set_limits import RATES, Rate

_MAX_SCATTER_RATIO = 0.3
"""Ratio from which throughputs differ, even if there are few windows."""
_SAME_DEPTH_RATIO = 0.9
"""Ratio of the most I/Os in flight from which steps are equally deep. If they have the same number in flight in this
direction, the total of both directions decides."""
_SAME_IN_FLIGHT_RATIO = 0.7
"""Ratio of I/Os in flight from which two directions have about the same number."""
_LOWERED_RATIO = 0.9
"""Ratio of the slots of a queue to those in another step below which they were lowered in between. In a step in which
the number of slots changes, the mean lies between both numbers."""
_LIMIT_PROBABILITY = 0.5
"""Probability of a limit from which a step does not show the latency without a queue."""


def judgement_of_run(facts: Facts, judgements: Sequence[Judgement]) -> Judgement:
    """The judgement that decides the verdict of the run; for a probe, that of its start load. Steps that memory
    answered are ignored if there are others."""
    start = {step.name for step in facts.steps if step.experiment == START}
    of_start = [j for j in judgements if j.load.step in start] or judgements
    telling = [j for j in of_start if not answered_by_memory(facts, j.load)] or of_start
    found = judgement_of_steps(telling)
    slower = _limits_after_slowdown(telling, found)
    lowered = [j for j in slower if found.kind == "concurrency_limited" and _is_lowered(facts, j, found)]
    # More outstanding I/Os were tried, and throughput was lower: the verdict of the run cannot be that there were too
    # few.
    candidates = lowered or [found, *slower]
    found = max(candidates, key=lambda j: (-ord(j.grade), j.probability))
    if found.kind == "cannot_tell":
        found = max((found, *_undecided_with_more(telling, found)), key=_leading_probability)
    contradicting = _limits_at_same_throughput(facts, telling, found)
    return max(contradicting, key=lambda j: j.load.outstanding, default=found)


def _limits_after_slowdown(judgements: Sequence[Judgement], found: Judgement) -> list[Judgement]:
    """The judgements that find another limit in steps with more of the same I/Os and less throughput: something has
    changed in between, or the additional I/Os caused it. The most certain one decides if it is more certain than
    `found`, or if `found` only lacks I/Os and the limit is one that somebody has lowered."""
    return [j for j in _other_limits(judgements, found) if not _is_as_fast([j.load], [found.load])]


def _undecided_with_more(judgements: Sequence[Judgement], found: Judgement) -> list[Judgement]:
    """The undecided judgements of steps with more of the same I/Os than `found`, undecided as well: with more of them
    outstanding, their waits show more clearly."""
    return [other for other in judgements if other.kind == "cannot_tell" and _has_more_of_same(other, found)]


def _leading_probability(judgement: Judgement) -> float:
    """The probability of the leading suspect, of those that no source reads as well; 0: there is none."""
    return max((suspect.probability for suspect in judgement.suspects), default=0.0)


def _has_more_of_same(other: Judgement, found: Judgement) -> bool:
    """Whether a step has clearly more of the same I/Os outstanding."""
    return other.load.comparable(found.load) and other.load.outstanding >= CLEARLY_MORE * found.load.outstanding


def _is_lowered(facts: Facts, slower: Judgement, found: Judgement) -> bool:
    """Whether a limit below the throughput of `found` is one that somebody sets: a configured one, or a queue with
    fewer slots than before. Any other element has carried more, so that it is no capacity but a change."""
    if slower.kind == "configured_cap":
        return True
    before, now = (
        {queue.entity: queue.depth for queue in host_queues(facts, j.load) if queue.depth is not None}
        for j in (found, slower)
    )
    limits = {element for bottleneck in slower.bottlenecks for element in bottleneck.elements}
    return any(now[each] < _LOWERED_RATIO * before[each] for each in limits & now.keys() & before.keys())


def _limits_at_same_throughput(facts: Facts, judgements: Sequence[Judgement], found: Judgement) -> list[Judgement]:
    """The judgements that find another limit at the same throughput, in finished steps with more of the same I/Os
    outstanding. The same throughput means a single limit, and its waits show more clearly with more I/Os, even if
    there are too few windows for a grade."""
    ended = {step.name for step in facts.steps if not step.is_open}
    others = _other_limits(judgements, found) if found.bottlenecks else ()
    return [j for j in others if j.load.step in ended and _is_as_fast([j.load], [found.load])]


def _other_limits(judgements: Sequence[Judgement], found: Judgement) -> list[Judgement]:
    """The judgements that find another limit with clearly more of the same I/Os outstanding."""
    named = {element for bottleneck in found.bottlenecks for element in bottleneck.elements}
    return [
        other
        for other in judgements
        if _has_more_of_same(other, found)
        and other.bottlenecks
        and all(named.isdisjoint(bottleneck.elements) for bottleneck in other.bottlenecks)
    ]


def judgement_of_steps(judgements: Sequence[Judgement]) -> Judgement:
    """The judgement that decides for several steps, or for the directions of one.

    The step is the one with the highest throughput in one direction. Steps are equally fast if they differ by up to 6
    %, or by no more than their throughput scatters. Of these, preferred are the ones that every source observed for
    long enough, or else at all; among them, the one with the most I/Os in flight. If that step is undecided, another
    step with as many I/Os in flight decides if it shows a limit, or has a verdict at the same throughput. The
    direction is the one in which that step's I/Os spend their time.
    """
    found = _deciding_direction(judgements, _fastest_step(judgements))
    if found.kind != "cannot_tell":
        return found
    in_flight = _in_flight(judgements)
    as_deep = [step for step in in_flight if in_flight[step] >= _SAME_DEPTH_RATIO * in_flight[found.load.step]]
    others = [j for step in as_deep if (j := _deciding_direction(judgements, step)).kind != "cannot_tell"]
    loads = _loads_of_steps(judgements)
    telling = [j for j in others if j.bottlenecks or _is_as_fast(loads[j.load.step], loads[found.load.step])]
    return max(telling, key=lambda j: j.probability, default=found)


def _fastest_step(judgements: Sequence[Judgement]) -> str:
    """The step with the highest throughput in one direction, in bytes, or one that is equally fast."""
    loads, in_flight = _loads_of_steps(judgements), _in_flight(judgements)
    highest = {step: max(load.bytes_per_second for load in loads[step]) for step in loads}
    best = max(highest, key=lambda step: highest[step])
    as_fast = [step for step in loads if _is_as_fast(loads[step], loads[best])]
    windows = {step: max(j.windows for j in judgements if j.load.step == step) for step in as_fast}
    seen_by_all = ([step for step in as_fast if windows[step] >= least] for least in (MIN_WINDOWS, 1))
    fastest = next(filter(None, seen_by_all), as_fast)
    most_in_flight = {step: max(load.in_flight_measured for load in loads[step]) for step in fastest}
    deepest = [s for s in fastest if most_in_flight[s] >= _SAME_DEPTH_RATIO * max(most_in_flight.values())]
    return max(deepest, key=lambda step: (in_flight[step], highest[step]))


def _loads_of_steps(judgements: Sequence[Judgement]) -> dict[str, list[LoadFacts]]:
    loads: defaultdict[str, list[LoadFacts]] = defaultdict(list)
    for judgement in judgements:
        loads[judgement.load.step].append(judgement.load)
    return loads


def _is_as_fast(loads: Sequence[LoadFacts], best: Sequence[LoadFacts]) -> bool:
    """Whether a step is as fast as the best one: in bytes, or in operations if a mix of sizes makes bytes scatter.
    For the same I/O, both directions count together, because more I/Os of one direction take shared capacity from the
    other. Otherwise one direction counts."""
    if len(loads) == len(best) and all(any(load.comparable(other) for other in best) for load in loads):
        return any(_is_same_rate(loads, best, rate) for rate in RATES)
    fastest = max(best, key=lambda load: load.bytes_per_second)
    return any(
        _is_same_rate([load], [fastest], rate)
        for load in loads
        for rate in (RATES if load.comparable(fastest) else RATES[:1])
    )


def _is_same_rate(loads: Sequence[LoadFacts], best: Sequence[LoadFacts], rate: Rate) -> bool:
    """Whether a throughput differs from the best by no more than both scatter: two standard errors."""
    (own, own_error), (highest, its_error) = (_total(each, rate) for each in (loads, best))
    spread = 2 * hypot(own_error, its_error)
    return own >= highest - max(SAME_THROUGHPUT * highest, min(_MAX_SCATTER_RATIO * highest, spread))


def _total(loads: Sequence[LoadFacts], rate: Rate) -> tuple[float, float]:
    """The rate of all directions, and the standard error of its mean."""
    rates = [(float(getattr(load, rate)), load.throughput_spread or 0.0) for load in loads]
    return sum(each for each, _ in rates), hypot(*(each * spread for each, spread in rates))


def _deciding_direction(judgements: Sequence[Judgement], step: str) -> Judgement:
    """The judgement of the direction in which a step's I/Os spend their time."""
    step_judgements = [j for j in judgements if j.load.step == step]
    most_in_flight = max(j.load.in_flight_measured for j in step_judgements)
    # In a mixed loop, the limited direction limits the other one, too, which then has too few I/Os in flight.
    alike = [j for j in step_judgements if j.load.in_flight_measured >= _SAME_IN_FLIGHT_RATIO * most_in_flight]
    limited = [j for j in alike if j.bottlenecks or j.kind == "generator_limited"]
    return max(limited or alike, key=lambda j: j.load.in_flight_measured)


def _in_flight(judgements: Sequence[Judgement]) -> dict[str, float]:
    """Step → I/Os in flight, both directions together."""
    totals: defaultdict[str, float] = defaultdict(float)
    for judgement in judgements:
        totals[judgement.load.step] += judgement.load.in_flight_measured
    return totals


def run_verdict(facts: Facts, judgements: Sequence[Judgement]) -> Verdict:
    """The verdict of the run, without curves, and without a headline unless there is nothing to judge."""
    if not judgements:
        reason, advice = _no_judgement(facts)
        return Verdict(
            kind="cannot_tell",
            grade="C",
            from_step="",
            headline=reason,
            bottlenecks=(),
            knee_in_flight=None,
            knee_below=None,
            r0=R0(None, None),
            next=None,
            decide_with=advice,
        )
    judgement = judgement_of_run(facts, judgements)
    lightest = lightest_judgement(facts, judgements, judgement)
    r0 = R0(None, None) if lightest is None else R0(lightest.load.latency_seconds, lightest.load.step)
    knee = judgement.load.ops_per_second * r0.seconds if r0.seconds and judgement.limiter else None
    alike = [j for j in judgements if j.load.comparable(judgement.load)]
    fewest = min(j.load.in_flight_measured for j in alike)
    below = fewest if judgement.limiter and knee is None else None
    return Verdict(
        kind=judgement.kind,
        grade=judgement.grade,
        from_step=judgement.load.step,
        headline="",
        bottlenecks=(
            *judgement.bottlenecks,
            *(b for j in limits_of_other_direction(facts, judgements, judgement) for b in j.bottlenecks),
        ),
        knee_in_flight=knee,
        knee_below=below,
        r0=r0,
        next=judgement.following,
        decide_with=judgement.experiment.in_words if judgement.experiment is not None else None,
        probability=judgement.probability,
        suspects=judgement.suspects,
        experiment=judgement.experiment,
        experiments=judgement.experiments,
    )


def verdicts_of_other_io(facts: Facts, judgements: Sequence[Judgement]) -> list[Verdict]:
    """One verdict for each kind of I/O that the deciding step does not run, in the order of the run; none for a
    probe, whose steps are experiments with one load."""
    if any(step.experiment for step in facts.steps):
        return []
    of_step: dict[str, list[Judgement]] = {}
    for judgement in judgements:
        of_step.setdefault(judgement.load.step, []).append(judgement)
    kinds: list[list[Judgement]] = []
    for own in of_step.values():
        alike = next((kind for kind in kinds if _is_same_io(kind[0], own)), None)
        if alike is None:
            kinds.append(own)
        else:
            alike += own
    decided = judgement_of_run(facts, judgements) if judgements else None
    return [run_verdict(facts, kind) for kind in kinds if decided not in kind]


def _is_same_io(judgement: Judgement, of_step: Sequence[Judgement]) -> bool:
    return any(judgement.load.comparable(other.load) for other in of_step)


def _no_judgement(facts: Facts) -> tuple[str, str]:
    """Why nothing can be judged, and what would help."""
    silent = max(facts.tables["source"].rows, key=lambda row: number(row, "unanswered_seconds"), default={})
    if not facts.loads and (device := silent.get("unanswered_device")):
        known = silent["unanswered_operations"]
        outstanding = "I/Os are" if known is None else counted(float(known), "I/O")
        figures = f"{outstanding} outstanding, none completed in {number(silent, 'unanswered_seconds'):.0f} s"
        return (
            f"device {device} answers no I/O: {figures}: nothing can be judged",
            "find out why it does not answer: the kernel's log of its host, its paths, and the storage behind it",
        )
    if not facts.loads and has_generator(facts.events):
        if any(event.name == "data-warning" and event.detail.get("code") == "trims" for _, event in facts.events):
            return (
                "the load only trimmed blocks, and trims are not read: nothing can be judged",
                "let the load read or write as well: only reads and writes are judged",
            )
        return (
            "the load generator was started and reported no I/O: nothing can be judged",
            "read the generator's own messages, in load/…/errors and load/…/output of the recording",
        )
    if not facts.loads and facts.load_windows:
        return (
            "no load was read with operations and their latency: nothing can be judged",
            "import a result that has both, such as fio's JSON or the text of DiskSpd -L; a bandwidth log has not",
        )
    if (load := next((load for load in facts.loads if load.is_impossible), None)) is not None:
        measured, configured = count(load.in_flight_measured), count(load.in_flight_configured or 0.0)
        figures = f"{measured} outstanding I/Os where {configured} were configured"
        reason = f"the figures of the load contradict each other, {figures}: nothing can be judged"
        return reason, "check units, and which jobs ran in the step"
    if any(step.origin == "marks" for step in facts.steps):
        longest = max(step.seconds for step in facts.steps)
        reason = (
            f"no step is long enough to be judged: the longest has {longest:.0f} s after its ramp, and contains no "
            "complete window"
        )
        return reason, "make each step at least four polls of the slowest source long, after its ramp"
    return _nothing_timed(facts)


def _nothing_timed(facts: Facts) -> tuple[str, str]:
    """Why nothing can be judged if neither a load nor a device with timed I/Os was read."""
    details = (event.detail for _, event in facts.events if event.name == "data-warning")
    advice = next((str(detail["advice"]) for detail in details if detail.get("advice")), None)
    if facts.busiest_device is None and advice is None:
        return (
            "no I/O of a load was recorded: nothing can be judged",
            "run a load that sanpath reads: sanpath run -- fio …",
        )
    if (
        facts.busiest_device is not None
        and facts.busiest_device.has_latency
        and facts.busiest_device.ops_per_second is not None
    ):
        return (
            f"{_device_traffic(facts, facts.busiest_device)}, too little to be a load: nothing can be judged",
            "record the devices again while the load runs",
        )
    reason = "the latency of reads and writes was not read: nothing can be judged"
    if facts.busiest_device is not None:
        reason = f"{_device_traffic(facts, facts.busiest_device)}; their latency was not read: nothing can be judged"
    return (
        reason,
        advice or "read the latency of its I/Os as well: iostat -xty 1 -o JSON, or a load that sanpath runs",
    )


def _device_traffic(facts: Facts, device: BusiestDevice) -> str:
    words = [f"{bandwidth(rate)} in {direction}s" for direction, rate in device.bytes_per_second.items()]
    rate = f", {iops(device.ops_per_second)}" if device.ops_per_second else ""
    return f"device {facts.topology.entities[device.entity].label} moved {join_names(words)}{rate}"


def limits_of_other_direction(facts: Facts, judgements: Sequence[Judgement], judgement: Judgement) -> list[Judgement]:
    """The other direction of the same step, if it has a limit of its own.

    A queue whose slots are mostly held by I/Os of the judged direction is none: these wait for their own limit, and
    hold fewer slots once it is relieved.
    """
    if judgement.limiter is None:
        return []
    limits = {(entity, b.direction) for b in judgement.bottlenecks for entity in b.elements}
    named = {entity for entity, _ in limits}
    return [
        j
        for j in judgements
        if j is not judgement
        and j.load.step == judgement.load.step
        and j.bottlenecks
        and not limits & {(b.entity, b.direction) for b in j.bottlenecks}
        and any(b.entity in named or not _is_held_by(facts, b.entity, judgement.load) for b in j.bottlenecks)
    ]


def _is_held_by(facts: Facts, entity: str, load: LoadFacts) -> bool:
    """Whether the I/Os of a load's direction hold most slots of a queue that both directions share."""
    rows = [row for row in facts.tables["plane"].select(entity=entity, step=load.step) if row["queue_depth"]]
    held = {row["direction"]: number(row, "in_flight_measured") for row in rows}
    return held.get(load.direction, 0.0) > sum(held.values()) / 2


def lightest_judgement(facts: Facts, judgements: Sequence[Judgement], judgement: Judgement) -> Judgement | None:
    """The step with the fewest of the same I/Os in flight: its latency is without a queue. None: it already had a
    full element."""
    alike = same_io(facts.loads, judgement.load)
    lightest = min((judgement, *(j for j in judgements if j.load in alike)), key=lambda j: j.load.in_flight_measured)
    if lightest.limit_probability >= _LIMIT_PROBABILITY or flat_beyond(facts.loads, lightest.load) is not None:
        return None
    return lightest

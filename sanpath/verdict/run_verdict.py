"""The verdict of the run from the judgements of all steps: knee, latency without a queue, next limit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import hypot

from sanpath.diagnosis.model import R0, Verdict
from sanpath.facts.facts import Facts
from sanpath.facts.load.load_events import has_generator
from sanpath.facts.load.loads import CLEARLY_MORE, SAME_THROUGHPUT, LoadFacts, flat_beyond
from sanpath.facts.load.untimed_devices import UntimedDevice
from sanpath.facts.sources import WINDOWS
from sanpath.model import START
from sanpath.units import bandwidth, count, in_series, iops
from sanpath.verdict.evidence.step import answered_by_memory
from sanpath.verdict.model import Judgement
from sanpath.verdict.places.scaling import same_io
from sanpath.verdict.places.set_limits import RATES, Rate

_MOST_SCATTER = 0.3
"""Throughputs that differ by a larger ratio are different, however few windows tell."""
_AS_DEEP = 0.9
"""Steps with at least this share of the most I/Os in flight are equally deep. Where they have as many in flight in
this direction, the total of both directions decides."""
_AS_MANY = 0.7
"""Directions of which one has at least this share of the other's I/Os in flight have about as many."""
_FREE = 0.5
"""A step with at least this probability of a limit does not show the latency without a queue."""


def deciding_of_run(facts: Facts, judgements: Sequence[Judgement]) -> Judgement:
    """The judgement that decides the verdict of the run; of a probe, that of the load as a person named it. Steps
    that memory answered tell nothing about the storage, where others do."""
    start = {step.name for step in facts.steps if step.experiment == START}
    of_start = [j for j in judgements if j.load.step in start] or judgements
    telling = [j for j in of_start if not answered_by_memory(facts, j.load)] or of_start
    found = deciding(telling)
    found = max([found, *_slowed(telling, found)], key=lambda j: (-ord(j.grade), j.probability))
    contradicting = _contradicting(facts, telling, found)
    return max(contradicting, key=lambda j: j.load.outstanding, default=found)


def _slowed(judgements: Sequence[Judgement], found: Judgement) -> list[Judgement]:
    """The judgements that find another limit in steps with more of the same I/Os and less throughput: something has
    changed in between, or more I/Os made it slower. The surest of them decides if it is surer than what was found."""
    return [j for j in _other_limits(judgements, found) if not _is_as_fast([j.load], [found.load])]


def _contradicting(facts: Facts, judgements: Sequence[Judgement], found: Judgement) -> list[Judgement]:
    """The judgements that find another limit at the same throughput, in steps that have ended, with more of the same
    I/Os outstanding. There is one limit where throughput is the same, and waits for it show more clearly with more
    I/Os, even if too few windows tell for a grade."""
    ended = {step.name for step in facts.steps if not step.is_open}
    others = _other_limits(judgements, found) if found.bottlenecks else ()
    return [j for j in others if j.load.step in ended and _is_as_fast([j.load], [found.load])]


def _other_limits(judgements: Sequence[Judgement], found: Judgement) -> list[Judgement]:
    """The judgements that find another limit, with clearly more of the same I/Os outstanding."""
    named = {element for bottleneck in found.bottlenecks for element in bottleneck.elements}
    return [
        other
        for other in judgements
        if other.load.comparable(found.load)
        and other.load.outstanding >= CLEARLY_MORE * found.load.outstanding
        and other.bottlenecks
        and all(named.isdisjoint(bottleneck.elements) for bottleneck in other.bottlenecks)
    ]


def deciding(judgements: Sequence[Judgement]) -> Judgement:
    """The judgement that decides for several steps, or directions of one.

    The step is the one with the highest throughput in one direction. Several count as equally fast that differ by
    up to 6 %, or by no more than their throughput scatters: then it is the one of those that every source saw for
    long enough, or else at all, with the most I/Os in flight. If the verdict of that step is undecided, another step
    with as many I/Os in flight decides that shows a limit, or that has a verdict at the same throughput. The
    direction is the one in which the I/Os of that step spend their time.
    """
    found = _deciding_direction(judgements, _fastest_step(judgements))
    if found.kind != "cannot_tell":
        return found
    in_flight = _in_flight(judgements)
    as_deep = [step for step in in_flight if in_flight[step] >= _AS_DEEP * in_flight[found.load.step]]
    others = [j for step in as_deep if (j := _deciding_direction(judgements, step)).kind != "cannot_tell"]
    loads = _loads_of_steps(judgements)
    telling = [j for j in others if j.bottlenecks or _is_as_fast(loads[j.load.step], loads[found.load.step])]
    return max(telling, key=lambda j: j.probability, default=found)


def _fastest_step(judgements: Sequence[Judgement]) -> str:
    """The step with the highest throughput in one direction, in bytes, or one that is as fast."""
    loads, in_flight = _loads_of_steps(judgements), _in_flight(judgements)
    highest = {step: max(load.bytes_per_second for load in loads[step]) for step in loads}
    best = max(highest, key=lambda step: highest[step])
    as_fast = [step for step in loads if _is_as_fast(loads[step], loads[best])]
    windows = {step: max(j.windows for j in judgements if j.load.step == step) for step in as_fast}
    seen_by_all = ([step for step in as_fast if windows[step] >= least] for least in (WINDOWS, 1))
    fastest = next(filter(None, seen_by_all), as_fast)
    most_in_flight = {step: max(load.in_flight_measured for load in loads[step]) for step in fastest}
    deepest = [s for s in fastest if most_in_flight[s] >= _AS_DEEP * max(most_in_flight.values())]
    return max(deepest, key=lambda step: (in_flight[step], highest[step]))


def _loads_of_steps(judgements: Sequence[Judgement]) -> dict[str, list[LoadFacts]]:
    loads: defaultdict[str, list[LoadFacts]] = defaultdict(list)
    for judged in judgements:
        loads[judged.load.step].append(judged.load)
    return loads


def _is_as_fast(loads: Sequence[LoadFacts], best: Sequence[LoadFacts]) -> bool:
    """Whether a step is as fast as the best: in bytes, or in operations where a mix of sizes makes bytes scatter.

    Of the same I/O, both directions together tell: more I/Os of one take from the other what both share. Else one
    direction tells.
    """
    if len(loads) == len(best) and all(any(load.comparable(other) for other in best) for load in loads):
        return any(_is_as_much(loads, best, rate) for rate in RATES)
    fastest = max(best, key=lambda load: load.bytes_per_second)
    return any(
        _is_as_much([load], [fastest], rate)
        for load in loads
        for rate in (RATES if load.comparable(fastest) else RATES[:1])
    )


def _is_as_much(loads: Sequence[LoadFacts], best: Sequence[LoadFacts], rate: Rate) -> bool:
    """Whether a throughput differs from the best by no more than both scatter: two standard errors."""
    (own, own_error), (highest, its_error) = (_total(each, rate) for each in (loads, best))
    spread = 2 * hypot(own_error, its_error)
    return own >= highest - max(SAME_THROUGHPUT * highest, min(_MOST_SCATTER * highest, spread))


def _total(loads: Sequence[LoadFacts], rate: Rate) -> tuple[float, float]:
    """The rate of all directions, and the standard error of its mean."""
    rates = [(float(getattr(load, rate)), load.throughput_spread or 0.0) for load in loads]
    return sum(each for each, _ in rates), hypot(*(each * spread for each, spread in rates))


def _deciding_direction(judgements: Sequence[Judgement], step: str) -> Judgement:
    """The judgement of the direction in which the I/Os of a step spend their time."""
    step_judgements = [j for j in judgements if j.load.step == step]
    most_in_flight = max(j.load.in_flight_measured for j in step_judgements)
    # The limited direction limits a mixed loop: the other one then has too few I/Os in flight.
    alike = [j for j in step_judgements if j.load.in_flight_measured >= _AS_MANY * most_in_flight]
    limited = [j for j in alike if j.bottlenecks or j.kind == "generator_limited"]
    return max(limited or alike, key=lambda j: j.load.in_flight_measured)


def _in_flight(judgements: Sequence[Judgement]) -> dict[str, float]:
    """Step → I/Os in flight, both directions together."""
    totals: defaultdict[str, float] = defaultdict(float)
    for judged in judgements:
        totals[judged.load.step] += judged.load.in_flight_measured
    return totals


def run_verdict(facts: Facts, judgements: Sequence[Judgement]) -> Verdict:
    """The verdict of the run, without its headline unless there is nothing to judge, and without curves."""
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
    judged = deciding_of_run(facts, judgements)
    lightest = lightest_judgement(facts, judgements, judged)
    r0 = R0(None, None) if lightest is None else R0(lightest.load.latency_seconds, lightest.load.step)
    knee = judged.load.ops_per_second * r0.seconds if r0.seconds and judged.limiter else None
    alike = [j for j in judgements if j.load.comparable(judged.load)]
    fewest = min(j.load.in_flight_measured for j in alike)
    below = fewest if judged.limiter and knee is None else None
    return Verdict(
        kind=judged.kind,
        grade=judged.grade,
        from_step=judged.load.step,
        headline="",
        bottlenecks=(
            *judged.bottlenecks,
            *(b for j in limits_of_other_direction(judgements, judged) for b in j.bottlenecks),
        ),
        knee_in_flight=knee,
        knee_below=below,
        r0=r0,
        next=judged.following,
        decide_with=judged.experiment.in_words if judged.experiment is not None else None,
        probability=judged.probability,
        suspects=judged.suspects,
        experiment=judged.experiment,
        experiments=judged.experiments,
    )


def verdicts_of_other_io(facts: Facts, judgements: Sequence[Judgement]) -> list[Verdict]:
    """One verdict for each kind of I/O that the deciding step does not do, in the order of the run; none of a probe,
    whose steps are experiments with one load."""
    if any(step.experiment for step in facts.steps):
        return []
    of_step: dict[str, list[Judgement]] = {}
    for judged in judgements:
        of_step.setdefault(judged.load.step, []).append(judged)
    kinds: list[list[Judgement]] = []
    for own in of_step.values():
        alike = next((kind for kind in kinds if _do_the_same(kind[0], own)), None)
        if alike is None:
            kinds.append(own)
        else:
            alike += own
    decided = deciding_of_run(facts, judgements) if judgements else None
    return [run_verdict(facts, kind) for kind in kinds if decided not in kind]


def _do_the_same(judged: Judgement, of_step: Sequence[Judgement]) -> bool:
    return any(judged.load.comparable(other.load) for other in of_step)


def _no_judgement(facts: Facts) -> tuple[str, str]:
    """Why nothing can be judged, and what would help."""
    if not facts.loads and has_generator(facts.events):
        return (
            "the load generator was started and reported no I/O: nothing can be judged",
            "read the generator's own messages, in load/…/errors and load/…/output of the recording",
        )
    if not facts.loads and facts.load_windows:
        return (
            "no operations with their latency were read of a load: nothing can be judged",
            "import a result that has both, as the JSON of fio; a log of bandwidth or of mean latencies has not",
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
    """Why nothing can be judged where no load was read, and no device whose I/Os are timed."""
    details = (event.detail for _, event in facts.events if event.name == "data-warning")
    advice = next((str(detail["advice"]) for detail in details if detail.get("advice")), None)
    if facts.untimed is None and advice is None:
        return (
            "no I/O of a load was recorded: nothing can be judged",
            "run a load that sanpath reads: sanpath run -- fio …",
        )
    if facts.untimed is not None and facts.untimed.has_latency:
        return (
            f"{_moved(facts, facts.untimed)}, too little to be a load: nothing can be judged",
            "record the devices again while the load runs",
        )
    reason = "how long reads and writes took was not read: nothing can be judged"
    if facts.untimed is not None:
        reason = f"{_moved(facts, facts.untimed)}; how long they took was not read: nothing can be judged"
    return (
        reason,
        advice or "read the latency of its I/Os as well: iostat -xty 1 -o JSON, or a load that sanpath runs",
    )


def _moved(facts: Facts, device: UntimedDevice) -> str:
    words = [f"{bandwidth(rate)} in {direction}s" for direction, rate in device.bytes_per_second.items()]
    rate = f", {iops(device.ops_per_second)}" if device.ops_per_second else ""
    return f"device {facts.topology.entities[device.entity].label} moved {in_series(words)}{rate}"


def limits_of_other_direction(judgements: Sequence[Judgement], judged: Judgement) -> list[Judgement]:
    """The other direction of the same step, where it has a limit of its own."""
    if judged.limiter is None:
        return []
    limits = {(entity, b.direction) for b in judged.bottlenecks for entity in b.elements}
    return [
        j
        for j in judgements
        if j is not judged
        and j.load.step == judged.load.step
        and j.bottlenecks
        and not limits & {(b.entity, b.direction) for b in j.bottlenecks}
    ]


def lightest_judgement(facts: Facts, judgements: Sequence[Judgement], judged: Judgement) -> Judgement | None:
    """The step with the fewest of the same I/Os in flight: its latency is without a queue.

    None: something was full in it already.
    """
    alike = same_io(facts.loads, judged.load)
    lightest = min((judged, *(j for j in judgements if j.load in alike)), key=lambda j: j.load.in_flight_measured)
    if lightest.limit_probability >= _FREE or flat_beyond(facts.loads, lightest.load) is not None:
        return None
    return lightest

"""Computes the probability of each claim about a load.

Four things count: the waits that a claim explains, how throughput scales, the evidence of readings, and the outcomes
of a probe's experiments. Each wait is a share of the time from its place to the end of the path. If a claim explains
a wait, any share is possible, and a larger one supports the claim more. A wait that it does not explain should be
small. A full host queue above the suspected place is full because of that place. The response of throughput to more
I/Os in flight separates a saturated element from a load that only lacks I/Os. Steps with the same throughput have the
same limit, so their evidence is combined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import exp, hypot, inf, log, prod
from statistics import fmean
from typing import NamedTuple

from sanpath.facts.load.loads import LoadFacts
from sanpath.verdict.evidence.likelihoods import UNEXPLAINED, normal_density
from sanpath.verdict.hypotheses import (
    array,
    array_limits,
    cores,
    data_sheet,
    drives,
    links,
    load,
    path_policy,
    pauses,
    pcie_lanes,
    processors,
    queues,
    retries,
    slow_drain,
    tcp_windows,
    unread_queues,
    unseen,
    virtual_disks,
)
from sanpath.verdict.hypotheses.claim import Claim
from sanpath.verdict.judgement.experiment_outcomes import outcome_score, outcomes
from sanpath.verdict.places.latency_segment import LatencySegment, Wait
from sanpath.verdict.places.table import PlaceTable

_Hypothesis = Callable[[PlaceTable], Iterable[Claim]]
HYPOTHESES: Sequence[_Hypothesis] = (
    links.claims,
    path_policy.claims,
    path_policy.of_non_optimised,
    pcie_lanes.claims,
    slow_drain.claims,
    pauses.claims,
    retries.claims,
    tcp_windows.claims,
    queues.claims,
    virtual_disks.claims,
    array.claims,
    array_limits.claims,
    data_sheet.claims,
    load.claims,
    processors.claims,
    cores.claims,
    drives.claims,
    unread_queues.claims,
    unseen.claims,
)
"""All modules that make claims. To add a hypothesis, write its module and list it here."""

_FIXED_PROBABILITY, _FIXED_TRANSFER_PROBABILITY = 0.5, 0.07
"""Probability that the time between two clocks, if it is the same for any number of I/Os in flight, is not waiting:
distance, adapters, interrupts. For a transfer that the array times, it can only be distance."""
_FIXED_NEAR_PROBABILITY = 0.15
"""The same if the distance is measured. What remains is adapters, interrupts, and a target that needs a fixed time
before its own clock starts, such as a mirror."""
_LONG_FIXED_SECONDS = 1e-3
"""Seconds of a fixed, unmeasured time beyond which its odds fall: 100 km of fibre and back (200,000 km/s), beyond
which no array mirrors writes."""
_MAX_PROCESSOR_WAIT_SHARE = 0.5
"""Largest addition of waits for busy processors to that share."""
_AT_KNEE_DENSITY = 0.15
"""Probability density of no wait at a place that limits: the load is just at the knee."""
_NO_WAIT = 0.01
"""The same if throughput does not saturate, and if I/Os wait behind stalled frames: sanpath's own choice."""
_HIDDEN_WAIT = 0.5
"""Probability that a wait shows nowhere, for a claim whose wait may be where no clock measures."""
COUNTER_WEIGHT = 2.0
"""Log-likelihood ratio from which a reading is evidence on its own."""
_HIDDEN_IN_FLUSH = 0.5
"""Probability that the wait is in a flush of the file cache, which no clock splits, for a claim with a counter at its
limit. Without one, a flush takes its usual time. sanpath's own choice."""
_FULL_PROBABILITY_DEPTH_UNKNOWN = 0.8
"""Probability that a queue of unknown depth above a saturated place is full."""
_FULL_BY_BELOW_PROBABILITY, _HALF_PROBABILITY_RATIO, _STEP_WIDTH = 0.95, 0.75, 0.05
"""Probability that a queue with all slots in use is full because of what is below it; share of slots in use at which
half of that is left; and width of this logistic step. sanpath's own choices."""
_COST_DENSITY, _SMALL_COST_DENSITY = 1.5, 3.0
"""Density of a cost that is independent of load: as a multiple of its share of the time, and of the square of that
share, whichever is smaller. sanpath's own choices: they meet at half of the time."""
_MIN_DENSITY = 1e-4
"""Smallest density: any wait may be a clock's mistake."""
_SLOPE_ERROR = 0.1
"""Standard error of an elasticity between a step and one with twice the I/Os in flight."""
_FALLING = -0.1
"""Elasticity below which throughput clearly falls with more I/Os in flight: sanpath's own choice."""
_THRASHING_DENSITY = 0.1
"""Density of a clear fall of throughput since fewer I/Os were in flight, at a place that limits: sanpath's own
choice."""
_FALL_DENSITY, _REPEATED_FALL_DENSITY = 0.05, 0.0005
"""Density of a clear fall of throughput with more I/Os: once, whatever limits with fewer, because something may have
begun in between; and for a load that lacks I/Os, if it falls each time: then the additional I/Os cause it. sanpath's
own choices."""
_SAME_PLATEAU_ERROR = 0.06
"""Difference of the logarithms of two throughputs up to which they probably have the same limit."""
_MIN_PLATEAU_WEIGHT = 0.01
"""Steps with a smaller weight are ignored: sanpath's own choice, for computing time."""
_REPEATED_WEIGHT = 0.25
"""Weight of another step of the same plateau, because its evidence is not independent."""
_LOG_ODDS_SCALE = 0.8
"""Factor on the log-odds, because readings depend on each other. Fitted to the reliability of the verdicts on the
drawn cases."""


_Key = tuple[str, str, str, str | _Hypothesis, frozenset[int]]
"""Identifies a claim in other steps. A claim that names nothing is identified by its hypothesis."""


class _Full(NamedTuple):
    """A queue that may be full because of what is below it. `probability`: that it is; `density`: the same times the
    density of its wait then; `score`: log-likelihood of the I/Os in its slots then, at least 0."""

    probability: float = 0.0
    density: float = 0.0
    score: float = 0.0


class _Scored(NamedTuple):
    """A claim with its log-likelihood from one step alone: by its readings, by where I/Os wait, by full queues."""

    claim: Claim
    readings: float
    waiting: float
    slots: float

    @property
    def log_odds(self) -> float:
        """The sum of all, including its prior."""
        return self.claim.prior + self.readings + self.waiting + self.slots


def rank_claims(tables: Sequence[PlaceTable]) -> list[list[Claim]]:
    """The claims about each table, the most probable first."""
    scored = [_scored(table) for table in tables]
    return [_posterior(i, tables, scored) for i in range(len(tables))]


def _scored(table: PlaceTable) -> dict[_Key, _Scored]:
    """The claims about a table with their scores. Of two claims that are the same for different reasons, the better
    supported one stands: they are one explanation."""
    # A clock whose service time may include the wait shows no wait. It only shows how usual its time is.
    idle = [
        segment.service_likelihood
        if segment.hidden_wait_probability
        else _idle_density(segment, segment.wait, table.processor_wait_seconds)
        for segment in table.segments
    ]
    full = _full_queues(table)
    best: dict[_Key, _Scored] = {}
    for hypothesis in HYPOTHESES:
        for claim in hypothesis(table):
            key = (claim.verdict, claim.kind, claim.place, claim.entity or hypothesis, claim.explains)
            readings = sum(evidence.weight for evidence in claim.evidence if not evidence.about_slots)
            slots = sum(evidence.weight for evidence in claim.evidence if evidence.about_slots)
            slots += _full_queues_score(claim, full)
            in_flush = _HIDDEN_IN_FLUSH * _flush_ratio(table) if readings >= COUNTER_WEIGHT else 0.0
            scored = _Scored(claim, readings, _wait_density(table, claim, idle, full, in_flush), slots)
            if key not in best or scored.log_odds > best[key].log_odds:
                best[key] = scored
    return best


def _posterior(i: int, tables: Sequence[PlaceTable], scored: Sequence[Mapping[_Key, _Scored]]) -> list[Claim]:
    table = tables[i]
    # After a virtual machine moved, its earlier steps are not among this table's.
    same_io = {_identity(load) for load in table.same_io}
    same_plateau = [
        (weight, other.load.in_flight_measured > table.load.in_flight_measured, other_claims)
        for other, other_claims in zip(tables, scored, strict=True)
        if _identity(other.load) in same_io
        and (weight := _same_plateau(table.load, other.load)) > _MIN_PLATEAU_WEIGHT
    ]
    probed = list(outcomes(table))
    logits = []
    for key, own in scored[i].items():
        readings, waiting = [(1.0, own.readings)], [(1.0, own.waiting)]
        for weight, has_more_in_flight, other_claims in same_plateau:
            if key in other_claims:
                other = other_claims[key]
                readings.append((weight, other.readings))
                # Waits show more clearly with more I/Os in flight: a step with fewer adds nothing.
                waiting += [(weight, other.waiting)] if has_more_in_flight else []
        score = _pooled_score(readings) + _pooled_score(waiting) + own.slots + _scaling_score(table, own.claim)
        score += outcome_score(probed, own.claim)
        logits.append(_LOG_ODDS_SCALE * (own.claim.prior + score))
    top = max(logits, default=0.0)
    shares = [exp(logit - top) for logit in logits]
    total = sum(shares)
    claims = [replace(own.claim, probability=s / total) for own, s in zip(scored[i].values(), shares, strict=True)]
    return sorted(claims, key=lambda claim: -claim.probability)


def _pooled_score(weighted_scores: Sequence[tuple[float, float]]) -> float:
    """The mean of (weight, log-likelihood) pairs of several steps. More steps raise it a little."""
    total_weight = sum(weight for weight, _ in weighted_scores)
    mean = sum(weight * score for weight, score in weighted_scores) / total_weight
    return mean * (1 + _REPEATED_WEIGHT * (total_weight - 1))


def _identity(load: LoadFacts) -> tuple[str, str, tuple[str, ...]]:
    return load.step, load.direction, load.roots


def _same_plateau(load: LoadFacts, other: LoadFacts) -> float:
    """Probability that another step of the same I/O has the same limit, 0 to 1: the same throughput, with more or
    fewer I/Os in flight."""
    distance = log(other.ops_per_second / load.ops_per_second) / _SAME_PLATEAU_ERROR
    ratio = abs(log(other.in_flight_measured / load.in_flight_measured))
    return exp(-(distance**2)) * min(1.0, ratio / log(2.0))


def _full_queues(table: PlaceTable) -> list[_Full]:
    """The queue in each segment. Between the clocks of host and array, an unread queue may be full."""
    found = []
    unread, probability_of_unread, weight = unread_queues.full_above_array(table)
    for index, segment in enumerate(table.segments):
        if index in unread:
            probability = _FULL_BY_BELOW_PROBABILITY * probability_of_unread
            found.append(_Full(probability, probability, probability * max(0.0, weight)))
        else:
            probability = _full_because_of_below(segment)
            density = probability * exp(queues.fullness(table, segment))
            found.append(_Full(probability, density, _slots_score(table, segment, probability)))
    return found


def _full_queues_score(claim: Claim, full: Sequence[_Full]) -> float:
    """Log-likelihood of the full queues above the suspected place. They are as probably full as if they limited
    themselves: I/Os that wait for a time-out or for credit fill them like queued I/Os."""
    above = full[: max(claim.explains, default=0)]
    return sum(queue.score for index, queue in enumerate(above) if index not in claim.may_explain)


def _slots_score(table: PlaceTable, segment: LatencySegment, full_probability: float) -> float:
    """Log-likelihood of the slots in use of a queue that is read, if it is full because of what is below it."""
    if segment.queue is None or not segment.filled_ratio:
        return 0.0
    if (weight := queues.slots_weight(segment.filled_ratio, segment.queue)) <= 0:
        return 0.0
    is_at_knee = not segment.queue.holds_back and queues.is_at_knee(table, segment.queue)
    return weight * (1.0 if is_at_knee else full_probability)


def _wait_density(
    table: PlaceTable, claim: Claim, idle: Sequence[float], full: Sequence[_Full], in_flush: float
) -> float:
    """Logarithm of the probability density of the waits, if the claim holds.

    `idle`: the density of the wait at each segment if that segment does not limit. `full`: the queue there.
    `in_flush`: probability that the wait passes in a flush that no clock splits.
    """
    if claim.verdict == "demand_limited" and claim.growth == "any":
        # The time of an I/O does not depend on the requested rate: it may be slow nowhere, at one place, or at
        # several.
        one_place_slow = fmean(prod(idle) / density for density in idle)
        return log((prod(idle) + one_place_slow + prod((density + 1) / 2 for density in idle)) / 3)
    lowest = max(claim.explains, default=-1)
    explained_seconds = sum(table.segments[index].wait[1] for index in claim.explains)
    total = 0.0
    for index, segment in enumerate(table.segments):
        if index in claim.may_explain:
            # Commands wait behind stalled frames about as long as those do. Without stalled frames they do not wait.
            longer = max(0.0, segment.wait[1] - explained_seconds) if claim.growth != "saturates" else 0.0
            behind = exp(-segment.share(longer) / UNEXPLAINED) / 2
            total += log(behind * _limiting_density(segment, segment.wait, _NO_WAIT) + (1 - behind) * idle[index])
        elif index not in claim.explains:
            queue = full[index] if index < lowest else _Full()
            total += log(queue.density + (1 - queue.probability) * idle[index])
    if not claim.explains:
        return total
    explained = [table.segments[index] for index in claim.explains]
    visible = [segment for segment in explained if not segment.hidden_wait_probability]
    waits = [[segment.independent_wait if claim.independent_of_load else segment.wait for segment in visible]]
    if claim.growth == "saturates":
        # The element is full of the test's own I/Os, or of others' I/Os as well.
        waits.append([segment.own_wait for segment in visible])
    densities = [
        _idle_density(segment, wait, table.processor_wait_seconds)
        for segment, wait in zip(visible, waits[0], strict=True)
    ]
    in_segments = (segment.hidden_wait_probability for segment in explained)
    hidden = max(in_flush, _HIDDEN_WAIT if claim.hidden else 0.0, *in_segments)
    shown = fmean(_shown_density(visible, each, densities, claim) for each in waits)
    shown *= prod(segment.service_likelihood for segment in explained if segment.hidden_wait_probability)
    if claim.independent_of_load:
        # The claim takes no capacity from other I/Os: below full queues, a cost of a few percent of the time limits
        # nothing.
        seconds = sum(s.middle for s in table.segments if s.queue is None or not s.queue.holds_back)
        cost = min(1.0, sum(segment.independent_wait[1] for segment in explained) / (seconds or inf))
        shown *= _MIN_DENSITY + min(_COST_DENSITY * cost, _SMALL_COST_DENSITY * cost**2)
    return total + log((1 - hidden) * shown + hidden * prod(densities))


def _flush_ratio(table: PlaceTable) -> float:
    """Share of the load's cycle in which it waits for the flush of writes that ended in a file cache: they reach the
    storage then, and no clock splits this time. 0: the load writes to the device itself."""
    load = table.load
    if load.direction != "write" or table.facts.row_of(load)["direct"] is not False:
        return 0.0
    return 1 - load.latency_seconds / load.cycle_seconds


def _shown_density(
    segments: Sequence[LatencySegment], waits: Sequence[Wait], idle: Sequence[float], claim: Claim
) -> float:
    """Probability density of the waits at the segments that a claim explains, if the waits show there.

    They show in one segment, or are spread over several. A claim that is independent of load shows in the latency, or
    it limits nothing. `idle`: the density at each of them if it does not limit.
    """
    at_knee = _AT_KNEE_DENSITY if claim.growth == "saturates" else _NO_WAIT
    pairs = list(zip(segments, waits, strict=True))
    likely = min(1.0, sum(segment.share(wait[1]) for segment, wait in pairs))
    density = fmean(
        _limiting_density(segment, wait, at_knee) * prod(idle) / own
        for (segment, wait), own in zip(pairs, idle, strict=True)
    )
    if len(pairs) > 1:
        density = (density + _share_density(likely, at_knee)) / 2
    return density


def _full_because_of_below(segment: LatencySegment) -> float:
    """Probability that a queue is full, so that the place below it causes its wait. A queue that admits every offered
    I/O holds nothing back. A queue of unknown depth is less probably full."""
    if segment.queue is None or not segment.queue.holds_back:
        return 0.0
    if segment.filled_ratio is None:
        return _FULL_PROBABILITY_DEPTH_UNKNOWN
    return _FULL_BY_BELOW_PROBABILITY / (1 + exp(-(segment.filled_ratio - _HALF_PROBABILITY_RATIO) / _STEP_WIDTH))


def _idle_density(segment: LatencySegment, wait: Wait, processor_wait_seconds: float) -> float:
    """Probability density of the wait at a place that does not limit: an exponential distribution.
    `processor_wait_seconds`: seconds that an I/O may wait for processors, here or elsewhere."""
    means = UNEXPLAINED, UNEXPLAINED + min(_MAX_PROCESSOR_WAIT_SHARE, segment.share(processor_wait_seconds))
    fixed = _fixed_probability(segment, wait)
    density = sum(
        probability * weight * exp(-share / mean) / mean / len(means)
        for probability, possible in ((fixed, segment.own_wait), (1 - fixed, wait))
        for share, weight in segment.possible_shares(possible)
        for mean in means
    )
    # I/Os that do not pass it do not wait in it.
    return _MIN_DENSITY + segment.passing_ratio * density + (1 - segment.passing_ratio) / UNEXPLAINED


def _fixed_probability(segment: LatencySegment, wait: Wait) -> float:
    """Probability that a time which is the same with fewer I/Os in flight is not waiting. A measured distance
    accounts for no more than it takes."""
    fixed_seconds = max(0.0, wait[1] - segment.own_wait[1])
    # Commands and responses cross a distance as well.
    both_ways = min(1.0, segment.other_way_seconds / fixed_seconds) if fixed_seconds > 0 else 1.0
    if segment.distance is None:
        fixed = both_ways * (_FIXED_TRANSFER_PROBABILITY if segment.is_timed_transfer else _FIXED_PROBABILITY)
        # A time that includes service may have any usual length.
        return fixed if segment.includes_service else fixed / (1 + fixed_seconds / _LONG_FIXED_SECONDS)
    if segment.is_timed_transfer:
        return _FIXED_TRANSFER_PROBABILITY
    far = min(1.0, (segment.distance[1] - segment.distance[0]) / fixed_seconds) if fixed_seconds > 0 else 1.0
    return _FIXED_NEAR_PROBABILITY + (_FIXED_PROBABILITY - _FIXED_NEAR_PROBABILITY) * far


def _limiting_density(segment: LatencySegment, wait: Wait, at_knee: float) -> float:
    """Probability density of the wait at a place that limits."""
    shares = segment.possible_shares(wait)
    return segment.filled_odds * sum(weight * _share_density(share, at_knee) for share, weight in shares)


def _share_density(share: float, at_knee: float) -> float:
    """Probability density of a share of waiting at a place that limits. The share is 1 - knee / in flight, and tests
    go well past the knee."""
    return at_knee + 2 * (1 - at_knee) * share


def _scaling_score(table: PlaceTable, claim: Claim) -> float:
    """Log-likelihood of the slopes of throughput, if the claim holds.

    Throughput that grows faster than the I/Os in flight also shows no limit: it counts as following them. Both
    densities are mixtures. One part is normal around 0 or 1: the elasticity of a plateau, or of a load without
    queues. The other is uniform over everything in between, because a load may be at its knee in one of the steps.
    The weights are sanpath's own choice. A plateau almost certainly continues with more I/Os (0.9 of its mass), and
    may begin anywhere with fewer (0.4). Growth without queues may end anywhere with more (0.4), and hardly with fewer
    (0.95). The rest is for steps that do not repeat, and for throughput that falls with more I/Os: that is not a
    plateau.
    """
    score = 0.0
    if (slope := table.towards_more) is not None:
        # Throughput repeats only to a few percent, however many more I/Os are in flight.
        doublings = log(slope.other_load.outstanding / table.load.outstanding) / log(2.0)
        elasticity, error = min(1.0, slope.elasticity), hypot(slope.error, _SLOPE_ERROR / max(1.0, doublings))
        # A full element divides its throughput among its users. With more I/Os the test takes from others: at most
        # their share (first come, first served), and nothing if they need a fixed rate.
        flat = 0.9 * fmean(normal_density(elasticity, mean, error) for mean in _taken_elasticities(claim))
        flat += 0.01 if elasticity >= _FALLING else _FALL_DENSITY
        falls = _REPEATED_FALL_DENSITY if table.falls_each_time(slope.other_load) else _FALL_DENSITY
        follows = 0.4 * normal_density(elasticity, 1.0, error + 0.05) + (0.5 if elasticity >= _FALLING else falls)
        score += log(_by_growth(claim, flat, follows))
    if (slope := table.towards_fewer) is not None:
        elasticity, error = min(1.0, slope.elasticity), hypot(slope.error, _SLOPE_ERROR)
        flat = 0.4 * fmean(normal_density(elasticity, mean, 2 * error) for mean in _taken_elasticities(claim))
        flat += 0.5 if elasticity >= _FALLING else _THRASHING_DENSITY
        # Far from any limit, more I/Os do not make an I/O slower.
        exactly = normal_density(elasticity, 1.0, slope.error)
        follows = 0.95 * (exactly + normal_density(elasticity, 1.0, error + 0.05)) / 2
        # Something may have begun since then. More I/Os do not make a load that lacks them thrash, hence only half.
        follows += 0.004 if elasticity >= _FALLING or table.falls_each_time(slope.other_load) else _FALL_DENSITY / 2
        score += log(_by_growth(claim, flat, follows))
    return score


def _taken_elasticities(claim: Claim) -> Sequence[float]:
    """Density of the elasticities of a full element that others also use: each is equally probable."""
    return 0.0, claim.others_share / 2, claim.others_share


def _by_growth(claim: Claim, flat: float, follows: float) -> float:
    """The density that a claim implies: that of flat throughput, or of growing throughput."""
    return {"saturates": flat, "follows": follows}.get(claim.growth, (flat + follows) / 2)

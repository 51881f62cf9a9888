"""What the verdict means for throughput and latency, in one line."""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose
from operator import attrgetter

from sanpath.diagnosis.model import Bottleneck, CurvePoint, Diagnosis, DirectionResult, ElementUse, StepResult
from sanpath.facts.load.loads import FLAT
from sanpath.facts.samples.slow_windows import STALLS_MATTER
from sanpath.facts.storage.load_volumes import SHARED
from sanpath.facts.table import WHOLE_RUN
from sanpath.summary.busy_processors import busy_words
from sanpath.summary.names import QUEUES, readable
from sanpath.summary.step_figures import (
    block_size_words,
    in_flight,
    is_single_direction,
    main_direction,
    time_in_array,
    use_of,
)
from sanpath.topology.names import in_words
from sanpath.units import count, counted, duration, iops, join_names, percent, percent_rounded

_LIGHTER_RATIO = 0.7
"""Ratio of outstanding I/Os up to which a load is clearly lighter than another: sanpath's own choice."""
_SAME_IN_FLIGHT = 0.1
"""Relative difference up to which two numbers of outstanding I/Os count as the same: sanpath's own choice."""
_MUCH_SLOWER_RATIO = 0.7
"""Ratio of throughputs up to which a slower repetition gets a sentence beside the verdict: sanpath's own choice."""


def consequence(diagnosis: Diagnosis, step: StepResult) -> str | None:
    """Throughput and latency at the outstanding I/Os, and other hosts' share of what limits."""
    verdict = diagnosis.verdict
    first = verdict.bottlenecks[0] if verdict.bottlenecks else None
    # A link may be full in the other direction than the load's.
    direction = first.direction if first is not None and first.direction in step.directions else main_direction(step)
    result = step.directions.get(direction)
    if result is None:
        return None
    if first is not None and first.slows_below(result.ops_per_second):
        slow = iops(first.ceiling_ops_per_second or 0.0)
        return f"{iops(result.ops_per_second)} on average, {slow} once it slows down."
    words = _littles_law(step, direction, result) + _flush_words(step)
    if (stalls := result.stalls) is not None and stalls.lost_ratio >= STALLS_MATTER:
        cost = percent(stalls.lost_ratio)
        words += f". Between stalls it reaches {iops(stalls.ops_otherwise)}: the stalls cost {cost} of the throughput"
    if first is not None and (flat_words := _flat_words(diagnosis, step, direction)) is not None:
        words = flat_words
    if first is not None:
        words += "".join(f". {sentence}" for sentence in _at_the_limit(diagnosis, first, step))
    if busy := busy_words(diagnosis):
        words += f". {busy}"
    doubt = _doubt(diagnosis, step)
    slower = _slower_repetition(diagnosis, step, direction)
    if slower is not None and f"(step {slower.step}," not in doubt:
        words += f". The same load reached {iops(slower.ops_per_second)} in step {slower.step}"
    if doubt:
        words += f". {doubt}"
    return f"{words}."


def _at_the_limit(diagnosis: Diagnosis, first: Bottleneck, step: StepResult) -> Iterator[str]:
    """Yield sentences about the limit: the share of other users, the cost of retries, what else is saturated."""
    if (foreign_share := _foreign_share(use_of(diagnosis, first.entity, first.direction))) >= SHARED:
        # The test's own host may move them: in a thin pool, a mirror, a backup.
        yield f"{percent_rounded(foreign_share)} of the link's bytes are not the test's"
    if (share := _share_of_other_hosts(diagnosis, first, step)) >= SHARED:
        moved = "written to" if first.direction == "write" else "read from"
        where = "the volume" if first.entity.startswith("volume:") else "the array"
        yield f"Other hosts move {percent_rounded(share)} of the bytes {moved} {where}"
    if first.kind == "retries" and first.explains and first.direction in step.directions:
        seen, latency = in_words(first.because[0]), step.directions[first.direction].latency_seconds.mean
        lost = f"{duration(first.explains * latency)} of {duration(latency)}"
        yield f"{seen[:1].upper()}{seen[1:]}: retries take {lost}"
    inside, of_limits, total = time_in_array(diagnosis, step, first.direction)
    if of_limits > total / 2:
        yield f"I/Os wait {duration(of_limits)} of {duration(total)} for the limit"
    elif first.layer.startswith("array") and first.kind != "link" and inside > total / 2:
        yield f"I/Os spend {duration(inside)} of {duration(total)} in the array"
    if also := _also_saturated(first) or _without_credit(diagnosis, first):
        yield also


def _doubt(diagnosis: Diagnosis, step: StepResult) -> str:
    """Why the step's figures are in doubt, as a sentence: the severest of several reasons. A severe reason from
    another step is given with that step's throughput. "": nothing makes the figures doubtful."""
    hits = [finding for finding in diagnosis.findings if finding.role == "validity" and finding.outcome == "hit"]
    severe = [finding for finding in hits if finding.severity == "high"]
    of_step = [finding.title for finding in severe if step.name in finding.steps]
    of_others = [
        f"{finding.title} (step {other.name}, {iops(other.ops_per_second)})"
        for finding in severe
        for other in diagnosis.steps
        if other.name in finding.steps
    ]
    of_run = [finding.summary for finding in severe if WHOLE_RUN in finding.steps]
    slight = [finding.title for finding in hits if step.name in finding.steps]
    return next(iter((*of_step, *of_others, *of_run, *slight)), "")


def _slower_repetition(diagnosis: Diagnosis, step: StepResult, direction: str) -> CurvePoint | None:
    """The slowest step with the same number of outstanding I/Os of the same kind. None: none is clearly slower."""
    for curve in diagnosis.verdict.curves:
        own = next((point for point in curve.points if point.step == step.name), None)
        if curve.direction == direction and own is not None:
            repeated = {other.name for other in diagnosis.steps if _is_repetition(other, step)}
            alike = (
                point
                for point in curve.points
                if point.step in repeated and isclose(point.in_flight, own.in_flight, rel_tol=_SAME_IN_FLIGHT)
            )
            slowest = min(alike, key=attrgetter("ops_per_second"))
            return slowest if slowest.ops_per_second <= _MUCH_SLOWER_RATIO * own.ops_per_second else None
    return None


def _is_repetition(other: StepResult, step: StepResult) -> bool:
    """Whether a step has the configured outstanding I/Os and the directions of another one, or is that step."""
    return (
        other.in_flight.configured == step.in_flight.configured and other.directions.keys() == step.directions.keys()
    )


def _flat_words(diagnosis: Diagnosis, step: StepResult, direction: str) -> str | None:
    """Words for more outstanding I/Os that add only latency. None: no other step shows it."""
    for curve in diagnosis.verdict.curves:
        point = next((candidate for candidate in curve.points if candidate.step == step.name), None)
        if curve.direction != direction or point is None:
            continue
        equally_fast = [
            candidate
            for candidate in curve.points
            if abs(candidate.ops_per_second / point.ops_per_second - 1) <= FLAT
        ]
        low = min(equally_fast, key=attrgetter("in_flight"))
        high = max(equally_fast, key=attrgetter("in_flight"))
        if low.in_flight <= _LIGHTER_RATIO * high.in_flight and low.latency_seconds < high.latency_seconds:
            noun = "I/Os" if is_single_direction(step, direction) else f"{direction}s"
            return (
                f"From {count(low.in_flight)} to {count(high.in_flight)} outstanding {noun}, throughput stays at "
                f"{iops(point.ops_per_second)}{block_size_words(step.directions[direction])} and latency grows from "
                f"{duration(low.latency_seconds)} to {duration(high.latency_seconds)}"
            )
    return None


def _littles_law(step: StepResult, direction: str, result: DirectionResult) -> str:
    """Little's law with its numbers."""
    latency = result.latency_seconds.mean
    is_single = is_single_direction(step, direction)
    noun, seconds, place = "I/O" if is_single else direction, duration(latency), ""
    if step.seen_at_array:
        seconds, place = f"{seconds} by the array's clock", " there"
    outstanding = counted(result.ops_per_second * latency, f"outstanding {noun}") + place
    if is_single:
        return f"{iops(result.ops_per_second)}{block_size_words(result)} at {seconds} with {outstanding}"
    total = iops(step.ops_per_second)
    rate = f"{result.ops_per_second:,.0f} of {total} are {direction}s{block_size_words(result)}"
    return f"{rate}, at {seconds} with {outstanding}"


def _flush_words(step: StepResult) -> str:
    """Words for the flushes of each I/O; "" if they take less time than the I/Os."""
    flushes, ops = step.in_flight.flushes, step.ops_per_second
    return f"; its flushes take {duration(flushes / ops)}" if flushes > in_flight(step) and ops else ""


def _also_saturated(first: Bottleneck) -> str:
    """Words for links, or queues in series, that are also saturated; "" for none. Relieving only one of them gains
    next to nothing."""
    in_series = [each for each in first.coincident if _level(each) != _level(first.entity)]
    if first.kind in QUEUES and in_series:
        names = join_names([readable(each) for each in in_series])
        are, all_of_them = ("is", "both") if len(in_series) == 1 else ("are", "all")
        return f"{names} {are} full as well: relieve {all_of_them}"
    if first.kind != "link" or not first.coincident or first.is_one_of_several:
        return ""
    if len(first.coincident) == 1:
        return f"{readable(first.coincident[0])} is saturated as well: relieve both"
    return f"{len(first.coincident)} more links are saturated as well: relieve all"


def _level(queue: str) -> tuple[str, str]:
    """The kind and the machine of a queue. Queues of one level are parallel: an I/O passes one of them.

    >>> _level("lun:sqlvm1/sda") == _level("lun:sqlvm1/sdb"), _level("lun:sqlvm1/sda") == _level("lun:esx7/naa.61")
    (True, False)
    """
    kind, _, name = queue.partition(":")
    return kind, name.partition("/")[0]


def _without_credit(diagnosis: Diagnosis, first: Bottleneck) -> str:
    """Words for the time in which a switch may not send to the device that slows the others down; "" if not
    counted."""
    ratios = [
        ratio
        for finding in diagnosis.findings
        if finding.entity == first.entity
        and isinstance(ratio := finding.evidence.get("credit_stall_ratio"), float)
        and first.kind == "credit_stall"
    ]
    if not ratios:
        return ""
    others = [readable(link) for link in first.coincident]
    as_well = f"; {join_names(others)} {'waits' if len(others) == 1 else 'wait'} as long" if others else ""
    return f"The switch has no credit to send to the device {percent_rounded(max(ratios))} of the time{as_well}"


def _share_of_other_hosts(diagnosis: Diagnosis, first: Bottleneck, step: StepResult) -> float:
    """The share of a limiting array's or volume's bytes in the direction of the limit that other hosts move.

    0.0: none, or not known."""
    ratios = [
        ratio
        for finding in diagnosis.findings
        if (finding.outcome, finding.entity, finding.direction) == ("hit", first.entity, first.direction)
        if step.name in finding.steps
        if isinstance(ratio := finding.evidence.get("other_hosts_ratio"), float)
    ]
    return max(ratios, default=0.0)


def _foreign_share(use: ElementUse | None) -> float:
    if use is None or not use.foreign_bytes_per_second or not use.bytes_per_second:
        return 0.0
    return use.foreign_bytes_per_second / use.bytes_per_second

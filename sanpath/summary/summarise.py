"""The summary of a diagnosis: verdict, consequence, acquittal, path, first action and its gain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sanpath.diagnosis.model import Bottleneck, Cleared, Diagnosis, DirectionResult, ElementUse, PlanStep, StepResult
from sanpath.diagnosis.summary import Summary
from sanpath.facts.load.loads import FLAT
from sanpath.rulebook.model import Finding
from sanpath.summary.names import noun, readable, with_owner
from sanpath.summary.path import summary_path
from sanpath.topology.identity import Topology
from sanpath.units import (
    bandwidth,
    count,
    counted,
    duration,
    iops,
    kibibytes,
    outstanding,
    percent_likely,
    percent_rounded,
)

_FEWER = 0.7
"""A step has clearly fewer I/Os in flight than another one up to this ratio."""
_FULL = 0.8
_FOREIGN_SHARE = 0.05
"""From this share of a link's bytes, those of other hosts are mentioned."""
_SINGLE_DIRECTION = 0.99
"""A direction with at least this share of the operations represents the test."""


def summary(diagnosis: Diagnosis, topology: Topology) -> Summary:
    """The first screen. Everything in it is also in the diagnosis, with its evidence."""
    path, off_path, other_paths = summary_path(diagnosis, topology)
    step = next((candidate for candidate in diagnosis.steps if candidate.name == diagnosis.verdict.from_step), None)
    action, number, gain = _action(diagnosis, step)
    if step is None:
        return Summary(
            _no_verdict(diagnosis), diagnosis.verdict.headline, None, path, off_path, other_paths, action, number
        )
    return Summary(
        _sentence(_verdict(diagnosis, topology, step)),
        _consequence(diagnosis, step),
        _acquittal(diagnosis, step),
        path,
        off_path,
        other_paths,
        action,
        number,
        gain,
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}" if text.startswith(("link ", "something ")) else text


def _no_verdict(diagnosis: Diagnosis) -> str:
    reason = diagnosis.verdict.headline.partition(":")[0]
    return f"{reason[:1].upper()}{reason[1:]}"


def _verdict(diagnosis: Diagnosis, topology: Topology, step: StepResult) -> str:
    verdict = diagnosis.verdict
    first = verdict.bottlenecks[0] if verdict.bottlenecks else None
    reached = iops(sum(result.ops_per_second for result in step.directions.values()))
    match verdict.kind:
        case "bottleneck" if first is not None:
            return _bottleneck(diagnosis, topology, first, step)
        case "configured_cap" if first is not None:
            limit_kind = {"vdisk": "IOPS limit", "cgroup": "Limit", "host": "Limit"}.get(first.kind, "QoS limit")
            subject = f"{limit_kind} of {noun(first.entity)} {readable(first.entity)} is reached"
            rate = sum(result.bytes_per_second for result in step.directions.values())
            return f"{subject}: {bandwidth(rate)}, {reached}"
        case "concurrency_limited":
            cleared = ": nothing on the path is saturated" if _path_is_cleared(diagnosis) else ""
            if (flushes := step.in_flight.flushes) > _in_flight(step):
                return f"The load waits for flushes: {count(flushes)} outstanding at any time"
            return f"Too few outstanding I/Os ({count(_in_flight(step))}){cleared}"
        case "demand_limited":
            return f"The load asks for no more than {reached}"
        case "generator_limited":
            cleared = "; nothing below is saturated" if _path_is_cleared(diagnosis) else ""
            return f"The load generator or its machine is CPU-bound{cleared}"
        case "healthy":
            return f"Healthy: the requested {reached} are served with headroom"
        case _:
            return _unproven(diagnosis)


def _path_is_cleared(diagnosis: Diagnosis) -> bool:
    """Whether anything below the load was measured and is not the problem."""
    return any(not cleared.entity.startswith("load:") for cleared in diagnosis.cleared)


def _bottleneck(diagnosis: Diagnosis, topology: Topology, first: Bottleneck, step: StepResult) -> str:
    name = readable(first.entity)
    match first.kind:
        case "link":
            use = _use(diagnosis, first.entity, first.direction)
            speed = _speed(use)
            utilisation = (
                f"{percent_rounded(use.utilisation)} utilised, "
                if use is not None and use.utilisation is not None
                else ""
            )
            return f"{speed}link {name} is saturated ({utilisation}{first.direction}s)"
        case "path_policy" if not first.coincident:
            return f"I/Os of {name} use paths that are not optimised"
        case "path_policy":
            return f"Paths of {name} are used one at a time"
        case "credit_stall" if (first.utilisation or 0.0) >= _FULL:
            return f"Saturated link to {_device(topology, first)} backs up the fabric"
        case "credit_stall" if first.culprit is None:
            return f"Link {name} has too few buffer credits"
        case "credit_stall":
            return f"Slow-drain device {_device(topology, first)} stalls the fabric"
        case "data_sheet":
            return f"{name} is at the limit that was entered for it ({percent_rounded(first.utilisation or 1.0)})"
        case "retries" if first.entity.startswith("path:"):
            return f"Path {name} fails: its I/Os wait for time-outs"
        case "retries":
            return f"Errors on {name} cost the latency: lost I/Os are retried"
        case "tcp_window":
            return f"TCP window of {name} is full"
        case "io_thread":
            return f"Thread that serves the disk of {noun(first.entity)} {name} is saturated"
        case "io_stack":
            return f"I/Os wait in {noun(first.entity)} {name} above its block device"
        case "core" if first.utilisation is None:
            return f"{noun(first.entity).capitalize()} {name} is slow to read received data"
        case "core":
            return f"One processor core of {name} is saturated"
        case "pcie":
            return f"PCIe lanes of {noun(first.entity)} {with_owner(first.entity)} are saturated"
        case "lun" | "hba" | "vdisk":
            return f"Queue of {noun(first.entity)} {with_owner(first.entity)} is full{_depth(first, step)}"
        case "drive" if first.coincident:
            also = f"{len(first.coincident)} more"
            return f"Drive {with_owner(first.entity)} and {also} are saturated ({first.direction})"
        case "drive":
            return f"Drive {with_owner(first.entity)} is saturated ({first.direction})"
        case _:
            return _array(diagnosis, first, step)


def _device(topology: Topology, first: Bottleneck) -> str:
    """The culprit with its host, unless its own name contains the host."""
    culprit = first.culprit or first.entity
    hosts = topology.related(culprit, "attached_to", "host") if culprit in topology.entities else []
    name = readable(culprit)
    return f"{name} of {readable(hosts[0])}" if hosts and readable(hosts[0]) not in name else name


def _depth(first: Bottleneck, step: StepResult) -> str:
    planes = [p for p in step.in_flight.planes if p.entity == first.entity and p.admitted]
    # A limit below the reported depth may be what holds the I/Os back.
    admitted = sum(p.measured[1] for p in planes if p.plane == planes[0].plane)
    return f" ({counted(min(planes[0].admitted or 0.0, admitted), 'slot')})" if planes else ""


def _array(diagnosis: Diagnosis, first: Bottleneck, step: StepResult) -> str:
    result = step.directions.get(first.direction)
    if result is not None and _slows_down(first, result):
        return f"{noun(first.entity).capitalize()} {readable(first.entity)} slows down under sustained load"
    rate = first.ceiling_ops_per_second or (result.ops_per_second if result is not None else None)
    reached = f" at {iops(rate)} ({first.direction})" if rate else f" ({first.direction})"
    # An array that no source reads is named by the first of its ports.
    name = f"{noun(first.entity)} {readable(first.entity)}"
    if first.entity.startswith("array_port:"):
        name = f"array behind port {readable(first.entity)}"
    if not _is_timed(diagnosis, first):
        return f"{name[0].upper()}{name[1:]} limits{reached}, by exclusion"
    if not first.entity.startswith("array_port:"):
        name = {"array_front": "front end of ", "array_back": "back end of "}.get(first.layer, "") + name
    return f"{name[0].upper()}{name[1:]} is saturated{reached}"


def _is_timed(diagnosis: Diagnosis, first: Bottleneck) -> bool:
    """Whether a clock or a busy part of the array itself shows that it is saturated, and not only what remains."""
    step = diagnosis.verdict.from_step
    budgets = [budget for budget in diagnosis.latency_budget if budget.step == step]
    return first.utilisation is not None or any(part.plane == "array" for budget in budgets for part in budget.parts)


def _slows_down(first: Bottleneck, result: DirectionResult) -> bool:
    return bool(first.ceiling_ops_per_second) and (first.ceiling_ops_per_second or 0.0) < (
        (1 - FLAT) * result.ops_per_second
    )


def _unproven(diagnosis: Diagnosis) -> str:
    if not diagnosis.verdict.suspects:
        return "Bottleneck not proven: too little was measured"
    first = diagnosis.verdict.suspects[0]
    name = first.place or {
        "concurrency_limited": "too few outstanding I/Os",
        "demand_limited": "a load that asks for no more",
        "generator_limited": "the load generator",
    }.get(first.verdict, "something not measured")
    if first.entity is not None and first.kind != "unseen":
        name = f"{noun(first.entity)} {readable(first.entity)}"
    what = "Not proven" if first.place else "Bottleneck not proven"
    return f"{what}; most likely {name} ({percent_likely(first.probability)})"


def _use(diagnosis: Diagnosis, entity: str, direction: str) -> ElementUse | None:
    step = diagnosis.verdict.from_step
    return next((u for u in diagnosis.elements if (u.entity, u.step, u.direction) == (entity, step, direction)), None)


def _speed(use: ElementUse | None) -> str:
    """The speed in words: 4GFC is a link of 4 Gb/s; the technology is left out."""
    if use is None or use.speed is None:
        return ""
    return (
        f"{use.speed.removesuffix('GFC')} Gb/s "
        if use.speed.endswith("GFC")
        else f"{use.speed.removesuffix(' Ethernet')} "
    )


def _consequence(diagnosis: Diagnosis, step: StepResult) -> str | None:
    """Throughput and latency at the outstanding I/Os, and the share of others on the limiting link."""
    verdict = diagnosis.verdict
    first = verdict.bottlenecks[0] if verdict.bottlenecks else None
    direction = first.direction if first is not None else _main_direction(step)
    result = step.directions.get(direction)
    if result is None:
        return None
    if first is not None and _slows_down(first, result):
        slow = iops(first.ceiling_ops_per_second or 0.0)
        return f"{iops(result.ops_per_second)} on average, {slow} once it slows down."
    words = _law_words(step, direction, result) + _flush_words(step)
    if first is not None and (flat_words := _flat_words(diagnosis, direction, result)) is not None:
        words = flat_words
    if (
        first is not None
        and (foreign_share := _foreign_share(_use(diagnosis, first.entity, direction))) >= _FOREIGN_SHARE
    ):
        words += f". {percent_rounded(foreign_share)} of the link's bytes are other hosts'"
    if first is not None and (also := _also_saturated(first) or _without_credit(diagnosis, first)):
        words += f". {also}"
    return f"{words}."


def _flush_words(step: StepResult) -> str:
    """Words for the flushes of each I/O; "" where they take less time than the I/Os."""
    flushes, ops = step.in_flight.flushes, sum(result.ops_per_second for result in step.directions.values())
    return f"; its flushes take {duration(flushes / ops)} more" if flushes > _in_flight(step) and ops else ""


def _also_saturated(first: Bottleneck) -> str:
    """Words for links that are saturated as well; "" for none. Relieving only one of them gains next to nothing."""
    if first.kind != "link" or not first.coincident:
        return ""
    if len(first.coincident) == 1:
        return f"{readable(first.coincident[0])} is saturated as well: relieve both"
    return f"{len(first.coincident)} more links are saturated as well: relieve all"


def _without_credit(diagnosis: Diagnosis, first: Bottleneck) -> str:
    """Words for the time that a switch may not send to the device that slows the others down; "" if not counted."""
    ratios = [
        ratio
        for finding in diagnosis.findings
        if finding.entity == first.entity
        and isinstance(ratio := finding.evidence.get("credit_stall_ratio"), float)
        and first.kind == "credit_stall"
    ]
    return (
        f"The switch has no credit to send to the device {percent_rounded(max(ratios))} of the time" if ratios else ""
    )


def _main_direction(step: StepResult) -> str:
    """The direction with the most outstanding I/Os, which the verdict is about."""

    def in_flight(direction: str) -> float:
        result = step.directions[direction]
        return result.ops_per_second * result.latency_seconds.mean

    return max(step.directions, key=in_flight, default="read")


def _flat_words(diagnosis: Diagnosis, direction: str, result: DirectionResult) -> str | None:
    """Words for more outstanding I/Os that add only latency. None: no other step shows that."""
    for curve in diagnosis.verdict.curves:
        point = next((candidate for candidate in curve.points if candidate.step == diagnosis.verdict.from_step), None)
        if curve.direction != direction or point is None:
            continue
        equally_fast = [
            candidate
            for candidate in curve.points
            if abs(candidate.ops_per_second / point.ops_per_second - 1) <= FLAT
        ]
        low, high = (
            min(equally_fast, key=lambda candidate: candidate.in_flight),
            max(equally_fast, key=lambda candidate: candidate.in_flight),
        )
        if low.in_flight <= _FEWER * high.in_flight and low.latency_seconds < high.latency_seconds:
            return (
                f"From {count(low.in_flight)} to {count(high.in_flight)} outstanding {_noun(diagnosis, direction)}, "
                f"throughput stays at {iops(point.ops_per_second)}{_of_size(result)} and latency grows from "
                f"{duration(low.latency_seconds)} to {duration(high.latency_seconds)}"
            )
    return None


def _of_size(result: DirectionResult) -> str:
    """The mean size of its I/Os: " of 64 KiB"."""
    mean_bytes = result.bytes_per_second / result.ops_per_second if result.ops_per_second else 0.0
    return f" of {kibibytes(mean_bytes)}" if mean_bytes >= 0.1 * 1024 else ""


def _noun(diagnosis: Diagnosis, direction: str) -> str:
    step = next(s for s in diagnosis.steps if s.name == diagnosis.verdict.from_step)
    return "I/Os" if _is_single_direction(step, direction) else f"{direction}s"


def _is_single_direction(step: StepResult, direction: str) -> bool:
    """Whether a direction represents the whole test."""
    total = sum(result.ops_per_second for result in step.directions.values())
    return step.directions[direction].ops_per_second >= _SINGLE_DIRECTION * total


def _law_words(step: StepResult, direction: str, result: DirectionResult) -> str:
    """Little's law with its numbers."""
    latency = result.latency_seconds.mean
    is_single = _is_single_direction(step, direction)
    in_flight = counted(result.ops_per_second * latency, f"outstanding {'I/O' if is_single else direction}")
    if is_single:
        return f"{iops(result.ops_per_second)}{_of_size(result)} at {duration(latency)} with {in_flight}"
    total = iops(sum(each.ops_per_second for each in step.directions.values()))
    rate = f"{result.ops_per_second:,.0f} of {total} are {direction}s{_of_size(result)}"
    return f"{rate}, at {duration(latency)} with {in_flight}"


def _in_flight(step: StepResult) -> float:
    return step.in_flight.measured or step.in_flight.configured or 0.0


def _foreign_share(use: ElementUse | None) -> float:
    if use is None or not use.foreign_bytes_per_second or not use.bytes_per_second:
        return 0.0
    return use.foreign_bytes_per_second / use.bytes_per_second


def _acquittal(diagnosis: Diagnosis, step: StepResult) -> str | None:
    """Words for the cleared element that most people would suspect first: the array, else the fabric, else the
    generator."""
    if diagnosis.verdict.kind in ("healthy", "concurrency_limited", "demand_limited"):
        return None
    return _array_cleared(diagnosis, step) or _fabric_cleared(diagnosis) or _load_cleared(diagnosis)


def _array_cleared(diagnosis: Diagnosis, step: StepResult) -> str | None:
    cleared = next((c for c in diagnosis.cleared if c.entity.startswith(("array:", "volume:"))), None)
    at_array = [b for b in diagnosis.verdict.bottlenecks if b.layer.startswith("array")]
    if cleared is None or any(bottleneck.kind != "link" for bottleneck in at_array):
        return None
    subject = "The array behind its ports" if at_array else "The array"
    direction = diagnosis.verdict.bottlenecks[0].direction if diagnosis.verdict.bottlenecks else _main_direction(step)
    budgets = [b for b in diagnosis.latency_budget if (b.step, b.direction) == (step.name, direction)]
    array_seconds = [sum(p.seconds) / 2 for b in budgets[:1] for p in b.parts if p.layer.startswith("array")]
    total = budgets[0].total_seconds if budgets else 0.0
    time_words = f": I/Os spend {duration(sum(array_seconds))} of {duration(total)} in it" if array_seconds else ""
    doubts = any(f.role == "validity" and f.outcome == "hit" for f in diagnosis.findings)
    validity = ", as far as the test is valid" if doubts else ""
    return f"{subject} is not the problem{time_words}{validity}.{_beyond(cleared)}"


def _beyond(cleared: Cleared) -> str:
    rate = cleared.up_to.get("bytes_per_second")
    return f" It was not tested beyond {bandwidth(rate)}." if rate else ""


def _fabric_cleared(diagnosis: Diagnosis) -> str | None:
    """The words if every link that the test crosses was counted and cleared. None: not so."""
    if any(b.layer == "fabric" for b in diagnosis.verdict.bottlenecks):
        return None
    uses = [use for use in diagnosis.elements if use.step == diagnosis.verdict.from_step and use.on_loaded_path]
    cleared_entities = {element.entity for element in diagnosis.cleared}
    if not uses or any(use.entity not in cleared_entities or use.utilisation is None for use in uses):
        return None
    busiest = max(use.utilisation or 0.0 for use in uses)
    return f"The fabric is not the problem: its busiest link on the path is at {percent_rounded(busiest)}."


def _load_cleared(diagnosis: Diagnosis) -> str | None:
    cleared = next((c for c in diagnosis.cleared if c.entity.startswith("load:")), None)
    # The processors of its machine may limit the load.
    if cleared is None or diagnosis.verdict.kind == "generator_limited":
        return None
    return f"The load generator is not the problem: {cleared.because}."


_OWN_ACTIONS: Mapping[str, str] = {
    "concurrency_limited": "Run the test with more outstanding I/Os",
    "generator_limited": "Give the load generator more processes, or faster processors",
}
"""Verdicts about the test itself: what to do, where no rule says more."""
_OVERLAP_FLUSHES = "Run the test with more processes, so that their flushes overlap"


def _action(diagnosis: Diagnosis, step: StepResult | None) -> tuple[str | None, int | None, str | None]:
    """(what to do first, its number in the plan, what it would bring)."""
    verdict = diagnosis.verdict
    first_step = diagnosis.plan[0] if diagnosis.plan else None
    undecided = verdict.kind == "cannot_tell" or step is None
    if verdict.decide_with and undecided:
        return f"{verdict.decide_with[0].upper()}{verdict.decide_with[1:]}", None, None
    own = _OWN_ACTIONS.get(verdict.kind)
    if verdict.kind == "concurrency_limited" and step is not None and step.in_flight.flushes > _in_flight(step):
        own = _OVERLAP_FLUSHES
    if first_step is None or (
        first_step.purpose != "limit" and not undecided and (own or first_step.purpose == "risk")
    ):
        # What removes a risk, or makes the test valid, changes nothing of the limit.
        return own, None, None
    return first_step.action, first_step.number, _gain(diagnosis, first_step, step)


def _gain(diagnosis: Diagnosis, first: PlanStep, step: StepResult | None) -> str | None:
    following = diagnosis.verdict.next
    if first.gain_ops_per_second and following is not None and step is not None:
        low, high = following.predicted_ops_per_second
        best = duration(following.predicted_latency_seconds[0])
        if high <= low * (1 + FLAT):
            return None
        next_words = f"{readable(following.entity)} {following.change}".strip()
        limiting = {entity for b in diagnosis.verdict.bottlenecks for entity in (b.entity, *b.coincident)}
        next_words = f"the same link {following.change}" if following.entity in limiting else next_words
        depth = f"with {outstanding(_in_flight(step))}"
        return f"up to {iops(high)}, latency down to {best} {depth}; next limit: {next_words}"
    links = _usable_links(first, diagnosis.findings)
    if first.relieves_idle_paths and links and step is not None and diagnosis.verdict.bottlenecks:
        result = step.directions.get(diagnosis.verdict.bottlenecks[0].direction)
        if result is not None:
            best_rate = iops(links * result.ops_per_second)
            return f"up to {best_rate} over {count(links)} links of the same speed; not tested"
    if first.purpose == "test":
        return "a result that can be trusted; throughput stays as it is"
    return None


def _usable_links(first: PlanStep, findings: Sequence[Finding]) -> float | None:
    resolved = {(r.rule, r.entity) for r in first.resolves}
    counts = [f.evidence.get("usable_links") for f in findings if (f.rule, f.entity) in resolved]
    return next((float(n) for n in counts if isinstance(n, int | float) and n > 1), None)

"""The summary of a diagnosis: verdict, consequence, acquittal, path, first action and what it would bring."""

from __future__ import annotations

from collections.abc import Sequence

from sanpath.facts.load.loads import FLAT
from sanpath.rulebook.model import Finding
from sanpath.topology.identity import Topology
from sanpath.verdict.model import Bottleneck, Cleared, Diagnosis, DirectionResult, ElementUse, PlanStep, StepResult
from sanpath.verdict.names import noun, readable
from sanpath.verdict.summary.path import summary_path
from sanpath.verdict.summary_model import Summary
from sanpath.verdict.units import bandwidth, count, duration, iops, percent_rounded

_FEWER = 0.7
"""Of two steps the one with at most this share of the I/Os in flight has clearly fewer."""
_FULL = 0.8
_OTHERS = 0.05
"""Share of a link's bytes that belong to others, from which on the reader has to know."""
_WHOLE = 0.99


def summary(diagnosis: Diagnosis, topology: Topology) -> Summary:
    """The first screen. Everything in it is also in the diagnosis, with its evidence."""
    path, off_path, more = summary_path(diagnosis, topology)
    step = next((s for s in diagnosis.steps if s.name == diagnosis.verdict.from_step), None)
    action, number, gain = _action(diagnosis, step)
    if step is None:
        return Summary(_nothing(diagnosis), diagnosis.verdict.headline, None, path, off_path, more, action, number)
    return Summary(
        _sentence(_verdict(diagnosis, topology, step)),
        _consequence(diagnosis, step),
        _acquittal(diagnosis, step),
        path,
        off_path,
        more,
        action,
        number,
        gain,
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}" if text.startswith(("link ", "something ")) else text


def _nothing(diagnosis: Diagnosis) -> str:
    if diagnosis.run.load_exit_code:
        return f"The load failed with exit code {diagnosis.run.load_exit_code}"
    return "No step is long enough to be judged" if diagnosis.steps else "No I/O of a load was recorded"


def _verdict(diagnosis: Diagnosis, topology: Topology, step: StepResult) -> str:
    verdict = diagnosis.verdict
    first = verdict.bottlenecks[0] if verdict.bottlenecks else None
    reached = iops(sum(result.ops_per_second for result in step.directions.values()))
    match verdict.kind:
        case "bottleneck" if first is not None:
            return _bottleneck(diagnosis, topology, first, step)
        case "configured_cap" if first is not None:
            what = "IOPS" if first.kind == "vdisk" else "QoS"
            return f"{what} limit on {noun(first.entity)} {readable(first.entity)} caps it at {reached}"
        case "concurrency_limited":
            return f"Too few outstanding I/Os ({_outstanding(step)}): nothing on the path is saturated"
        case "demand_limited":
            return f"The load asks for no more than {reached}"
        case "generator_limited":
            return "The load generator is CPU-bound; nothing below it is saturated"
        case "healthy":
            return f"Healthy: the requested {reached} are served with headroom"
        case _:
            return _unproven(diagnosis)


def _bottleneck(diagnosis: Diagnosis, topology: Topology, first: Bottleneck, step: StepResult) -> str:
    name = readable(first.entity)
    match first.kind:
        case "link":
            use = _use(diagnosis, first.entity, first.direction)
            speed = _speed(use)
            told = f"{percent_rounded(use.utilisation)} " if use is not None and use.utilisation is not None else ""
            return f"{speed}link {name} is saturated ({told}{first.direction})"
        case "path_policy":
            return f"Paths of {name} are used one at a time"
        case "credit_stall" if (first.utilisation or 0.0) >= _FULL:
            return f"Saturated link to {_device(topology, first)} backs up the fabric"
        case "credit_stall":
            return f"Slow-drain device {_device(topology, first)} stalls the fabric"
        case "data_sheet":
            return f"{name} is at its data-sheet limit ({percent_rounded(first.utilisation or 1.0)})"
        case "retries":
            return f"Errors on {name} cost the latency: lost I/Os are retried"
        case "lun" | "hba" | "vdisk":
            return f"Queue of {noun(first.entity)} {name} is full{_depth(first, step)}"
        case _:
            return _array(first, step)


def _device(topology: Topology, first: Bottleneck) -> str:
    """The culprit with its host, where its own name does not tell it."""
    culprit = first.culprit or first.entity
    hosts = topology.related(culprit, "attached_to", "host") if culprit in topology.entities else []
    own = readable(culprit)
    return f"{readable(hosts[0])} {own}" if hosts and readable(hosts[0]) not in own else own


def _depth(first: Bottleneck, step: StepResult) -> str:
    planes = [p for p in step.in_flight.planes if p.entity == first.entity and p.admitted]
    return f" ({count(planes[0].admitted or 0.0)} outstanding I/Os)" if planes else ""


def _array(first: Bottleneck, step: StepResult) -> str:
    part = {"array_front": "front end of ", "array_back": "back end of "}.get(first.layer, "")
    result = step.directions.get(first.direction)
    if result is not None and _slows_down(first, result):
        return f"{noun(first.entity).capitalize()} {readable(first.entity)} slows down under sustained load"
    what = f"{part}{noun(first.entity)}"
    at = first.ceiling_ops_per_second or (result.ops_per_second if result is not None else None)
    reached = f" at {iops(at)}" if at else ""
    return f"{what[0].upper()}{what[1:]} {readable(first.entity)} is saturated{reached} ({first.direction})"


def _slows_down(first: Bottleneck, result: DirectionResult) -> bool:
    return bool(first.ceiling_ops_per_second) and (first.ceiling_ops_per_second or 0.0) < (
        (1 - FLAT) * result.ops_per_second
    )


def _unproven(diagnosis: Diagnosis) -> str:
    if not diagnosis.verdict.suspects:
        return "Bottleneck not proven: too little was measured"
    first = diagnosis.verdict.suspects[0]
    name = {
        "concurrency_limited": "too few outstanding I/Os",
        "demand_limited": "a load that asks for no more",
        "generator_limited": "the load generator",
    }.get(first.verdict, "something not measured")
    if first.entity is not None and first.kind != "unseen":
        name = f"{noun(first.entity)} {readable(first.entity)}"
    return f"Bottleneck not proven; most likely {name} ({percent_rounded(first.probability)})"


def _use(diagnosis: Diagnosis, entity: str, direction: str) -> ElementUse | None:
    step = diagnosis.verdict.from_step
    return next((u for u in diagnosis.elements if (u.entity, u.step, u.direction) == (entity, step, direction)), None)


def _speed(use: ElementUse | None) -> str:
    """4GFC is a link of 4 Gb/s."""
    if use is None or use.speed is None:
        return ""
    return f"{use.speed.removesuffix('GFC')} Gb/s " if use.speed.endswith("GFC") else f"{use.speed} "


def _consequence(diagnosis: Diagnosis, step: StepResult) -> str | None:
    """Throughput and latency over the outstanding I/Os; what others take of the link that limits."""
    verdict = diagnosis.verdict
    first = verdict.bottlenecks[0] if verdict.bottlenecks else None
    direction = first.direction if first is not None else _main(step)
    result = step.directions.get(direction)
    if result is None:
        return None
    if first is not None and _slows_down(first, result):
        slow = iops(first.ceiling_ops_per_second or 0.0)
        return f"{iops(result.ops_per_second)} on average, {slow} once it slows down."
    said = _law(step, direction, result)
    if first is not None and (flat := _flat(diagnosis, direction)) is not None:
        said = flat
    if first is not None and (others := _others(_use(diagnosis, first.entity, direction))) >= _OTHERS:
        said += f". {percent_rounded(others)} of the link's bytes belong to other hosts"
    return f"{said}."


def _main(step: StepResult) -> str:
    return max(step.directions, key=lambda d: step.directions[d].ops_per_second, default="read")


def _flat(diagnosis: Diagnosis, direction: str) -> str | None:
    """Where more outstanding I/Os bought only latency. None: no other step shows it."""
    for curve in diagnosis.verdict.curves:
        here = next((p for p in curve.points if p.step == diagnosis.verdict.from_step), None)
        if curve.direction != direction or here is None:
            continue
        same = [p for p in curve.points if abs(p.ops_per_second / here.ops_per_second - 1) <= FLAT]
        low, high = min(same, key=lambda p: p.in_flight), max(same, key=lambda p: p.in_flight)
        if low.in_flight <= _FEWER * high.in_flight and low.latency_seconds < high.latency_seconds:
            return (
                f"{count(low.in_flight)} or {count(high.in_flight)} outstanding {_ios(diagnosis, direction)}: "
                f"the same {iops(here.ops_per_second)}; latency only grows, "
                f"{duration(low.latency_seconds)} to {duration(high.latency_seconds)}"
            )
    return None


def _ios(diagnosis: Diagnosis, direction: str) -> str:
    step = next(s for s in diagnosis.steps if s.name == diagnosis.verdict.from_step)
    return "I/Os" if _alone(step, direction) else f"{direction}s"


def _alone(step: StepResult, direction: str) -> bool:
    """Whether a direction is the whole test."""
    whole = sum(result.ops_per_second for result in step.directions.values())
    return step.directions[direction].ops_per_second >= _WHOLE * whole


def _law(step: StepResult, direction: str, result: DirectionResult) -> str:
    """Little's law with its numbers."""
    latency = result.latency_seconds.mean
    outstanding = count(result.ops_per_second * latency)
    what = "I/Os" if _alone(step, direction) else f"{direction}s"
    what = what.removesuffix("s") if outstanding == "1" else what
    return f"{iops(result.ops_per_second)} at {duration(latency)} with {outstanding} outstanding {what}"


def _outstanding(step: StepResult) -> str:
    return count(step.in_flight.measured or step.in_flight.configured or 0.0)


def _others(use: ElementUse | None) -> float:
    if use is None or not use.foreign_bytes_per_second or not use.bytes_per_second:
        return 0.0
    return use.foreign_bytes_per_second / use.bytes_per_second


def _acquittal(diagnosis: Diagnosis, step: StepResult) -> str | None:
    """The element that people suspect first, if it was cleared: the array, else the fabric, else the generator."""
    if diagnosis.verdict.kind in ("healthy", "concurrency_limited", "demand_limited"):
        return None
    return _array_cleared(diagnosis, step) or _fabric_cleared(diagnosis) or _load_cleared(diagnosis)


def _array_cleared(diagnosis: Diagnosis, step: StepResult) -> str | None:
    cleared = next((c for c in diagnosis.cleared if c.entity.startswith(("array:", "volume:"))), None)
    blamed = any(b.layer.startswith("array") for b in diagnosis.verdict.bottlenecks)
    if cleared is None or blamed:
        return None
    direction = diagnosis.verdict.bottlenecks[0].direction if diagnosis.verdict.bottlenecks else _main(step)
    budgets = [b for b in diagnosis.latency_budget if (b.step, b.direction) == (step.name, direction)]
    own = [sum(p.seconds) / 2 for b in budgets[:1] for p in b.parts if p.layer.startswith("array")]
    took = f": {duration(sum(own))} of {duration(budgets[0].total_seconds)}" if own else ""
    doubts = any(f.role == "validity" and f.outcome == "hit" for f in diagnosis.findings)
    as_far = "; as far as the test is valid" if doubts else ""
    return f"The array is not the problem{took}{_up_to(cleared)}{as_far}."


def _up_to(cleared: Cleared) -> str:
    rate = cleared.up_to.get("bytes_per_second")
    return f", measured up to {bandwidth(rate)}" if rate else ""


def _fabric_cleared(diagnosis: Diagnosis) -> str | None:
    """Every link that the test crosses was counted, and cleared."""
    if any(b.layer == "fabric" for b in diagnosis.verdict.bottlenecks):
        return None
    here = [u for u in diagnosis.elements if u.step == diagnosis.verdict.from_step and u.on_loaded_path]
    known = {c.entity for c in diagnosis.cleared}
    if not here or any(u.entity not in known or u.utilisation is None for u in here):
        return None
    busiest = max(u.utilisation or 0.0 for u in here)
    return f"The fabric is not the problem: its busiest link on the path is at {percent_rounded(busiest)}."


def _load_cleared(diagnosis: Diagnosis) -> str | None:
    cleared = next((c for c in diagnosis.cleared if c.entity.startswith("load:")), None)
    return None if cleared is None else f"The load generator is not the problem: {cleared.because}."


def _action(diagnosis: Diagnosis, step: StepResult | None) -> tuple[str | None, int | None, str | None]:
    """(what to do first, its number in the plan, what it would bring)."""
    verdict = diagnosis.verdict
    first = diagnosis.plan[0] if diagnosis.plan else None
    undecided = verdict.kind == "cannot_tell" or step is None
    if verdict.decide_with and undecided:
        return f"{verdict.decide_with[0].upper()}{verdict.decide_with[1:]}", None, None
    if first is None:
        return None, None, None
    return first.action, first.number, _gain(diagnosis, first, step)


def _gain(diagnosis: Diagnosis, first: PlanStep, step: StepResult | None) -> str | None:
    following = diagnosis.verdict.next
    if first.gain_ops_per_second and following is not None and step is not None:
        low, high = following.predicted_ops_per_second
        best = duration(following.predicted_latency_seconds[0])
        if high <= low * (1 + FLAT):
            return None
        then = f"{readable(following.entity)} {following.change}".strip()
        return f"up to {iops(high)}, latency down to {best} at the same queue depth; next limit: {then}"
    links = _usable_links(first, diagnosis.findings)
    if first.relieves_idle_paths and links and step is not None and diagnosis.verdict.bottlenecks:
        result = step.directions.get(diagnosis.verdict.bottlenecks[0].direction)
        if result is not None:
            most = iops(links * result.ops_per_second)
            return f"up to {most} over {count(links)} links of the same speed; not tested"
    if first.purpose == "test":
        return "a result that can be trusted; throughput stays as it is"
    return None


def _usable_links(first: PlanStep, findings: Sequence[Finding]) -> float | None:
    resolved = {(r.rule, r.entity) for r in first.resolves}
    told = [f.evidence.get("usable_links") for f in findings if (f.rule, f.entity) in resolved]
    return next((float(n) for n in told if isinstance(n, int | float) and n > 1), None)

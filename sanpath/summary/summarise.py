"""The summary of a diagnosis: verdict, consequence, acquittal, path, first action and its gain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sanpath.diagnosis.model import Bottleneck, Cleared, Diagnosis, StepResult, Verdict
from sanpath.diagnosis.remediation_plan import PlanStep
from sanpath.diagnosis.summary import Summary
from sanpath.facts.load.loads import FLAT
from sanpath.facts.table import WHOLE_RUN
from sanpath.rulebook.model import Finding
from sanpath.summary.consequence import consequence
from sanpath.summary.fallback_actions import own_action
from sanpath.summary.names import readable
from sanpath.summary.other_io import other_io
from sanpath.summary.path import summary_path
from sanpath.summary.step_figures import in_flight, main_direction, time_in_array
from sanpath.summary.verdict_line import verdict_line
from sanpath.topology.topology import Topology
from sanpath.units import bandwidth, count, counted, duration, iops, outstanding, percent_rounded
from sanpath.whatif.what_if import Relieved

_MAX_SPREAD = 2.0
"""Largest ratio of the ends of a prediction that is worth a sentence: sanpath's own choice."""
_MIN_TIMES = 3.0
"""Ratio from which a gain is given as "24 times as much", because a percentage of four digits is hard to read."""


def summary(
    diagnosis: Diagnosis, topology: Topology, others: Sequence[Verdict] = (), relieved: Relieved | None = None
) -> Summary:
    """The first screen. Everything in it is also in the diagnosis, with its evidence. `others`: the verdicts on other
    kinds of I/O. `relieved`: the prediction without the limit, None: unknown."""
    path = summary_path(diagnosis, topology)
    step = next((candidate for candidate in diagnosis.steps if candidate.name == diagnosis.verdict.from_step), None)
    action, number, gain = _action(diagnosis, topology, step, relieved)
    reason, _, consequences = diagnosis.verdict.headline.partition(":")
    unjudged = Summary(
        verdict=_capitalised(reason),
        consequence=_sentences(_capitalised(consequences.strip()), diagnosis.run.load_ended),
        path=path.elements,
        off_path=path.off_path,
        other_links=path.other_links,
        more_paths=path.more_paths,
        action=action,
        plan_step=number,
    )
    if step is None:
        return unjudged
    return replace(
        unjudged,
        verdict=verdict_line(diagnosis, topology, step),
        consequence=_sentences(consequence(diagnosis, step), diagnosis.run.load_ended),
        acquittal=_acquittal(diagnosis, step),
        gain=gain,
        other_io=tuple(other_io(diagnosis, topology, others)),
    )


def _sentences(*texts: str | None) -> str | None:
    *before, last = [text for text in texts if text] or [""]
    return " ".join([*(text if text.endswith(".") else f"{text}." for text in before), last]) or None


def _capitalised(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _acquittal(diagnosis: Diagnosis, step: StepResult) -> str | None:
    """Words for the cleared element that most people would suspect first: the array, else the fabric, else the
    generator."""
    if diagnosis.verdict.kind in ("healthy", "concurrency_limited", "demand_limited"):
        return None
    return _array_cleared(diagnosis, step) or _links_cleared(diagnosis) or _load_cleared(diagnosis)


def _array_cleared(diagnosis: Diagnosis, step: StepResult) -> str | None:
    """Words if the array was cleared. None: it was not, or its own time is most of the latency, so that the words
    would not convince."""
    cleared = next((c for c in diagnosis.cleared if c.entity.startswith(("array:", "volume:"))), None)
    at_array = [b for b in diagnosis.verdict.bottlenecks if b.layer.startswith("array")]
    if cleared is None or any(bottleneck.kind != "link" for bottleneck in at_array):
        return None
    subject = "The array behind its ports" if at_array else "The array"
    direction = diagnosis.verdict.bottlenecks[0].direction if diagnosis.verdict.bottlenecks else main_direction(step)
    inside, of_limits, total = time_in_array(diagnosis, step, direction)
    if inside > total / 2:
        return None
    without = ", not counting the wait for the limit" if of_limits else ""
    time_words = f": I/Os spend {duration(inside)} of {duration(total)} in it{without}" if inside else ""
    return f"{subject} is not the problem{time_words}{_tested_rate(cleared)}."


def _tested_rate(cleared: Cleared) -> str:
    rate = cleared.up_to.get("bytes_per_second")
    return f"; highest load tested: {bandwidth(rate)}" if rate else ""


def _links_cleared(diagnosis: Diagnosis) -> str | None:
    """Words if every link that the test crosses was counted and cleared. None: at least one was not."""
    if any(b.layer == "fabric" for b in diagnosis.verdict.bottlenecks):
        return None
    uses = [use for use in diagnosis.elements if use.step == diagnosis.verdict.from_step and use.on_loaded_path]
    cleared_entities = {element.entity for element in diagnosis.cleared}
    if not uses or any(use.entity not in cleared_entities or use.utilisation is None for use in uses):
        return None
    busiest = max(use.utilisation or 0.0 for use in uses)
    return f"No link on the path is saturated: the busiest is at {percent_rounded(busiest)}."


def _load_cleared(diagnosis: Diagnosis) -> str | None:
    cleared = next((c for c in diagnosis.cleared if c.entity.startswith("load:")), None)
    # The processors of its machine may limit the load.
    if cleared is None or diagnosis.verdict.kind == "generator_limited":
        return None
    return f"The load generator is not the problem: {cleared.because}."


def _action(
    diagnosis: Diagnosis, topology: Topology, step: StepResult | None, relieved: Relieved | None
) -> tuple[str | None, int | None, str | None]:
    """(what to do first, its number in the plan, what it would bring)."""
    verdict = diagnosis.verdict
    if (void := _makes_valid(diagnosis)) is not None:
        return void.action, void.number, _gain(diagnosis, void, step, relieved)
    first_step = diagnosis.plan[0] if diagnosis.plan else None
    undecided = verdict.kind == "cannot_tell" or step is None
    if verdict.decide_with and undecided:
        return f"{verdict.decide_with[0].upper()}{verdict.decide_with[1:]}", None, None
    own = own_action(verdict, topology, step)
    if first_step is None or (
        first_step.purpose != "limit" and not undecided and (own or first_step.purpose == "risk")
    ):
        # A remedy for a risk, or for the test's validity, does not change the limit.
        return own, None, None
    return first_step.action, first_step.number, _gain(diagnosis, first_step, step, relieved)


def _makes_valid(diagnosis: Diagnosis) -> PlanStep | None:
    """The step without which the test proves nothing about the storage: before it, changing the limit is not
    worthwhile. None: the test is valid."""
    step = diagnosis.verdict.from_step
    severe = {
        (f.rule, f.entity)
        for f in diagnosis.findings
        if f.outcome == "hit" and f.severity == "high" and (not step or {step, WHOLE_RUN} & set(f.steps))
    }
    tests = (each for each in diagnosis.plan if each.purpose == "test")
    return next((each for each in tests if any((r.rule, r.entity) in severe for r in each.resolves)), None)


def _gain(diagnosis: Diagnosis, first: PlanStep, step: StepResult | None, relieved: Relieved | None) -> str | None:
    following = diagnosis.verdict.next
    if first.gain_ops_per_second and following is not None and step is not None:
        low, high = following.predicted_ops_per_second
        best = duration(following.predicted_latency_seconds[0])
        if high <= low * (1 + FLAT):
            return None
        next_words = _next_words(diagnosis, following.entity, following.change)
        depth = f"with {outstanding(in_flight(step))}"
        gain = f"up to {iops(high)}, latency down to {best} {depth}"
        return gain if next_words is None else f"{gain}; next limit: {next_words}"
    bottleneck = next(iter(diagnosis.verdict.bottlenecks), None)
    result = step.directions.get(bottleneck.direction) if step is not None and bottleneck is not None else None
    # More links of the same speed gain nothing if a slow device holds back their traffic.
    if bottleneck is not None and bottleneck.kind != "credit_stall" and result is not None:
        links = _usable_links(first, diagnosis.findings)
        if first.relieves_idle_paths and links:
            best_rate = iops(links * result.ops_per_second)
            return f"up to {best_rate} over {count(links)} links, if none is slower; not tested"
        if first.adds_one:
            highest = following.predicted_ops_per_second[1] if following is not None else float("inf")
            doubled = min(2 * result.ops_per_second, highest)
            allowed, other = _allowed_by_other_links(diagnosis, bottleneck, result.ops_per_second)
            number = len(bottleneck.elements)
            each = "it" if number == 1 else f"each of the {counted(number, 'link')}"
            then = f"; next limit: {readable(other)}" if allowed < doubled else ""
            return f"up to {iops(min(allowed, doubled))} with one more beside {each}{then}; not tested"
    if first.purpose == "test":
        is_certain = diagnosis.verdict.grade == "A" and _makes_valid(diagnosis) is None
        return "surer figures; the verdict has confidence A already" if is_certain else "a result that can be trusted"
    # A queue is predicted to hold nothing back, but the step of the plan sets a depth.
    if relieved is not None and first.purpose == "limit" and not (relieved.change.slots or first.relieves_idle_paths):
        return _predicted_gain(diagnosis, relieved, step)
    return None


def _predicted_gain(diagnosis: Diagnosis, relieved: Relieved, step: StepResult | None) -> str | None:
    """The likely throughput and latency without the limit, in words. None: they are too uncertain, or no gain."""
    prediction = relieved.prediction
    low, high = prediction.likely_ops_per_second or (0.0, 0.0)
    if high > _MAX_SPREAD * low or low <= (1 + FLAT) * prediction.ops_per_second:
        return None
    ratio, latency = high / prediction.ops_per_second, duration(prediction.kept_in_flight / high)
    gain = f"{count(round(ratio, 1))} times as much" if ratio >= _MIN_TIMES else f"{percent_rounded(ratio - 1)} more"
    speeds = sorted({capacity.name for capacity in relieved.change.speeds.values()})
    condition = f" if the ends support {' and '.join(speeds)}" if speeds else ""
    next_words = _next_words(diagnosis, prediction.entity or "", prediction.change)
    is_mix = step is not None and len(step.directions) > 1
    rate = f"{high:,.0f} {prediction.direction}s a second" if is_mix else iops(high)
    depth = counted(prediction.kept_in_flight, f"outstanding {prediction.direction}" if is_mix else "outstanding I/O")
    words = f"up to {gain}{condition}: {rate} at {latency} with {depth}; not tested"
    return words if next_words is None else f"{words}; next limit: {next_words}"


def _next_words(diagnosis: Diagnosis, entity: str, change: str) -> str | None:
    """The next limit in words. None: still the load, which may send more."""
    if entity.startswith("load:"):
        return None
    limiting = {each: b.kind for b in diagnosis.verdict.bottlenecks for each in b.elements}
    match limiting.get(entity):
        case "link":
            return f"the same link {change}"
        case "path_policy":
            return "these links, used together"
    return f"{readable(entity)} {change}".strip()


def _allowed_by_other_links(diagnosis: Diagnosis, bottleneck: Bottleneck, ops_per_second: float) -> tuple[float, str]:
    """(operations per second at which the first other link of the path is full, that link). (infinity, ""): no other
    link was measured."""
    allowed, first = float("inf"), ""
    for use in diagnosis.elements:
        is_here = (use.step, use.direction) == (diagnosis.verdict.from_step, bottleneck.direction)
        if not (is_here and use.on_loaded_path) or use.entity in bottleneck.elements:
            continue
        foreign = use.foreign_bytes_per_second or 0.0
        own, room = (use.bytes_per_second or 0.0) - foreign, (use.capacity_bytes_per_second or 0.0) - foreign
        if own > 0 and room > 0 and ops_per_second * room / own < allowed:
            allowed, first = ops_per_second * room / own, use.entity
    return allowed, first


def _usable_links(first: PlanStep, findings: Sequence[Finding]) -> float | None:
    resolved = {(r.rule, r.entity) for r in first.resolves}
    counts = [f.evidence.get("usable_links") for f in findings if (f.rule, f.entity) in resolved]
    return next((float(n) for n in counts if isinstance(n, int | float) and n > 1), None)

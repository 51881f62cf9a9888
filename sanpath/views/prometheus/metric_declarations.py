"""Every exported metric: its name, labels and meaning, and the values that it takes from the diagnosis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sanpath.diagnosis.model import Bottleneck, Diagnosis, DirectionResult, ElementUse, StepResult
from sanpath.diagnosis.sources import SourceAccount
from sanpath.views import words

Series = Iterable[tuple[tuple[str | None, ...], float | None]]
"""(label values, value) of each series. A value of None is unknown and makes no series."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric. `name`: without `sanpath_`. `kind`: an info metric has the value 1 and informative labels."""

    name: str
    meaning: str
    read: Callable[[Diagnosis], Series]
    labels: tuple[str, ...] = ()
    kind: Literal["gauge", "counter", "info"] = "gauge"


def current(diagnosis: Diagnosis) -> StepResult | None:
    """The newest step with I/O, which the metrics of a step describe. None: there is none yet."""
    return next((step for step in reversed(diagnosis.steps) if step.directions), None)


def _value(value: Callable[[Diagnosis], float | None]) -> Callable[[Diagnosis], Series]:
    return lambda diagnosis: [((), value(diagnosis))]


def _step(value: Callable[[StepResult], float | None]) -> Callable[[Diagnosis], Series]:
    return lambda diagnosis: [((), value(step))] if (step := current(diagnosis)) is not None else []


def _load(name: str, meaning: str, value: Callable[[DirectionResult], float | None]) -> Metric:
    def read(diagnosis: Diagnosis) -> Series:
        step = current(diagnosis)
        return [((direction,), value(result)) for direction, result in step.directions.items()] if step else []

    return Metric(f"load_{name}", meaning, read, ("direction",))


def _bottleneck(
    name: str, meaning: str, value: Callable[[Bottleneck], float | None], kind: Literal["gauge", "info"] = "gauge"
) -> Metric:
    def read(diagnosis: Diagnosis) -> Series:
        return [((b.entity, b.kind, b.layer, b.direction), value(b)) for b in diagnosis.verdict.bottlenecks]

    return Metric(name, meaning, read, ("entity", "entity_kind", "layer", "direction"), kind)


def _percentiles(diagnosis: Diagnosis) -> Iterator[tuple[tuple[str, ...], float | None]]:
    step = current(diagnosis)
    for direction, result in step.directions.items() if step else ():
        latency = result.latency_seconds
        for percentile, seconds in (("50", latency.p50), ("95", latency.p95), ("99", latency.p99)):
            yield (direction, percentile), seconds
        yield (direction, "100"), latency.max


def _element(name: str, meaning: str, value: Callable[[ElementUse], float | None]) -> Metric:
    def read(diagnosis: Diagnosis) -> Series:
        step = current(diagnosis)
        used = [element for element in diagnosis.elements if step is not None and element.step == step.name]
        # In a large fabric, the least important series are left out.
        used.sort(key=lambda e: (not e.on_loaded_path, -(e.utilisation or 0), e.entity))
        loaded = {True: "yes", False: "no", None: "unknown"}
        return [((e.entity, e.kind, e.direction, loaded[e.on_loaded_path]), value(e)) for e in used]

    return Metric(f"element_{name}", meaning, read, ("entity", "entity_kind", "direction", "loaded_path"))


def _source(name: str, meaning: str, value: Callable[[SourceAccount], float | None]) -> Metric:
    def read(diagnosis: Diagnosis) -> Series:
        return [((s.name, s.kind), value(s)) for s in diagnosis.sources]

    kind: Literal["counter", "gauge"] = "counter" if name.endswith("_total") else "gauge"
    return Metric(f"source_{name}", meaning, read, ("source", "collector"), kind)


def _moment(iso: str | None) -> float | None:
    return datetime.fromisoformat(iso).timestamp() if iso else None


def _verdict(diagnosis: Diagnosis) -> Series:
    return [((kind,), float(kind == diagnosis.verdict.kind)) for kind in words.KINDS]


def _step_verdict(diagnosis: Diagnosis) -> Series:
    step = current(diagnosis)
    return [((kind,), float(kind == step.verdict.kind)) for kind in words.KINDS] if step else []


def _grade(diagnosis: Diagnosis) -> Series:
    return [((grade,), float(grade == diagnosis.verdict.grade)) for grade in words.GRADES]


def _budget_parts(diagnosis: Diagnosis) -> Iterator[tuple[tuple[str, ...], float | None]]:
    step = current(diagnosis)
    for budget in words.budgets_of(diagnosis, step.name) if step else ():
        for part in budget.parts:
            labels = budget.lun, budget.direction, part.layer, part.plane, part.entity, part.what
            yield labels, words.midpoint(part.seconds)


def _unexplained(diagnosis: Diagnosis) -> Iterator[tuple[tuple[str, ...], float | None]]:
    step = current(diagnosis)
    for budget in words.budgets_of(diagnosis, step.name) if step else ():
        yield (budget.lun, budget.direction), words.midpoint(budget.unexplained_seconds)


METRICS = (
    Metric(
        "run",
        "Which recording this is, and what judged it.",
        lambda d: [((d.run.id, d.run.tool_version, d.run.rulebook_version), 1)],
        ("run_id", "tool_version", "rulebook_version"),
        kind="info",
    ),
    Metric("run_start_timestamp_seconds", "When the run began.", _value(lambda d: _moment(d.run.start))),
    Metric("run_complete", "1: every writer ended normally.", _value(lambda d: d.run.complete)),
    Metric("verdict", "1 for the kind of the run's verdict so far, 0 for the others.", _verdict, ("kind",)),
    Metric("verdict_grade", "1 for the grade of that verdict, 0 for the others.", _grade, ("grade",)),
    _bottleneck(
        "bottleneck",
        "What limits the run so far; an element with the same limit elsewhere on the path has a series of its own.",
        lambda _: 1,
        kind="info",
    ),
    _bottleneck(
        "bottleneck_utilisation_ratio",
        "Utilisation of the limit in the step of the verdict.",
        lambda b: b.utilisation,
    ),
    _bottleneck(
        "bottleneck_explained_ratio",
        "Share of the latency that would disappear with the limit.",
        lambda b: b.explains,
    ),
    Metric(
        "knee_operations",
        "Outstanding I/Os from which on more load adds only latency.",
        _value(lambda d: d.verdict.knee_in_flight),
    ),
    Metric("unloaded_latency_seconds", "Latency without a queue.", _value(lambda d: d.verdict.r0.seconds)),
    Metric(
        "finding",
        "A rule that holds, in any step.",
        lambda d: [((f.rule, f.severity, f.role, f.entity, f.direction), 1) for f in words.hits(d)],
        ("rule", "severity", "role", "entity", "direction"),
        kind="info",
    ),
    Metric(
        "findings_not_judged",
        "Rules and entities that were not judged, as their inputs were not measured.",
        _value(lambda d: len(words.not_judged(d))),
    ),
    Metric("unobserved", "What no source measured.", _value(lambda d: len(d.unobserved))),
    Metric(
        "step",
        "The newest step with I/O. The metrics of load, latency and element are those of this step so far.",
        lambda d: [((step.name,), 1)] if (step := current(d)) is not None else [],
        ("step",),
        kind="info",
    ),
    Metric("step_verdict", "1 for the kind of the step's verdict, 0 for the others.", _step_verdict, ("kind",)),
    Metric("step_windows", "Complete windows of the slowest source in the step.", _step(lambda s: s.windows_used)),
    _load("operations_per_second", "Throughput, mean of the step.", lambda r: r.ops_per_second),
    _load("bytes_per_second", "Payload throughput, mean of the step.", lambda r: r.bytes_per_second),
    _load("latency_seconds", "Latency that the load sees, mean of the step.", lambda r: r.latency_seconds.mean),
    Metric(
        "load_latency_percentile_seconds",
        "Percentiles of the latency, where the load reports them: 50, 95, 99; 100 is its maximum.",
        _percentiles,
        ("direction", "percentile"),
    ),
    Metric(
        "load_configured_operations",
        "Outstanding I/Os that the load is configured for.",
        _step(lambda s: s.in_flight.configured),
    ),
    Metric("load_in_flight_operations", "Measured outstanding I/Os.", _step(lambda s: s.in_flight.measured)),
    Metric(
        "latency_part_seconds",
        "Where the latency is spent: mid-point of each part.",
        _budget_parts,
        ("lun", "direction", "layer", "plane", "entity", "what"),
    ),
    Metric(
        "latency_unexplained_seconds",
        "Latency that no part explains; negative if the parts are more than the total.",
        _unexplained,
        ("lun", "direction"),
    ),
    _element("utilisation_ratio", "Load of an element over its capacity.", lambda e: e.utilisation),
    _element("bytes_per_second", "Bytes counted at it.", lambda e: e.bytes_per_second),
    _element("capacity_bytes_per_second", "Bytes that the element can carry.", lambda e: e.capacity_bytes_per_second),
    _element(
        "foreign_bytes_per_second",
        "Bytes on the element that are not the test's.",
        lambda e: e.foreign_bytes_per_second,
    ),
    _source("polls_total", "Polls that were made.", lambda s: s.polls),
    _source("failures_total", "Polls that failed.", lambda s: s.failures),
    _source("gaps_total", "Polls that were skipped.", lambda s: s.gaps),
    _source("requests_total", "Requests to the source.", lambda s: s.requests),
    _source("poll_seconds_total", "Time spent on polls.", lambda s: s.cost_seconds),
    _source("interval_seconds", "Time between polls.", lambda s: s.every_seconds),
    _source(
        "clock_offset_seconds",
        "Clock of the source minus that of the recorder.",
        lambda s: s.clock_offset_seconds,
    ),
    _source(
        "last_answer_timestamp_seconds",
        "When the source last answered; no series: never.",
        lambda s: _moment(s.last_answer),
    ),
)

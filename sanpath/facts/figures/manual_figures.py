"""Uses the figures that a person entered, if no source measured them. A measurement always has precedence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass

from sanpath.facts.load.load_events import SourceEvents
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.model import Event, Scalar, Step
from sanpath.topology.paths import cables
from sanpath.topology.topology import Topology

_TOLERANCE_RATIO = 0.2
"""A figure that differs from the measured value by more than this ratio is worth a remark."""

Ceilings = Mapping[tuple[str, str, str | None], tuple[float, str]]
"""(entity, "ops_per_second" or "bytes_per_second", direction or None: both together) → what a data sheet
promises, and the name of the data sheet."""


@dataclass(frozen=True, slots=True)
class ManualFigures:
    """Samples by entity kind, remarks by step, and the ceilings of data sheets, all with the figures that people
    read.

    A sample with figures replaces the sample of the source."""

    samples: Mapping[str, Sequence[StepSamples]]
    notes: Mapping[str, Sequence[str]]
    ceilings: Ceilings


def manual_figures(
    topology: Topology,
    steps: Sequence[Step],
    loads: Sequence[LoadFacts],
    samples: Mapping[str, Sequence[StepSamples]],
    events: SourceEvents,
) -> ManualFigures:
    """Apply the figures of a recording. Measured values stay as they are; a remark names each unknown entity."""
    new_samples: dict[str, list[StepSamples]] = {}
    notes: dict[str, list[str]] = {}
    ceilings: dict[tuple[str, str, str | None], tuple[float, str]] = {}
    for event in [event for _, event in events if event.name == "figure"]:
        entity = str(event.detail.get("entity"))
        if event.detail.get("quantity") == "ceiling":
            key = (
                entity,
                str(event.detail.get("unit")),
                None if (d := event.detail.get("direction")) is None else str(d),
            )
            ceiling = _number(event.detail.get("low")), _source(event)
            # If data sheets contradict each other, the higher figure counts: a limit should not be claimed lightly.
            ceilings[key] = max(ceiling, ceilings.get(key, ceiling))
            continue
        if event.detail.get("quantity") not in ("latency", "throughput") or entity.startswith("load:"):
            continue  # This figure is only compared with other figures; it does not replace a measurement.
        for step in [s for s in steps if event.detail.get("step") in (None, s.name)]:
            remark = f"{entity}: {_figure_text(event)}, read by hand ({_source(event)})"
            if entity not in topology.entities:
                notes.setdefault(step.name, []).append(f"{remark}: no entity has this name")
                continue
            kind = topology.entities[entity].kind
            kind_samples = samples.get(kind, ())
            for load in [f for f in loads if f.step == step.name and _is_for(event, f)]:
                measured = _apply(topology, new_samples.setdefault(kind, []), event, step, load, kind_samples)
                remark += "".join(f"; the measured {value:.4g} is used instead" for value in measured)
            notes.setdefault(step.name, []).append(remark)
    return ManualFigures(
        {kind: _replaced(samples.get(kind, ()), replacements) for kind, replacements in new_samples.items()},
        notes,
        ceilings,
    )


def _is_for(event: Event, load: LoadFacts) -> bool:
    return event.detail.get("direction") in (None, load.direction)


def _source(event: Event) -> str:
    return str(event.detail.get("source"))


def _replaced(samples: Sequence[StepSamples], replacements: Sequence[StepSamples]) -> list[StepSamples]:
    replaced = {(sample.source, sample.entity, sample.step) for sample in replacements}
    return [s for s in samples if (s.source, s.entity, s.step) not in replaced] + list(replacements)


def _metrics(topology: Topology, entity: str, event: Event, direction: str) -> Iterator[str]:
    """Yield the metric that a figure stands for; if it is the rate of a counter, the counter."""
    quantity, unit = event.detail.get("quantity"), str(event.detail.get("unit"))
    kind = topology.entities[entity].kind
    if kind == "switch_port" and unit == "bytes_per_second":
        for cable in cables(topology):
            if cable.switch_port == entity:
                yield f"bytes_{cable.counter(direction)}_total"
    elif kind in ("array", "volume"):
        yield f"service_seconds_{direction}" if quantity == "latency" else f"{unit}_{direction}"


def _measured(
    topology: Topology, entity: str, step: Step, metric: str, samples: Sequence[StepSamples]
) -> float | None:
    for sample in samples:
        if sample.step == step.name and (sample.source, sample.entity) in topology.entities[entity].known_as:
            value = sample.rate(metric) if metric.endswith("_total") else sample.means.get(metric)
            if value is not None:
                return value
    return None


def _sample(
    topology: Topology, new_samples: list[StepSamples], entity: str, step: Step, samples: Sequence[StepSamples]
) -> StepSamples:
    """Return the sample that receives the figures of an entity in a step."""
    known_as = topology.entities[entity].known_as
    for sample in new_samples:
        if sample.step == step.name and (sample.source, sample.entity) in known_as:
            return sample
    for sample in samples:  # The source's other values are kept, such as the speed of a port.
        if sample.step == step.name and (sample.source, sample.entity) in known_as:
            new_samples.append(deepcopy(sample))
            new_samples[-1].by_hand = True
            return new_samples[-1]
    new_samples.append(StepSamples(*known_as[0], step.name, [step.seconds], [step.end], samples=1, by_hand=True))
    speed = topology.entities[entity].attributes.get("speed_bits_per_second")
    if speed is not None:
        new_samples[-1].last_values["link_speed_bits_per_second"] = _number(speed)
    return new_samples[-1]


def _apply(
    topology: Topology,
    new_samples: list[StepSamples],
    event: Event,
    step: Step,
    load: LoadFacts,
    samples: Sequence[StepSamples],
) -> Iterator[float]:
    """Apply a figure where nothing was measured. Yields the measured values that disagree with the figure."""
    entity = str(event.detail.get("entity"))
    low, high = (_number(event.detail.get(end)) for end in ("low", "high"))
    for metric in _metrics(topology, entity, event, load.direction):
        measured = _measured(topology, entity, step, metric, samples)
        if measured is None:
            _fill(_sample(topology, new_samples, entity, step, samples), load, metric, low, high)
        elif not (1 - _TOLERANCE_RATIO) * low <= measured <= (1 + _TOLERANCE_RATIO) * high:
            yield measured


def _fill(sample: StepSamples, load: LoadFacts, metric: str, low: float, high: float) -> None:
    if metric.endswith("_total"):
        sample.rates[metric] = [(low + high) / 2] * len(sample.seconds)
        sample.mean_rates = {}
        return
    sample.means[metric] = low
    if high > low:
        sample.resolutions = {**sample.resolutions, metric: high - low}
    # A latency read off a screen comes without its number of I/Os: it is taken as the mean over the test's own I/Os.
    for load_metric, value in (("ops_per_second", load.ops_per_second), ("bytes_per_second", load.bytes_per_second)):
        sample.means.setdefault(f"{load_metric}_{load.direction}", value)


def _figure_text(event: Event) -> str:
    low, high = (_number(event.detail.get(end)) for end in ("low", "high"))
    scale, unit = {"seconds": (1e3, "ms"), "bytes_per_second": (1e-6, "MB/s")}.get(
        str(event.detail.get("unit")), (1.0, "IOPS")
    )
    amount = f"{low * scale:,.4g}" + (f" to {high * scale:,.4g}" if high > low else "")
    return f"{event.detail.get('quantity')} {amount} {unit}"


def _number(value: Scalar) -> float:
    return float(value) if isinstance(value, int | float) else 0.0

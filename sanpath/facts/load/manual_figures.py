"""Figures that a person read by hand, in the place of what no source measured; they never outrank a measurement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass

from sanpath.facts.load.load_events import SourceEvents
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.model import Event, Scalar, Step
from sanpath.topology.identity import Topology
from sanpath.topology.paths import cables

_AGREE = 0.2
"""A figure that is off by more than this from what was measured is worth a word."""

Ceilings = Mapping[tuple[str, str, str | None], tuple[float, str]]
"""(entity, "ops_per_second" or "bytes_per_second", direction or None: both together) → what a data sheet promises,
and which."""


@dataclass(frozen=True, slots=True)
class ByHand:
    """What figures make of the samples of an entity kind, what is to be said of them a step, and the ceilings of data
    sheets. A sample with figures takes the place of the one that a source told."""

    samples: Mapping[str, Sequence[StepSamples]]
    notes: Mapping[str, Sequence[str]]
    ceilings: Ceilings


def figures_by_hand(
    topology: Topology,
    steps: Sequence[Step],
    loads: Sequence[LoadFacts],
    samples: Mapping[str, Sequence[StepSamples]],
    events: SourceEvents,
) -> ByHand:
    """The figures of a recording. What is measured is left alone; an entity that is not known is said to be so."""
    made: dict[str, list[StepSamples]] = {}
    notes: dict[str, list[str]] = {}
    ceilings: dict[tuple[str, str, str | None], tuple[float, str]] = {}
    for event in [event for _, event in events if event.name == "figure"]:
        entity = str(event.detail.get("entity"))
        if event.detail.get("quantity") == "ceiling":
            of = (
                entity,
                str(event.detail.get("unit")),
                None if (d := event.detail.get("direction")) is None else str(d),
            )
            ceilings[of] = _float(event.detail.get("low")), _source(event)
            continue
        for step in [s for s in steps if event.detail.get("step") in (None, s.name)]:
            told = f"{entity}: {_written(event)}, read by hand ({_source(event)})"
            if entity not in topology.entities:
                notes.setdefault(step.name, []).append(f"{told}: nothing of this name is known")
                continue
            kind = topology.entities[entity].kind
            here = samples.get(kind, ())
            for load in [f for f in loads if f.step == step.name and _is_for(event, f)]:
                measured = _put(topology, made.setdefault(kind, []), event, step, load, here)
                told += "".join(f"; {value:.4g} was measured, and is what counts" for value in measured)
            notes.setdefault(step.name, []).append(told)
    return ByHand({kind: _in_place(samples.get(kind, ()), told) for kind, told in made.items()}, notes, ceilings)


def _is_for(event: Event, load: LoadFacts) -> bool:
    return event.detail.get("direction") in (None, load.direction)


def _source(event: Event) -> str:
    return str(event.detail.get("source"))


def _in_place(samples: Sequence[StepSamples], made: Sequence[StepSamples]) -> list[StepSamples]:
    places = {(sample.source, sample.entity, sample.step) for sample in made}
    return [s for s in samples if (s.source, s.entity, s.step) not in places] + list(made)


def _metrics(topology: Topology, entity: str, event: Event, direction: str) -> Iterator[str]:
    """The metric that a figure stands for; that of a counter for its rate."""
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
            found = sample.rate(metric) if metric.endswith("_total") else sample.means.get(metric)
            if found is not None:
                return found
    return None


def _sample(
    topology: Topology, made: list[StepSamples], entity: str, step: Step, samples: Sequence[StepSamples]
) -> StepSamples:
    """The sample that takes the figures of an entity in a step."""
    known_as = topology.entities[entity].known_as
    for sample in made:
        if sample.step == step.name and (sample.source, sample.entity) in known_as:
            return sample
    for sample in samples:  # What a source told stays beside what was read by hand, such as the speed of a port.
        if sample.step == step.name and (sample.source, sample.entity) in known_as:
            made.append(deepcopy(sample))
            made[-1].by_hand = True
            return made[-1]
    made.append(StepSamples(*known_as[0], step.name, [step.seconds], [step.end], samples=1, by_hand=True))
    speed = topology.entities[entity].attributes.get("speed_bits_per_second")
    if speed is not None:
        made[-1].lasts["link_speed_bits_per_second"] = _float(speed)
    return made[-1]


def _put(
    topology: Topology,
    made: list[StepSamples],
    event: Event,
    step: Step,
    load: LoadFacts,
    samples: Sequence[StepSamples],
) -> Iterator[float]:
    """Put a figure where nothing was measured. Yields what was, where it disagrees with the figure."""
    entity = str(event.detail.get("entity"))
    low, high = (_float(event.detail.get(end)) for end in ("low", "high"))
    for metric in _metrics(topology, entity, event, load.direction):
        measured = _measured(topology, entity, step, metric, samples)
        if measured is None:
            _fill(_sample(topology, made, entity, step, samples), load, metric, low, high)
        elif not (1 - _AGREE) * low <= measured <= (1 + _AGREE) * high:
            yield measured


def _fill(sample: StepSamples, load: LoadFacts, metric: str, low: float, high: float) -> None:
    if metric.endswith("_total"):
        sample.rates[metric] = [(low + high) / 2] * len(sample.seconds)
        return
    sample.means[metric] = low
    if high > low:
        sample.resolutions = {**sample.resolutions, metric: high - low}
    # A person reads a latency off a screen, not what it is the mean of: it is taken for that of the test's own I/Os.
    for of_load, value in (("ops_per_second", load.ops_per_second), ("bytes_per_second", load.bytes_per_second)):
        sample.means.setdefault(f"{of_load}_{load.direction}", value)


def _written(event: Event) -> str:
    low, high = (_float(event.detail.get(end)) for end in ("low", "high"))
    scale, unit = {"seconds": (1e3, "ms"), "bytes_per_second": (1e-6, "MB/s")}.get(
        str(event.detail.get("unit")), (1.0, "IOPS")
    )
    amount = f"{low * scale:,.4g}" + (f" to {high * scale:,.4g}" if high > low else "")
    return f"{event.detail.get('quantity')} {amount} {unit}"


def _float(value: Scalar) -> float:
    return float(value) if isinstance(value, int | float) else 0.0

"""Events of the loads: latency distributions, and warnings about their data."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter

from sanpath.model import Event, Step
from sanpath.recording.format.compaction import DROPPED, LEFT_OUT

_LATE_US = 1_500_000
"""A load's report at the end of a step may be read this much later."""

_MISSING_TEXTS = {DROPPED: "no longer recorded", LEFT_OUT: "not read again in this view"}

Histogram = Sequence[tuple[float | None, float]]
"""(upper bound in seconds, None: no bound; share of the I/Os) in rising order."""

SourceEvents = Sequence[tuple[str, Event]]
"""(source, event), by time."""


def histograms(steps: Sequence[Step], events: SourceEvents) -> dict[tuple[str, str], Histogram]:
    """Return (step, direction) → the last distribution reported in the step. Where several loads report one, it is
    left out."""
    distributions: dict[tuple[str, str], tuple[object, Histogram]] = {}
    ambiguous = set()
    for step, (source, event) in _in_steps(steps, events, "latency-histogram"):
        key = (step.name, str(event.detail.get("direction")))
        load = (source, event.detail.get("load"))
        if key in distributions and distributions[key][0] != load:
            ambiguous.add(key)
        if (buckets := _buckets(str(event.detail.get("buckets", "")))) is not None:
            distributions[key] = (load, buckets)
    return {key: buckets for key, (_, buckets) in distributions.items() if key not in ambiguous}


def histograms_of_loads(steps: Sequence[Step], events: SourceEvents) -> dict[tuple[str, str, str], Histogram]:
    """Return (load, step, direction) → the last distribution that the load reported in the step."""
    return {
        (str(event.detail.get("load")), step.name, str(event.detail.get("direction"))): buckets
        for step, (_, event) in _in_steps(steps, events, "latency-histogram")
        if (buckets := _buckets(str(event.detail.get("buckets", "")))) is not None
    }


def warnings(
    steps: Sequence[Step], events: SourceEvents
) -> tuple[Mapping[str, Sequence[str]], Sequence[tuple[str, str]]]:
    """Return step → warnings about its data, and (source, text) of the warnings that belong to no step."""
    by_step: dict[str, dict[str, None]] = {}
    in_steps = set()
    for step, text in _dropped(steps, events):
        by_step.setdefault(step.name, {})[text] = None
    for step, (source, event) in _in_steps(steps, events, "data-warning"):
        by_step.setdefault(step.name, {})[f"{source}: {event.detail.get('text')}"] = None
        in_steps.add(id(event))
    outside_steps = {
        (source, str(event.detail.get("text"))): None
        for source, event in events
        if event.name == "data-warning" and id(event) not in in_steps
    }
    return {step: tuple(texts) for step, texts in by_step.items()}, tuple(outside_steps)


def step_at(steps: Sequence[Step], moment_us: int) -> Step | None:
    """Return the last step that had begun at a moment. None: none had."""
    begun = [step for step in steps if step.start <= moment_us]
    return max(begun, key=attrgetter("start", "end"), default=None)


def failed_ends(steps: Sequence[Step], events: SourceEvents) -> Iterator[tuple[Step, str, int]]:
    """Yield (step, source of the load, its error number) where a load ended with an error, not by an interrupt."""
    for source, event in events:
        error = event.detail.get("error")
        if event.name == "step-end" and isinstance(error, int) and error not in (0, errno.EINTR):
            step = step_at(steps, event.seen)
            if step is not None:
                yield step, source, error


def has_generator(events: SourceEvents) -> bool:
    """Return whether a load was started whose output is read. The source of any other load is named `load`."""
    return any(event.name == "load-started" and source.rpartition("/")[2] != "load" for source, event in events)


def dropped(events: SourceEvents) -> tuple[int, str] | None:
    """Return (moment on the recorder's clock in microseconds, reason) before which samples are missing or were not
    read.

    None: there are samples of all times."""
    limits = [
        (before, _MISSING_TEXTS[event.name])
        for _, event in events
        if event.name in _MISSING_TEXTS and isinstance(before := event.detail.get("before"), int)
    ]
    return max(limits, default=None)


def _dropped(steps: Sequence[Step], events: SourceEvents) -> Iterator[tuple[Step, str]]:
    before, reason = dropped(events) or (0, "")
    for step in steps:
        if step.end <= before:
            yield step, f"{reason}: the step cannot be judged"
        elif step.start < before:
            yield step, f"{reason}: the step's figures leave out its first {(before - step.start) / 1e6:.0f} s"


def _in_steps(steps: Sequence[Step], events: SourceEvents, name: str) -> Iterator[tuple[Step, tuple[str, Event]]]:
    for source, event in events:
        if event.name != name:
            continue
        for step in steps:
            is_of_step = not step.loads or any(load.source == source for load in step.loads)
            begin = min(
                [step.start, *(load.summary_window[0] for load in step.loads if load.summary_window is not None)]
            )
            if is_of_step and begin <= event.seen <= step.end + _LATE_US:
                yield step, (source, event)
                break


def _buckets(text: str) -> Histogram | None:
    try:
        pairs = [word.split(":") for word in text.split()]
        return [(None if upper == "inf" else float(upper), float(share)) for upper, share in pairs]
    except ValueError:
        return None

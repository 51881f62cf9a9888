"""What the loads said beside their figures: latency distributions, and what is to be known of their data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sanpath.model import Event, Step
from sanpath.recording.format.compaction import DROPPED, LEFT_OUT

_LATE_US = 1_500_000
"""What a load says of a step at its end may be read a moment later."""

_GONE = {DROPPED: "no longer recorded", LEFT_OUT: "not read again in this view"}

Histogram = Sequence[tuple[float | None, float]]
"""(upper bound in seconds, None: no bound; share of the I/Os) in rising order."""

SourceEvents = Sequence[tuple[str, Event]]
"""(source, event), by time."""


def histograms(steps: Sequence[Step], events: SourceEvents) -> dict[tuple[str, str], Histogram]:
    """(step, direction) → the last distribution told in it. Left out where several loads tell theirs."""
    found: dict[tuple[str, str], tuple[object, Histogram]] = {}
    several = set()
    for step, (source, event) in _in_steps(steps, events, "latency-histogram"):
        key = (step.name, str(event.detail.get("direction")))
        load = (source, event.detail.get("load"))
        if key in found and found[key][0] != load:
            several.add(key)
        if (buckets := _buckets(str(event.detail.get("buckets", "")))) is not None:
            found[key] = (load, buckets)
    return {key: buckets for key, (_, buckets) in found.items() if key not in several}


def warnings(
    steps: Sequence[Step], events: SourceEvents
) -> tuple[Mapping[str, Sequence[str]], Sequence[tuple[str, str]]]:
    """Step → what is to be known of its data; and (source, text) of what belongs to no step."""
    by_step: dict[str, dict[str, None]] = {}
    placed = set()
    for step, text in _dropped(steps, events):
        by_step.setdefault(step.name, {})[text] = None
    for step, (source, event) in _in_steps(steps, events, "data-warning"):
        by_step.setdefault(step.name, {})[f"{source}: {event.detail.get('text')}"] = None
        placed.add(id(event))
    others = {
        (source, str(e.detail.get("text"))): None
        for source, e in events
        if e.name == "data-warning" and id(e) not in placed
    }
    return {step: tuple(texts) for step, texts in by_step.items()}, tuple(others)


def dropped(events: SourceEvents) -> tuple[int, str] | None:
    """(moment on the recorder's clock, why) before which samples are not there any more, or were not read. None: all
    are there."""
    found = [
        (before, _GONE[event.name])
        for _, event in events
        if event.name in _GONE and isinstance(before := event.detail.get("before"), int)
    ]
    return max(found, default=None)


def _dropped(steps: Sequence[Step], events: SourceEvents) -> Iterator[tuple[Step, str]]:
    before, why = dropped(events) or (0, "")
    for step in steps:
        if step.end <= before:
            yield step, f"{why}: nothing of it can be judged"
        elif step.start < before:
            yield step, f"{why}: its first {(before - step.start) / 1e6:.0f} s are not in its figures"


def _in_steps(steps: Sequence[Step], events: SourceEvents, name: str) -> Iterator[tuple[Step, tuple[str, Event]]]:
    for source, event in events:
        if event.name != name:
            continue
        for step in steps:
            mine = not step.loads or any(load.source == source for load in step.loads)
            begin = min(
                [step.start, *(load.summary_window[0] for load in step.loads if load.summary_window is not None)]
            )
            if mine and begin <= event.seen <= step.end + _LATE_US:
                yield step, (source, event)
                break


def _buckets(text: str) -> Histogram | None:
    try:
        pairs = [word.split(":") for word in text.split()]
        return [(None if upper == "inf" else float(upper), float(share)) for upper, share in pairs]
    except ValueError:
        return None

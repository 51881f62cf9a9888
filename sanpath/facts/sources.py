"""Facts of sources: whether what they said is complete, on time, of a clock that can be trusted, and fine enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from sanpath.facts.load.load_events import SourceEvents
from sanpath.facts.samples.clock_offsets import ClockOffset
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.facts.table import FactRow
from sanpath.model import Event, Poll, Step
from sanpath.recording.reading.recording import Recording

_POLLED = ("switch_port", "array", "volume")
"""Kinds whose windows a verdict rests on, beside those of the load."""
_EVENTS = {"restarts": "device-restarted", "missing_samples": "samples-missing"}
_NOTES = ("info", "hidden")
"""Severities of alerts that tell and do not warn."""
_SOUND = ("ok", "healthy", "ready", "identifying")
"""States of a component that works."""


def source_rows(
    recording: Recording,
    steps: Sequence[Step],
    samples: Mapping[str, Sequence[StepSamples]],
    clocks: Mapping[str, ClockOffset],
    events: SourceEvents,
) -> Iterator[FactRow]:
    """One row a source, of the whole run."""
    polls = recording.polls()
    for declaration in recording.declarations:
        own = [poll for poll in polls if poll.source == declaration.name]
        done = [poll for poll in own if poll.outcome != "skipped"]
        clock = clocks.get(declaration.name)
        own_events = [event for source, event in events if source == declaration.name]
        said = Counter(event.name for event in own_events)
        complaints = [text for event in own_events if (text := _complaint(event)) is not None]
        yield {
            "entity": f"source:{declaration.name}",
            "step": "whole run",
            "direction": "both",
            "windows": len(done),
            "collector": declaration.collector,
            "polls": float(len(done)),
            "failed_ratio": sum(p.outcome in ("failed", "partial") for p in done) / len(done) if done else None,
            "skipped_ratio": (len(own) - len(done)) / len(own) if own else None,
            "poll_seconds": sum(p.ended - p.started for p in done) / 1e6 / len(done) if done else None,
            "every_seconds": declaration.every_seconds,
            "longest_gap_seconds": _longest_gap(done),
            "clock_offset_seconds": clock.seconds if clock is not None else None,
            "clock_uncertainty_seconds": clock.uncertainty_seconds if clock is not None else None,
            "fewest_windows": _fewest_windows(declaration.name, steps, samples),
            **{fact: float(said[name]) for fact, name in _EVENTS.items()},
            "complaints": float(len(complaints)),
            "complaint": complaints[0] if complaints else None,
        }


def _complaint(event: Event) -> str | None:
    """What a device says is wrong with itself. None: it says nothing of the kind, or that it is right again."""
    detail = event.detail
    if event.name == "alert" and str(detail.get("severity")) not in _NOTES:
        return f"{detail.get('summary')} ({detail.get('severity')})"
    if event.name == "hardware-state" and str(detail.get("state")) not in _SOUND:
        return f"{detail.get('component')} is {detail.get('state')}"
    return None


def _longest_gap(done: Sequence[Poll]) -> float | None:
    """Longest time between polls that were answered, seconds. None: fewer than two were."""
    answered = sorted(poll.ended for poll in done if poll.outcome in ("ok", "partial"))
    return max(((later - earlier) / 1e6 for earlier, later in pairwise(answered)), default=None)


def _fewest_windows(source: str, steps: Sequence[Step], samples: Mapping[str, Sequence[StepSamples]]) -> float | None:
    """Whole windows that the source has in the step in which it has the fewest. None: it has none in any."""
    most: dict[str, int] = {}
    for kind in _POLLED:
        for sample in samples.get(kind, ()):
            if sample.source == source and not sample.by_hand:
                most[sample.step] = max(most.get(sample.step, 0), sample.windows)
    return float(min(most.get(step.name, 0) for step in steps)) if most else None

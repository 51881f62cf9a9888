"""Facts of sources: whether their samples are complete, on time, of a reliable clock, and frequent enough."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from math import ceil

from sanpath.catalogue.catalogue import parts
from sanpath.catalogue.values import WORKING_STATES
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.stalled_devices import DeviceStall
from sanpath.facts.samples.step_samples import MIN_WINDOWS, StepSamples
from sanpath.facts.table import WHOLE_RUN, FactRow
from sanpath.facts.time.placement import PlacedInTime
from sanpath.model import Event, Poll, Step
from sanpath.recording.format.documents import Declaration
from sanpath.recording.reading.recording import Recording

_POLLED = ("switch_port", "array", "volume")
"""Kinds whose windows a verdict needs, in addition to those of the load."""
Judged = Mapping[tuple[str, str], Collection[str]]
"""(source, step) → its ids of the arrays or volumes whose figures stand for the array's side of the test."""
_Windows = dict[str, tuple[int, float]]
"""Step → how many windows, and their mean length in seconds."""
_EVENTS = {"restarts": "device-restarted", "missing_samples": "samples-missing"}
_INFORMATIVE_SEVERITIES = ("info", "hidden")
"""Severities of alerts that inform and do not warn."""


def source_rows(
    recording: Recording,
    steps: Sequence[Step],
    samples: Mapping[str, Sequence[StepSamples]],
    timed: PlacedInTime,
    judged: Judged,
    loads: Sequence[LoadFacts],
    silent: Sequence[DeviceStall],
) -> Iterator[FactRow]:
    """Yield one row for each source, over the entire run."""
    polls = recording.polls()
    stalls = _slowest_ios(loads)
    clocks, events = timed.clocks, timed.events
    windows = _windows(samples, steps, judged)
    for declaration in recording.declarations:
        source_polls = [poll for poll in polls if poll.source == declaration.name]
        done = [poll for poll in source_polls if poll.outcome != "skipped"]
        clock = clocks.get(declaration.name)
        source_events = [event for source, event in events if source == declaration.name]
        counts = Counter(event.name for event in source_events)
        # A file is read once: the duration of reading says nothing about the device.
        polled = [] if any(event.name == "imported" for event in source_events) else done
        complaints = [text for event in source_events if (text := _complaint(event)) is not None]
        yield {
            "entity": f"source:{declaration.name}",
            "step": WHOLE_RUN,
            "direction": "both",
            "windows": len(done),
            "collector": declaration.collector,
            "parts": ",".join(parts_read(declaration)),
            "polls": float(len(done)),
            "failed_ratio": sum(poll.outcome in ("failed", "partial") for poll in done) / len(done) if done else None,
            "skipped_ratio": (len(source_polls) - len(done)) / len(source_polls) if source_polls else None,
            "poll_seconds": sum(p.ended - p.started for p in polled) / 1e6 / len(polled) if polled else None,
            "every_seconds": declaration.every_seconds,
            "longest_gap_seconds": longest_gap(
                done, _steps_of(declaration.name, steps), stalls, declaration.every_seconds
            ),
            "clock_offset_seconds": clock.seconds if clock is not None else None,
            "clock_uncertainty_seconds": clock.uncertainty_seconds if clock is not None else None,
            **_window_facts(steps, windows.get(declaration.name), declaration.every_seconds),
            **{fact: float(counts[name]) for fact, name in _EVENTS.items()},
            **_unanswered(declaration.name, silent),
            "complaints": float(len(complaints)),
            "complaint": complaints[0] if complaints else None,
        }


def parts_read(declaration: Declaration) -> list[str]:
    """Return the parts of a setup that a source may read. A load generator's knowledge of its host does not count."""
    kinds = {table.kind for table in declaration.tables}
    return [
        name
        for name, part in parts().parts.items()
        if not kinds.isdisjoint(part.read_by) and ("load" not in kinds or "load" in part.read_by)
    ]


def _complaint(event: Event) -> str | None:
    """Return the fault that a device reports about itself. None: no fault, or a fault that has been cleared."""
    detail = event.detail
    if event.name == "alert" and str(detail.get("severity")) not in _INFORMATIVE_SEVERITIES:
        return f"{detail.get('summary')} ({detail.get('severity')})"
    if event.name == "hardware-state" and str(detail.get("state")) not in WORKING_STATES:
        return f"{detail.get('component')} is {detail.get('state')}"
    return None


def _steps_of(source: str, steps: Sequence[Step]) -> list[Step]:
    """Return the steps in which a source ran a load. Empty: it is no load, or marks no steps."""
    return [step for step in steps if any(load.source == source for load in step.loads)]


def _unanswered(source: str, silent: Sequence[DeviceStall]) -> FactRow:
    """Return the longest time in which a device of a source answered nothing. If several devices did not answer, the
    one with the most outstanding I/Os counts: the I/Os of a path are also those of its device."""
    of_source = [each for each in silent if each.source == source]
    longest = max(of_source, key=lambda each: (round(each.seconds), each.outstanding or 0.0), default=None)
    if longest is None:
        return {"unanswered_device": None, "unanswered_operations": None, "unanswered_seconds": 0.0}
    return {
        "unanswered_device": longest.device.partition(":")[2],
        "unanswered_operations": longest.outstanding,
        "unanswered_seconds": longest.seconds,
    }


def _slowest_ios(loads: Sequence[LoadFacts]) -> dict[str, float]:
    """Return step → the latency of its slowest I/O, seconds; 0: no load reports it."""
    slowest: defaultdict[str, float] = defaultdict(float)
    for load in loads:
        slowest[load.step] = max(slowest[load.step], load.slowest_seconds or 0.0)
    return slowest


def longest_gap(
    done: Sequence[Poll], own_steps: Sequence[Step], slowest_ios: Mapping[str, float], every_seconds: float
) -> float | None:
    """Return the longest time between answered polls, seconds. None: fewer than two were answered.

    `own_steps`: the steps of a load. A load is silent between its steps, so only gaps inside them count. It is silent
    as well while all its I/Os wait: a gap no longer than the step's slowest I/O and one interval is its own.
    """
    answered = sorted(poll.ended for poll in done if poll.outcome in ("ok", "partial"))
    if not own_steps:
        return max(((later - earlier) / 1e6 for earlier, later in pairwise(answered)), default=None)
    gaps = [
        (step.name, (min(later, step.end) - max(earlier, step.start)) / 1e6)
        for earlier, later in pairwise(answered)
        for step in own_steps
        if earlier < step.end and step.start < later
    ]
    return max(
        (
            seconds if seconds > slowest_ios.get(step, 0.0) + every_seconds else min(seconds, every_seconds)
            for step, seconds in gaps
        ),
        default=None,
    )


def _windows(
    samples: Mapping[str, Sequence[StepSamples]], steps: Sequence[Step], judged: Judged
) -> dict[str, _Windows]:
    """Return source → step → its windows: those of the entity with the most, or of the entities in `judged`, if there
    are any."""
    seconds = {step.name: step.seconds for step in steps}
    groups: defaultdict[tuple[str, str], dict[str, tuple[int, float]]] = defaultdict(dict)
    for kind in _POLLED:
        for sample in (sample for sample in samples.get(kind, ()) if not sample.by_hand):
            entities = judged.get((sample.source, sample.step), ()) if kind != "switch_port" else ()
            if entities and sample.entity not in entities:
                continue
            group = sample.entity if entities else "switch" if kind == "switch_port" else "array"
            of_group = groups[sample.source, sample.step]
            if sample.windows >= of_group.get(group, (0, 0.0))[0]:
                length = sample.length_seconds or seconds.get(sample.step, 0.0)
                of_group[group] = sample.windows, length / max(1, sample.windows)
    windows: defaultdict[str, _Windows] = defaultdict(dict)
    for (source, step), of_group in groups.items():
        windows[source][step] = min(of_group.values())
    return windows


def _fewest(steps: Sequence[Step], windows: _Windows) -> tuple[int, str]:
    """Return the windows in the step in which they are fewest, and that step."""
    return min(((windows.get(step.name, (0, 0.0))[0], step.name) for step in steps), key=lambda found: found[0])


def _window_facts(steps: Sequence[Step], windows: _Windows | None, every_seconds: float) -> FactRow:
    """Return the windows of a source in the step with the fewest. Without values: it has none in any step.
    `every_seconds`: their length if the source gave none. A step may begin in the middle of a window."""
    if windows is None:
        return dict.fromkeys(("fewest_windows", "fewest_windows_step", "seconds_of_four_windows"))
    number, step = _fewest(steps, windows)
    _, length = windows.get(step) or max(windows.values())
    return {
        "fewest_windows": float(number),
        "fewest_windows_step": step,
        "seconds_of_four_windows": float(ceil((MIN_WINDOWS + 1) * (length or every_seconds) - 0.01)),
    }

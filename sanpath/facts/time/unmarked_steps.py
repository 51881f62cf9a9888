"""Finds the unmarked steps of a load, at pauses and where outstanding I/Os or latency jump; also the unmarked end of
a step.

Throughput alone shows no boundary: a saturated test has the same in every step. Outstanding I/Os and latency come
from the load's own counters (N = X R). A drift is not a jump: it stays within its step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import duckdb
import numpy as np

from sanpath.facts.load.array_loads import busiest_at_array
from sanpath.facts.load.host_loads import at_other_times, busiest_devices, busy_period
from sanpath.facts.load.load_events import has_generator
from sanpath.facts.samples.cumulative import Numbers, cumulative_work
from sanpath.facts.samples.step_samples import StepSamples, step_samples
from sanpath.facts.time.steps import COMMAND
from sanpath.model import Step
from sanpath.recording.reading.recording import Recording
from sanpath.topology.topology import Topology

_BUSY_RATIO = 0.1
"""Share of its high throughput (which a tenth of its windows exceed) from which a load is busy."""
_HELD_RATIO = 0.5
"""Share of its outstanding I/Os from which a load is busy, however few of them complete."""
_JUMP_RATIO = 1.25
"""From one step to the next, outstanding I/Os or latency change by at least this factor."""
_MEDIAN_WINDOWS = 4
"""The change is between medians over this many windows on each side; a step has at least this many windows."""
_NOISE = 4.0
"""The change is larger than this many times the median difference of successive windows."""
_RAMP_RATIO = 0.1
"""Share of a step that is left out at its start, as where a load marks no ramp (steps.py)."""
_POSITIVE_ZERO = 1e-12
"""Stands for 0, which has no logarithm: less than any rate or number of I/Os."""


def split_steady(step: Step, samples: Sequence[StepSamples]) -> list[Step]:
    """Split a step into steps of a steady load, without ramps. Returns the step itself if nothing is found.
    `samples`: those of the loads, or of their substitute, over the entire step."""
    activity = _activity(samples)
    if activity is None:
        return [step]
    limits, operations, in_flight = activity.limits, activity.operations, activity.in_flight
    periods = []
    for begin, end in _busy(activity):
        edges = [begin, *_jumps(operations[begin:end], in_flight[begin:end], begin), end]
        # The window before a jump contains the beginning of the next step.
        periods += [(limits[first], limits[last - (last != end)]) for first, last in pairwise(edges)]
    long_enough = [
        (begin, end) for begin, end in periods if np.sum((limits >= begin) & (limits <= end)) > _MEDIAN_WINDOWS
    ]
    if not long_enough:
        return [step]
    names = [step.name] if len(long_enough) == 1 else [f"part {number}" for number in range(1, len(long_enough) + 1)]
    return [_step(step, name, begin, end) for name, (begin, end) in zip(names, long_enough, strict=True)]


def last_busy_us(step: Step, samples: Sequence[StepSamples]) -> int | None:
    """Return when the loads of a step with an unknown end were last busy, in microseconds. None: there are too few
    windows. `samples`: those of the loads over the entire step."""
    activity = _activity(samples, step.end / 1e6)
    periods = list(_busy(activity)) if activity is not None else []
    return round(1e6 * activity.limits[periods[-1][1]]) if activity is not None and periods else None


class _Activity(NamedTuple):
    """The activity of loads in a series of windows. `limits`: seconds on the recorder's clock, ascending. Between
    each two of them: `operations` a second; I/Os `in_flight`, by the latency of those that completed; `outstanding`,
    including the others."""

    limits: Numbers
    operations: Numbers
    in_flight: Numbers
    outstanding: Numbers


def _activity(samples: Sequence[StepSamples], until_seconds: float = 0.0) -> _Activity | None:
    """Return the activity of loads. None: there are too few windows to tell busy from idle ones. `until_seconds`: the
    end of their time. Counters that do not move have no windows: a gap longer than the last window was idle."""
    work, latency = cumulative_work(samples, "ops"), cumulative_work(samples, "latency_seconds")
    if work is None or len(work.limits) <= _MEDIAN_WINDOWS:
        return None
    limits = work.limits
    if until_seconds - limits[-1] > limits[-1] - limits[-2]:
        limits = np.append(limits, until_seconds)
    operations = work.rates(limits)
    in_flight = latency.rates(limits) if latency is not None else operations
    held = cumulative_work(samples, "in_flight_seconds")
    outstanding = np.maximum(in_flight, held.rates(limits)) if held is not None else in_flight
    return _Activity(limits, operations, in_flight, outstanding)


def _busy(activity: _Activity) -> Iterator[tuple[int, int]]:
    """Yield the first and the last limit of each busy period. Windows at its edges contain a part of a pause and are
    left out."""
    operations, outstanding = activity.operations, activity.outstanding
    is_busy = operations >= _BUSY_RATIO * np.quantile(operations, 0.9)
    is_busy |= outstanding >= _HELD_RATIO * max(np.quantile(outstanding, 0.9), 1.0)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], is_busy, [False])).astype(int)))
    for begin, end in zip(edges[::2], edges[1::2], strict=True):
        first, last = int(begin) + (begin > 0), int(end) - (end < len(operations))
        if last > first:
            yield first, last


def _jumps(operations: Numbers, in_flight: Numbers, offset: int) -> list[int]:
    """Return the limits at which the level changes, in order: where the change is larger than at any window
    nearby."""
    if len(operations) < 2 * _MEDIAN_WINDOWS:
        return []
    height = np.maximum(_jump_heights(in_flight), _jump_heights(in_flight / np.maximum(operations, _POSITIVE_ZERO)))
    taken: list[int] = []
    for index in np.argsort(-height, kind="stable"):
        if height[index] < np.log(_JUMP_RATIO):
            break
        nearby = height[max(0, index - _MEDIAN_WINDOWS) : index + _MEDIAN_WINDOWS + 1]
        if height[index] >= nearby.max() and all(abs(int(index) - previous) >= _MEDIAN_WINDOWS for previous in taken):
            taken.append(int(index))
    return sorted(offset + _MEDIAN_WINDOWS + index for index in taken)


def _jump_heights(values: Numbers) -> Numbers:
    """Return the difference of the medians before and after each limit (logarithm); 0 where it may be noise."""
    levels = np.log(np.maximum(values, _POSITIVE_ZERO))
    middles = np.median(np.lib.stride_tricks.sliding_window_view(levels, _MEDIAN_WINDOWS), axis=1)
    height = np.abs(middles[_MEDIAN_WINDOWS:] - middles[:-_MEDIAN_WINDOWS])
    noise = np.median(np.abs(np.diff(levels)))
    return np.where(height > _NOISE * noise, height, 0.0)


def _step(step: Step, name: str, begin: float, end: float) -> Step:
    start, stop = max(step.start, round(1e6 * begin)), min(step.end, round(1e6 * end))
    if name == step.name and stop - start > (1 - _BUSY_RATIO) * (step.end - step.start):
        return step
    return replace(step, name=name, start=start + round(_RAMP_RATIO * (stop - start)), end=stop, origin="found")


def find_unmarked_steps(
    recording: Recording, connection: duckdb.DuckDBPyConnection, topology: Topology, steps: Sequence[Step]
) -> list[Step]:
    """Return the steps; if no load has marked any, those that its throughput and latency show.

    Without a load, the throughput of the hosts' block devices is used, or that of virtual disks, or, if neither is
    read, an array's counts. If a readable generator was started, none is used: its host's I/O need not be the load's.
    """
    kinds = recording.sample_kinds()
    if len(steps) != 1 or not (steps[0].origin == "whole run" or steps[0].name == COMMAND):
        return list(steps)
    if "load" in kinds:
        return split_steady(steps[0], step_samples(recording, connection, "load", steps))
    if has_generator(recording.events()):
        return list(steps)
    read = {kind: step_samples(recording, connection, kind, steps) for kind in ("lun", "vdisk") if kind in kinds}
    found = [(kind, busiest_devices(topology, kind, samples)) for kind, samples in read.items()]
    kind, devices = next((each for each in found if each[1]), (None, []))
    if not found:
        devices = busiest_at_array(recording, connection, topology, steps)
    if not devices:
        return list(steps)
    busiest = at_other_times(topology, kind, devices[0], read[kind]) if kind else devices[:1]
    result = split_steady(steps[0], busiest)
    return result if len(result) > 1 else [busy_period(steps[0], devices[0], devices)]

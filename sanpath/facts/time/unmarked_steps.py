"""Steps of a load that marks none: it is cut where it pauses, and where what is in flight or the latency jumps.

Throughput by itself is no boundary: a saturated test gives the same in every step. What is in flight and the latency
are taken from the load's own counters (N = X R); a drift is no jump, and stays in its step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import duckdb
import numpy as np

from sanpath.facts.load.host_loads import busiest_device, busy_part
from sanpath.facts.samples.cumulative import Numbers, work
from sanpath.facts.samples.step_samples import StepSamples, step_samples
from sanpath.facts.time.steps import COMMAND
from sanpath.model import Step
from sanpath.recording.reading.recording import Recording
from sanpath.topology.identity import Topology

_BUSY = 0.1
"""A load is at work from this share of the most that it has done in a tenth of its windows."""
_JUMP = 1.25
"""What is in flight, or the latency, changes from one step to the next by at least this factor,"""
_BESIDE = 4
"""as the medians of so many windows on both sides tell; a step has no fewer."""
_NOISE = 4.0
"""and by more than this many times what two windows after each other differ by."""
_RAMP_RATIO = 0.1
_NOTHING = 1e-12


def parts(step: Step, samples: Sequence[StepSamples]) -> list[Step]:
    """The parts of a step in which one load ran steadily, ramps left out; the step itself where there are none.

    `samples`: of the loads, or of what stands in for them, over the whole step.
    """
    done, waited = work(samples, "ops"), work(samples, "latency_seconds")
    if done is None or len(done.limits) <= _BESIDE:
        return [step]
    limits = done.limits
    operations = done.rates(limits)
    in_flight = waited.rates(limits) if waited is not None else operations
    found = []
    for begin, end in _busy(operations):
        edges = [begin, *_jumps(operations[begin:end], in_flight[begin:end], begin), end]
        # The window before a jump holds a part of what comes after it.
        found += [(limits[first], limits[last - (last != end)]) for first, last in pairwise(edges)]
    whole = [(begin, end) for begin, end in found if np.sum((limits >= begin) & (limits <= end)) > _BESIDE]
    if not whole:
        return [step]
    names = [step.name] if len(whole) == 1 else [f"part {number}" for number in range(1, len(whole) + 1)]
    return [_step(step, name, begin, end) for name, (begin, end) in zip(names, whole, strict=True)]


def _busy(operations: Numbers) -> Iterator[tuple[int, int]]:
    """First and last limit of each time at work. Of a pause a window at its edges holds a part: it is left out."""
    at_work = operations >= _BUSY * np.quantile(operations, 0.9)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], at_work, [False])).astype(int)))
    for begin, end in zip(edges[::2], edges[1::2], strict=True):
        first, last = int(begin) + (begin > 0), int(end) - (end < len(operations))
        if last > first:
            yield first, last


def _jumps(operations: Numbers, in_flight: Numbers, offset: int) -> list[int]:
    """Limits at which a level gives way to another, in order: higher there than at any window nearby."""
    if len(operations) < 2 * _BESIDE:
        return []
    height = np.maximum(_height(in_flight), _height(in_flight / np.maximum(operations, _NOTHING)))
    taken: list[int] = []
    for place in np.argsort(-height, kind="stable"):
        if height[place] < np.log(_JUMP):
            break
        near = height[max(0, place - _BESIDE) : place + _BESIDE + 1]
        if height[place] >= near.max() and all(abs(int(place) - other) >= _BESIDE for other in taken):
            taken.append(int(place))
    return sorted(offset + _BESIDE + place for place in taken)


def _height(values: Numbers) -> Numbers:
    """How far the median after each limit lies from that before it (logarithm), 0 where it may be noise."""
    levels = np.log(np.maximum(values, _NOTHING))
    middles = np.median(np.lib.stride_tricks.sliding_window_view(levels, _BESIDE), axis=1)
    height = np.abs(middles[_BESIDE:] - middles[:-_BESIDE])
    noise = np.median(np.abs(np.diff(levels)))
    return np.where(height > _NOISE * noise, height, 0.0)


def _step(step: Step, name: str, begin: float, end: float) -> Step:
    start, stop = max(step.start, round(1e6 * begin)), min(step.end, round(1e6 * end))
    if name == step.name and stop - start > (1 - _BUSY) * (step.end - step.start):
        return step
    return replace(step, name=name, start=start + round(_RAMP_RATIO * (stop - start)), end=stop, origin="found")


def unmarked(
    recording: Recording, connection: duckdb.DuckDBPyConnection, topology: Topology, steps: Sequence[Step]
) -> list[Step]:
    """The steps, or what is found in the one that stands for all where no load marks any; without a load, in what the
    block devices of its hosts did."""
    kinds = recording.sample_kinds()
    if len(steps) != 1 or not (steps[0].origin == "whole run" or steps[0].name == COMMAND):
        return list(steps)
    if "load" in kinds:
        return parts(steps[0], step_samples(recording, connection, "load", steps))
    if "lun" not in kinds:
        return list(steps)
    devices = busiest_device(topology, step_samples(recording, connection, "lun", steps))
    found = parts(steps[0], devices)
    return found if len(found) > 1 else [busy_part(steps[0], devices)]

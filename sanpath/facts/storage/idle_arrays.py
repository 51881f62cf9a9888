"""Utilisation of arrays while no load of a test runs: polling controllers are as busy without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sanpath.facts.load.load_events import SourceEvents
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.facts.storage.arrays import array_rows
from sanpath.facts.storage.controllers import controller_use
from sanpath.facts.table import FactTable, number
from sanpath.model import Step
from sanpath.topology.topology import Topology

KINDS = ("array", "controller")
"""Entity kinds whose samples show it."""
_WITHOUT = "* without the load *"
_MIN_FREE_RATIO = 0.25
"""Share of a window without load from which the window shows the idle array: sanpath's own choice."""
_MAX_EDGE_RATIO = 1 / 6
"""Largest margin that is added to a window at each end, as a share of its length. If a clock is uncertain, up to an
eighth of a step is left out at each edge, which is exactly this margin of the wider step."""

Interval = tuple[int, int]
"""Begin and end on the recorder's clock, in microseconds."""


@dataclass(frozen=True, slots=True)
class IdleSamples:
    """An array source's samples while no load ran. `samples`: kind → samples of that time; `loaded_ratio`: as in
    IdleArray."""

    samples: Mapping[str, Sequence[StepSamples]]
    loaded_ratio: float


@dataclass(frozen=True, slots=True)
class IdleArray:
    """An array while no load ran, or hardly any: `loaded_ratio` is the share of that time in which one ran.

    `use`: facts of its controllers, as of the table of arrays; None: not known. The rates are those of all its I/Os,
    of both directions.
    """

    use: Mapping[str, float | None]
    ops_per_second: float
    bytes_per_second: float
    loaded_ratio: float = 0.0


def times_without_load(events: SourceEvents, first_us: int) -> list[Interval]:
    """Return the times from the begin of a recording, `first_us`, to the first mark of a load, and between loads. The
    time after the last one is left out: something may run on unmarked."""
    free: list[Interval] = []
    running, since_us = 0, first_us
    for event in sorted((event for _, event in events), key=lambda event: event.seen):
        if event.name in ("step-begin", "load-started"):
            if not running and since_us < event.seen:
                free.append((since_us, event.seen))
            running += 1
        elif event.name in ("step-end", "load-ended"):
            running, since_us = running - 1, event.seen
    return free


def idle_windows(
    windows: Sequence[Interval], free: Sequence[Interval], uncertainty_us: int, means: bool
) -> tuple[list[Step], float]:
    """Return the windows of a source's samples in which no load runs for a good part of the time, as steps with one
    name, and the share of their time in which one runs. `means`: whether the samples are means over their windows;
    otherwise no load may run in them at all."""
    found: list[Interval] = []
    free_us = 0
    for begin, end in windows:
        without_us = sum(
            max(0, min(end, until - uncertainty_us) - max(begin, since + uncertainty_us)) for since, until in free
        )
        if without_us >= (_MIN_FREE_RATIO if means else 1.0) * (end - begin) > 0:
            free_us += without_us
            if found and found[-1][1] == begin:
                begin = found.pop()[0]
            found.append((begin, end))
    total_us = sum(end - begin for begin, end in found)
    edges_us = (min(uncertainty_us, round(_MAX_EDGE_RATIO * (end - begin))) for begin, end in found)
    steps = [
        Step(_WITHOUT, begin - edge_us, end + edge_us, "marks", (), None)
        for (begin, end), edge_us in zip(found, edges_us, strict=True)
    ]
    return steps, 1 - free_us / total_us if total_us else 0.0


def idle_arrays(topology: Topology, idle: Sequence[IdleSamples]) -> dict[str, IdleArray]:
    """Return the arrays whose controllers were read while no load ran."""
    found = {}
    for source in idle:
        rows = list(array_rows(topology, "array", (), FactTable(()), source.samples.get("array", ())))
        for (array, _), use in controller_use(topology, source.samples.get("controller", ())).items():
            ops, size = (
                sum(number(row, rate) for row in rows if row["entity"] == array)
                for rate in ("ops_per_second", "bytes_per_second")
            )
            found[array] = IdleArray(use, ops, size, source.loaded_ratio)
    return found

"""Tells counters of I/O time that run from those that stand still."""

from __future__ import annotations

from collections.abc import Iterable

from sanpath.facts.samples.step_samples import StepSamples
from sanpath.model import DIRECTIONS

_TIMES = tuple(f"latency_seconds_{direction}_total" for direction in DIRECTIONS)


def running_clocks(samples: Iterable[StepSamples]) -> set[tuple[str, str]]:
    """Return (source, its own id) of each entity whose I/O time has grown in any step.

    A counter that never grows while I/Os complete does not exist: md before Linux 5.9 counts I/Os and no time. In a
    single step, a coarse clock may show no time for short I/Os.
    """
    return {(sample.source, sample.entity) for sample in samples if sample.moved(_TIMES)}

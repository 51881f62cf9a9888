"""The verdicts of a run's other kinds of I/O, in a sentence each.

A file of results may hold large sequential reads and small random writes. Each has its own limit, and the verdict is
that of one of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sanpath.diagnosis.model import Diagnosis, StepResult, Verdict
from sanpath.summary.step_figures import of_size
from sanpath.summary.verdict_line import verdict_line
from sanpath.topology.topology import Topology
from sanpath.units import counted, first_of

_MOST = 3
"""At most so many are on the first screen; the table of steps has them all."""
_MOST_KINDS = 6
"""A sentence about more is not read: sanpath's own choice."""
_PART = 0.1
"""A direction with at least this share of the operations is named."""


def other_io(diagnosis: Diagnosis, topology: Topology, others: Sequence[Verdict]) -> Iterator[str]:
    """A sentence for each verdict that differs from that of the run, and one for those that are left out."""
    steps = {step.name: step for step in diagnosis.steps}
    sentences: dict[str, list[StepResult]] = {}
    for verdict in others:
        if verdict.from_step in steps and _limit(verdict) != _limit(diagnosis.verdict):
            step = steps[verdict.from_step]
            line = verdict_line(replace(diagnosis, verdict=verdict), topology, step)
            sentences.setdefault(line, []).append(step)
    # The same kind of I/O with two verdicts is told by its steps.
    verdict_counts = Counter(
        kind for steps_alike in sentences.values() for kind in {_io(step) for step in steps_alike}
    )
    for line, steps_alike in list(sentences.items())[:_MOST]:
        kinds = (
            _io(step) if verdict_counts[_io(step)] == 1 else f"{_io(step)} in {step.name}" for step in steps_alike
        )
        subject = first_of(list(dict.fromkeys(kinds)), _MOST_KINDS)
        yield f"{subject[:1].upper()}{subject[1:]}: {line[:1].lower()}{line[1:]}."
    if (left_out := len(sentences) - _MOST) > 0:
        yield f"Other I/O has {counted(left_out, 'more verdict')}, see the steps."


def _limit(verdict: Verdict) -> tuple[str | None, ...]:
    """What limits, or what is most likely to."""
    if verdict.bottlenecks:
        return verdict.kind, verdict.bottlenecks[0].entity
    first = next(iter(verdict.suspects), None)
    return (verdict.kind,) if first is None else (verdict.kind, first.verdict, first.entity, first.place)


def _io(step: StepResult) -> str:
    """Its I/Os in words: reads of 4 KiB."""
    total = step.ops_per_second
    parts = [(d, result) for d, result in step.directions.items() if result.ops_per_second >= _PART * total]
    sizes = list(dict.fromkeys(of_size(result) for _, result in parts))
    return " and ".join(f"{direction}s" for direction, _ in parts) + (sizes[0] if len(sizes) == 1 else "")

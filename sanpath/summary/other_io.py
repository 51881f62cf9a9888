"""The verdicts for a run's other kinds of I/O, in a sentence each.

A result file may contain large sequential reads and small random writes. Each has its own limit, and the verdict is
about one of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sanpath.diagnosis.model import Diagnosis, StepResult, Verdict
from sanpath.summary.step_figures import block_size_words
from sanpath.summary.verdict_line import verdict_line
from sanpath.topology.topology import Topology
from sanpath.units import counted, first_of

_MAX_SENTENCES = 3
"""Largest number of sentences on the first screen; the table of steps has them all."""
_MAX_KINDS = 6
"""Largest number of kinds of I/O in a readable sentence: sanpath's own choice."""
_MIN_RATIO = 0.1
"""Share of the operations from which a direction is named."""


def other_io(diagnosis: Diagnosis, topology: Topology, others: Sequence[Verdict]) -> Iterator[str]:
    """A sentence for each verdict that differs from the run's, and one for those that are left out."""
    steps = {step.name: step for step in diagnosis.steps}
    sentences: dict[str, list[StepResult]] = {}
    for verdict in others:
        if verdict.from_step in steps and _limit(verdict) != _limit(diagnosis.verdict):
            step = steps[verdict.from_step]
            line = verdict_line(replace(diagnosis, verdict=verdict), topology, step)
            sentences.setdefault(line, []).append(step)
    # If the same kind of I/O has two verdicts, they are distinguished by their steps.
    verdict_counts = Counter(
        kind for steps_alike in sentences.values() for kind in {_io(step) for step in steps_alike}
    )
    for line, steps_alike in list(sentences.items())[:_MAX_SENTENCES]:
        kinds = (
            _io(step) if verdict_counts[_io(step)] == 1 else f"{_io(step)} in {step.name}" for step in steps_alike
        )
        subject = first_of(list(dict.fromkeys(kinds)), _MAX_KINDS)
        yield f"{subject[:1].upper()}{subject[1:]}: {line[:1].lower()}{line[1:]}."
    if (left_out := len(sentences) - _MAX_SENTENCES) > 0:
        yield f"Other I/O has {counted(left_out, 'more verdict')}, see the steps."


def _limit(verdict: Verdict) -> tuple[str | None, ...]:
    """The limit, or the most likely one."""
    if verdict.bottlenecks:
        return verdict.kind, verdict.bottlenecks[0].entity
    first = next(iter(verdict.suspects), None)
    return (verdict.kind,) if first is None else (verdict.kind, first.verdict, first.entity, first.place)


def _io(step: StepResult) -> str:
    """The I/Os of a step in words: "reads of 4 KiB"."""
    total = step.ops_per_second
    parts = [(d, result) for d, result in step.directions.items() if result.ops_per_second >= _MIN_RATIO * total]
    sizes = list(dict.fromkeys(block_size_words(result) for _, result in parts))
    return " and ".join(f"{direction}s" for direction, _ in parts) + (sizes[0] if len(sizes) == 1 else "")

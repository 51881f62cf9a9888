"""Chooses the step whose verdict the screen shows, and avoids flicker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sanpath.views import words
from sanpath.views.progress import JUDGED_WINDOWS

if TYPE_CHECKING:
    from sanpath.diagnosis.model import Bottleneck, Diagnosis, StepResult
    from sanpath.views.live.cursor import Cursor


@dataclass(frozen=True, slots=True)
class ShownVerdict:
    """The verdict of one step, with the bottlenecks of the directions that the cursor selects."""

    step: StepResult
    bottlenecks: Sequence[Bottleneck]

    @property
    def key(self) -> tuple[object, ...]:
        """What distinguishes verdicts: not figures, grade, windows or the order of coincident elements."""
        return self.step.verdict.kind, *((b.direction, frozenset(b.elements)) for b in self.bottlenecks)


CONFIRMED_WINDOWS = 2
"""A different verdict on the same step must hold for this many more windows before it is shown."""


@dataclass(frozen=True, slots=True)
class DebouncedVerdict:
    """A verdict that changes only when snapshots with new data repeat the same new verdict.

    It must hold for two more windows of the step. For a newer step, which has enough windows already, two snapshots
    suffice. `shown`: None before the first I/O. `previous`: the verdict that it replaced, None: none. `candidate`:
    the other verdict, as it first appeared; None: there is none.
    """

    shown: ShownVerdict | None = None
    previous: ShownVerdict | None = None
    candidate: ShownVerdict | None = None

    def update(self, verdict: ShownVerdict | None) -> DebouncedVerdict:
        """The state after one more snapshot. `verdict` None: the snapshot has none."""
        if verdict is None:
            return self
        if self.shown is None or verdict.key == self.shown.key:
            return replace(self, shown=verdict, candidate=None)
        if self.candidate is None or verdict.key != self.candidate.key:
            return replace(self, candidate=verdict)
        added_windows = verdict.step.windows_used - self.candidate.step.windows_used
        is_newer_step = verdict.step.name != self.shown.step.name
        confirmed = is_newer_step or added_windows >= CONFIRMED_WINDOWS
        return DebouncedVerdict(verdict, self.shown) if confirmed else self


def verdict_of(diagnosis: Diagnosis, cursor: Cursor) -> ShownVerdict | None:
    """The verdict on the step that the cursor selects. None: no load has done any I/O yet."""
    step = _step(diagnosis, cursor)
    if step is None:
        return None
    return ShownVerdict(step, [b for b in step.verdict.bottlenecks if cursor.direction in (None, b.direction)])


def _step(diagnosis: Diagnosis, cursor: Cursor) -> StepResult | None:
    measured = [step for step in diagnosis.steps if step.directions]
    chosen = next((step for step in measured if step.name == cursor.step), None)
    if chosen is None and diagnosis.run.complete:
        chosen = words.deciding_step(diagnosis)
    judged = [step for step in measured if step.windows_used >= JUDGED_WINDOWS]
    return chosen or next(reversed(judged or measured), None)

"""Which verdict the screen shows: of which step, and without flicker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sanpath.verdict.model import Bottleneck, Diagnosis, StepResult
from sanpath.views import words
from sanpath.views.live.cursor import Cursor

JUDGED_WINDOWS = 4
"""A step with fewer whole windows is in its ramp: the verdict of the step before it stands."""


@dataclass(frozen=True, slots=True)
class Told:
    """The verdict of one step in the directions that are looked at."""

    step: StepResult
    bottlenecks: Sequence[Bottleneck]

    @property
    def says(self) -> tuple[object, ...]:
        """What must change for it to be another verdict: figures, grade and windows may move, and which of several
        coincident elements is named first."""
        return self.step.verdict.kind, *(
            (b.direction, frozenset((b.entity, *b.coincident))) for b in self.bottlenecks
        )


CONFIRMED_WINDOWS = 2
"""Another verdict of the same step must hold over so many more windows before it is shown."""


@dataclass(frozen=True, slots=True)
class Steady:
    """A verdict that changes only when looks at new data keep saying the same new thing: over two more windows of the
    step, or in two looks where the verdict is of a newer step, which has its windows already.

    `shown`: None before the first I/O. `before`: what it replaced. `doubt`: the other verdict, as it
    was first said.
    """

    shown: Told | None = None
    before: Told | None = None
    doubt: Told | None = None

    def take(self, told: Told | None) -> Steady:
        """The verdict after one more look."""
        if told is None:
            return self
        if self.shown is None or told.says == self.shown.says:
            return replace(self, shown=told, doubt=None)
        if self.doubt is None or told.says != self.doubt.says:
            return replace(self, doubt=told)
        more = told.step.windows_used - self.doubt.step.windows_used
        newer = told.step.name != self.shown.step.name
        return Steady(told, self.shown) if newer or more >= CONFIRMED_WINDOWS else self


def told_by(diagnosis: Diagnosis, cursor: Cursor) -> Told | None:
    """What the diagnosis says of the step that is looked at. None: no load has done any I/O yet."""
    step = _step(diagnosis, cursor)
    if step is None:
        return None
    wanted = [b for b in step.verdict.bottlenecks if cursor.direction in (None, b.direction)]
    return Told(step, wanted)


def _step(diagnosis: Diagnosis, cursor: Cursor) -> StepResult | None:
    measured = [step for step in diagnosis.steps if step.directions]
    chosen = next((step for step in measured if step.name == cursor.step), None)
    if chosen is None and diagnosis.run.complete:
        chosen = words.deciding_step(diagnosis)
    judged = [step for step in measured if step.windows_used >= JUDGED_WINDOWS]
    return chosen or next(reversed(judged or measured), None)

"""What the steps of a test cannot show: each remark once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sanpath.masking import printable
from sanpath.units import first_of, in_series

if TYPE_CHECKING:
    from sanpath.diagnosis.model import Diagnosis

_NAMED = 3
"""As many steps are named. Of more, most are counted."""


def step_notes(diagnosis: Diagnosis) -> list[str]:
    """The remarks on all steps, in the order of the run, each with the steps that it holds for."""
    steps_by_note: dict[str, list[str]] = {}
    for step in diagnosis.steps:
        for note in dict.fromkeys(step.valid):
            steps_by_note.setdefault(note, []).append(printable(step.name))
    return [f"{_in_words(names, len(diagnosis.steps))}: {note}" for note, names in steps_by_note.items()]


def _in_words(names: Sequence[str], total: int) -> str:
    if len(names) == total > 1:
        return f"all {total} steps"
    return in_series(names) if len(names) <= _NAMED else f"{first_of(names, _NAMED)} of {total} steps"

"""What the steps of a test cannot show: each remark once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sanpath.masking import printable
from sanpath.units import first_of, join_names

if TYPE_CHECKING:
    from sanpath.diagnosis.model import Diagnosis

_MAX_NAMES = 3
"""Maximum names of steps or sources; of more, most are only counted."""


def step_notes(diagnosis: Diagnosis) -> list[str]:
    """The remarks on all steps, in the order of the run, each with its steps and the sources that it is about."""
    known = {source.name for source in diagnosis.sources}
    steps: dict[str, dict[str, None]] = {}
    sources: dict[str, dict[str, None]] = {}
    for step in diagnosis.steps:
        for note in step.valid:
            source, separator, text = note.partition(": ")
            is_of_source = bool(separator) and source in known
            text = text if is_of_source else note
            steps.setdefault(text, {})[printable(step.name)] = None
            sources.setdefault(text, {}).update({source: None} if is_of_source else {})
    total = len(diagnosis.steps)
    return [
        ": ".join(filter(None, (_step_names(list(names), total), _source_names(list(sources[text])), text)))
        for text, names in steps.items()
    ]


def _source_names(sources: Sequence[str]) -> str:
    return join_names(sources) if len(sources) <= _MAX_NAMES else first_of(sources, _MAX_NAMES)


def _step_names(names: Sequence[str], total: int) -> str:
    if len(names) == total > 1:
        return f"all {total} steps"
    return join_names(names) if len(names) <= _MAX_NAMES else f"{first_of(names, _MAX_NAMES)} of {total} steps"

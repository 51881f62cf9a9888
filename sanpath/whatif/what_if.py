"""`sanpath whatif`: predicts each step under other settings, or with its bottlenecks relieved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sanpath.errors import UsageError
from sanpath.facts.compute import Facts
from sanpath.verdict.run_verdict import deciding_of_run
from sanpath.verdict.step_judgement import Judgement
from sanpath.whatif.change import UNCHANGED
from sanpath.whatif.kept_ratio import with_kept_ratio
from sanpath.whatif.predict import Check, Prediction, explaining, predict
from sanpath.whatif.relief import relief
from sanpath.whatif.settings import Wanted, parse_settings


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A change and its prediction for every step.

    `relieved`: what the relief means in each step, as (step and direction, words); empty where settings were given.
    """

    settings: tuple[Wanted, ...]
    relieved: tuple[tuple[str, str], ...]
    steps: tuple[Prediction, ...]
    checks: tuple[Check, ...] = ()
    schema: str = "sanpath.whatif/1"


def what_if(facts: Facts, judgements: Sequence[Judgement], written: Sequence[str], relieve: bool) -> WhatIf:
    """What each step would reach with the settings of `written`, with its limit relieved, or with both.

    Raises UsageError for an unknown setting, and if no step was judged.
    """
    if not judgements:
        raise UsageError("no step of this recording was judged: there is nothing to start from")
    change, settings = parse_settings(facts, deciding_of_run(facts, judgements).load, written)
    steps, relieved, changes = [], [], []
    for judged in judgements:
        step_change, reason = change, None
        if relieve:
            relief_change, relief_words = relief(facts, judged, explaining(facts, judgements, judged))
            relieved.append((f"{judged.load.step} {judged.load.direction}", relief_words))
            step_change, reason = change | relief_change, relief_words if relief_change == UNCHANGED else None
        changes.append(step_change)
        if step_change == UNCHANGED:
            reason = reason or "nothing of it can be judged"
        steps.append(
            _not_predicted(judged, reason) if reason is not None else predict(facts, judgements, judged, step_change)
        )
    return WhatIf(tuple(settings), tuple(relieved), tuple(with_kept_ratio(facts, judgements, changes, steps)))


def _not_predicted(judged: Judgement, reason: str) -> Prediction:
    """The prediction of a step that the change does not touch, with the reason."""
    load = judged.load
    recorded = (load.step, load.direction, load.in_flight_measured, load.ops_per_second, load.latency_seconds)
    return Prediction(*recorded, judged.limiter, unknown=reason)

"""`sanpath whatif`: predicts each step under other settings, or with its bottlenecks relieved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sanpath.errors import UsageError
from sanpath.facts.facts import Facts
from sanpath.verdict.model import Judgement
from sanpath.verdict.run_verdict import judgement_of_run
from sanpath.whatif.change import UNCHANGED, Change
from sanpath.whatif.kept_ratio import leader_of, with_kept_ratio
from sanpath.whatif.predict import Check, Prediction, explaining, predict
from sanpath.whatif.relief import relief
from sanpath.whatif.settings import Wanted, parse_settings


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A change and its prediction for every step.

    `relieved`: the relief in each step, as (step and direction, words); empty if no relief was requested.
    """

    settings: tuple[Wanted, ...]
    relieved: tuple[tuple[str, str], ...]
    steps: tuple[Prediction, ...]
    checks: tuple[Check, ...] = ()
    schema: str = "sanpath.whatif/1"


@dataclass(frozen=True, slots=True)
class Relieved:
    """The change that relieves the limit of a verdict, and the prediction of its step under it."""

    change: Change
    prediction: Prediction


def what_if(facts: Facts, judgements: Sequence[Judgement], written: Sequence[str], relieve: bool) -> WhatIf:
    """Predict each step with the settings of `written`, with its limit relieved, or with both.

    Raises UsageError for an unknown setting, and if no step was judged.
    """
    if not judgements:
        raise UsageError("no step of this recording was judged: there is nothing to start from")
    change, settings = parse_settings(facts, judgement_of_run(facts, judgements).load, written)
    reliefs = []
    for judgement in judgements:
        # If one direction of a load holds back the other, its limit is the one to relieve.
        limited = leader_of(facts, judgements, judgement) or judgement
        reliefs.append(relief(facts, limited, explaining(facts, judgements, limited)) if relieve else (UNCHANGED, ""))
    relieved = [
        (f"{j.load.step} {j.load.direction}", words) for j, (_, words) in zip(judgements, reliefs, strict=True)
    ]
    changes = [change | own for own, _ in reliefs]
    steps = []
    for judgement, step_change, (_, words) in zip(judgements, changes, reliefs, strict=True):
        if step_change == UNCHANGED:
            steps.append(_not_predicted(judgement, words or "nothing in it can be judged"))
        else:
            steps.append(predict(facts, judgements, judgement, step_change))
    steps = with_kept_ratio(facts, judgements, changes, steps)
    return WhatIf(tuple(settings), tuple(relieved) if relieve else (), tuple(steps))


def relieved_limit(facts: Facts, judgements: Sequence[Judgement]) -> Relieved | None:
    """The prediction of the verdict's step and direction with its limit relieved. None: nothing is predicted."""
    if not judgements:
        return None
    judgement = judgement_of_run(facts, judgements)
    if leader_of(facts, judgements, judgement) is not None:
        return None  # The other direction has to be relieved.
    change, _ = relief(facts, judgement, explaining(facts, judgements, judgement))
    if change == UNCHANGED:
        return None
    prediction = predict(facts, judgements, judgement, change)
    return Relieved(change, prediction) if prediction.likely_ops_per_second is not None else None


def _not_predicted(judgement: Judgement, reason: str) -> Prediction:
    """The result for a step to which the change does not apply, with the reason."""
    load = judgement.load
    recorded = (load.step, load.direction, load.in_flight_measured, load.ops_per_second, load.latency_seconds)
    return Prediction(*recorded, judgement.limiter, unknown=reason)

"""`sanpath whatif`: settings that are thought to be otherwise, or bottlenecks relieved, and what follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sanpath.errors import UsageError
from sanpath.facts.compute import Facts
from sanpath.verdict.prediction.change import AS_IT_IS
from sanpath.verdict.prediction.predict import Check, Prediction, explaining, predict
from sanpath.verdict.prediction.relief import relief
from sanpath.verdict.prediction.settings import Wanted, changed
from sanpath.verdict.run_verdict import deciding
from sanpath.verdict.step_judgement import Judgement


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A change, and what every step would make of it. `relieved`: what relieving meant in each step, (step and
    direction, words); empty where settings were given."""

    settings: tuple[Wanted, ...]
    relieved: tuple[tuple[str, str], ...]
    steps: tuple[Prediction, ...]
    checks: tuple[Check, ...] = ()
    schema: str = "sanpath.whatif/1"


def what_if(facts: Facts, judgements: Sequence[Judgement], written: Sequence[str], relieve: bool) -> WhatIf:
    """What each step would reach with the settings of `written`, with what binds it relieved, or with both. Raises
    UsageError for a setting that nobody knows, and where there is no step to start from."""
    if not judgements:
        raise UsageError("no step of this recording was judged: there is nothing to start from")
    change, settings = changed(facts, deciding(judgements).load, written)
    steps, said = [], []
    for judged in judgements:
        wanted, why = change, None
        if relieve:
            more, words = relief(facts, judged, explaining(facts, judgements, judged))
            said.append((f"{judged.load.step} {judged.load.direction}", words))
            wanted, why = change | more, words if more == AS_IT_IS else None
        if wanted == AS_IT_IS:
            why = why or "nothing of it can be judged"
        steps.append(_untouched(judged, why) if why is not None else predict(facts, judgements, judged, wanted))
    return WhatIf(tuple(settings), tuple(said), tuple(steps))


def _untouched(judged: Judgement, why: str) -> Prediction:
    load = judged.load
    told = (load.step, load.direction, load.in_flight_measured, load.ops_per_second, load.latency_seconds)
    return Prediction(*told, judged.limiter, unknown=why)

"""What the steps of a probe showed, as evidence for or against each claim about its start load.

Steps with more or fewer I/Os in flight are not counted here: the posterior reads them as slopes of throughput.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log, sqrt

from sanpath.facts.storage.other_loads import MIN_OPS_PER_SECOND
from sanpath.facts.storage.probe_pauses import ProbePause
from sanpath.model import PAUSE, START
from sanpath.verdict.hypotheses.claim import Claim
from sanpath.verdict.judgement.possible_experiments import (
    PossibleExperiment,
    load_steps,
    others_in,
    probe_steps,
)
from sanpath.verdict.places.table import PlaceTable

_MISTAKE = 0.1
"""Probability that a step shows the opposite of what a claim implies: another load ran, or a cache was warm."""
_IN_FLIGHT = ("more_in_flight", "fewer_in_flight")
_COUNTED_ELSEWHERE = (*_IN_FLIGHT, "one_in_flight")


@dataclass(frozen=True, slots=True)
class OthersCompared:
    """Other hosts on the arrays of a load: their I/Os a second in the pause, and the seconds that one takes. Both
    means are weighted by the I/Os of the pause, so that their ratio does not depend on a change of mix."""

    ops_per_second: float
    paused_seconds: float
    loaded_seconds: float


@dataclass(frozen=True, slots=True)
class ExperimentOutcome:
    """The outcome of one experiment. `ratio`: its operations a second over those of the start; `step`: its name.

    `others`: for a pause, the I/Os of other hosts during the pause and under load; `ratio` then compares their
    latencies. None: the experiment is not a pause.
    """

    proposal: PossibleExperiment
    step: str
    ratio: float
    is_seen: bool
    others: OthersCompared | None = None

    @property
    def in_words(self) -> str:
        """The watched effect, and whether it was seen."""
        return self.proposal.watch if self.is_seen else f"{self.proposal.watch} was not seen"


def outcomes(table: PlaceTable) -> Iterator[ExperimentOutcome]:
    """Yield the outcomes of a probe's experiments. Nothing for a step that did not start a probe."""
    if table.step.experiment != START:
        return
    proposals = {proposal.action: proposal for proposal in (*load_steps(table), *probe_steps(table))}
    experiments = {step.name: step.experiment for step in table.facts.steps}
    for load in table.facts.loads:
        proposal = proposals.get(experiments.get(load.step, ""))  # type: ignore[call-overload]
        if proposal is None or proposal.least_ratio is None or load.direction != table.load.direction:
            continue
        least_ratio = proposal.least_ratio
        if proposal.action in _IN_FLIGHT:
            least_ratio = sqrt(load.in_flight_measured / table.load.in_flight_measured)
        ratio = load.ops_per_second / table.load.ops_per_second
        yield ExperimentOutcome(proposal, load.step, ratio, ratio >= least_ratio)
    # Further pauses would show the same.
    pause, proposal = next(reversed(table.facts.pauses), None), proposals.get(PAUSE)
    if proposal is not None and pause is not None and (others := _compared(table, pause)) is not None:
        ratio = others.loaded_seconds / others.paused_seconds
        yield ExperimentOutcome(proposal, pause.step.name, ratio, ratio >= (proposal.least_ratio or 0.0), others)


def _compared(table: PlaceTable, pause: ProbePause) -> OthersCompared | None:
    """Other hosts under load and in a pause of the load. None: no volume of others was measured in both."""
    both = [
        (before, other)
        for volume, other in others_in(table).items()
        if (before := pause.volumes.get(volume)) is not None and before.ops_per_second >= MIN_OPS_PER_SECOND
    ]
    ops = sum(before.ops_per_second for before, _ in both)
    paused = sum(before.ops_per_second * before.latency_seconds for before, _ in both)
    loaded = sum(before.ops_per_second * other.latency_seconds for before, other in both)
    return OthersCompared(ops, paused / ops, loaded / ops) if ops and paused else None


def outcome_score(outcomes_of_load: list[ExperimentOutcome], claim: Claim) -> float:
    """Log-likelihood of the outcomes if the claim holds."""
    return sum(
        log(probability if outcome.is_seen else 1 - probability)
        for outcome in outcomes_of_load
        if outcome.proposal.action not in _COUNTED_ELSEWHERE
        for probability in [min(1 - _MISTAKE, max(_MISTAKE, outcome.proposal.outcome_probability(claim)))]
    )

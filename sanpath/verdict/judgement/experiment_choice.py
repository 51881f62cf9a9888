"""Finds the experiment that best separates the leading suspects: a reading, a step of the load, or a setting.

For each suspect, an experiment has a probability of its outcome. The best experiment is the one whose probabilities
differ most between suspects, weighted by the suspects' own probabilities. Readings and steps come before changes of a
setting.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from sanpath.diagnosis.experiment import Experiment, Meaning
from sanpath.verdict.hypotheses.claim import Claim, probability_of, suspect_name
from sanpath.verdict.judgement.possible_experiments import PossibleExperiment, possible_experiments, probe_steps
from sanpath.verdict.places.table import PlaceTable

_SUSPECTS = 4
"""Number of leading suspects that an experiment has to separate."""
_CERTAIN = 0.95
"""Probability from which an outcome counts as certain."""
_NAME_AN_ELEMENT = ("bottleneck", "configured_cap")
"""Verdicts that name an element: if no other suspect is left, no experiment shows more. After other verdicts, an
experiment may still show a place or a next limit."""
_MIN_PROBABILITY = 0.001
"""Suspects with a lower probability are ignored."""


def choose_experiments(table: PlaceTable, groups: Sequence[Sequence[Claim]]) -> tuple[Experiment, ...]:
    """The experiments that separate the suspects, the best first. Those that only a probe can run come last. Empty:
    the only suspect is an element, or no experiment separates them."""
    leading = groups[:_SUSPECTS]
    named = [group for group in leading if probability_of(group) >= _MIN_PROBABILITY]
    if len(named) < 2 and leading[0][0].verdict in _NAME_AN_ELEMENT:
        return ()
    valued = [(_value(proposal, leading), proposal) for proposal in possible_experiments(table, leading[0][0])]
    ordered = sorted(valued, key=lambda pair: (not _shows_first(pair[1], leading[0]), -pair[0]))
    if table.step.experiment:
        ordered += [(_value(proposal, leading), proposal) for proposal in probe_steps(table)]
    return tuple(
        Experiment(p.action, p.text, p.watch, _meanings(p, named), p.in_flight, p.entity)
        for value, p in ordered
        if value > 1e-6  # Smaller differences are rounding: the outcome is the same for every suspect.
    )


def _meanings(proposal: PossibleExperiment, groups: Sequence[Sequence[Claim]]) -> tuple[Meaning, ...]:
    """The suspects' probabilities after each outcome, by Bayes' rule."""
    with_outcome = [probability_of(group) * _expected(proposal, group) for group in groups]
    without_outcome = [probability_of(group) * (1 - _expected(proposal, group)) for group in groups]
    return tuple(
        Meaning(
            group[0].verdict,
            group[0].entity,
            suspect_name(group[0]),
            probability_of(group),
            joint_with / max(sum(with_outcome), _MIN_PROBABILITY),
            joint_without / max(sum(without_outcome), _MIN_PROBABILITY),
        )
        for group, joint_with, joint_without in zip(groups, with_outcome, without_outcome, strict=True)
    )


def _shows_first(proposal: PossibleExperiment, first: Sequence[Claim]) -> bool:
    """Whether the proposal reads the most probable suspect's own, unread place: nothing else can prove that
    suspect."""
    return proposal.action.startswith("read_") and _expected(proposal, first) >= _CERTAIN


def _expected(proposal: PossibleExperiment, group: Sequence[Claim]) -> float:
    """Probability of the outcome if one of a group of suspects is the limit."""
    joint = sum(claim.probability * proposal.outcome_probability(claim) for claim in group)
    return joint / probability_of(group)


def _value(proposal: PossibleExperiment, leading: Sequence[Sequence[Claim]]) -> float:
    """How well an experiment separates the leading suspects, less its effort."""
    outcomes = [(probability_of(group), _expected(proposal, group)) for group in leading]
    difference = sum(
        probability * other_probability * abs(expected - other_expected)
        for (probability, expected), (other_probability, other_expected) in combinations(outcomes, 2)
    )
    return difference * (1 - proposal.effort)

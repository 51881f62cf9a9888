"""Chooses the next experiment: the one with the most expected information a second about the suspects.

The expected information of an experiment is the mutual information between its outcome and the suspect at fault
(Lindley 1956, "On a measure of the information provided by an experiment"), in bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2

from sanpath.diagnosis.experiment import Experiment
from sanpath.diagnosis.model import Verdict
from sanpath.topology.names import in_words
from sanpath.units import percent_likely
from sanpath.verdict.model import MIN_PROBABILITY

MIN_BITS = 0.01
"""Minimum expected information for an experiment to be worth a step."""
_REPETITION_RATIO = 0.25
"""Share of its information that a repeated experiment yields, such as halving the I/Os once more."""
_REPEATABLE = ("fewer_in_flight",)
"""Experiments that show more with each repetition: with the fewest I/Os there is no queue in the latency."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The next experiment, its expected information and its duration."""

    experiment: Experiment
    bits: float
    seconds: float


def is_certain(verdict: Verdict) -> bool:
    """Whether a verdict needs no further experiment: it has the probability of grade A, with or without enough
    windows."""
    is_likely = (verdict.probability or 0.0) >= MIN_PROBABILITY["A"]
    return verdict.kind != "cannot_tell" and (verdict.grade == "A" or is_likely)


def best_choice(
    experiments: Sequence[Experiment], seconds: Mapping[str, float], tried: Sequence[str]
) -> Choice | None:
    """The experiment with the most information a second. None: no experiment would be informative.

    `seconds`: experiment → its duration; others are not allowed. `tried`: experiments made so far.
    """
    choices = [
        Choice(experiment, bits, seconds[experiment.action])
        for experiment in experiments
        if experiment.action in seconds
        and (experiment.action in _REPEATABLE or experiment.action not in tried)
        and (bits := expected_bits(experiment) * _REPETITION_RATIO ** tried.count(experiment.action)) >= MIN_BITS
    ]
    return max(choices, key=lambda choice: choice.bits / choice.seconds, default=None)


def expected_bits(experiment: Experiment) -> float:
    """Expected information of an experiment's outcome about the suspects, in bits."""
    meanings = experiment.meanings
    seen = outcome_probability(experiment)
    total = sum(meaning.probability for meaning in meanings)
    before = _entropy([meaning.probability / total for meaning in meanings]) if total else 0.0
    after = seen * _entropy([meaning.if_seen for meaning in meanings])
    after += (1 - seen) * _entropy([meaning.if_not for meaning in meanings])
    return max(0.0, before - after)


def outcome_probability(experiment: Experiment) -> float:
    """Probability that an experiment shows what it watches for, over all suspects.

    By the law of total probability, a suspect's probability is the mean of its probabilities after either outcome.
    """
    clearest = max(experiment.meanings, key=lambda meaning: abs(meaning.if_seen - meaning.if_not))
    difference = clearest.if_seen - clearest.if_not
    total = sum(meaning.probability for meaning in experiment.meanings)
    if not difference or not total:
        return 0.0
    return min(1.0, max(0.0, (clearest.probability / total - clearest.if_not) / difference))


def separates(experiment: Experiment) -> str:
    """The two suspects that an experiment separates most, in words."""
    ordered = sorted(experiment.meanings, key=lambda meaning: meaning.if_seen - meaning.if_not)
    raised, lowered = ordered[-1], ordered[0]
    names = [f"{meaning.name} ({percent_likely(meaning.probability)})" for meaning in (raised, lowered)]
    return in_words(f"it separates {names[0]} from {names[1]}: watch for {experiment.watch}")


def _entropy(probabilities: Sequence[float]) -> float:
    return -sum(p * log2(p) for p in probabilities if p > 0)

"""The steps of a probe, each with its outcome, and the probabilities of the suspects after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sanpath.diagnosis.experiment import KIND_WORDS
from sanpath.diagnosis.model import Probe, Trial
from sanpath.masking import printable
from sanpath.units import percent_likely, percent_rounded
from sanpath.views.words import bar, sentence, short

TITLE = "What was tried"
HEADER: Sequence[str] = ("step", "why", "outcome", "ruled out", "likely after it", "verdict")
_BAR_WIDTH = 20
"""Length of the longest bar, in characters."""


def rows(probe: Probe) -> list[list[str]]:
    """A row of the table for each step."""
    return [
        [
            f"{number}. {trial.what}",
            trial.why or "-",
            trial.outcome,
            ", ".join(map(short, trial.ruled_out)) or "-",
            ", ".join(f"{short(s.name)} {percent_likely(s.probability)}" for s in trial.suspects) or "-",
            _verdict(trial),
        ]
        for number, trial in enumerate(probe.steps, start=1)
    ]


def lines(probe: Probe) -> Iterator[str]:
    """Yield the lines of all steps for a terminal, and the end of the probe."""
    for number, trial in enumerate(probe.steps, start=1):
        yield f"{number} {printable(trial.what)}" + (f" ({printable(trial.why)})" if trial.why else "")
        yield from (f"  {line}" for line in outcome_lines(trial))
    yield from closing_lines(probe)


def outcome_lines(trial: Trial) -> Iterator[str]:
    """Yield the lines about the outcome of a step, for a terminal."""
    yield printable(trial.outcome)
    if trial.ruled_out:
        yield f"ruled out: {', '.join(map(short, trial.ruled_out))}"
    width = max((len(short(suspect.name)) for suspect in trial.suspects), default=0)
    for suspect in trial.suspects:
        share = bar(suspect.probability, _BAR_WIDTH)
        yield f"{short(suspect.name):{width}} {percent_rounded(suspect.probability):>5} {share}".rstrip()
    if trial.probability:
        yield f"verdict: {_verdict(trial)}"


def closing_lines(probe: Probe) -> list[str]:
    """The end of the probe, and what a person can do next."""
    ended = [f"ended: {printable(probe.ended)}"] if probe.ended else []
    by_hand = [f"next, to do by hand: {sentence(probe.next_step)}"] if probe.next_step else []
    return [*ended, *by_hand]


def _verdict(trial: Trial) -> str:
    if not trial.probability:
        return "-"
    return f"{KIND_WORDS[trial.verdict]} ({trial.grade}, {percent_likely(trial.probability)})"

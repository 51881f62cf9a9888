"""The judgement of one step and direction, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sanpath.diagnosis.experiment import Experiment, VerdictKind
    from sanpath.diagnosis.model import Bottleneck, Grade, Next, Suspect
    from sanpath.facts.load.loads import LoadFacts

MIN_PROBABILITY: Mapping[Grade, float] = {"A": 0.97, "B": 0.85}
"""The probability that a grade needs; any other verdict is C."""
NAMED = 0.6
"""Reported probability from which a suspect is named: three to two. Nobody trusts a tool again that blamed the wrong
element. Below this probability, the most likely suspect is still listed under the verdict."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What limits one direction of one step.

    `following`: what would limit next, None: unknown. `experiments`: measurements that would separate the suspects,
    the best first. `windows`: whole windows of the slowest source. `probability` and `suspects`: as in a verdict.
    `part`: the hosts or jobs whose I/Os were judged, in words, "": all. `wait_seconds`: wait of an I/O at the limit,
    below the host's last clock and above the array's, None: the verdict names nothing there.
    """

    load: LoadFacts
    kind: VerdictKind
    grade: Grade
    bottlenecks: tuple[Bottleneck, ...] = ()
    because: tuple[str, ...] = ()
    experiments: tuple[Experiment, ...] = ()
    windows: int = 0
    following: Next | None = None
    probability: float = 0.0
    suspects: tuple[Suspect, ...] = ()
    part: str = ""
    wait_seconds: float | None = None

    @property
    def experiment(self) -> Experiment | None:
        """The measurement that would best separate the suspects. None: there is none."""
        return self.experiments[0] if self.experiments else None

    @property
    def limit_probability(self) -> float:
        """Probability that something was at its limit, whatever it was."""
        return sum(
            suspect.probability
            for suspect in self.suspects
            if suspect.verdict in ("bottleneck", "configured_cap", "cannot_tell")
        )

    @property
    def first_reason(self) -> str:
        """The reason that counts most."""
        return self.because[0] if self.because else "no evidence"

    @property
    def limiter(self) -> str | None:
        """The saturated element. None: there is none."""
        return self.bottlenecks[0].entity if self.kind == "bottleneck" and self.bottlenecks else None

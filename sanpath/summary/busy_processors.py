"""Whose processors limit a load that its own side limits: those of its processes, or of its machine."""

from __future__ import annotations

from sanpath.diagnosis.model import Diagnosis
from sanpath.rulebook.model import Finding
from sanpath.summary.names import readable
from sanpath.units import percent_rounded

_BUSY = "cpu_ratio"
"""The fact that rules about processors judge: of a load, the share of a core that a process uses; of a machine, the
share of all its processors."""


def busy_processors(diagnosis: Diagnosis) -> Finding | None:
    """The cause with the busiest processors. None: the load generator is not the limit, or no rule says why it is."""
    if diagnosis.verdict.kind != "generator_limited":
        return None
    causes = [
        finding
        for finding in diagnosis.findings
        if finding.outcome == "hit" and finding.role == "cause" and isinstance(finding.evidence.get(_BUSY), float)
    ]
    return max(causes, key=_ratio, default=None)


def busy_words(finding: Finding) -> str:
    """How busy they are."""
    used = percent_rounded(_ratio(finding))
    if finding.entity.startswith("load:"):
        return f"A process of the load uses {used} of a core"
    return f"The processors of {readable(finding.entity)} are {used} busy"


def _ratio(finding: Finding) -> float:
    ratio = finding.evidence[_BUSY]
    return ratio if isinstance(ratio, float) else 0.0

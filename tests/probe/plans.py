"""Plans and diagnoses that tests of probes start from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sanpath.diagnosis.experiment import Action, Experiment, Meaning
from sanpath.probe.plan import ProbePlan


def plan(**changed: Any) -> ProbePlan:
    """A plan that allows everything, with some keys changed."""
    whole: dict[str, Any] = {
        "target": {"filename": ["/dev/sdb", "/dev/sdc"]},
        "hosts": ["local", "db2"],
        "load": {"block_bytes": "64k", "in_flight": 16, "working_set_bytes": "10g"},
    }
    return ProbePlan.model_validate(whole | changed)


def experiment(
    action: Action, suspects: Sequence[tuple[str, float, float]], in_flight: int | None = None
) -> Experiment:
    """An experiment from (suspect, its probability, probability of the outcome if it is at fault)."""
    seen = sum(probability * likelihood for _, probability, likelihood in suspects)
    meanings = tuple(
        Meaning(
            "bottleneck",
            f"link:{name}",
            name,
            probability,
            probability * likelihood / seen if seen else 0.0,
            probability * (1 - likelihood) / (1 - seen) if seen < 1 else 0.0,
        )
        for name, probability, likelihood in suspects
    )
    return Experiment(action, f"do {action}", "more throughput", meanings, in_flight)

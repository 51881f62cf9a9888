"""How far two runs of an unrepeated step may differ by chance, estimated from repetitions of other steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import sqrt
from statistics import mean

from sanpath.comparison.performance_changes import repetitions_of
from sanpath.diagnosis.model import StepResult

_T_QUANTILES = (12.706, 4.303, 3.182, 2.776)
"""0.975 quantiles of Student's t distribution for 1 to 4 degrees of freedom."""


def reproducibility_limit(runs: Iterable[Sequence[StepResult]]) -> float | None:
    """Return the relative difference in throughput that two single runs of a step exceed once in twenty times.

    It is t x sqrt(2) x s (reproducibility limit, ISO 5725-6), with the standard deviation pooled over all steps that
    a run repeated. None: no step was repeated.
    """
    groups = [group for steps in runs for group in _repetitions(steps)]
    freedom = sum(len(rates) - 1 for rates in groups)
    if not freedom:
        return None
    squares = sum((rate / mean(rates) - 1) ** 2 for rates in groups for rate in rates)
    return _t_quantile(freedom) * sqrt(2 * squares / freedom)


def _repetitions(steps: Sequence[StepResult]) -> Iterator[list[float]]:
    """Yield the rates of each step and direction that was repeated."""
    grouped: set[tuple[str, str]] = set()
    for step in steps:
        for direction in step.directions:
            same = repetitions_of(step, direction, steps)
            if (step.name, direction) not in grouped and len(same) > 1:
                grouped |= {(repetition.name, direction) for repetition in same}
                yield [repetition.directions[direction].ops_per_second for repetition in same]


def _t_quantile(freedom: int) -> float:
    """Return the 0.975 quantile; above the table by the expansion of Cornish and Fisher, good to 0.3 %.

    >>> [round(_t_quantile(freedom), 2) for freedom in (1, 5, 10, 30)]
    [12.71, 2.56, 2.22, 2.04]
    """
    if freedom <= len(_T_QUANTILES):
        return _T_QUANTILES[freedom - 1]
    z = 1.959964
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)

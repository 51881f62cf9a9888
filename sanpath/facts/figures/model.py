"""The entered figures of one quantity, from all their sources, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

Origin = Literal["stated", "computed", "measured"]

BEATEN_RATIO = 1.3
"""Measured throughput over a data sheet's figure from which the figure is wrong rather than reached: two standard
errors of 15 %."""
_UNITS = {
    "seconds": (1e3, " ms"),
    "bytes_per_second": (1e-6, " MB/s"),
    "ops_per_second": (1.0, " IOPS"),
    "ratio": (1.0, ""),
    "count": (1.0, ""),
}
_BYTE_UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))


@dataclass(frozen=True, slots=True)
class FigureValue:
    """A figure from one source. `low`, `high`: equal unless it is a range. `origin`: stated by a person or a report,
    computed from other figures, or measured in this recording. `rounding`: half of the last printed digit."""

    low: float
    high: float
    source: str
    origin: Origin
    rounding: float = field(default=0.0, repr=False)


@dataclass(frozen=True, slots=True)
class FigureComparison:
    """All figures of one quantity of an entity. `step`, `direction`: None: of all steps, of both directions.

    `ratio`: the largest factor between two figures that rounding and ranges do not explain; 1: they agree, None:
    there is only one figure. `used_ratio`: the highest measured throughput over a ceiling. For a timed task, it is
    the task's throughput over the highest that the load tests of the recording moved in that direction. For bytes
    that crossed the wire, it is their share of the task's bytes. None: the figure is none of these. `is_timed_task`:
    the figure is of a task, not of a load test.
    """

    entity: str
    quantity: str
    unit: str
    step: str | None
    direction: str | None
    values: Sequence[FigureValue]
    ratio: float | None = None
    used_ratio: float | None = None
    is_timed_task: bool = False


@dataclass(frozen=True, slots=True)
class Disagreement:
    """The two values of a quantity that lie furthest apart, and the factor between their nearest ends."""

    lower: FigureValue
    higher: FigureValue
    ratio: float

    @property
    def middle_ratio(self) -> float:
        """The factor between the middles of the two values, without allowance for rounding."""
        lower, higher = ((value.low + value.high) / 2 for value in (self.lower, self.higher))
        return higher / lower if lower else float("inf")


def disagreement(values: Sequence[FigureValue]) -> Disagreement | None:
    """Return the largest disagreement of positive values. None: fewer than two of them."""
    return max(disagreements(values), key=lambda pair: pair.ratio, default=None)


def disagreements(values: Sequence[FigureValue]) -> list[Disagreement]:
    """Return every pair of positive values, also where both agree."""
    positive = [value for value in values if value.low > 0]
    ordered = [sorted(pair, key=lambda value: value.low + value.high) for pair in combinations(positive, 2)]
    return [Disagreement(lower, higher, _nearest_ratio(lower, higher)) for lower, higher in ordered]


def _nearest_ratio(lower: FigureValue, higher: FigureValue) -> float:
    return max(1.0, (higher.low - higher.rounding) / (lower.high + lower.rounding))


def amount(unit: str, value: FigureValue) -> str:
    """Return a value in the unit that people use.

    >>> amount("seconds", FigureValue(0.003, 0.005, "", "stated"))
    '3 to 5 ms'
    """
    scale, suffix = _UNITS.get(unit, (1.0, f" {unit}"))
    if unit.endswith("/byte"):
        scale, suffix = 1e9, f" {unit.removesuffix('byte')}GB"
    elif unit == "bytes":
        size, name = next((pair for pair in _BYTE_UNITS if value.high >= pair[0]), _BYTE_UNITS[-1])
        scale, suffix = 1 / size, f" {name}"
    low, high = (_digits(end * scale) for end in (value.low, value.high))
    return f"{low}{suffix}" if low == high else f"{low} to {high}{suffix}"


def _digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"

"""Figures of the verdict's step that several lines of the summary use."""

from __future__ import annotations

from sanpath.diagnosis.model import Diagnosis, DirectionResult, ElementUse, StepResult
from sanpath.facts.load.loads import SINGLE_DIRECTION
from sanpath.units import kibibytes

_SLOWER_RATIO = 0.7
"""Ratio of throughputs below which a step counts as slower than another, whatever their scatter."""


def use_of(diagnosis: Diagnosis, entity: str, direction: str) -> ElementUse | None:
    """The utilisation of an element. None: nothing counts it."""
    step = diagnosis.verdict.from_step
    return next((u for u in diagnosis.elements if (u.entity, u.step, u.direction) == (entity, step, direction)), None)


def main_direction(step: StepResult) -> str:
    """The direction with the most outstanding I/Os, which the verdict is about."""

    def outstanding_in(direction: str) -> float:
        result = step.directions[direction]
        return result.ops_per_second * result.latency_seconds.mean

    return max(step.directions, key=outstanding_in, default="read")


def is_single_direction(step: StepResult, direction: str) -> bool:
    """Whether a direction represents the whole test."""
    total = step.ops_per_second
    return step.directions[direction].ops_per_second >= SINGLE_DIRECTION * total


def in_flight(step: StepResult) -> float:
    """Outstanding I/Os as measured, else as configured; 0: neither is known."""
    return step.in_flight.measured or step.in_flight.configured or 0.0


def block_size_words(result: DirectionResult) -> str:
    """The mean size of its I/Os: " of 64 KiB"."""
    mean_bytes = result.bytes_per_second / result.ops_per_second if result.ops_per_second else 0.0
    return f" of {kibibytes(mean_bytes)}" if mean_bytes >= 0.1 * 1024 else ""


def is_slower(diagnosis: Diagnosis, name: str) -> bool:
    """Whether a step moved clearly fewer bytes, with clearly fewer I/Os a second, than others."""
    ops = {step.name: step.ops_per_second for step in diagnosis.steps}
    moved = {
        step.name: max((each.bytes_per_second for each in step.directions.values()), default=0.0)
        for step in diagnosis.steps
    }
    return all(rates[name] < _SLOWER_RATIO * max(rates.values()) for rates in (ops, moved))


def time_in_array(diagnosis: Diagnosis, step: StepResult, direction: str) -> tuple[float, float, float]:
    """Return three times of an I/O in seconds: inside the array without waits for configured limits, those waits, and
    the latency. All are 0 if the latency was not split. Times that the verdict only estimates do not count."""
    for budget in diagnosis.latency_budget:
        if (budget.step, budget.direction) == (step.name, direction):
            inside = [part for part in budget.parts if part.layer.startswith("array") and part.how != "estimate"]
            of_limits = sum(sum(part.seconds) / 2 for part in inside if part.is_limit_wait)
            return sum(sum(part.seconds) / 2 for part in inside) - of_limits, of_limits, budget.total_seconds
    return 0.0, 0.0, 0.0

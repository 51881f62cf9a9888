"""The budget of a probe: whether a step may run, and the rate that keeps a step within the budget."""

from __future__ import annotations

from dataclasses import dataclass

from sanpath.probe.experiment_steps import Order
from sanpath.probe.plan import ProbePlan
from sanpath.sweep.progress import START_SECONDS
from sanpath.units import counted

_MIN_RATE_RATIO = 0.9
"""A step with a rate limit below this share of the throughput so far would show the limit, not the storage."""
_MAX_GROWTH = 4.0
"""A step that raises throughput to this multiple of the highest so far has shown enough."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What a probe has used so far: seconds since its beginning, bytes moved, steps run.

    `bytes_per_second`: the highest throughput so far.
    """

    seconds: float = 0.0
    bytes: float = 0.0
    steps: int = 0
    bytes_per_second: float = 0.0


def step_seconds(plan: ProbePlan, order: Order | None = None) -> float:
    """The longest duration of a step, including the pause. `order` None: any step of the plan."""
    measured = order.seconds if order is not None and order.seconds is not None else plan.seconds
    if order is not None and order.is_pause:
        return measured + plan.pause_seconds
    return plan.warmup_seconds + measured + plan.pause_seconds + START_SECONDS


def rate_limit(plan: ProbePlan, spent: Spent, order: Order) -> int | None:
    """The bytes a second that a step may move. None: the budget sets no such limit, or the step moves nothing.

    At this rate, the whole load of the step fits into the remaining bytes. It is not far above what the step can
    reach, because a warm-up is charged at the limit.
    """
    if order.is_pause:
        return None
    budget = plan.budget
    limits = [budget.bytes_per_second] if budget.bytes_per_second is not None else []
    if budget.bytes is not None:
        measured = order.seconds if order.seconds is not None else plan.seconds
        # fio counts outstanding I/Os before it starts another one; other generators count only completed I/Os.
        uncounted = 0 if plan.engine == "fio" else order.step.in_flight * order.step.block_bytes
        remaining = max(0.0, budget.bytes - spent.bytes - uncounted)
        limits.append(int(remaining / (plan.warmup_seconds + measured + START_SECONDS)))
        if spent.bytes_per_second:
            limits.append(int(_MAX_GROWTH * spent.bytes_per_second))
    return min(limits) if limits else None


def refusal_reason(plan: ProbePlan, spent: Spent, order: Order) -> str:
    """The reason why the budget does not allow a step; "": it does."""
    budget, limit = plan.budget, rate_limit(plan, spent, order)
    if spent.steps >= budget.steps:
        return f"the budget of {counted(budget.steps, 'step')} is used"
    if spent.seconds + step_seconds(plan, order) > budget.seconds:
        return f"the budget of {budget.seconds:g} s is used"
    if order.is_pause:
        return ""
    if order.step.in_flight > budget.in_flight:
        return f"{order.step.in_flight} outstanding I/Os are more than the budget of {budget.in_flight}"
    least = _lowest_rate(plan, order)
    if limit is None or limit == budget.bytes_per_second:
        return "" if limit is None or limit >= least else f"the rate is below the minimum, {least:,} bytes a second"
    if limit < max(least, _MIN_RATE_RATIO * spent.bytes_per_second):
        return f"the budget of {budget.bytes:,} bytes is used"
    return ""


def _lowest_rate(plan: ProbePlan, order: Order) -> int:
    """The lowest possible rate limit of a step, in bytes a second: an I/O, or DiskSpd's unit in every thread."""
    step = order.step
    return max(step.block_bytes, 1000 * step.threads * step.targets if plan.engine == "diskspd" else 0)


def unmeasured_bytes(plan: ProbePlan, limit: int | None) -> float:
    """The most bytes that a step can move before its measurement. `limit`: its rate limit, None: no limit."""
    return (limit or 0) * (plan.warmup_seconds + START_SECONDS)


def rate_options(plan: ProbePlan, order: Order, limit: int | None) -> dict[str, str]:
    """The options of fio that keep a step below a rate; fio's own limit is per process and direction.

    A process does I/O to all files; each NBD export has its own process.
    """
    if limit is None:
        return {}
    step = order.step
    processes = step.threads * (step.targets if plan.target.uri else 1)
    rates = [max(1, int(limit * share / processes)) for share in (step.read_ratio, 1 - step.read_ratio)]
    return {"rate": ",".join(str(rate) for rate in rates)}

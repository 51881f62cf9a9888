"""Turns experiments into steps: each changes one property of the load that a person specified."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import log

from sanpath.diagnosis.experiment import LoadChange
from sanpath.model import PAUSE, START
from sanpath.probe.plan import ProbePlan
from sanpath.sweep.matrix import SweepStep, binary_size, io_name

_MIN_BLOCK_BYTES = 512
"""A sector, the smallest I/O of a block device."""
_SAME_STEP = ("other_host", "one_path", PAUSE)
"""Experiments that run the same step in another place, or without a load."""


@dataclass(frozen=True, slots=True)
class Order:
    """A step to run. `experiment`: what it tries. `reason`: why it is next, for people. `host`: where it runs.

    `seconds`: how long it is measured; None: as long as the plan says. `devices`: the devices that it uses instead of
    the target; (): the target.
    """

    step: SweepStep
    experiment: str
    reason: str
    host: str
    seconds: float | None = None
    devices: tuple[str, ...] = ()

    @property
    def is_pause(self) -> bool:
        """Whether no load runs in the step."""
        return self.experiment == PAUSE


@dataclass(frozen=True, slots=True)
class Finish:
    """The end of a probe. `reason`: why it ends. `for_a_person`: what only a person can change next; "": nothing."""

    reason: str
    for_a_person: str = ""


def start_order(plan: ProbePlan, reason: str = "the load as given") -> Order:
    """The first step: the load that a person specified."""
    return Order(_with_name(plan.start), START, reason, plan.hosts[0])


def in_flight_order(
    plan: ProbePlan, in_flight: int, experiment: str, reason: str, seconds: float | None = None
) -> Order:
    """The load with a different number of outstanding I/Os."""
    return Order(_with_name(_outstanding(plan, in_flight)), experiment, reason, plan.hosts[0], seconds)


def _outstanding(plan: ProbePlan, in_flight: int) -> SweepStep:
    return replace(plan.start, in_flight=in_flight, threads=in_flight if plan.is_synchronous else plan.load.threads)


def order_of(plan: ProbePlan, experiment: str, in_flight: int | None, reason: str) -> Order | None:
    """The step of an experiment. `in_flight`: as the experiment requests. None: the plan does not allow it."""
    if experiment not in plan.experiments:
        return None
    step = _changed(plan, experiment, in_flight)
    if step is None or (step == plan.start and experiment not in _SAME_STEP):
        return None
    devices = plan.paths[:1] if experiment == "one_path" else ()
    host = plan.hosts[1] if experiment == "other_host" else plan.hosts[0]
    named = step if experiment == PAUSE else _with_name(step, _remark(plan, experiment, step))
    return Order(named, experiment, reason, host, devices=devices)


def _changed(plan: ProbePlan, experiment: LoadChange, in_flight: int | None) -> SweepStep | None:
    start, load, share = plan.start, plan.load, plan.share
    match experiment:
        case "more_in_flight" | "fewer_in_flight":
            wanted = share * max(1, round((in_flight or 0) / share))
            limited = min(wanted, plan.budget.in_flight // share * share)
            # A step with a smaller difference shows nothing.
            return _outstanding(plan, limited) if abs(log(limited / load.in_flight)) > log(1.3) else None
        case "one_in_flight":
            one = replace(start, threads=1, targets=1, in_flight=1)
            return one if load.in_flight > 1 else None
        case "smaller_blocks":
            size = load.block_bytes // 2
            return replace(start, block_bytes=size) if size >= _MIN_BLOCK_BYTES else None
        case "more_jobs":
            fits = plan.engine != "vdbench" and not plan.is_synchronous and load.in_flight % (2 * share) == 0
            return replace(start, threads=2 * load.threads) if fits else None
        case "cached_range":
            room = load.block_bytes * load.threads * plan.target.number
            smaller = load.working_set_bytes is None or load.working_set_bytes > plan.hot_range_bytes
            # A read cache never serves a load of writes only.
            fits = smaller and plan.hot_range_bytes >= room and load.read_ratio > 0
            return replace(start, working_set_bytes=plan.hot_range_bytes) if fits else None
        case "one_direction":
            return replace(start, read_ratio=1.0) if 0 < load.read_ratio < 1 else None
        case "writes_only":
            return replace(start, read_ratio=0.0) if 0 < load.read_ratio < 1 else None
        case "one_path":
            return start if plan.paths else None
        case "one_target":
            return replace(start, targets=1) if start.targets > 1 else None
        case "other_host":
            return start if len(plan.hosts) > 1 else None
        case "pause":
            return replace(start, name="pause: other hosts alone")


def _remark(plan: ProbePlan, experiment: str, step: SweepStep) -> str:
    return {
        "more_jobs": f"{step.threads} threads",
        "cached_range": f"a range of {binary_size(plan.hot_range_bytes)}",
        "one_target": "one target",
        "one_path": "one path",
        "other_host": f"from {plan.hosts[-1]}",
    }.get(experiment, "")


def _with_name(step: SweepStep, remark: str = "") -> SweepStep:
    words = [io_name(step), f"{step.in_flight} outstanding", *([remark] if remark else [])]
    return replace(step, name=", ".join(words))


def possible_orders(plan: ProbePlan) -> Iterator[Order]:
    """Yield the steps that the plan allows, each as if it were the first experiment after the start."""
    number = plan.load.in_flight
    for experiment in plan.experiments:
        in_flight = {"more_in_flight": 2 * number, "fewer_in_flight": number // 2}.get(experiment)
        if (order := order_of(plan, experiment, in_flight, "")) is not None:
            yield order

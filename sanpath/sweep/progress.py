"""How far a sweep has come and how long it will still take, from the marks in its recording."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sanpath.model import Event
from sanpath.sweep.matrix import SweepStep
from sanpath.sweep.plan import Plan

STEP_BEGIN, STEP_END = "sweep-step-begin", "sweep-step"
"""Marks of the recorder: a step is being started; what came of it."""

_START_SECONDS = 1.0
"""What starting and ending a load costs beside its own time (fio: half a second, measured)."""


@dataclass(frozen=True, slots=True)
class Progress:
    """`done`: keys of the steps that need not be run again; `cut`: of those that had begun and are not done.

    `running`: key of the step under way, None between steps; `since_us`: when it began, on the recorder's clock.
    `took`: seconds that each step needed. `failed`: key and exit code where the load has failed since it last began.
    """

    done: frozenset[str]
    cut: frozenset[str]
    running: str | None
    since_us: int
    took: tuple[float, ...]
    failed: tuple[tuple[str, int], ...] = ()


def progress(events: Iterable[tuple[str, Event]], digest: str) -> Progress:
    """From the events of a recording, by time; marks of another plan are passed over."""
    done: set[str] = set()
    begun: set[str] = set()
    failed: dict[str, int] = {}
    took = []
    running, since = None, 0
    for _, event in events:
        key = str(event.detail.get("key"))
        if event.detail.get("plan") != digest:
            continue
        if event.name == STEP_BEGIN:
            running, since = key, event.seen
            begun.add(key)
            failed.pop(key, None)
        elif event.name == STEP_END:
            running = None
            if event.detail.get("outcome") == "done":
                done.add(key)
                took.append((event.seen - since) / 1e6)
            elif event.detail.get("outcome") == "failed":
                code = event.detail.get("exit_code")
                failed[key] = int(code) if isinstance(code, int) else 1
    return Progress(frozenset(done), frozenset(begun - done), running, since, tuple(took), tuple(failed.items()))


def remaining_seconds(plan: Plan, steps: Sequence[SweepStep], now: Progress, now_us: int) -> float:
    """How long it will still take. With `steady` a step takes as long as those before it did on average, before
    there was one, half of what it may take beyond its `seconds`."""
    left = sum(step.key not in now.done for step in steps)
    each = step_seconds(plan, now.took)
    running = min(each, (now_us - now.since_us) / 1e6) if now.running else 0.0
    return max(0.0, left * each - max(0.0, running))


def step_seconds(plan: Plan, took: Sequence[float] = ()) -> float:
    """How long a step takes, its pause included."""
    if took:
        return sum(took) / len(took) + plan.pause_seconds
    measured = plan.seconds
    if plan.steady:
        measured += (plan.steady.at_most_seconds - plan.seconds) / 2
    return plan.warmup_seconds + measured + plan.pause_seconds + _START_SECONDS


def span(seconds: float) -> str:
    """As a person says it: 45 s, 2 min 10 s, 3 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"

"""The progress and remaining time of a sweep, from the marks in its recording."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sanpath.model import Event
from sanpath.sweep.matrix import SweepStep
from sanpath.sweep.plan import Plan

STEP_BEGIN, STEP_END = "sweep-step-begin", "sweep-step"
"""Marks of the recorder: a step begins; a step has ended, with its outcome."""
PROBE_READY, PROBE_PAUSE, PROBE_END = "probe-ready", "probe-pause", "probe-end"
"""Marks of a probe: a step is recorded, and the next may be ordered; a pause of the load has ended; the probe has
ended, with the reason."""

START_SECONDS = 1.0
"""Time to start and end a load, in addition to its own duration (fio: half a second, measured)."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a sweep.

    `done`: keys of the steps that need not be run again. `cut`: keys of the steps that began but are not done.
    `running`: key of the current step; None between steps. `since_us`: when it began, on the recorder's clock.
    `took`: durations of the finished steps in seconds. `failed`: (key, exit code) of steps whose last run failed.
    """

    done: frozenset[str]
    cut: frozenset[str]
    running: str | None
    since_us: int
    took: tuple[float, ...]
    failed: tuple[tuple[str, int], ...] = ()


def progress(events: Iterable[tuple[str, Event]], digest: str) -> Progress:
    """Return the progress from the events of a recording, by time. Marks of other plans are ignored."""
    done: set[str] = set()
    started: set[str] = set()
    failed: dict[str, int] = {}
    took = []
    running, began_us = None, 0
    for _, event in events:
        key = str(event.detail.get("key"))
        if event.detail.get("plan") != digest:
            continue
        if event.name == STEP_BEGIN:
            running, began_us = key, event.seen
            started.add(key)
            failed.pop(key, None)
        elif event.name == STEP_END:
            running = None
            if event.detail.get("outcome") == "done":
                done.add(key)
                took.append((event.seen - began_us) / 1e6)
            elif event.detail.get("outcome") == "failed":
                code = event.detail.get("exit_code")
                failed[key] = int(code) if isinstance(code, int) else 1
    return Progress(frozenset(done), frozenset(started - done), running, began_us, tuple(took), tuple(failed.items()))


def remaining_seconds(plan: Plan, steps: Sequence[SweepStep], now: Progress, now_us: int) -> float:
    """Return the expected remaining time of the sweep.

    A step is expected to take the mean time of earlier steps. For the first step with `steady`, half of its possible
    time beyond `seconds` is added.
    """
    remaining = sum(step.key not in now.done for step in steps)
    seconds_per_step = step_seconds(plan, now.took)
    running = min(seconds_per_step, (now_us - now.since_us) / 1e6) if now.running else 0.0
    return max(0.0, remaining * seconds_per_step - max(0.0, running))


def step_seconds(plan: Plan, took: Sequence[float]) -> float:
    """Return the expected duration of a step, including the pause."""
    if took:
        return sum(took) / len(took) + plan.pause_seconds
    measured = plan.seconds
    if plan.steady:
        measured += (plan.steady.at_most_seconds - plan.seconds) / 2
    return plan.warmup_seconds + measured + plan.pause_seconds + START_SECONDS

"""Runs a sweep: its steps one after the other, each marked with its name and ended when it is steady."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from pathlib import Path
from typing import IO

from sanpath.errors import UsageError
from sanpath.model import Event, Rows, Scalar
from sanpath.plugin import Clock, Item
from sanpath.recorder.first_completed import either, sleep
from sanpath.recorder.loads.loads import Loads
from sanpath.recorder.loads.processes import load_processes
from sanpath.recorder.loads.steady_state import Steadiness
from sanpath.recorder.request import SweepRequest
from sanpath.recorder.sink import Sink
from sanpath.recording.format.layout import RECORDER
from sanpath.recording.storage.store import Location
from sanpath.sweep import commands
from sanpath.sweep.matrix import SweepStep, steps
from sanpath.sweep.plan import Plan
from sanpath.sweep.progress import STEP_BEGIN, STEP_END


class StepWatch:
    """Filters the items of a step's load before they are recorded, and detects when the step is steady.

    It adds the step's name and its outstanding I/Os to the marks: with several jobs fio does not report the latter.
    """

    def __init__(self, plan: Plan, step: SweepStep) -> None:
        self._step, self._ramps = step, plan.warmup_seconds > 0
        steady = plan.steady
        self._steadiness = Steadiness(steady.windows, steady.spread, plan.seconds) if steady else None
        self.steady = asyncio.Event()

    @property
    def spread(self) -> float | None:
        """Spread of the throughput at the end; None: unknown."""
        return self._steadiness.spread if self._steadiness else None

    def __call__(self, item: Item) -> Item:
        """Return the item to be recorded."""
        if isinstance(item, Event) and "step" in item.detail:
            if self._steadiness and item.name == ("ramp-end" if self._ramps else "step-begin"):
                self._steadiness.begin(str(item.detail.get("loads", "")).split(","))
            detail = {**item.detail, "step": self._step.name, "offered": self._step.in_flight}
            return replace(item, detail=detail)
        if self._steadiness and isinstance(item, Rows) and item.table.kind == "load":
            self._steadiness.add(item)
            if self._steadiness.reached:
                self.steady.set()
        return item


class SweepRun:
    """Runs the steps of a plan that are not done yet."""

    def __init__(self, request: SweepRequest, loads: Loads, clock: Clock, sink: Sink, stop: asyncio.Event) -> None:
        self._plan, self._done, self._cut = request.plan, request.done, request.cut
        self._loads, self._clock, self._sink, self._stop = loads, clock, sink, stop

    async def run(self) -> int | None:
        """Run the steps. Returns 0 when all are done, the exit code of a failed load, or None when interrupted."""
        todo = [step for step in steps(self._plan) if step.key not in self._done]
        for step in todo:
            if step.key in self._cut:
                self._event("step-dropped", {"step": step.name, "because": "the run was killed"})
        for number, step in enumerate(todo):
            if number:
                await either(self._stop.wait(), sleep(self._plan.pause_seconds))
            if self._stop.is_set():
                return None
            code = await self._step(step)
            await self._sink.flush()  # A killed sweep resumes after the last step that is recorded as done.
            if code != 0:
                return code
        return 0

    async def _step(self, step: SweepStep) -> int | None:
        watch = StepWatch(self._plan, step)
        self._event(STEP_BEGIN, {"key": step.key, "step": step.name, "plan": self._plan.digest})
        await self._sink.flush()  # Viewers should see the new step at once.
        argv = commands.fio(self._plan, step)
        code, was_interrupted = await self._loads.run(
            argv, self._stop, key=step.key, item_filter=watch, end_early=watch.steady
        )
        steady = watch.steady.is_set() if self._plan.steady else None
        if was_interrupted and not steady:
            return self._ended(step, "interrupted", code)
        if code and not was_interrupted:
            return self._ended(step, "failed", code)
        if steady is False:
            self._event("step-not-steady", {"step": step.name, "key": step.key, "spread": watch.spread})
        return self._ended(step, "done", 0, steady)

    def _ended(self, step: SweepStep, outcome: str, code: int, steady: bool | None = None) -> int | None:
        if outcome != "done":
            self._event("step-dropped", {"step": step.name, "because": f"its load was {outcome}"})
        detail = {"key": step.key, "step": step.name, "plan": self._plan.digest, "outcome": outcome}
        self._event(STEP_END, {**detail, "exit_code": code, "steady": steady})
        return None if outcome == "interrupted" else code

    def _event(self, name: str, detail: dict[str, Scalar]) -> None:
        now = self._clock.now_us()
        self._sink.take(RECORDER, now, Event(now, name, detail))


def lock_sweep(folder: Location, run_id: str) -> IO[bytes] | None:
    """Lock a recording on this machine against other sweeps, as long as the returned file is open.

    The system releases the lock when the process is killed. None: the folder or system has no locks. Raises
    UsageError when a sweep is running, or the load of a killed sweep still runs.
    """
    lock = _lock(folder)
    if running := load_processes(run_id):
        raise UsageError(
            f"{folder}: the load of a sweep that was killed still runs (process {', '.join(map(str, running))}); "
            "resume when it has ended, or end it"
        )
    return lock


def _lock(folder: Location) -> IO[bytes] | None:
    if not isinstance(folder, Path):
        return None
    try:
        import fcntl  # Unix only
    except ImportError:
        return None
    manifest = (folder / "manifest.json").open("rb")
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(manifest, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return manifest
    manifest.close()
    raise UsageError(f"{folder}: a sweep is being recorded into it at this moment")

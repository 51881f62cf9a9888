"""Runs a sweep: its steps one after the other, each marked with its name and ended when steady."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from pathlib import Path
from typing import IO

from sanpath.errors import UsageError
from sanpath.model import Event, Rows, Scalar
from sanpath.plugin import Clock, Item
from sanpath.recorder.control import CUT, END, RUN
from sanpath.recorder.first_completed import either, sleep
from sanpath.recorder.loads.loads import Loads
from sanpath.recorder.loads.processes import load_processes
from sanpath.recorder.loads.steady_state import Steadiness
from sanpath.recorder.request import EndOrder, StepOrder, SweepRequest
from sanpath.recorder.sink import Sink
from sanpath.recording.format.layout import RECORDER
from sanpath.recording.storage.store import Location
from sanpath.sweep import commands
from sanpath.sweep.matrix import SweepStep, steps
from sanpath.sweep.plan import LOCAL, Plan
from sanpath.sweep.progress import PROBE_END, PROBE_PAUSE, PROBE_READY, STEP_BEGIN, STEP_END


class StepWatch:
    """Filters the items of a step's load before they are recorded, and detects when the step is steady.

    It adds the step's name and its outstanding I/Os to the marks: with several jobs fio does not report their number.
    `experiment`: the experiment of a probe that the step belongs to. `why`: the probe's reason for the step.
    """

    def __init__(self, plan: Plan, step: SweepStep, experiment: str = "", why: str = "") -> None:
        self._ramps = plan.warmup_seconds > 0
        self._marks: dict[str, Scalar] = {"step": step.name, "offered": step.in_flight}
        self._marks |= {"experiment": experiment, "why": why} if experiment else {}
        steady = plan.steady
        self._steadiness = Steadiness(steady.windows, steady.spread, plan.seconds) if steady else None
        self._is_measuring = False
        self.steady = asyncio.Event()

    @property
    def spread(self) -> float | None:
        """Spread of the throughput at the end; None: unknown."""
        return self._steadiness.spread if self._steadiness else None

    def __call__(self, item: Item) -> Item:
        """Return the item to be recorded."""
        if isinstance(item, Event) and "step" in item.detail:
            # If the load learns that a ramp ended earlier, its end is marked again.
            is_begin = item.name == ("ramp-end" if self._ramps else "step-begin") and not self._is_measuring
            if self._steadiness and is_begin:
                self._is_measuring = True
                self._steadiness.begin(str(item.detail.get("loads", "")).split(","))
            return replace(item, detail={**item.detail, **self._marks})
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
        """Run the steps. Returns 0 if all are done, the exit code of a failed load, or None if interrupted."""
        todo = [step for step in steps(self._plan) if step.key not in self._done]
        for step in todo:
            if step.key in self._cut:
                self._event("step-dropped", {"step": step.name, "because": "the run was killed"})
        for number, step in enumerate(todo):
            if number:
                await either(self._stop.wait(), sleep(self._plan.pause_seconds))
            if self._stop.is_set():
                return None
            code = await self._run_step(step, self._plan, StepWatch(self._plan, step))
            await self._sink.flush()  # A killed sweep resumes after the last step that is recorded as done.
            if code != 0:
                return code
        return 0

    async def _run_step(
        self,
        step: SweepStep,
        plan: Plan,
        watch: StepWatch,
        cut_short: asyncio.Event | None = None,
        host: str | None = None,
        bytes_per_second: int | None = None,
    ) -> int | None:
        """Run a step to its end, or until `cut_short`. `host`: where it runs, None: on all hosts of the plan.

        `bytes_per_second`: see commands.command.
        """
        await self._record_begin(step)
        argv = commands.command(plan, step, bytes_per_second)
        code, was_interrupted = await self._loads.run(
            argv, self._stop, key=step.key, item_filter=watch, end_early=cut_short or watch.steady, host=host
        )
        steady = watch.steady.is_set() if self._plan.steady else None
        if was_interrupted and not steady:
            return self._record_end(step, "interrupted", code)
        if code and not was_interrupted:
            return self._record_end(step, "failed", code)
        if steady is False:
            self._event("step-not-steady", {"step": step.name, "key": step.key, "spread": watch.spread})
        return self._record_end(step, "done", 0, steady)

    async def _record_begin(self, step: SweepStep) -> None:
        self._event(STEP_BEGIN, {"key": step.key, "step": step.name, "plan": self._plan.digest})
        await self._sink.flush()  # Viewers should see the new step at once.

    def _record_end(self, step: SweepStep, outcome: str, code: int, steady: bool | None = None) -> int | None:
        if outcome != "done":
            self._event("step-dropped", {"step": step.name, "because": f"its load was {outcome}"})
        detail = {"key": step.key, "step": step.name, "plan": self._plan.digest, "outcome": outcome}
        self._event(STEP_END, {**detail, "exit_code": code, "steady": steady})
        return None if outcome == "interrupted" else code

    def _event(self, name: str, detail: dict[str, Scalar]) -> None:
        now = self._clock.now_us()
        self._sink.take(RECORDER, now, Event(now, name, detail))


class ProbeRun(SweepRun):
    """Runs ordered steps one after the other, until an order ends the run."""

    def __init__(self, request: SweepRequest, loads: Loads, clock: Clock, sink: Sink, stop: asyncio.Event) -> None:
        super().__init__(request, loads, clock, sink, stop)
        self._idle_seconds = request.idle_seconds
        self._orders: asyncio.Queue[StepOrder | EndOrder] = asyncio.Queue()
        self._cut_short = asyncio.Event()

    def execute_command(self, line: str) -> None:
        """Execute a command from standard input: run a step after the steps already ordered, end after these, or cut
        the current step short."""
        if line.startswith(RUN):
            self._orders.put_nowait(StepOrder.model_validate_json(line.removeprefix(RUN)))
        elif line.startswith(END):
            self._orders.put_nowait(EndOrder.model_validate_json(line.removeprefix(END)))
        elif line.strip() == CUT:
            self._cut_short.set()

    async def run(self) -> int | None:
        """Run the steps. Returns 0 at the end, the exit code of a failed load, or None when interrupted."""
        await self._settle("", self._idle_seconds)
        while not self._stop.is_set():
            waiting = asyncio.create_task(self._orders.get())
            await either(asyncio.shield(waiting), self._stop.wait())
            if not waiting.done():
                waiting.cancel()
                break
            order = waiting.result()
            if isinstance(order, EndOrder):
                self._event(PROBE_END, {"reason": order.reason, "what": order.what})
                return 0
            if code := await self._run_order(order):
                return code
            await self._settle(order.step.key, self._plan.pause_seconds)
        return None

    async def _settle(self, key: str, seconds: float) -> None:
        """Continue polling for some seconds, so that every source shows the end of a step, and mark it as
        recorded."""
        await either(self._stop.wait(), sleep(seconds))
        await self._sink.flush()
        self._event(PROBE_READY, {"key": key})
        await self._sink.flush()

    async def _run_order(self, order: StepOrder) -> int | None:
        self._cut_short.clear()
        seconds = self._plan.seconds if order.seconds is None else order.seconds
        if order.is_pause:
            return await self._pause(order, seconds)
        changed = {"seconds": seconds, "fio": {**self._plan.fio, **order.fio}}
        plan = self._plan.with_devices(order.devices).model_copy(update=changed)
        watch = StepWatch(plan, order.step, order.experiment, order.why)
        host = order.host if self._plan.hosts != (LOCAL,) else None
        return await self._run_step(order.step, plan, watch, self._cut_short, host, order.bytes_per_second)

    async def _pause(self, order: StepOrder, seconds: float) -> int | None:
        """Continue polling without a load, and mark the pause unless it was cut short."""
        step, began_us = order.step, self._clock.now_us()
        await self._record_begin(step)
        await either(self._stop.wait(), self._cut_short.wait(), sleep(seconds))
        if self._stop.is_set() or self._cut_short.is_set():
            return self._record_end(step, "interrupted", 0)
        self._event(PROBE_PAUSE, {"key": step.key, "step": step.name, "began_us": began_us, "why": order.why})
        return self._record_end(step, "done", 0)


def lock_sweep(folder: Location, run_id: str) -> IO[bytes] | None:
    """Lock a recording on this machine against other sweeps, as long as the returned file is open.

    The system releases the lock if the process is killed. None: the folder or system has no locks. Raises UsageError
    if a sweep is running, or the load of a killed sweep still runs.
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

"""A probe from the command's side: it judges after every step, orders the next, and protects other users' I/O."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from sanpath.cli.options import FailOn, Format
from sanpath.cli.output import diagnosis_of
from sanpath.cli.sessions.recorder_process import record
from sanpath.cli.sessions.run import Session
from sanpath.errors import RecordingError
from sanpath.facts.load.moved_bytes import moved_bytes
from sanpath.facts.storage.other_loads import volumes_of_others
from sanpath.masking import printable
from sanpath.model import START
from sanpath.probe.budget import Spent, rate_limit, rate_options, unmeasured_bytes
from sanpath.probe.experiment_steps import Finish, Order
from sanpath.probe.guard import Watch
from sanpath.probe.plan import ProbePlan
from sanpath.probe.search import Search
from sanpath.recorder.control import CUT, END, RUN
from sanpath.recorder.request import EndOrder, RunRequest, StepOrder
from sanpath.recording.reading.recording import Recording
from sanpath.sweep.progress import PROBE_READY, STEP_BEGIN, STEP_END
from sanpath.units import counted

if TYPE_CHECKING:
    from sanpath.diagnosis.model import Diagnosis
    from sanpath.rulebook.site.options import Choice

_LOOK_SECONDS = 0.5
_GUARD_SECONDS = 1.0
"""How often the latency of others is compared."""


class ProbeSession(Session):
    """Records and reports a probe. `search`: chooses the next step."""

    def __init__(
        self, request: RunRequest, plan: ProbePlan, search: Search, form: Format, fail_on: FailOn, choice: Choice
    ) -> None:
        super().__init__(request.folder, request, form, fail_on, choice, plain=True)
        self._plan, self._search = plan, search
        self._spent = Spent()
        self._awaited: str | None = ""
        """Key of the step whose end is awaited, "" before the first; None: the probe has ended."""
        self._order: Order | None = None
        self._watch = Watch(plan.guard, {})
        self._began = time.monotonic()
        self._guarded = self._unmeasured = 0.0
        self._send: Callable[[str], None] = lambda _: None

    def _record(self) -> tuple[int, bool]:
        self._began = time.monotonic()
        return record(self._complete_request, self._progress, None, _LOOK_SECONDS, self._control)

    def _control(self, send: Callable[[str], None]) -> None:
        self._send = send

    def _progress(self) -> None:
        """Order the next step when one is recorded; cut the running one short if it disturbs others."""
        self._lines.name_recording()
        if self._awaited is None:
            return
        try:
            recording = Recording(self._request.folder)
            ready = [event for _, event in recording.events() if event.name == PROBE_READY]
        except RecordingError:
            return  # Nothing has been written yet.
        try:
            if any(event.detail.get("key") == self._awaited for event in ready):
                self._order_next()
            elif self._order is not None and not self._order.is_pause:
                self._protect(recording)
        except Exception:
            self._order_end(Finish("the steps could not be judged"))
            raise

    def _order_next(self) -> None:
        diagnosis: Diagnosis | None = None
        if self._order is None:
            self._begin_watch()
        else:
            diagnosis = diagnosis_of(self._request.folder, self._choice)
            self._account(diagnosis)
        self._spent = replace(self._spent, seconds=time.monotonic() - self._began)
        order = self._search(self._plan, diagnosis, self._spent)
        if isinstance(order, Finish):
            self._order_end(order)
            return
        self._order_step(order)

    def _order_step(self, order: Order) -> None:
        number = self._spent.steps + 1
        step = replace(order.step, key=f"probe-{number:02d}")
        self._order, self._awaited = order, step.key
        limit = rate_limit(self._plan, self._spent, order)
        self._unmeasured += unmeasured_bytes(self._plan, limit)
        left = self._plan.budget.seconds - self._spent.seconds
        print_line(f"step {number} of at most {self._plan.budget.steps}, {left:.0f} s left: {step.name}")
        print_line(f"  why: {order.reason}")
        ordered = StepOrder(
            step=step,
            experiment=order.experiment,
            why=order.reason,
            host=order.host,
            seconds=order.seconds,
            fio=rate_options(self._plan, order, limit) if self._plan.engine == "fio" else {},
            bytes_per_second=limit if self._plan.engine != "fio" else None,
            devices=order.devices,
            is_pause=order.is_pause,
        )
        self._send(RUN + ordered.model_dump_json())

    def _account(self, diagnosis: Diagnosis) -> None:
        """Add the cost of the last step, and print its outcome."""
        from sanpath.views.probe import outcome_lines

        trials = diagnosis.probe.steps if diagnosis.probe is not None else ()
        measured = 0.0
        if trials and len(trials) > self._spent.steps:
            # Once the load itself has run, the steps before it can be compared.
            is_start = self._order is not None and self._order.experiment == START
            shown = trials if is_start else trials[-1:]
            for trial in shown:
                if len(shown) > 1:
                    print_line(f"  {trial.step}:")
                for line in outcome_lines(trial):
                    print_line(f"  {line}")
            if self._order is not None and self._order.is_pause:
                self._watch_from_pause()
            else:
                self._show_neighbours()
            newest = {trial.step for trial in shown}
            measured = max(
                (
                    sum(direction.bytes_per_second for direction in step.directions.values())
                    for step in diagnosis.steps
                    if step.name in newest
                ),
                default=0.0,
            )
        spent = self._spent
        self._spent = replace(
            spent,
            bytes=moved_bytes(Recording(self._request.folder)) + self._unmeasured,
            steps=spent.steps + 1,
            bytes_per_second=max(spent.bytes_per_second, measured),
        )

    def _show_neighbours(self) -> None:
        """Print the I/O of other hosts in the last step, compared with the pause before it."""
        recording = Recording(self._request.folder)
        for line in self._watch.changes(recording, *_last_step(recording)):
            print_line(f"  other hosts: {line}")

    def _watch_from_pause(self) -> None:
        """Compare other hosts with how they did in the last step, a pause of the load: the newest is the best."""
        recording = Recording(self._request.folder)
        now = volumes_of_others(recording, *_last_step(recording))
        self._watch = self._watch.renewed(now)
        for line in self._watch.neighbours:
            print_line(f"  other hosts: {line}")

    def _protect(self, recording: Recording) -> None:
        """Cut the running step short if the latency of others has grown."""
        if time.monotonic() - self._guarded < _GUARD_SECONDS:
            return
        self._guarded = time.monotonic()
        began_us = max((event.seen for _, event in recording.events() if event.name == STEP_BEGIN), default=None)
        if began_us is None:
            return
        if (trip := self._watch.trip(recording, began_us, time.time_ns() // 1000)) is not None:
            self._send(CUT)
            self._order_end(Finish(f"stopped to protect other hosts: {trip.in_words}"))

    def _begin_watch(self) -> None:
        """Measure the I/O of others before the first step."""
        now_us, seconds = time.time_ns() // 1000, self._plan.guard.baseline_seconds
        before = volumes_of_others(Recording(self._request.folder), now_us - round(1e6 * max(seconds, 1.0)), now_us)
        self._watch = Watch(self._plan.guard, before)
        if before:
            print_line(f"guard: watching the latency of other hosts' volumes: {len(before)}")
            for line in self._watch.neighbours:
                print_line(f"  {line}")
        else:
            print_line(
                f"guard: nothing to watch: no array reported I/O of other hosts in {seconds:g} s "
                "(guard.baseline_seconds: give it a few polls of the array)"
            )

    def _order_end(self, finish: Finish) -> None:
        self._awaited = None
        steps = counted(self._spent.steps, "step")
        print_line(f"ended after {steps} and {time.monotonic() - self._began:.0f} s: {finish.reason}")
        if finish.for_a_person:
            print_line(f"next, to do by hand: {finish.for_a_person}")
        self._send(END + EndOrder(reason=finish.reason, what=finish.for_a_person).model_dump_json())


def _last_step(recording: Recording) -> tuple[int, int]:
    """When the last step began and ended, in microseconds of the recorder's clock."""
    events = [event for _, event in recording.events()]
    began_us, ended_us = (
        max((event.seen for event in events if event.name == name), default=0) for name in (STEP_BEGIN, STEP_END)
    )
    return began_us, ended_us


def print_line(line: str) -> None:
    """Print a line of the probe on standard error."""
    # Names come from devices, and the reason for a first step from a recording that may be untrusted.
    print(f"sanpath: {printable(line)}", file=sys.stderr, flush=True)

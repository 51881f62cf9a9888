"""A sweep from the command's side: its steps, progress and remaining time, and the curve at the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from sanpath.cli.options import FailOn, Format
from sanpath.cli.output import exit_code
from sanpath.cli.sessions.recorder_process import PROGRESS_SECONDS, Screen
from sanpath.cli.sessions.run import Session
from sanpath.errors import ExitCode, RecordingError, UsageError, command
from sanpath.recorder.request import RunRequest
from sanpath.recording.format import layout
from sanpath.recording.reading.recording import Recording
from sanpath.recording.storage.store import Location, store_at
from sanpath.sweep.matrix import steps
from sanpath.sweep.plan import Plan
from sanpath.sweep.progress import Progress, progress, remaining_seconds
from sanpath.units import counted, long_duration

if TYPE_CHECKING:
    from sanpath.diagnosis.model import Diagnosis
    from sanpath.rulebook.site.options import Choice

LOOK_SECONDS = 1.0


def recorded_progress(folder: Location, plan: Plan) -> Progress:
    """The progress of this plan in a recording; none if there is no recording yet. Raises UsageError if all steps are
    recorded, or the folder contains something else."""
    layout.check(folder, plan.digest)
    progress_so_far = _progress_of(folder, plan)
    if len(progress_so_far.done) == len(steps(plan)):
        raise UsageError(f"{folder}: every step of this plan is recorded; {command('diagnose', folder)} judges them")
    return progress_so_far


class SweepSession(Session):
    """Records and reports a sweep; the report ends with the curve of throughput and latency, and the knee."""

    def __init__(
        self, request: RunRequest, form: Format, fail_on: FailOn, choice: Choice, plain: bool, metrics: str
    ) -> None:
        super().__init__(request.folder, request, form, fail_on, choice, plain, metrics)
        if request.sweep is None:
            raise ValueError("a request without a sweep")
        self._plan, self._file = request.sweep.plan, request.sweep.file
        self._steps = steps(self._plan)
        self._names = {step.key: step.name for step in self._steps}
        self._last_line = ""

    def run(self) -> int:
        """Record and report."""
        now = _progress_of(self._request.folder, self._plan)
        begun = f"resumed: {len(now.done)} of {counted(len(self._steps), 'step')} recorded" if now.done else "a sweep"
        steps_left = len(self._steps) - len(now.done)
        print(f"sanpath: {begun}, {steps_left} to do, about {self._time_left(now)}", file=sys.stderr)
        return super().run()

    def _rendered(self, diagnosis: Diagnosis, form: Format) -> str:
        from sanpath.views import curve

        report = super()._rendered(diagnosis, form)
        if not form.for_people:
            return report
        if form is Format.markdown:
            return report + curve.markdown(diagnosis)
        terminal = sys.stdout.isatty()
        return report + curve.text(diagnosis, None if terminal else 160, colour=terminal)

    def _exit_code(self, diagnosis: Diagnosis, interrupted: bool) -> int:
        now = _progress_of(self._request.folder, self._plan)
        for key, code in () if interrupted else now.failed:
            errors = f"{self._request.folder}/load/*.{key}/errors"
            print(
                f"sanpath: step {self._names[key]}: the load ended with exit code {code}: see {errors}",
                file=sys.stderr,
            )
        if left := len(self._steps) - len(now.done):
            resume = command("sweep", self._file, "--into", self._request.folder)
            steps_left = f"{left} of {counted(len(self._steps), 'step')} left"
            print(f"sanpath: {steps_left}; to resume: {resume}", file=sys.stderr)
        if left and not interrupted:
            return ExitCode.LOAD
        return exit_code(diagnosis, self._fail_on, interrupted)

    def _screen(self) -> Screen | None:
        if self._plain or not sys.stderr.isatty():
            return None
        return self._show

    def _progress(self) -> None:
        """Print a line if something has changed."""
        self._lines.name_recording()
        now = _progress_of(self._request.folder, self._plan)
        line = f"{len(now.done)} of {counted(len(self._steps), 'step')} done"
        if running := self._names.get(now.running or ""):
            line += f"; now {running}"
        if line != self._last_line:
            self._last_line = line
            print(f"sanpath: {line}; about {self._time_left(now)} left", file=sys.stderr)

    def _progress_seconds(self) -> float:
        return PROGRESS_SECONDS

    def _show(self, ended: Callable[[], bool], _interrupt: Callable[[], None], begin: Callable[[], None]) -> None:
        """Show a bar with the remaining time until the run has ended. Ctrl-C reaches the run as a signal."""
        begin()
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as Bar

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
        )
        with Bar(*columns, console=Console(stderr=True, markup=False), transient=True) as bar:
            task = bar.add_task("starting", total=len(self._steps), left="")
            while not ended():
                now = _progress_of(self._request.folder, self._plan)
                idle = "between steps" if now.took else "starting"
                running = self._names.get(now.running or "", idle)
                left = f"{self._time_left(now)} left"
                bar.update(task, completed=len(now.done), description=running, left=left)
                time.sleep(LOOK_SECONDS)

    def _time_left(self, now: Progress) -> str:
        return long_duration(remaining_seconds(self._plan, self._steps, now, time.time_ns() // 1000))


def _progress_of(folder: Location, plan: Plan) -> Progress:
    try:
        events = Recording(folder).events() if store_at(folder).exists() else []
    except RecordingError:
        events = []  # Nothing has been written yet.
    return progress(events, plan.digest)

"""One recorded run from the command's side: check first, record with progress lines, then report."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sanpath.cli.options import FailOn, Format
from sanpath.cli.output import check_choice, diagnosis_of, exit_code, render_diagnosis, write_file
from sanpath.cli.sessions import live
from sanpath.cli.sessions.exporter import serve_metrics
from sanpath.cli.sessions.recorder_process import Screen, record
from sanpath.errors import UsageError, command
from sanpath.masking import printable
from sanpath.recorder.control import UNWRITTEN
from sanpath.recording.storage.store import Location, store_at

PEERS_SECONDS = 15.0
"""How long to wait for other recorders: they check every few seconds whether the load has ended."""

NAMED_SECONDS = 1.0
"""How often to look whether the recording exists, and so whether to name it."""

_ERROR_CHARACTERS = 300
"""The most that is repeated of a line of the load: a few lines of a terminal."""

if TYPE_CHECKING:
    from sanpath.diagnosis.model import Diagnosis
    from sanpath.recorder.request import RunRequest
    from sanpath.rulebook.site.options import Choice


class Session:
    """A run. `run` returns the exit code; the report is written next to the recording, as NAME-report.md and .html.

    `request`: is checked before anything is shown; or a function that creates it, which takes seconds: the live view
    is drawn first. `metrics`: the address for Prometheus, "" for none. `hint`: a line on the live view for the user
    of a demo.
    """

    def __init__(
        self,
        folder: Location,
        request: RunRequest | Callable[[], RunRequest],
        form: Format,
        fail_on: FailOn,
        choice: Choice,
        plain: bool = False,
        metrics: str = "",
        hint: str = "",
    ) -> None:
        self._made = None if callable(request) else request
        self._make = request if callable(request) else None
        self._folder, self._form, self._fail_on, self._choice, self._plain = folder, form, fail_on, choice, plain
        self._metrics, self._hint, self._lines = metrics, hint, live.Lines(folder, choice)
        self._lines_due: float | None = None

    @property
    def _request(self) -> RunRequest:
        if self._made is None:
            raise RuntimeError("the request is not made yet")
        return self._made

    @property
    def report_file(self) -> Path:
        """The file of the report: next to the recording, or in this folder if that is in an object store."""
        folder = self._folder
        if not isinstance(folder, Path):
            folder = Path(folder.rstrip("/").rpartition("/")[2])
        return folder.with_name(f"{folder.name.removesuffix('.sanpath')}-report.md")

    def run(self) -> int:
        """Record and report. Raises UsageError before anything is written."""
        if self._made is not None:
            self._check()
        with serve_metrics(self._metrics, self._folder, self._choice):
            return self._record_and_judge()

    def _record_and_judge(self) -> int:
        with self._lines:
            code, interrupted = self._record()
        if code == UsageError.exit_code:
            return code  # The recorder has printed what to change.
        if code and not interrupted:
            print(f"sanpath: the recorder ended with exit code {code}; what it recorded follows.", file=sys.stderr)
            if code < 0:  # It was killed, and could not end its processes.
                print("sanpath: the load command that it started may still be running", file=sys.stderr)
        if self._request.has_load and not interrupted:
            self._wait_for_peers()
        diagnosis = diagnosis_of(self._folder, self._choice)
        report = self._report(diagnosis)
        typer.echo(self._rendered(diagnosis, self._form), nl=False)
        typer.echo(f"\nrecording {self._folder}{report}", err=not self._form.for_people)
        recorder_failed = bool(code) and not interrupted
        if code == UNWRITTEN:
            folder = self._folder
            print(
                f"sanpath: {folder} is incomplete, because its disk was full: free space there, or choose another "
                f"place with --into, and run again; what was written is readable: {command('diagnose', folder)}",
                file=sys.stderr,
            )
        return self._exit_code(diagnosis, interrupted) or int(recorder_failed)

    def _record(self) -> tuple[int, bool]:
        return record(self._complete_request, self._progress, self._screen(), self._progress_seconds())

    def _complete_request(self) -> RunRequest:
        if self._made is None and self._make is not None:
            self._made = self._make()
            self._check()
        return self._request

    def _wait_for_peers(self) -> None:
        """Wait for other recorders of this recording: their last samples belong to the report."""
        from sanpath.recorder.other_recorders import unfinished_recorders
        from sanpath.recording.format.recorder_starts import starts

        store, announced, until = store_at(self._folder), False, time.monotonic() + PEERS_SECONDS
        with contextlib.suppress(OSError):
            while (
                names := unfinished_recorders(starts(store, set()), self._request.recorder)
            ) and time.monotonic() < until:
                if not announced:
                    announced = True
                    seconds = f"{PEERS_SECONDS:.0f} s"
                    print(f"sanpath: waiting up to {seconds} for what {', '.join(names)} write", file=sys.stderr)
                time.sleep(1)

    def _exit_code(self, diagnosis: Diagnosis, interrupted: bool) -> int:
        if diagnosis.run.load_exit_code and not interrupted:
            code, why = diagnosis.run.load_exit_code, self._last_error()
            print(f"sanpath: the load command ended with exit code {code}{why and f': {why}'}", file=sys.stderr)
        return exit_code(diagnosis, self._fail_on, interrupted)

    def _last_error(self) -> str:
        """The last line that the load wrote to standard error; "": none, or the recording is in an object store. The
        line itself has scrolled away above the report."""
        files = sorted(self._folder.glob("load/*/errors")) if isinstance(self._folder, Path) else []
        lines = [line for file in files for line in file.read_text("utf-8", "replace").splitlines() if line.strip()]
        return printable(lines[-1].strip())[:_ERROR_CHARACTERS] if lines else ""

    def _rendered(self, diagnosis: Diagnosis, form: Format) -> str:
        return render_diagnosis(diagnosis, form, self._folder)

    def _report(self, diagnosis: Diagnosis) -> str:
        """Write the report files. Returns a text with their names. A file that cannot be written is not a failure."""
        written = []
        for form, file in ((Format.markdown, self.report_file), (Format.html, self.report_file.with_suffix(".html"))):
            try:
                write_file(self._rendered(diagnosis, form), file)
                written.append(str(file))
            except OSError as error:
                print(f"sanpath: {file}: cannot be written: {error.strerror}", file=sys.stderr)
        return f", report {' and '.join(written)}" if written else ""

    def _check(self) -> None:
        from sanpath.config import load_config
        from sanpath.recorder.request_check import check_request

        check_request(self._request, load_config(self._request.config, self._request.only_sources))
        check_choice(self._choice)

    def _screen(self) -> Screen | None:
        """The live view, if the terminal can show it. None: plain lines."""
        if self._plain or self._form is not Format.text or not live.is_usable():
            return None
        return partial(live.show, self._folder, self._choice, hint=self._hint)

    def _progress(self) -> None:
        from sanpath.views.progress import every_seconds

        self._lines.name_recording()
        if self._lines_due is None:
            self._lines_due = time.monotonic() + every_seconds(sys.stderr)
        elif time.monotonic() >= self._lines_due:
            self._lines.begin()

    def _progress_seconds(self) -> float:
        return NAMED_SECONDS

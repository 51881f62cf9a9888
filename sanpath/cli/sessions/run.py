"""One recorded run from the screen's side: check first, record with progress lines, then report."""

from __future__ import annotations

import contextlib
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sanpath.cli.options import FailOn, Format
from sanpath.cli.output import checked, diagnosis_of, exit_code, rendered
from sanpath.cli.sessions import live
from sanpath.cli.sessions.exporter import served
from sanpath.cli.sessions.recorder_process import Screen, record
from sanpath.errors import UsageError
from sanpath.recorder.request import UNWRITTEN, RunRequest
from sanpath.recording.format.writers import starts
from sanpath.recording.storage.store import store_at

OTHERS_SECONDS = 15.0
"""They look every few seconds whether the load has ended, and take as long as a poll to end."""

if TYPE_CHECKING:
    from sanpath.rulebook.site import Choice
    from sanpath.verdict.model import Diagnosis


class Session:
    """A run. `run` returns the exit code; the report lies beside the recording, as NAME-report.md and .html.

    `metrics`: where it is served to Prometheus meanwhile, "" nowhere. `hint`: a line on the live
    view for who tries it out.
    """

    def __init__(
        self,
        request: RunRequest,
        form: Format,
        fail_on: FailOn,
        choice: Choice,
        plain: bool = False,
        metrics: str = "",
        hint: str = "",
    ) -> None:
        self._request, self._form, self._fail_on, self._choice, self._plain = request, form, fail_on, choice, plain
        self._metrics, self._hint, self._lines = metrics, hint, live.Lines(request.folder, choice)

    @property
    def report_file(self) -> Path:
        """Where the report goes: beside the recording; here, when that lies in an object store."""
        folder = self._request.folder
        if not isinstance(folder, Path):
            folder = Path(folder.rstrip("/").rpartition("/")[2])
        return folder.with_name(f"{folder.name.removesuffix('.sanpath')}-report.md")

    def run(self) -> int:
        """Record and report. Raises UsageError before anything is started or written."""
        self._check()
        with served(self._metrics, self._request.folder, self._choice):
            return self._recorded()

    def _recorded(self) -> int:
        with self._lines:
            code, interrupted = record(self._request, self._progress, self._screen(), self._progress_seconds())
        if code == UsageError.exit_code:
            return code  # The recorder has said what to change.
        if code and not interrupted:
            print(f"sanpath: the recorder ended with code {code}; what it had recorded follows.", file=sys.stderr)
            if code < 0:  # Killed: it could not end what it had started.
                print("sanpath: a load command that it had started may still be running", file=sys.stderr)
        if self._request.has_load and not interrupted:
            self._wait_for_others()
        found = diagnosis_of(self._request.folder, self._choice)
        report = self._report(found)
        typer.echo(self._rendered(found, self._form), nl=False)
        typer.echo(f"\nrecording {self._request.folder}{report}", err=not self._form.for_people)
        recorder_failed = bool(code) and not interrupted
        if code == UNWRITTEN:
            where = self._request.folder
            print(
                f"sanpath: {where} ends before the test did: free space there, or choose another place with --into, "
                f"and run again; what was written stays readable: sanpath diagnose {where}",
                file=sys.stderr,
            )
        return self._exit_code(found, interrupted) or int(recorder_failed)

    def _wait_for_others(self) -> None:
        """What other recorders still write belongs to the report: those without an end of their own end with ours."""
        from sanpath.recorder.peers import unfinished_recorders

        store, said, until = store_at(self._request.folder), False, time.monotonic() + OTHERS_SECONDS
        with contextlib.suppress(OSError):
            while (
                names := unfinished_recorders(starts(store, set()), self._request.recorder)
            ) and time.monotonic() < until:
                if not said:
                    said = True
                    seconds = f"{OTHERS_SECONDS:.0f} s"
                    print(f"sanpath: waiting up to {seconds} for what {', '.join(names)} write", file=sys.stderr)
                time.sleep(1)

    def _exit_code(self, found: Diagnosis, interrupted: bool) -> int:
        if found.run.load_exit_code and not interrupted:
            print(f"sanpath: the load command ended with exit code {found.run.load_exit_code}", file=sys.stderr)
        return exit_code(found, self._fail_on, interrupted)

    def _rendered(self, found: Diagnosis, form: Format) -> str:
        return rendered(found, form, self._request.folder)

    def _report(self, found: Diagnosis) -> str:
        """Write the report; says where it is. The recording is what counts: without a report the run goes on."""
        written = []
        for form, file in ((Format.markdown, self.report_file), (Format.html, self.report_file.with_suffix(".html"))):
            try:
                file.write_text(self._rendered(found, form), encoding="utf-8")
                written.append(str(file))
            except OSError as error:
                print(f"sanpath: {file}: cannot be written: {error.strerror}", file=sys.stderr)
        return f", report {' and '.join(written)}" if written else ""

    def _check(self) -> None:
        from sanpath.config import load_config
        from sanpath.recorder.process import check_request

        check_request(self._request, load_config(self._request.config, self._request.only_sources))
        checked(self._choice)

    def _screen(self) -> Screen | None:
        """The live view, when a person looks at a terminal that can show it."""
        if self._plain or self._form is not Format.text or not live.fits():
            return None
        return partial(live.show, self._request.folder, self._choice, hint=self._hint)

    def _progress(self) -> None:
        self._lines.begin()

    def _progress_seconds(self) -> float:
        from sanpath.views.progress import every_seconds

        return every_seconds(sys.stderr)

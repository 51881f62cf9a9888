"""How long it takes to write a report once the diagnosis is there, against the diagnosis itself: CPU time."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from sanpath.cli.options import Format
from sanpath.cli.output import render_diagnosis
from sanpath.diagnose import diagnose
from tests.benchmarks.large_recording import large_recording
from tests.benchmarks.rounds import interleaved, ratios, spread

PORTS, POLLS, ROUNDS = 5_000, 60, 5
FORMS = (Format.text, Format.markdown, Format.html, Format.json)


def measure() -> str:
    """One line a format."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "site.sanpath"
        recording = large_recording(folder, PORTS, POLLS)
        diagnosis = diagnose(recording)
        # imports are counted by `startup`
        pages = {form: render_diagnosis(diagnosis, form, folder) for form in FORMS}
        writing = [partial(render_diagnosis, diagnosis, form, folder) for form in FORMS]
        judging, *each = interleaved(
            ROUNDS, partial(_spent, partial(diagnose, recording)), *(partial(_spent, write) for write in writing)
        )
    lines = [f"the diagnosis of {PORTS:,} ports, {POLLS} polls: {spread(judging, 1e3, 'ms')}"]
    for form, seconds in zip(FORMS, each, strict=True):
        lines.append(
            f"{form.value}, {len(pages[form]) / 1e3:.0f} kB: {spread(seconds, 1e3, 'ms')}, "
            f"{spread(ratios(seconds, judging))} of that"
        )
    return "".join(f"\n  {line}" for line in lines)


def _spent(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before

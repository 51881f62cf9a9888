"""I/Os that fail at the load: they are found before anything else is changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath.explanation.findings import Finding
from sanpath.recorder.importing.importer import ImportRequest, import_file
from sanpath.recording.reading.recording import Recording
from sanpath.summary.summarise import summary
from sanpath.topology.resolve import resolve
from tests.support.fio_text import fio_text, import_first_screen, import_text
from tests.support.stories import judged

RULE = "load-ios-failed"
IOMETER = Path(__file__).parents[1] / "collectors/iometer/commas-errors-and-no-queue-depth/server results.csv"


def failed(diagnosis: Diagnosis) -> list[Finding]:
    return [finding for finding in diagnosis.findings if finding.rule == RULE and finding.outcome == "hit"]


def fio_of(error: int, counted: int = 0) -> str:
    text = fio_text(depth=1, latency_us=500, levels="1=100.0%").replace("err= 0:", f"err={error:2d}:")
    line = f"     errors    : total={counted}, first_error=5/<Input/output error>\n"
    return text + line * bool(counted)


@pytest.mark.parametrize(
    ("error", "counted", "expected"), [(5, 0, ": 1"), (110, 0, ": 1"), (84, 0, ": 1"), (0, 37, ": 37")]
)
def test_the_error_is_sought_before_the_load_is_changed(
    tmp_path: Path, error: int, counted: int, expected: str
) -> None:
    """One I/O is outstanding: without the error more would be the advice. With continue_on_error fio counts on."""
    _, consequence, action = import_first_screen(tmp_path, fio_of(error, counted))
    assert action == "Find out why I/Os fail, fix it, then repeat the test"
    assert "I/Os of the load failed" in consequence
    (finding,) = failed(judged(Recording(tmp_path / "r.sanpath")))
    assert finding.summary.endswith(expected)


@pytest.mark.parametrize("error", [0, 4], ids=["none", "a signal ended fio"])
def test_a_job_without_a_failed_io_is_told_to_have_more_outstanding(tmp_path: Path, error: int) -> None:
    assert import_first_screen(tmp_path, fio_of(error))[2] == "Run the test with more outstanding I/Os"
    assert failed(judged(Recording(tmp_path / "r.sanpath"))) == []


def test_the_failed_ios_that_iometer_counts_are_a_finding_of_their_test(tmp_path: Path) -> None:
    import_file(ImportRequest(IOMETER, tmp_path / "r.sanpath"))
    diagnosis = judged(Recording(tmp_path / "r.sanpath"))
    assert [finding.summary.rpartition(": ")[2] for finding in failed(diagnosis)] == ["3"]
    found = summary(diagnosis, resolve(Recording(tmp_path / "r.sanpath").inventory()))
    assert found.action == "Find out why I/Os fail, fix it, then repeat the test"


def test_a_step_of_others_is_not_in_doubt(tmp_path: Path) -> None:
    """The step of which the verdict is has no error: its own advice comes first, and the finding is there."""
    first = fio_of(5).replace("21:10:40", "21:09:40")
    diagnosis = import_text(tmp_path, f"{first}\n{fio_text(ops=4_000, latency_us=8_000)}")
    assert len(failed(diagnosis)) == 1
    assert diagnosis.plan[0].resolves[0].rule == RULE

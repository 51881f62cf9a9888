"""Several reports of one run in one import: only the most detailed is counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sanpath.cli import app
from sanpath.diagnose import diagnose
from sanpath.diagnosis.model import Diagnosis
from sanpath.recorder.importing.placement import same_run
from sanpath.recording.reading.recording import Recording

_RATES = (200.0, 400.0, 410.0, 390.0)
_COLUMNS = """\
{}    interval        i/o   MB/sec   bytes   read     resp     read    write     resp  queue  cpu%  cpu%
                               rate  1024**2     i/o    pct     time     resp     resp   stddev  depth sys+u   sys
"""
_FIGURES = "{:10.1f} {:8.2f}    4096 {:6.2f}    0.512    0.512    0.000    0.006    0.2   2.1   0.4"


def starting(hour: int, rate: str) -> str:
    return f"{hour:02}:00:00.000 Starting RD=rd1; I/O rate: {rate}; elapsed=4; For loops: None"


def printed(rate: float, read: float = 100.0) -> str:
    return _FIGURES.format(rate, rate * 4096 / 2**20, read)


def interval_rows(hour: int, rates: tuple[float, ...]) -> str:
    return "".join(f"{hour:02}:00:{n:02}.010 {n:11} {printed(rate)}\n" for n, rate in enumerate(rates, 1))


def average(hour: int, rates: tuple[float, ...]) -> str:
    mean = sum(rates[1:]) / len(rates[1:])
    return f"{hour:02}:00:{len(rates):02}.020     avg_2-{len(rates)} {printed(mean)}\n"


def summary(hour: int = 9, rates: tuple[float, ...] = _RATES) -> str:
    return (
        f"Vdbench summary report, created {hour:02}:00:00 Mar 04 2024 ICT ({hour - 7:02}:00:00 Mar 04 2024 UTC)\n"
        f"{starting(hour, '400')}\n\n{_COLUMNS.format('Mar 04, 2024')}"
        f"{interval_rows(hour, rates)}{average(hour, rates)}"
    )


def totals(hour: int = 9, rates: tuple[float, ...] = _RATES) -> str:
    return f"Run totals\n\n{starting(hour, '400')}\n\n{_COLUMNS.format('Mar 04, 2024')}{average(hour, rates)}"


def flatfile(hour: int = 9, rates: tuple[float, ...] = _RATES) -> str:
    columns = (
        "tod timestamp Run Interval reqrate rate MB/sec bytes/io read% resp read_resp write_resp threads xfersize"
    )
    rows = [(str(n), rate) for n, rate in enumerate(rates, 1)]
    rows.append((f"avg_2-{len(rates)}", sum(rates[1:]) / len(rates[1:])))
    lines = [
        f"{hour:02}:00:{min(n, len(rates)):02}.012 03/04/2024-{hour:02}:00:00-ICT rd1 {label} 400 "
        f"{rate} {rate / 256:.4f} 4096 100 0.5121 0.5121 0 8 4096"
        for n, (label, rate) in enumerate(rows, 1)
    ]
    return f"* Run             : Name of run from RD=\n   {columns}\n" + "\n".join(lines) + "\n"


def several(report: Callable[..., str], *rates: tuple[float, ...]) -> str:
    """A report of several runs, one an hour, with these rates."""
    return "".join(report(hour, each).replace("rd1", f"rd{hour}") for hour, each in enumerate(rates, 9))


def imported(folder: Path, *options: str, **files: str) -> str:
    paths = []
    for name, text in files.items():
        paths.append(folder / f"{name}.html")
        paths[-1].write_text(text)
    into = str(folder / "a.sanpath")
    outcome = CliRunner().invoke(app, ["import", *map(str, paths), "--into", into, *options], catch_exceptions=False)
    return outcome.output


def sources(folder: Path) -> list[str]:
    return [declared.name for declared in Recording(folder / "a.sanpath").declarations]


def judged(folder: Path) -> Diagnosis:
    return diagnose(Recording(folder / "a.sanpath"))


def test_only_the_most_detailed_report_of_a_run_is_counted(tmp_path: Path) -> None:
    output = imported(tmp_path, totals=totals(), flatfile=flatfile(), summary=summary())
    assert sources(tmp_path) == ["vdbench"]
    assert "totals.html: of the same run as flatfile.html: not counted" in output
    assert "summary.html: of the same run as flatfile.html" in output
    (step,) = judged(tmp_path).steps
    assert any("of the same run: not counted" in text for text in step.valid)


def test_local_times_have_the_zone_that_another_report_of_the_run_shows(tmp_path: Path) -> None:
    output = imported(tmp_path, flatfile=flatfile(), summary=summary())
    assert "2024-03-04 02:00:01 to 2024-03-04 02:00:04 UTC" in output
    assert "its times have no zone: they are UTC+07:00, by those of the other reports" in output


def test_a_report_with_dates_is_kept_rather_than_one_without(tmp_path: Path) -> None:
    undated = flatfile().replace(" timestamp", "").replace(" 03/04/2024-09:00:00-ICT", "")
    output = imported(tmp_path, flatfile=undated, summary=summary())
    assert "flatfile.html: of the same run as summary.html" in output
    assert "2024-03-04 02:00:00 to 2024-03-04 02:00:04 UTC" in output


def test_a_zone_that_is_assumed_is_said(tmp_path: Path) -> None:
    output = imported(tmp_path, flatfile=flatfile())
    assert "its times have no zone: that of this machine is assumed, UTC" in output
    assert "is assumed" not in imported(tmp_path, "--utc-offset", "+07:00", totals=totals())


@pytest.mark.parametrize(
    "other",
    [
        {"flatfile": flatfile(rates=(200.0, 430.0, 410.0, 390.0))},
        {"flatfile": flatfile(rates=(*_RATES, 400.0, 400.0))},
        {"totals": totals(rates=(200.0, 430.0, 410.0, 390.0))},
        {"summary_2": summary(rates=(200.0, 400.0, 410.0, 390.1))},
        {"summary_2": summary(hour=10)},
        {"flatfile": flatfile().replace(" rd1 ", " rd2 ")},
    ],
    ids=["figures", "length", "average", "another machine", "another time", "name"],
)
def test_runs_that_differ_are_all_counted(tmp_path: Path, other: dict[str, str]) -> None:
    imported(tmp_path, summary=summary(), **other)
    assert sources(tmp_path) == ["vdbench", "vdbench-2"]


@pytest.mark.parametrize(
    ("first", "second", "has_more"),
    [
        ({"totals": totals()}, {"summary": summary()}, True),
        ({"summary": summary()}, {"totals": totals()}, False),
        ({"flatfile": flatfile()}, {"summary": summary()}, False),
        ({"summary": summary()}, {"copy": summary() + "10:00:00.000 Vdbench execution completed\n"}, False),
    ],
    ids=["more detailed", "less detailed", "other clock", "copy"],
)
def test_a_run_that_the_recording_has_is_not_counted_again(
    tmp_path: Path, first: dict[str, str], second: dict[str, str], has_more: bool
) -> None:
    imported(tmp_path, **first)
    output = imported(tmp_path, **second)
    assert f"of the same run as {next(iter(first))}.html, which the recording has: not counted" in output
    assert ("into a new recording" in output) == has_more
    assert sources(tmp_path) == ["vdbench"]


@pytest.mark.parametrize(
    "other",
    [
        {"summary_2": summary(hour=10)},
        {"summary_2": summary(rates=(200.0, 400.0, 410.0, 390.1))},
        {"flatfile": flatfile(rates=(200.0, 430.0, 410.0, 390.0))},
    ],
    ids=["another time", "another machine", "figures"],
)
def test_another_run_is_added_to_what_the_recording_has(tmp_path: Path, other: dict[str, str]) -> None:
    imported(tmp_path, summary=summary())
    imported(tmp_path, **other)
    assert sources(tmp_path) == ["vdbench", "vdbench-2"]


def test_the_same_files_of_another_host_are_of_another_run(tmp_path: Path) -> None:
    imported(tmp_path, "--host", "db1", summary=summary())
    assert "not counted" in imported(tmp_path, "--host", "DB1.example.com", totals=totals())
    output = imported(tmp_path, "--host", "db2", summary=summary(), totals=totals())
    assert "which the recording has" not in output
    assert "counted twice" not in output
    assert sources(tmp_path) == ["vdbench", "vdbench-2"]


@pytest.mark.parametrize("together", [True, False])
def test_a_zone_that_is_given_does_not_make_two_runs_of_one(tmp_path: Path, together: bool) -> None:
    if together:
        imported(tmp_path, "--utc-offset", "+07:00", flatfile=flatfile(), summary=summary())
    else:
        imported(tmp_path, "--utc-offset", "+07:00", flatfile=flatfile())
        imported(tmp_path, "--utc-offset", "+07:00", summary=summary())
    assert sources(tmp_path) == ["vdbench"]


def test_a_copy_of_a_report_is_of_the_same_run(tmp_path: Path) -> None:
    imported(tmp_path, summary=summary(), copy=summary() + "10:00:00.000 Vdbench execution completed\n")
    assert sources(tmp_path) == ["vdbench"]


class Hostile:
    """A store with the names that an object store may have and a folder may not."""

    def __init__(self) -> None:
        self.was_read = False

    def list(self, folder: str) -> list[str]:
        return [".."] if folder == "imports" else ["summary.html"]

    def read(self, _name: str) -> bytes:
        self.was_read = True
        return summary().encode()


def test_a_stored_report_whose_name_leads_out_of_the_recording_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Hostile()
    monkeypatch.setattr(same_run, "store_at", lambda _: store)
    (tmp_path / "summary.html").write_text(summary(), encoding="utf-8")
    assert same_run.find_recorded_report(tmp_path / "r.sanpath", tmp_path / "summary.html", None) is None
    assert not store.was_read


@pytest.mark.parametrize(("runs", "kept"), [(4, 1), (3, 2)])
def test_reports_that_differ_in_few_of_many_steps_are_of_one_run(tmp_path: Path, runs: int, kept: int) -> None:
    """In the last run, vdbench stood still: its intervals are not those of the average."""
    steps = [_RATES] * (runs - 1)
    stalled = (200.0, 300.0, 310.0, 290.0)
    imported(tmp_path, summary=several(summary, *steps, _RATES), totals=several(totals, *steps, stalled))
    assert len(sources(tmp_path)) == kept


def test_totals_of_an_interrupted_run_lack_its_last_step(tmp_path: Path) -> None:
    imported(tmp_path, summary=several(summary, _RATES, _RATES), totals=several(totals, _RATES))
    assert len(sources(tmp_path)) == 1


@pytest.mark.parametrize("intervals", [4, 40])
def test_no_run_is_lost_that_only_the_less_detailed_report_has(tmp_path: Path, intervals: int) -> None:
    """Copied in mid-test, the summary has the intervals of two runs, and the totals have the other two as well."""
    runs = [(200.0, *[400.0] * (intervals - 1))] * 4
    imported(tmp_path, summary=several(summary, *runs[:2]), totals=several(totals, *runs))
    assert {step.name.rpartition("rd")[2] for step in judged(tmp_path).steps} >= {"9", "10", "11", "12"}

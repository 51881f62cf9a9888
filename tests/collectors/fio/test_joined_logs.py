"""Logs of one run that are imported with one command: those of one job are one load."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sanpath.cli import app
from sanpath.diagnose import diagnose
from sanpath.diagnosis.model import Diagnosis
from sanpath.plugin import Rows
from sanpath.recorder.importing.files.imported_file import ImportedFile
from sanpath.recording.reading.recording import Recording
from sanpath_collectors.fio.reader import FioResult
from tests.collectors.fio.printed import Reported
from tests.collectors.fio.test_logs import EPOCH_MS, lines, raw

WINDOWS = range(1, 41)
SECOND_NS = 1_000_000_000


def means(kind: str, scale: int = 1, offset_ms: int = 0, late_ms: int = 0) -> bytes:
    """The log of 40 windows of half a second. Every other window has 300 reads a second instead of 100, each of which
    takes 10 ms instead of 30; 3 are outstanding in all of them. The block size is 8 KiB."""
    value = {
        "iops": lambda busy: 300 if busy else 100,
        "bw": lambda busy: 2400 if busy else 800,
        "lat": lambda busy: 10_000_000 if busy else 30_000_000,
        "slat": lambda _: 1_000_000,
        "clat": lambda busy: 9_000_000 if busy else 29_000_000,
    }[kind]
    return lines(*((offset_ms + 500 * n + late_ms, scale * value(n % 2), 0, 0, 0, "0x0000") for n in WINDOWS))


def written(folder: Path, **logs: bytes) -> list[Path]:
    folder.mkdir(exist_ok=True)
    paths = []
    for name, content in logs.items():
        prefix, _, number = name.rpartition("_")
        paths.append(folder / (f"{prefix}.{number}.log" if number.isdigit() else f"{name}.log"))
        paths[-1].write_bytes(content)
        os.utime(paths[-1], (1_700_000_000, 1_700_000_000))
    return paths


def read(*paths: Path) -> Reported:
    reader = FioResult("f")
    items = list(reader.read_parts([ImportedFile(path) for path in paths]))
    return Reported(items, reader.clock, since=EPOCH_MS * 1000)


def total(reported: Reported, load: str, metric: str) -> float:
    values = [value for value in reported.column(load, metric) if value is not None]
    return values[-1] - values[0]


def imported(folder: Path, *paths: Path) -> tuple[str, Diagnosis]:
    into = folder / "a.sanpath"
    command = ["import", *map(str, paths), "--into", str(into)]
    outcome = CliRunner().invoke(app, command, catch_exceptions=False)
    return outcome.output, diagnose(Recording(into))


@pytest.mark.parametrize("latency", [("lat",), ("clat", "slat"), ("clat", "slat", "lat")])
def test_the_logs_of_a_job_are_one_load_that_can_be_judged(tmp_path: Path, latency: tuple[str, ...]) -> None:
    logs = {f"db_{kind}_1": means(kind, late_ms=late) for late, kind in enumerate(("bw", *latency, "iops"))}
    paths = written(tmp_path, **logs)
    output, result = imported(tmp_path, *paths)
    assert output.startswith(", ".join(path.name for path in paths) + ": fio, ")
    assert "counted twice" not in output
    assert "not judged" not in output
    (step,) = result.steps
    assert (step.name, list(step.directions)) == ("db.1", ["read"])
    figures = step.directions["read"]
    assert figures.ops_per_second == pytest.approx(200, rel=0.03)
    assert figures.bytes_per_second == pytest.approx(200 * 8192, rel=0.03)
    # 300 I/Os of 10 ms for every 100 of 30 ms, not the mean of both windows.
    assert figures.latency_seconds.mean == pytest.approx(0.015, rel=0.03)
    assert step.in_flight.measured == pytest.approx(3, rel=0.03)


def test_single_ios_are_counted_once_however_many_logs_have_them(tmp_path: Path) -> None:
    kinds = ("bw", "clat", "lat", "slat")
    paths = written(tmp_path, **{f"db_{kind}_1": raw(3000) for kind in kinds})
    reported = read(*paths)
    alone = read(paths[2])
    for metric, expected in alone.gained("f/db.1").items():
        assert total(reported, "f/db.1", metric) == pytest.approx(expected)
    p99s = [each.column("f/db.1", "latency_seconds_p99_read")[-1] for each in (reported, alone)]
    assert p99s[0] == p99s[1]
    assert reported.warnings == []


def test_jobs_of_a_run_are_jobs_of_one_load(tmp_path: Path) -> None:
    logs = {f"db_{kind}_{job}": means(kind) for kind in ("iops", "lat") for job in (1, 2)}
    output, result = imported(tmp_path, *written(tmp_path, **logs))
    assert "they began together" in output
    (step,) = result.steps
    assert step.directions["read"].ops_per_second == pytest.approx(400, rel=0.03)
    assert step.in_flight.measured == pytest.approx(6, rel=0.03)
    assert [declared.name for declared in Recording(tmp_path / "a.sanpath").declarations] == ["fio"]


def test_jobs_whose_logs_were_written_one_after_the_other_ran_so(tmp_path: Path) -> None:
    logs = {f"db_{kind}_{job}": means(kind) for kind in ("iops", "lat") for job in (1, 2)}
    paths = written(tmp_path, **logs)
    for path in paths[1::2]:
        os.utime(path, (1_700_000_020, 1_700_000_020))
    output, result = imported(tmp_path, *paths)
    assert "each ended when its logs were written" in output
    assert [step.name for step in result.steps] == ["db.1", "db.2"]
    assert [step.in_flight.measured for step in result.steps] == pytest.approx([3, 3], rel=0.03)


def test_logs_of_the_same_name_in_two_folders_are_two_runs(tmp_path: Path) -> None:
    one = written(tmp_path / "one", db_iops_1=means("iops"), db_lat_1=means("lat"))
    two = written(tmp_path / "two", db_iops_1=means("iops", 2), db_lat_1=means("lat", 2))
    output, _ = imported(tmp_path, *one, *two)
    assert output.count("db_iops.1.log, db_lat.1.log: fio") == 2


def test_an_empty_log_beside_others_leaves_them_as_they_are(tmp_path: Path) -> None:
    """Synchronous engines have no submission of their own."""
    reported = read(*written(tmp_path, db_iops_1=means("iops"), db_lat_1=means("lat"), db_slat_1=b""))
    assert total(reported, "f/db.1", "latency_seconds_read_total") == pytest.approx(3 * 20, rel=0.01)
    assert reported.warnings == []


def test_logs_that_do_not_give_a_latency_say_so_once(tmp_path: Path) -> None:
    reported = read(*written(tmp_path, db_bw_1=means("bw"), db_clat_1=means("clat")))
    assert reported.warnings == ["partial-log"]
    assert total(reported, "f/db.1", "bytes_read_total") == pytest.approx(200 * 8192 * 20, rel=0.01)


def test_logs_with_the_time_of_day_are_joined_by_it(tmp_path: Path) -> None:
    logs = {f"db_{kind}": means(kind, offset_ms=EPOCH_MS) for kind in ("iops", "lat")}
    reported = read(*written(tmp_path, **logs))
    assert reported.clock == "utc"
    assert reported.steps == [("step-begin", "db", 0.0), ("step-end", "db", 20.0)]
    assert total(reported, "f/db", "latency_seconds_read_total") == pytest.approx(60, rel=0.01)


def test_logs_with_and_without_the_time_of_day_are_not_of_one_run(tmp_path: Path) -> None:
    reported = read(*written(tmp_path, db_iops_1=means("iops", offset_ms=EPOCH_MS), db_lat_1=means("lat")))
    assert reported.clock == "utc"
    assert reported.warnings == ["several-logs", "partial-log"]


@pytest.mark.slow
def test_memory_grows_with_a_small_part_of_the_logs(tmp_path: Path) -> None:
    """Of a log of a week with a line for each half second, as of this one, Python's objects took 450 bytes a line."""
    count = 30_000
    logs = {
        f"db_{kind}_1": b"".join(b"%d, %d, 0, 0, 0\n" % (500 * n, 1_000_000 + n) for n in range(1, count + 1))
        for kind in ("iops", "lat")
    }
    files = [ImportedFile(path) for path in written(tmp_path, **logs)]
    tracemalloc.start()
    rows = sum(len(item.entity) for item in FioResult("f").read_parts(files) if isinstance(item, Rows))
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert rows == count + 1
    assert most_bytes < 2 * count * 150

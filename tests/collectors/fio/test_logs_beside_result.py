"""The JSON of a run and its logs, imported with one command, are one run."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.collectors.fio.printed import START, direction, document, job
from tests.collectors.fio.test_joined_logs import imported, means, written

SECONDS = 20
READS = 200 * SECONDS
LOGS = ("bw", "iops", "lat")


def result(
    folder: Path, *names: str, reads: int = READS, at: float = SECONDS, file: str = "r.json", **options: str
) -> Path:
    """The JSON of jobs that read as `means` does."""
    jobs = []
    for name in names:
        body = job(name, 0, reads, 1000 * SECONDS, iodepth="3", ioengine="libaio", bs="8k", **options)
        jobs.append(body | {"read": direction(reads, 1000 * SECONDS, block=8192, mean=15_000_000.0)})
    (path := folder / file).write_bytes(document(at, *jobs))
    return path


def logs_of(folder: Path, *kinds: str, job: int = 1, scale: int = 1) -> list[Path]:
    return written(folder, **{f"db_{kind}_{job}": means(kind, scale) for kind in kinds})


@pytest.mark.parametrize("kinds", [LOGS, ("iops",), ("bw",), ("bw", "iops")])
def test_the_result_dates_its_logs_and_both_are_one_run(tmp_path: Path, kinds: tuple[str, ...]) -> None:
    logs = logs_of(tmp_path, *kinds)
    output, judged = imported(tmp_path, *logs, result(tmp_path, "db", write_bw_log="/root/db"))
    assert output.startswith(", ".join(path.name for path in (tmp_path / "r.json", *logs)) + ": fio, ")
    assert "note: " not in output.replace("note: db reports percentiles", "")
    (step,) = judged.steps
    reads = step.directions["read"]
    assert step.name == "db"
    assert reads.ops_per_second == pytest.approx(200, rel=0.01)
    assert reads.latency_seconds.mean == pytest.approx(0.015, rel=0.02)
    assert not any("gave a single figure" in limit for limit in step.valid)
    assert f"  {datetime.fromtimestamp(START / 1e6, UTC):%F %T} to " in output


@pytest.mark.parametrize("number", [1, 2])
def test_logs_in_one_folder_below_the_result_are_of_its_run(tmp_path: Path, number: int) -> None:
    logs: list[Path] = []
    for host in range(number):
        (folder := tmp_path / "clients" / str(host)).mkdir(parents=True)
        logs += logs_of(folder, *LOGS, scale=1 + host)
    output, _ = imported(tmp_path, *logs, result(tmp_path, "db", write_bw_log="/root/db"))
    read = ["r.json", *(log.name for log in logs)] if number == 1 else ["r.json"]
    assert output.startswith(", ".join(read) + ": fio, ")


@pytest.mark.parametrize("number", [0, 1, 3])
def test_logs_that_lie_beside_a_result_and_are_not_named_are_told(tmp_path: Path, number: int) -> None:
    logs_of(tmp_path, *LOGS[:number])
    written(tmp_path, other_bw_1=means("bw"))
    output, judged = imported(tmp_path, result(tmp_path, "db", write_bw_log="db"))
    assert ("of this run in the same folder: not read" in output) == bool(number)
    assert any("gave a single figure" in limit for limit in judged.steps[0].valid)


def test_the_result_alone_has_one_figure(tmp_path: Path) -> None:
    _, judged = imported(tmp_path, result(tmp_path, "db", write_bw_log="db"))
    assert any("gave a single figure" in limit for limit in judged.steps[0].valid)


def test_the_logs_of_the_processes_of_a_job_are_summed_up(tmp_path: Path) -> None:
    logs = [*logs_of(tmp_path, *LOGS, job=1), *logs_of(tmp_path, *LOGS, job=2)]
    _, judged = imported(tmp_path, result(tmp_path, "db", reads=2 * READS, write_bw_log="db"), *logs)
    (step,) = judged.steps
    assert step.directions["read"].ops_per_second == pytest.approx(400, rel=0.01)
    assert not any("gave a single figure" in limit for limit in step.valid)


def test_each_job_has_the_logs_of_its_number(tmp_path: Path) -> None:
    logs = [*logs_of(tmp_path, *LOGS, job=1), *logs_of(tmp_path, *LOGS, job=2)]
    output, judged = imported(tmp_path, result(tmp_path, "a", "b", write_bw_log="db"), *logs)
    assert "not counted" not in output
    (step,) = judged.steps
    assert step.directions["read"].ops_per_second == pytest.approx(400, rel=0.01)
    assert not any("gave a single figure" in limit for limit in step.valid)


@pytest.mark.parametrize(
    ("kinds", "scale", "reason"),
    [(LOGS, 2, "those of db have other figures"), (("lat",), 1, "those of db have no operations")],
)
def test_logs_that_add_nothing_are_left_out_and_that_is_said(
    tmp_path: Path, kinds: tuple[str, ...], scale: int, reason: str
) -> None:
    logs = logs_of(tmp_path, *kinds, scale=scale)
    output, judged = imported(tmp_path, result(tmp_path, "db", write_lat_log="db"), *logs)
    assert f"the logs that lie beside this result are not counted: {reason}" in output
    (step,) = judged.steps
    assert step.directions["read"].ops_per_second == pytest.approx(200, rel=0.01)


def test_logs_are_not_given_to_one_of_several_runs(tmp_path: Path) -> None:
    runs = [
        result(tmp_path, "db", at=20, file="a.json", write_bw_log="db"),
        result(tmp_path, "db", at=60, file="b.json", reads=READS + 9, write_bw_log="db"),
    ]
    output, _ = imported(tmp_path, *runs, *logs_of(tmp_path, *LOGS))
    assert "a.json: fio, " in output
    assert "db_bw.1.log, db_iops.1.log, db_lat.1.log: fio-3, " in output
    assert "fio has a load of the same length: if both are of one run, it is now counted twice" in output
    assert "with one command" not in output


def test_the_logs_of_a_run_whose_result_is_cut_off_are_read(tmp_path: Path) -> None:
    cut = result(tmp_path, "db", write_bw_log="db")
    cut.write_bytes(cut.read_bytes()[:500])
    output, judged = imported(tmp_path, cut, *logs_of(tmp_path, *LOGS))
    assert "only the logs of the run are read: r.json: " in output
    assert "copy the whole file" in output
    assert judged.steps[0].directions["read"].ops_per_second == pytest.approx(200, rel=0.03)

"""`sanpath import prometheus` against a stand-in: few requests, whole counters, nothing twice, doubts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from duckdb import connect
from typer.testing import CliRunner

from sanpath.cli import app
from sanpath.errors import SanpathError
from sanpath.facts.samples.step_samples import StepSamples, step_samples
from sanpath.model import Step
from sanpath.recording.reading.recording import Recording
from tests.collectors.prometheus.stand_in import StandIn, disks

FROM, TO = 1_699_992_000, 1_699_995_600
_HOUR = ("--from", "2023-11-14T20:00:00+00:00", "--to", "2023-11-14T21:00:00+00:00")


def imported(url: str, folder: Path, *more: str) -> Any:
    return CliRunner().invoke(app, ["import", "prometheus", "--url", url, "--into", str(folder), *more])


def lun_samples(folder: Path, step: Step) -> list[StepSamples]:
    connection = connect()
    try:
        return step_samples(Recording(folder), connection, "lun", [step])
    finally:
        connection.close()


def whole(began: int, ended: int) -> Step:
    return Step("whole", began * 1_000_000, ended * 1_000_000, "whole run", (), None)


def test_an_hour_of_a_thousand_series_is_a_handful_of_queries(tmp_path: Path) -> None:
    with StandIn(disks("db7:9100", 200)) as server:
        done = imported(server.url, tmp_path / "r.sanpath", *_HOUR)
    assert done.exit_code == 0, done.output
    assert len(server.queries) <= 4
    samples = lun_samples(tmp_path / "r.sanpath", whole(FROM, TO))
    assert len(samples) == 200
    for disk in samples:
        assert disk.windows == 240
        assert disk.rate("ops_read_total") == pytest.approx(2_000)
        assert disk.rate("bytes_read_total") == pytest.approx(2_000 * 8192)
        assert disk.rate("latency_seconds_read_total") == pytest.approx(0.8)


def test_a_server_that_allows_few_samples_is_asked_for_less_at_a_time(tmp_path: Path) -> None:
    with StandIn(disks("db7:9100", 4), every=1.0, most=2_000) as server:
        done = imported(server.url, tmp_path / "r.sanpath", *_HOUR)
    assert done.exit_code == 0, done.output
    (disk, *_) = lun_samples(tmp_path / "r.sanpath", whole(FROM, TO))
    assert disk.windows == 3_600  # not a scrape is lost or told twice where two answers meet
    assert sum(disk.seconds) == 3_600
    assert disk.rate("ops_read_total") == pytest.approx(2_000)


def test_what_was_imported_is_not_imported_again(tmp_path: Path) -> None:
    with StandIn(disks("db7:9100", 1)) as server:
        assert imported(server.url, tmp_path / "r.sanpath", *_HOUR).exit_code == 0
        again = imported(server.url, tmp_path / "r.sanpath", *_HOUR)
    assert isinstance(again.exception, SanpathError)
    assert "already" in str(again.exception)
    assert len(lun_samples(tmp_path / "r.sanpath", whole(FROM, TO))) == 1


def test_an_import_that_finds_nothing_leaves_no_recording(tmp_path: Path) -> None:
    with StandIn([]) as server:
        done = imported(server.url, tmp_path / "r.sanpath", *_HOUR)
    assert isinstance(done.exception, SanpathError)
    assert "no series" in str(done.exception)
    assert not (tmp_path / "r.sanpath").exists()


def test_scrapes_too_far_apart_for_the_step_are_said(tmp_path: Path) -> None:
    minutes = ("--from", "2023-11-14T20:00:00+00:00", "--to", "2023-11-14T20:04:00+00:00")
    with StandIn(disks("db7:9100", 1), every=60.0) as server:
        coarse = imported(server.url, tmp_path / "coarse.sanpath", *minutes)
        enough = imported(server.url, tmp_path / "enough.sanpath", *_HOUR)
    assert "db7 is scraped every 60 s: a load step has to last 300 s" in coarse.output
    assert "scraped every" not in enough.output


def test_a_partial_answer_and_two_replicas_are_said(tmp_path: Path) -> None:
    replicas = [*disks("db7:9100", 1), *disks("db7:9100", 1, job="node-too")]
    with StandIn(replicas, partial="store 192.0.2.7: deadline exceeded") as server:
        done = imported(server.url, tmp_path / "r.sanpath", *_HOUR)
    assert "a part of the answer is missing: store 192.0.2.7: deadline exceeded" in done.output
    assert 'job="node-too"' in done.output
    (disk,) = lun_samples(tmp_path / "r.sanpath", whole(FROM, TO))
    assert disk.rate("ops_read_total") == pytest.approx(2_000)  # not the sum


def test_each_array_is_a_source_of_its_own(tmp_path: Path) -> None:
    def array(name: str) -> list[tuple[dict[str, str], Any]]:
        own = {"instance": f"{name}.example.com"}
        reads = {
            "__name__": "purefa_volume_performance_throughput_iops",
            "name": "vol1",
            "dimension": "reads_per_sec",
        }
        info = {"__name__": "purefa_info", "array_name": name, **own}
        return [({**reads, **own}, lambda _: 500.0 if name == "fa1" else 9.0), (info, lambda _: 1.0)]

    with StandIn([*array("fa1"), *array("fa2")]) as server:
        done = imported(server.url, tmp_path / "r.sanpath", *_HOUR)
    assert done.exit_code == 0, done.output
    recording = Recording(tmp_path / "r.sanpath")
    assert [d.name for d in recording.declarations] == ["fa1", "fa2"]
    assert {table.plane for d in recording.declarations for table in d.tables if table.kind == "volume"} == {"array"}


def test_match_narrows_what_is_read(tmp_path: Path) -> None:
    with StandIn([*disks("db7:9100", 1), *disks("db8:9100", 1)]) as server:
        imported(server.url, tmp_path / "r.sanpath", *_HOUR, "--match", 'instance="db8:9100"')
    assert [s.entity for s in lun_samples(tmp_path / "r.sanpath", whole(FROM, TO))] == ["db8/nvme0n1"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--from", "yesterday", "--to", "today"), "write a time as"),
        ((), "--from is needed"),
        (("--from", "2023-11-14T21:00:00+00:00", "--to", "2023-11-14T20:00:00+00:00"), "later"),
        ((*_HOUR, "--password", "env:NOT_THERE", "--user", "me"), "NOT_THERE"),
        ((*_HOUR, "--bearer-token", "hunter2"), "must be a reference"),
        ((*_HOUR, "--profile", "sar"), "no profile is called 'sar'"),
    ],
)
def test_a_mistake_on_the_command_line_is_told(tmp_path: Path, arguments: tuple[str, ...], problem: str) -> None:
    with StandIn(disks("db7:9100", 1)) as server:
        done = imported(server.url, tmp_path / "r.sanpath", *arguments)
    assert problem in str(done.exception)
    assert "hunter2" not in str(done.exception)
    assert not (tmp_path / "r.sanpath").exists()

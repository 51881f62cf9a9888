"""Real output and logs of fio, read as `sanpath import` reads them."""

from __future__ import annotations

import json
import os
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from sanpath.plugin import SourceEntity
from sanpath.recorder.importing.files.imported_file import ImportedFile
from sanpath_collectors.fio.documents import Documents
from sanpath_collectors.fio.reader import FioResult
from tests.collectors.fio.printed import Reported, refusal

ROOT = Path(__file__).parents[3]
FIO = ROOT / os.environ.get("SANPATH_RECORDINGS", "../shared/recordings") / "fio"

pytestmark = pytest.mark.skipif(not FIO.is_dir(), reason="no recorded output of fio: set SANPATH_RECORDINGS")

DIRECTIONS = ("read", "write")


def reported(name: str) -> Reported:
    return Reported.of_file(FIO / name)


def entries(name: str) -> list[dict[str, Any]]:
    """Entries of the last document."""
    found: list[dict[str, Any]] = Documents().feed((FIO / name).read_bytes())[0][-1]["jobs"]
    return found


ALL = sorted(
    str(path.relative_to(FIO))
    for path in FIO.rglob("*")
    if path.is_file() and path.suffix not in (".fio", ".stderr") and path.name != "SOURCE.txt"
)


@pytest.mark.parametrize("name", ALL)
def test_every_recorded_file_is_recognised(name: str) -> None:
    assert FioResult.recognises(ImportedFile(FIO / name).head(), Path(name).name)


@pytest.mark.parametrize("name", ["cs.fio", "mix.fio", "logs_avg500/SOURCE.txt", "error_einval.stderr"])
def test_what_is_no_result_is_left_alone(name: str) -> None:
    assert not FioResult.recognises(ImportedFile(FIO / name).head(), Path(name).name)


@pytest.mark.parametrize(
    ("name", "in_flight"),
    [
        ("mix_3jobs.json", {"f/rr": 8, "f/rr#2": 8, "f/rw": 4}),
        ("mix_3jobs.jsonplus.json", {"f/rr": 8, "f/rr#2": 8, "f/rw": 4}),
        ("mix_3jobs.normal.txt", {"f/rr": 8, "f/rr#2": 8, "f/rw": 4}),
        ("mix_3jobs.terse.txt", {"f/rr": 8, "f/rr#2": 8, "f/rw": 4}),
        ("mix_group.terse5.txt", {"f/rr": 8, "f/rr#2": 8, "f/rw": 4}),
        ("status_interval1.json", {"f/rr": 8, "f/rr#2": 8, "f/rw": 4}),
        ("sigint.json.txt", {"f/rr": 8, "f/rr#2": 8, "f/rw": 4}),
        ("sigkill_no_final_doc.json.txt", {"f/rr": 8, "f/rr#2": 8, "f/rw": 4}),
        ("group_numjobs3_status.json", {"f/grp": 24}),
        ("ramp_status.json", {"f/bg": 16}),
        ("sigusr1_and_dumpstatus.json.txt", {"f/usr1": 4}),
        ("client_server.json.txt", {"f/cs": 8, "f/cs#2": 8}),
        ("eta_newline.txt", {"f/eta": 8}),
        ("logs_run.json", {"f/a": 8, "f/a#2": 8}),
    ],
)
def test_littles_law(name: str, in_flight: dict[str, float]) -> None:
    found = reported(name)
    assert {load: found.in_flight(load) for load in found.rows} == pytest.approx(in_flight, rel=0.02)
    # A form that tells the options tells the same number; terse has none.
    configured = {load: found.entities[load].get("in_flight_configured") for load in found.rows}
    assert configured == (dict.fromkeys(in_flight) if "terse" in name else in_flight)


@pytest.mark.parametrize("name", ["outfile_status.json", "noise_sync_iodepth.json.txt"])
def test_a_synchronous_engine_keeps_less_than_one_in_flight(name: str) -> None:
    found = reported(name)
    (load,) = found.rows
    # Between two I/Os of a microsecond the process itself takes a share of the time.
    assert 0.5 < found.in_flight(load) < 1.0
    assert found.entities[load]["in_flight_configured"] == 1
    assert found.entities[load]["asked_in_flight"] in (16, 32)
    assert found.entities[load]["synchronous"] is True


@pytest.mark.parametrize(
    "name", ["mix_3jobs.json", "status_interval1.json", "group_numjobs3_status.json", "ramp_status.json"]
)
def test_totals_are_those_of_the_last_document(name: str) -> None:
    found = reported(name)
    for entry, load in zip(entries(name), found.rows, strict=True):
        last = found.rows[load][-1][1]
        for direction in DIRECTIONS:
            body = entry[direction]
            assert last[f"ops_{direction}_total"] == body["lat_ns"]["N"]
            assert last[f"bytes_{direction}_total"] == body["io_bytes"]
            waited = body["lat_ns"]["mean"] * body["lat_ns"]["N"] * 1e-9
            assert last[f"latency_seconds_{direction}_total"] == pytest.approx(waited, rel=1e-6)


def test_a_run_ends_when_its_document_was_written_and_lasted_as_long_as_fio_says() -> None:
    document = json.loads((FIO / "mix_3jobs.json").read_text())
    found = reported("mix_3jobs.json")
    assert found.clock == "utc"
    (begin,), (end,) = (found.events(name) for name in ("step-begin", "step-end"))
    assert end.seen == document["timestamp_ms"] * 1000
    assert end.seen - begin.seen == 4_001_000
    assert begin.detail["summary"] is True


def test_a_series_has_a_row_a_document_on_the_clock_of_the_job() -> None:
    found = reported("status_interval1.json")
    assert found.summaries == [False]
    began = found.moments["f/rr"][0]
    # 550, 1550, 2550, 3550 and 4001 ms of run time.
    assert [moment - began for moment in found.moments["f/rr"]] == pytest.approx([0, 0.55, 1.55, 2.55, 3.55, 4.001])
    assert found.moments["f/rr"][1] == pytest.approx(1795143220.621)


def test_the_ramp_ends_where_the_counters_begin_anew() -> None:
    found = reported("ramp_status.json")
    assert [name for name, _, _ in found.steps] == ["step-begin", "ramp-end", "step-end"]
    # The first document after the ramp was written 999 ms after its end.
    assert found.steps[1][2] == pytest.approx(1795143313.868 - 0.999)
    assert found.entities["f/bg"]["warmup_seconds"] == 2.0


def test_text_says_when_it_was_written_in_local_time() -> None:
    found = reported("mix_3jobs.normal.txt")
    assert found.clock == "local"
    assert [moment for _, _, moment in found.steps] == [1795143202.999, 1795143207.0]


def test_terse_output_has_no_time() -> None:
    found = reported("mix_3jobs.terse.txt")
    assert found.clock == "elapsed"
    assert found.steps[0] == ("step-begin", "rr+rw", 0.0)
    assert found.steps[1][2] == pytest.approx(4.003)


def test_operations_of_terse_lines_are_their_bytes_over_the_block_size() -> None:
    found = reported("mix_3jobs.terse.txt")
    for load, block in (("f/rr", 4096), ("f/rr#2", 4096), ("f/rw", 8192)):
        gained = found.gained(load)
        assert gained["bytes_read_total"] == block * gained["ops_read_total"]
    assert found.gained("f/rw")["bytes_write_total"] == 8192 * found.gained("f/rw")["ops_write_total"]


def test_operations_and_bytes_of_text_are_exact() -> None:
    found = reported("mix_3jobs.normal.txt")
    assert found.gained("f/rw")["ops_read_total"] == 25143
    assert found.gained("f/rw")["bytes_read_total"] == 25143 * 8192
    assert found.gained("f/rw")["ops_write_total"] == 10895


def test_sums_over_all_clients_are_not_added() -> None:
    found = reported("client_server.json.txt")
    assert list(found.rows) == ["f/cs", "f/cs#2"]
    assert found.column("f/cs", "ops_read_total") == [0, 33695, 69247, 105915, 109889]
    assert found.column("f/cs#2", "ops_read_total") == [0, 33663, 68993, 105429, 109519]
    assert found.entities["f"]["in_flight_configured"] == 16


def test_the_distribution_of_json_plus_is_that_of_its_percentiles() -> None:
    found = reported("mix_3jobs.jsonplus.json")
    distributions = {
        (e.detail["load"], e.detail["direction"]): str(e.detail["buckets"]) for e in found.events("latency-histogram")
    }
    assert list(distributions) == [("f/rr", "read"), ("f/rr#2", "read"), ("f/rw", "read"), ("f/rw", "write")]
    for (load, direction), text in distributions.items():
        uppers, shares = zip(*(map(float, bucket.split(":")) for bucket in text.split()), strict=True)
        p95 = next(upper for upper, passed in zip(uppers, accumulate(shares), strict=True) if passed >= 0.95)
        assert p95 == pytest.approx(found.column(str(load), f"latency_seconds_p95_{direction}")[-1], rel=0.016)


@pytest.mark.parametrize(
    ("name", "warnings"),
    [
        ("mix_3jobs.json", []),
        ("json_and_normal.txt", []),
        ("sigint.json.txt", ["interrupted"]),
        ("sigkill_no_final_doc.json.txt", ["no-end"]),
        ("sigusr1_and_dumpstatus.json.txt", []),
        ("noise_sync_iodepth.json.txt", []),
        ("error_einval.json.txt", ["load-error", "load-error"]),
        ("ramp_status.json", []),
        ("vc_Results_FIO.json", []),
    ],
)
def test_what_a_person_is_told_of_a_file(name: str, warnings: list[str]) -> None:
    assert reported(name).warnings == warnings


@pytest.mark.parametrize(
    "name", ["vc_Results_FIO_Error_1.txt", "vc_Results_FIO_Error_2.txt", "vc_Results_FIO_Verification_Error_1.txt"]
)
def test_output_of_a_fio_that_only_failed_is_refused_with_its_words(name: str) -> None:
    message = refusal((FIO / name).read_bytes())
    assert message.startswith("unreadable: it contains no result of fio: ")
    assert "err=84" in message or "verify failed at file" in message
    assert "\n" not in message


def test_the_json_of_a_mixed_stream_is_read_and_not_its_text() -> None:
    found = reported("json_and_normal.txt")
    assert found.clock == "utc"
    assert found.gained("f/two")["ops_read_total"] == 1024


@pytest.mark.parametrize("number", [1, 2])
def test_means_of_windows_sum_up_to_what_the_run_says(number: int) -> None:
    body = entries("logs_run.json")[number - 1]
    moved, done = reported(f"logs_avg500/lg_bw.{number}.log"), reported(f"logs_avg500/lg_iops.{number}.log")
    # The second job's logs lack the last half second.
    share = moved.moments[f"f/lg.{number}"][-1] / 5.0
    for direction in DIRECTIONS:
        bytes_total = moved.gained(f"f/lg.{number}")[f"bytes_{direction}_total"]
        assert bytes_total == pytest.approx(share * body[direction]["io_bytes"], rel=0.03)
        ops = done.gained(f"f/lg.{number}")[f"ops_{direction}_total"]
        assert ops == pytest.approx(bytes_total / 4096, rel=0.001)


def test_mean_latencies_of_windows_are_about_those_of_the_run() -> None:
    found = reported("logs_avg500/lg_lat.1.log")
    outcome = [v for v in found.column("f/lg.1", "latency_seconds_mean_read") if v is not None]
    assert len(outcome) == 10
    assert sum(outcome) / len(outcome) == pytest.approx(
        entries("logs_run.json")[0]["read"]["lat_ns"]["mean"] * 1e-9, rel=0.2
    )


def test_logs_with_the_time_of_day_are_placed_by_it() -> None:
    found = reported("logs_other/ue_bw.1.log")
    assert found.clock == "utc"
    assert found.moments["f/ue.1"] == pytest.approx([1795143265.958, 1795143266.457, 1795143266.956, 1795143267.456])


def test_a_raw_log_of_forty_reads() -> None:
    found = reported("logs_other/raw_lat.1.log")
    assert found.gained("f/raw.1") == {
        "ops_read_total": 40,
        "ops_write_total": 0,
        "bytes_read_total": 40 * 4096,
        "bytes_write_total": 0,
        "latency_seconds_read_total": pytest.approx(
            sum(int(line.split(b",")[1]) for line in (FIO / "logs_other/raw_lat.1.log").read_bytes().splitlines())
            * 1e-9
        ),
        "latency_seconds_write_total": 0,
    }


def test_every_thing_is_told_once() -> None:
    for name in ("status_interval1.json", "client_server.json.txt", "mix_3jobs.normal.txt"):
        entities = [(t.kind, t.local_id) for t in reported(name).items if isinstance(t, SourceEntity)]
        assert len(set(entities)) == len(entities)

"""Real output of fio, read as the recorder reads it while it grows."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import astuple
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sanpath.plugin import Event, Item, Rows, SourceEntity
from sanpath_collectors.fio.documents import Documents
from sanpath_collectors.fio.jobs.status import Status
from sanpath_collectors.fio.load_reader import FioLoad
from sanpath_collectors.fio.parse import parse_status

ROOT = Path(__file__).parents[3]
FIO = ROOT / os.environ.get("SANPATH_RECORDINGS", "../shared/recordings") / "fio"

pytestmark = pytest.mark.skipif(not FIO.is_dir(), reason="no recorded output of fio: set SANPATH_RECORDINGS")

SECOND = 1_000_000
STREAMS = [
    "group_numjobs3_status.json",
    "json_and_normal.txt",
    "mix_3jobs.jsonplus.json",
    "noise_sync_iodepth.json.txt",
    "ramp_status.json",
    "sigint.json.txt",
    "sigkill_no_final_doc.json.txt",
    "sigusr1_and_dumpstatus.json.txt",
    "status_interval1.json",
]


def raw(name: str) -> bytes:
    return (FIO / name).read_bytes()


def documents(name: str) -> list[dict[str, Any]]:
    return Documents().feed(raw(name))[0]


def last(name: str) -> Status:
    return parse_status(documents(name)[-1])


def read(output: Iterable[bytes], every_us: int = 0) -> tuple[list[Item], bytes]:
    """Everything a reader says of an output that came in these parts."""
    reader, seen = FioLoad(), 1_700_000_000 * SECOND
    items: list[Item] = []
    text = b""
    for part in output:
        items += reader.feed(part, seen)
        text += reader.passthrough()
        seen += every_us
    items += reader.finish(seen)
    return items, text + reader.passthrough()


def events(items: Sequence[Item]) -> list[tuple[str, str]]:
    return [(item.name, str(item.detail["step"])) for item in items if isinstance(item, Event)]


def in_parts(output: bytes, size: int) -> list[bytes]:
    return [output[at : at + size] for at in range(0, len(output), size)]


@pytest.mark.parametrize("size", [7, 33, 511, 4095, 65537])
@pytest.mark.parametrize("name", STREAMS)
def test_the_same_is_read_wherever_a_read_ends(name: str, size: int) -> None:
    items, text = read(in_parts(raw(name), size))
    whole, whole_text = read([raw(name)])
    assert list(map(astuple, items)) == list(map(astuple, whole))
    assert text == whole_text


def test_the_same_is_read_byte_by_byte() -> None:
    name = "json_and_normal.txt"
    assert read(in_parts(raw(name), 1))[1] == read([raw(name)])[1]


@pytest.mark.parametrize("name", [n for n in STREAMS if n != "json_and_normal.txt"])
def test_a_row_of_samples_a_document_and_job(name: str) -> None:
    items, _ = read([raw(name)])
    rows = [item for item in items if isinstance(item, Rows) and item.table.kind == "load"]
    assert [len(r.entity) for r in at_documents(rows, documents(name))] == [len(d["jobs"]) for d in documents(name)]


def at_documents(rows: Sequence[Rows], of: Sequence[dict[str, Any]]) -> list[Rows]:
    """The rows without those at the edges of a step, which lie between two documents."""
    written_us = {parse_status(d).time_us for d in of}
    return [r for r in rows if r.device_time is None or r.device_time[0] in written_us]


@pytest.mark.parametrize(
    ("name", "in_flight"),
    [
        # iodepth x processes; fio says numjobs once where it groups, and at each of its entries where it does not.
        ("mix_3jobs.json", {"rr": 8, "rr#2": 8, "rw": 4}),
        ("group_numjobs3_status.json", {"grp": 24}),
        # A synchronous engine keeps one in flight, whatever iodepth says.
        ("noise_sync_iodepth.json.txt", {"noise": 1}),
        ("vc_Results_FIO.json", {"fio_randrw_1GB_4k_d1_th1_direct": 1}),
    ],
)
def test_in_flight_as_configured(name: str, in_flight: dict[str, int]) -> None:
    assert {job.name: job.in_flight for job in last(name).jobs} == in_flight


@pytest.mark.parametrize(
    "name",
    [
        "mix_3jobs.json",
        "mix_3jobs.jsonplus.json",
        "status_interval1.json",
        "group_numjobs3_status.json",
        "logs_run.json",
    ],
)
def test_littles_law_on_final_documents(name: str) -> None:
    found = last(name)
    measured = 0.0
    for job in found.jobs:
        busy = (job.samples["latency_seconds_read_total"] or 0) + (job.samples["latency_seconds_write_total"] or 0)
        measured += busy * 1e-9 / (job.runtime_ms / 1000)
    assert measured == pytest.approx(sum(job.in_flight for job in found.jobs), rel=0.02)


def test_latency_and_percentiles_are_those_that_fio_prints() -> None:
    entry = documents("mix_3jobs.json")[0]["jobs"][2]
    job = last("mix_3jobs.json").jobs[2]
    for direction in ("read", "write"):
        body = entry[direction]
        count = job.samples[f"ops_{direction}_total"]
        assert count == body["total_ios"]
        assert job.samples[f"bytes_{direction}_total"] == body["io_bytes"]
        assert job.samples[f"latency_seconds_{direction}_total"] == pytest.approx(
            body["lat_ns"]["mean"] * count, rel=1e-9
        )
        assert job.samples[f"latency_seconds_p99_{direction}"] == body["clat_ns"]["percentile"]["99.000000"]
        assert job.samples[f"latency_seconds_max_{direction}"] == body["lat_ns"]["max"]


def test_microseconds_of_old_versions() -> None:
    entry = documents("mix_3jobs.json")[0]["jobs"][2]
    body = entry["read"]
    microseconds = {
        key: value / 1000 if isinstance(value, float | int) else value for key, value in body["lat_ns"].items()
    }
    old = {key: value for key, value in body.items() if not key.endswith("_ns")}
    old["lat"] = microseconds | {"N": body["lat_ns"]["N"]}
    (job,) = parse_status({"jobs": [entry | {"read": old}]}).jobs
    new = last("mix_3jobs.json").jobs[2]
    for metric in ("latency_seconds_read_total", "latency_seconds_max_read"):
        assert job.samples[metric] == pytest.approx(new.samples[metric])


def test_a_direction_without_io_has_no_latency() -> None:
    job = last("mix_3jobs.json").jobs[0]
    assert job.samples["ops_write_total"] == 0
    assert job.samples["latency_seconds_max_write"] is None
    assert job.samples["latency_seconds_p99_write"] is None


def test_counters_start_again_when_the_ramp_ends_and_the_step_says_so() -> None:
    ops = [parse_status(d).jobs[0].ops for d in documents("ramp_status.json")]
    falls = [number for number, (before, after) in enumerate(pairwise(ops)) if after < before]
    printed = (json.dumps(d, indent=2).encode() + b"\n" for d in documents("ramp_status.json"))
    items, _ = read(printed, every_us=SECOND)
    assert events(items) == [("step-begin", "bg"), ("ramp-end", "bg"), ("step-end", "bg")]
    ramp_end = next(item for item in items if isinstance(item, Event) and item.name == "ramp-end")
    after = documents("ramp_status.json")[falls[0] + 1]
    assert ramp_end.detail["device_time"] == 1000 * (after["timestamp_ms"] - after["jobs"][0]["read"]["runtime"])


def test_interrupted_by_a_signal() -> None:
    items, text = read([raw("sigint.json.txt")])
    assert b"fio: terminating on signal 2" in text
    assert events(items) == [("step-begin", "rr+rw"), ("step-end", "rr+rw")]


def test_json_and_normal_in_one_stream_shows_the_normal_part_only() -> None:
    items, text = read([raw("json_and_normal.txt")])
    assert any(isinstance(item, Rows) for item in items)
    assert text.startswith(b"two: (g=0): rw=read")
    assert b"Run status group 0 (all jobs):" in text
    assert b'"jobname"' not in text


def test_an_error_of_a_job_is_told_with_its_step() -> None:
    items, text = read([raw("error_einval.json.txt")])
    assert b"error=Invalid argument" in text
    ends = [item for item in items if isinstance(item, Event) and item.name == "step-end"]
    assert [end.detail["error"] for end in ends] == [22]


@pytest.mark.parametrize("name", ["vc_Results_FIO_Error_1.txt", "vc_Results_FIO_Error_2.txt", "mix_3jobs.normal.txt"])
def test_output_without_a_document_is_only_passed_on(name: str) -> None:
    items, text = read([raw(name)])
    assert items == []
    assert text == raw(name)


def test_jobs_and_disks_are_told_once_and_with_what_they_were_told_to_do() -> None:
    items, _ = read([raw("status_interval1.json")])
    entities = [item for item in items if isinstance(item, SourceEntity)]
    assert len({(t.kind, t.local_id) for t in entities}) == len(entities)
    job = next(t for t in entities if t.local_id == "fio/rw")
    assert job.attributes["block_bytes"] == 8192.0
    assert job.attributes["in_flight_configured"] == 4
    assert job.attributes["ioengine"] == "libaio"


@pytest.mark.parametrize("name", STREAMS)
def test_no_value_is_negative_or_no_number(name: str) -> None:
    for item in read([raw(name)])[0]:
        if isinstance(item, Rows):
            values = [v for column in item.values.values() for v in column if v is not None]
            assert all(v >= 0 and math.isfinite(v) for v in values)


@pytest.mark.parametrize("name", ["status_interval1.json", "sigint.json.txt"])
@pytest.mark.parametrize("share", [0.01, 0.33, 0.66, 0.99])
def test_a_cut_file_gives_what_was_whole(name: str, share: float) -> None:
    whole = raw(name)
    part = whole[: round(share * len(whole))]
    rows = [item for item in read([part])[0] if isinstance(item, Rows) and item.table.kind == "load"]
    assert len(at_documents(rows, documents(name))) == part.count(b"\n}\n")

"""Which latencies that fio prints are those of the load, in each of its formats."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.collectors.fio.printed import START, Reported, document, job, terse

TEXT = """w 1: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=8
fio-3.36
Starting 1 process

w 1: (groupid=0, jobs=1): err= 0: pid=77: Fri Feb 16 10:00:00 2018
   read: IOPS=4000, BW=15.6MiB/s (16.4MB/s)(156MiB/{runtime}msec)
    slat (usec): min=1, max=900, avg={slat:.2f}, stdev= 7.84
    clat (usec): min=1, max={max:.0f}, avg={clat:.2f}, stdev=90.80
     lat (usec): min=2, max={max:.0f}, avg={lat:.2f}, stdev=90.81
    {what} percentiles (usec):
     |  1.00th=[    1], 50.00th=[{p50:5.0f}], 95.00th=[{p95:5.0f}], 99.00th=[{p99:5.0f}],
  cpu          : usr=3.50%, sys=9.25%, ctx=9, majf=0, minf=9
     issued rwts: total=40000,0,0,0 short=0,0,0,0 dropped=0,0,0,0

Run status group 0 (all jobs):
"""
RUN = {"clat": 980.0, "lat": 1000.0, "max": 5000.0, "p50": 900.0, "p95": 2000.0, "p99": 3000.0, "runtime": 10_000}


def text(run: dict[str, Any]) -> bytes:
    return TEXT.format(**{"slat": max(0, run["lat"] - run["clat"]), "what": "clat", **run}).encode()


def json_document(run: dict[str, Any], ns: int = 1000, **keys: Any) -> bytes:
    """A document of fio 3 with nanoseconds, or of fio 2 (`ns` 1) with microseconds."""
    percentiles = {"percentile": {f"{p}.000000": ns * run[f"p{p}"] for p in (50, 95, 99)}}
    completion = {"mean": ns * run["clat"], "max": ns * run["max"]} | (percentiles if "what" not in run else {})
    total = {"mean": ns * run["lat"], "max": ns * run["max"]} | (percentiles if "what" in run else {})
    one = job("w 1", 0, 40_000, run["runtime"], rw="randread", ioengine="libaio", iodepth="8")
    suffix = "_ns" if ns == 1000 else ""
    del one["read"]["lat_ns"]
    one["read"] |= {f"clat{suffix}": completion | keys, f"lat{suffix}": total}
    return document(10, one)


def older_document(run: dict[str, Any]) -> bytes:
    return json_document(run, ns=1)


def terse_line(run: dict[str, Any]) -> bytes:
    fields = terse(40_000, run["runtime"], name="w 1").decode().split(";")
    at = 5
    fields[at + 8 : at + 12] = ["1", str(round(run["max"])), str(run["clat"]), "90.8"]
    percentiles = [f"{p}.000000%={round(run[f'p{p}'])}" for p in (50, 95, 99)]
    fields[at + 12 : at + 32] = [*percentiles, *(["0%=0"] * 17)]
    fields[at + 32 : at + 36] = ["2", str(round(run["max"])), str(run["lat"]), "90.8"]
    return ";".join(fields).encode()


each_form = pytest.mark.parametrize("form", [text, json_document, older_document, terse_line])
LABELLED = [text, json_document, older_document]


def latencies(reported: Reported) -> dict[str, float | None]:
    last = reported.rows["f/w 1"][-1][1]
    names = ("total", "max", "p50", "p95", "p99")
    return {
        name: last[f"latency_seconds_{name}_read" if name != "total" else "latency_seconds_read_total"]
        for name in names
    }


@each_form
def test_percentiles_of_the_completion_are_those_of_the_latency_where_submission_is_negligible(form: Any) -> None:
    reported = Reported.of_report(form(RUN))
    expected = {"total": 40.0, "max": 0.005, "p50": 0.0009, "p95": 0.002, "p99": 0.003}
    assert latencies(reported) == pytest.approx(expected)
    assert reported.warnings == []


@each_form
@pytest.mark.parametrize(
    "run",
    [
        RUN | {"clat": 2.0, "p50": 1, "p95": 3, "p99": 4},  # submission is nearly all of it
        RUN | {"clat": 9000.0, "p50": 900, "p95": 2000, "p99": 3000},  # the completion is no part of the latency
        RUN | {"p99": 9000},  # beyond the maximum
    ],
)
def test_percentiles_of_another_latency_are_not_known_and_that_is_said(form: Any, run: dict[str, Any]) -> None:
    reported = Reported.of_report(form(run))
    assert latencies(reported) == {"total": 40.0, "max": 0.005, "p50": None, "p95": None, "p99": None}
    assert reported.warnings == ["completion-percentiles"]


@pytest.mark.parametrize("form", LABELLED)
def test_percentiles_of_the_latency_itself_need_no_comparison(form: Any) -> None:
    reported = Reported.of_report(form(RUN | {"clat": 2.0, "what": "lat"}))
    assert latencies(reported) == pytest.approx(
        {"total": 40.0, "max": 0.005, "p50": 0.0009, "p95": 0.002, "p99": 0.003}
    )
    assert reported.warnings == []


def test_a_distribution_of_the_completion_is_that_of_the_latency_where_submission_is_negligible() -> None:
    bins = {"bins": {"900000": 30_000, "3000000": 10_000}}
    for run, histograms in ((RUN, 1), (RUN | {"clat": 2.0}, 0)):
        reported = Reported.of_report(json_document(run, **bins))
        assert len(reported.events("latency-histogram")) == histograms


@each_form
@pytest.mark.parametrize("lat", [7.5e11, 2e8])
def test_a_latency_longer_than_the_job_ran_is_none(form: Any, lat: float) -> None:
    """fio 2.1.11 printed the time since the machine was started."""
    run = RUN | {"clat": lat, "lat": lat, "max": lat, "p50": lat, "p95": lat, "p99": lat}
    reported = Reported.of_report(form(run))
    assert set(latencies(reported).values()) == {None}
    assert reported.warnings == ["impossible-latency"]
    assert reported.gained("f/w 1")["ops_read_total"] == 40_000


def test_a_sum_of_latencies_that_fits_no_counter_is_none() -> None:
    one = job("w 1", 0, 2**60, 10_000, rw="randread", ioengine="libaio", iodepth="8")
    one["read"]["lat_ns"] |= {"mean": 1e9, "max": 2e9}
    reported = Reported.of_report(document(10, one))
    assert set(latencies(reported).values()) == {None}
    assert reported.warnings == ["impossible-latency"]


def test_an_io_of_the_ramp_may_be_longer_than_the_measured_time() -> None:
    one = job("w 1", 0, 40, 1000, rw="randread", ioengine="libaio", iodepth="8", ramp_time="200")
    one["read"]["lat_ns"] |= {"mean": 1e6, "max": 199e9}
    raw = json.loads(document(1, one))
    assert raw["timestamp_ms"] == START // 1000 + 1000
    reported = Reported.of_report(json.dumps(raw).encode())
    assert latencies(reported)["max"] == pytest.approx(199)

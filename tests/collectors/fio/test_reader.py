"""What `sanpath import` makes of documents and text that fio has printed."""

from __future__ import annotations

import contextlib
import errno
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sanpath.plugin import CollectorError, Event, Rows
from sanpath.recording.writing.writer import Writer
from sanpath_collectors.fio.reader import FioResult
from tests.collectors.fio.printed import (
    HOSTILE,
    START,
    Reported,
    client_document,
    direction,
    document,
    job,
    on,
    places,
    refusal,
    replaced,
    terse,
)

LIBAIO = {"ioengine": "libaio", "direct": "1", "rw": "randread", "bs": "4k"}


def series(*moments: float, depth: str = "8", group: int = 0) -> bytes:
    """Documents of a job that began at 0 and does 1000 reads a second."""
    jobs = [job("a", group, round(1000 * at), round(1000 * at), iodepth=depth, **LIBAIO) for at in moments]
    return b"".join(document(at, one) for at, one in zip(moments, jobs, strict=True))


def test_a_document_alone_is_one_figure_for_the_whole_step() -> None:
    reported = Reported.of_report(series(4))
    assert reported.clock == "utc"
    assert reported.steps == [("step-begin", "a", 0.0), ("step-end", "a", 4.0)]
    assert reported.summaries == [True]
    assert reported.moments == {"f/a": [0.0, 4.0]}
    assert reported.column("f/a", "ops_read_total") == [0, 4000]


def test_several_documents_are_a_series_that_begins_with_zeros() -> None:
    reported = Reported.of_report(series(0.5, 1.5, 2.5))
    assert reported.summaries == [False]
    assert reported.moments == {"f/a": [0.0, 0.5, 1.5, 2.5]}
    assert reported.column("f/a", "ops_read_total") == [0, 500, 1500, 2500]
    assert reported.reported("step-begin", "offered") == [8]


def test_the_last_document_may_be_there_twice() -> None:
    reported = Reported.of_report(series(4), document(4.01, job("a", 0, 4000, 4000, iodepth="8", **LIBAIO)))
    assert reported.summaries == [True]
    assert reported.moments == {"f/a": [0.0, 4.0]}


def test_groups_of_one_document_lie_one_after_the_other() -> None:
    jobs = [job("a", 0, 100, 3000), job("b", 1, 100, 2000, ramp_time="1"), job("c", 2, 100, 1000)]
    reported = Reported.of_report(document(10, *(one | {"elapsed": 8} for one in jobs)))
    assert reported.steps == [
        # The second group's ramp is not in its figures, nor in its step.
        ("step-begin", "a", 3.0),
        ("step-end", "a", 6.0),
        ("step-begin", "b", 7.0),
        ("step-end", "b", 9.0),
        ("step-begin", "c", 9.0),
        ("step-end", "c", 10.0),
    ]
    assert reported.reported("step-begin", "group") == [0, 1, 2]


def test_groups_that_cannot_have_run_in_turn_ran_at_the_same_time() -> None:
    jobs = [job("a", 0, 100, 6000), job("b", 1, 100, 6000)]
    reported = Reported.of_report(document(10, *(one | {"elapsed": 7} for one in jobs)))
    assert {moment for name, _, moment in reported.steps if name == "step-begin"} == {4.0}


def test_a_job_says_itself_when_it_was_started() -> None:
    outcome = {"job_start": START // 1000 + 2000}
    jobs = [job("a", 0, 100, 3000) | outcome, job("b", 1, 100, 2000)]
    assert Reported.of_report(document(10, *jobs)).steps[:2] == [("step-begin", "a", 2.0), ("step-end", "a", 5.0)]


def test_a_group_seen_with_one_status_of_several_is_one_figure() -> None:
    parts = [
        document(1, job("a", 0, 1000, 1000), job("b", 1, 0)),
        document(2, job("a", 0, 2000, 2000), job("b", 1, 0)),
        document(3.2, job("a", 0, 2000, 2000), job("b", 1, 500, 500)),
    ]
    reported = Reported.of_report(*parts)
    assert reported.steps == [
        ("step-begin", "a", 0.0),
        ("step-end", "a", 2.0),
        ("step-begin", "b", 2.7),
        ("step-end", "b", 3.2),
    ]
    assert reported.summaries == [False, True]


def test_a_job_without_latencies_has_none_instead_of_zero() -> None:
    one = job("a", 0, 0, 0, disable_lat="1") | {"read": direction(1000, 1000, ramp=True)}
    assert Reported.of_report(document(1, one)).column("f/a", "latency_seconds_read_total") == [0, None]


def test_runs_that_were_appended_to_one_file_are_runs_of_their_own() -> None:
    first, second = series(4, depth="1"), series(4, depth="8")
    later = document(9, job("a", 0, 9000, 4000, iodepth="8", **LIBAIO))
    reported = Reported.of_report(first, later)
    assert reported.steps == [
        ("step-begin", "a", 0.0),
        ("step-end", "a", 4.0),
        ("step-begin", "a", 5.0),
        ("step-end", "a", 9.0),
    ]
    assert reported.reported("step-begin", "loads") == ["f/a", "f/a (2)"]
    assert reported.reported("step-begin", "group") == [0, 1]
    assert reported.entities["f/a"]["in_flight_configured"] == 1
    assert reported.entities["f/a (2)"]["in_flight_configured"] == 8
    assert Reported.of_report(second).reported("step-begin", "offered") == [8]


def test_the_same_job_run_again_is_told_from_a_later_status() -> None:
    # More was done in the same run time, which began after the first document was written.
    again = document(9, job("a", 0, 5000, 4000, iodepth="8", **LIBAIO))
    assert Reported.of_report(series(4), again).reported("step-begin", "group") == [0, 1]


def test_a_job_that_ends_before_the_others_of_its_group_counts_until_the_end() -> None:
    reported = Reported.of_report(document(10, job("short", 0, 1000, 2000), job("long", 0, 10000, 10000)))
    assert reported.moments == {"f/short": [0.0, 2.0, 10.0], "f/long": [0.0, 10.0]}
    assert reported.warnings == ["uneven-jobs"]
    assert reported.reported("data-warning", "text") == [
        "short ended 8 s before others of its group: fewer I/Os were outstanding then"
    ]


def test_a_job_that_starts_late_counts_from_its_own_start() -> None:
    parts = [
        document(1, job("a", 0, 1000, 1000), job("late", 0, 0)),
        document(3, job("a", 0, 3000, 3000), job("late", 0, 500, 500)),
    ]
    assert Reported.of_report(*parts).moments["f/late"] == [2.5, 3.0]


def test_a_job_that_starts_after_another_has_ended_counts_from_its_own_start() -> None:
    def at(moment: float, short: int, late: int, runtime_ms: int) -> bytes:
        return document(moment, job("a", 0, short, 2000), job("late", 0, late, runtime_ms))

    reported = Reported.of_report(at(2, 1000, 0, 0), at(9, 1000, 500, 500), at(10, 1000, 1500, 1500))
    assert reported.moments["f/late"] == [8.5, 9.0, 10.0]


def test_a_comma_in_a_name_does_not_part_it() -> None:
    reported = Reported.of_report(document(2, job("4k,read", 0, 10, 2000)))
    assert reported.reported("step-begin", "loads") == list(reported.rows) == ["f/4k;read"]


def test_processes_of_one_job_are_told_apart() -> None:
    reported = Reported.of_report(document(2, job("a", 0, 10, 2000, numjobs="2"), job("a", 0, 20, 2000, numjobs="2")))
    assert reported.column("f/a", "ops_read_total") == [0, 10]
    assert reported.column("f/a#2", "ops_read_total") == [0, 20]
    assert reported.reported("step-begin", "step") == ["a"]
    assert ("member_of", ("load", "f/a#2"), ("load", "f")) in reported.links


def test_block_devices_begin_with_zeros_too() -> None:
    disk = {"name": "sda", "read_ios": 7, "write_ios": 0, "read_ticks": 3, "write_ticks": 0, "in_queue": 4}
    reported = Reported.of_report(document(4, job("a", 0, 4000, 4000), disk_util=[disk]))
    assert [(moment, values["ops_read_total"]) for moment, values in reported.disk("sda")] == [(0.0, 0), (4.0, 7)]
    assert reported.disk("sda")[1][1]["latency_seconds_read_total"] == pytest.approx(0.003)
    assert ("targets", ("load", "f"), ("lun", "sda")) in reported.links


def test_the_engine_rbd_names_its_image_and_no_block_device() -> None:
    """fio reports the device of its working directory, which the I/O does not use."""
    options = {"ioengine": "rbd", "pool": "rbd", "rbdname": "vol1"}
    disk = {"name": "sda", "read_ios": 7, "write_ios": 0, "read_ticks": 3, "write_ticks": 0, "in_queue": 4}
    reported = Reported.of_report(document(4, job("a", 0, 4000, 4000, **options), disk_util=[disk]))
    targets = [end for relation, _, end in reported.links if relation == "targets"]
    assert targets == [("serial", "rbd:rbd/vol1")]
    assert reported.disk("sda") == []


def test_bins_of_json_plus_are_the_distribution_at_the_end_of_the_step() -> None:
    def at(moment: int) -> bytes:
        one = job("a", 0, 0) | {"read": direction(1000 * moment, 1000 * moment)}
        one["read"]["clat_ns"] = {"bins": {"100": 10 * moment, "127": 30 * moment, "1591296": 60 * moment}}
        return document(moment, one)

    reported = Reported.of_report(at(1), at(2))
    (event,) = reported.events("latency-histogram")
    assert event.detail == {
        "load": "f/a",
        "direction": "read",
        # Buckets of 1 ns below 128, of 16384 ns from 2^20 on: their upper bounds.
        "buckets": "1.01e-07:0.1 1.28e-07:0.3 0.001605632:0.6",
    }


@pytest.mark.parametrize(
    ("printed", "outcome"),
    [
        ({"options": {"runtime": "60"}, "eta": 2**31 - 1}, ["no-end"]),
        ({"options": {}, "eta": 12}, ["no-end"]),
        ({"options": {"runtime": "4"}, "eta": 2**31 - 1}, []),
        ({"options": {}, "eta": 2**31 - 1}, []),
        ({"options": {"runtime": "60"}, "eta": 0}, []),
        ({"options": {"runtime": "60"}, "eta": 2**31 - 1, "error": 5}, ["load-error"]),
    ],
)
def test_output_of_a_fio_that_was_killed_says_so(printed: dict[str, Any], outcome: list[str]) -> None:
    body = job("a", 0, 4000, 4000, **printed.pop("options")) | printed
    assert Reported.of_report(document(4, body)).warnings == outcome


def test_an_interrupted_fio_has_written_its_last_document() -> None:
    parts = [
        series(1, depth="8"),
        b"\nfio: terminating on signal 2\n",
        document(2, job("a", 0, 2000, 2000, runtime="60")),
    ]
    one = job("a", 0, 1000, 1000, runtime="60") | {"eta": 59}
    assert Reported.of_report(document(1, one), *parts[1:]).warnings == ["interrupted"]


def test_errors_are_told_with_their_step_and_in_words() -> None:
    noise = b"fio: pid=7, err=84/file:io_u.c:2141, func=io_u_queued_complete, error=Invalid or incomplete character\n"
    bad = job("a", 0, 100, 500) | {"error": errno.EILSEQ}
    reported = Reported.of_report(
        noise, b"sha256: verify failed at file /dev/sdb offset 0, length 4096\n", document(1, bad)
    )
    assert reported.reported("step-end", "error") == [84]
    assert reported.warnings == ["load-error", "verify-failed", "load-error"]
    assert reported.reported("data-warning", "text")[-1] == "a ended with error 84: verification failed"


def test_errors_of_windows_have_numbers_of_their_own() -> None:
    def last_warning(error: int) -> object:
        bad = job("a", 0, 100, 500, ioengine="windowsaio") | {"error": error}
        return Reported.of_report(document(1, bad)).reported("data-warning", "text")[-1]

    assert last_warning(42) == "a ended with error 42: verification failed"
    assert last_warning(5) == "a ended with error 5: Input/output error"
    assert last_warning(39) == "a ended with error 39: unknown"


def test_a_thousand_lines_of_one_kind_are_three_warnings() -> None:
    noise = b"".join(b"verify: bad header offset %d\n" % number for number in range(1000))
    assert Reported.of_report(noise, series(1)).warnings == ["verify-failed"] * 3


def test_jobs_that_did_nothing_are_said_to_have_done_nothing() -> None:
    reported = Reported.of_report(document(4, job("a", 0, 0)))
    assert reported.warnings == ["no-io"]
    assert reported.rows == {}
    assert all(event.seen == START + 4_000_000 for event in reported.events())


def test_trims_are_said_to_be_missing() -> None:
    one = job("a", 0, 100, 1000) | {"trim": direction(1000, 1000)}
    assert Reported.of_report(document(1, one)).warnings == ["trims"]


def test_a_job_that_only_trims_is_not_said_to_do_nothing() -> None:
    only = job("a", 0, 0) | {"trim": direction(1000, 1000)}
    assert Reported.of_report(document(1, only)).warnings == ["trims"]


@pytest.mark.parametrize("mark", ["utf-16", "utf-8-sig"])
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_what_powershell_has_redirected_is_read(mark: str, size: int) -> None:
    output = series(1, 2).decode().replace("\n", "\r\n").encode(mark)
    assert FioResult.recognises(output, "out.json")
    reported = Reported.of_report(*(output[at : at + size] for at in range(0, len(output), size)))
    assert reported.moments == {"f/a": [0.0, 1.0, 2.0]}


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_the_same_is_said_wherever_a_part_ends(size: int) -> None:
    noise = b"fio: connected to NBD server\nfio: pid=1, err=5/file:x\n"
    output = noise + series(1, 2) + b"\nfio: terminating on signal 15\n" + series(3)[:-1]
    parts = [output[at : at + size] for at in range(0, len(output), size)]
    assert Reported.of_report(*parts).items == Reported.of_report(output).items


def test_a_file_that_ends_inside_a_document_gives_what_came_before() -> None:
    reported = Reported.of_report(series(1, 2), series(3)[:-40])
    assert reported.moments == {"f/a": [0.0, 1.0, 2.0]}
    assert reported.warnings == ["cut-file"]


def test_nothing_to_read_is_one_line_that_says_what_fio_said() -> None:
    assert refusal(b"fio: pid=1, err=2/file:filesetup.c:805, func=open(/dev/sdz), error=No such file\n") == (
        "unreadable: it contains no result of fio: "
        "fio: pid=1, err=2/file:filesetup.c:805, func=open(/dev/sdz), error=No such file"
    )
    assert refusal(b"hello\n").startswith("unreadable: it contains no result of fio")
    assert refusal(b"").startswith("unreadable: it contains no result of fio")
    assert refusal(series(1)[:200]).startswith("unreadable: it contains no result of fio: the file ends inside")


@pytest.mark.parametrize(
    ("head", "name", "known"),
    [
        (b'{\n  "fio version" : "fio-3.33",\n', "x.json", True),
        (b'noise\n\n{\n  "fio version" : "fio-3.33",\n', "x", True),
        (b'{"fio version":"fio-3.33","jobs":[]}\n', "x", True),
        (b"3;fio-3.33;a;0;0;1;2;3\n", "x", True),
        (b"a: (g=0): rw=read, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B\nfio-3.33\n", "x", True),
        (b"a: (groupid=0, jobs=1): err= 0: pid=1: Fri Nov 20 02:53:27 2026\n", "x", True),
        (b"fio: pid=8281, err=84/file:io_u.c:2141, func=x, error=y\n", "x", True),
        (b"499, 1234, 0, 0, 0\n", "lg_bw.1.log", True),
        (b"499, 1234, 0, 0, 0\n", "lg_clat.log", True),
        (b"1000, 0, 4096, 0, 0, 1\n", "lg_clat_hist.1.log", True),
        (b"", "lg_lat.1.log", True),
        (b"499, 1234, 0, 0, 0\n", "data.csv", False),
        (b"started at noon\n", "web_lat.log", False),
        (b'{"jobs": []}\n', "x.json", False),
        (b"<Results><System>", "x.xml", False),
        (b"tod\ttimestamp\tRun\n", "flatfile.html", False),
        (b"3;4;5\n", "x", False),
        (b"", "x.json", False),
    ],
)
def test_what_is_taken_for_a_file_of_fio(head: bytes, name: str, known: bool) -> None:
    assert FioResult.recognises(head, name) is known


def test_entries_of_a_client_document_are_a_series_and_its_sums_are_not_added() -> None:
    total = {key: value for key, value in on("h2", 999_999, 2000).items() if key != "job options"}
    total["jobname"] = "All clients"
    options = {"ioengine": "libaio", "iodepth": "4"}
    reported = Reported.of_report(
        client_document(
            on("h1", 1000, 1000, **options),
            on("h2", 500, 1000, **options),
            total,
            on("h1", 2000, 2000, **options),
            on("h2", 1000, 2000, **options),
        )
    )
    assert reported.moments == {"f/h1/a": [2.0, 3.0, 4.0], "f/h2/a": [2.0, 3.0, 4.0]}
    assert reported.column("f/h1/a", "ops_read_total") == [0, 1000, 2000]
    assert reported.reported("step-begin", "offered") == [8]
    assert ("runs_on", ("load", "f/h2/a"), ("host", "h2")) in reported.links


def without_options(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != "job options"}


def test_a_client_document_of_which_only_the_sum_was_kept_is_one_job() -> None:
    totals = [
        without_options(on("h2", ops, ms)) | {"jobname": "All clients"} for ops, ms in ((500, 1000), (990, 2000))
    ]
    reported = Reported.of_report(client_document(*totals))
    assert reported.column("f/All clients", "ops_read_total") == [0, 500, 990]
    assert not [link for link in reported.links if link[0] == "runs_on"]


def test_options_that_a_client_did_not_send_are_not_known() -> None:
    """What all jobs have in common may be changed by each, and defaults are not what it was told."""
    whole = json.loads(client_document(without_options(on("h1", 16_000, 1000))))
    whole["global options"] = {"iodepth": "2", "rw": "write"}
    reported = Reported.of_report(json.dumps(whole).encode())
    assert reported.entities["f/a"].keys() == {"engine", "engine_version"}
    assert reported.warnings == []


def test_processes_of_a_client_take_turns_in_its_document() -> None:
    entries = [on("h1", ops, ms, numjobs="2") for ops, ms in ((100, 1000), (110, 1000), (200, 2000), (220, 2000))]
    reported = Reported.of_report(client_document(*entries))
    assert reported.column("f/a", "ops_read_total") == [0, 100, 200]
    assert reported.column("f/a#2", "ops_read_total") == [0, 110, 220]


@pytest.mark.parametrize("value", [None, True, "x", -1, 2**70, 1e308, [], {}, [1], "\ud800", "9" * 400])
@pytest.mark.parametrize("key", ["client_stats", "timestamp", "disk_util", "global options", "fio version"])
def test_nonsense_in_a_client_document_is_one_error_at_most(key: str, value: object) -> None:
    body = json.loads(client_document(on("h1", 100, 1000), on("h1", 200, 2000)))
    assert "\n" not in refusal(json.dumps(body | {key: value}, indent=2).encode() + b"\n")


def record(reported: Reported, writer: Writer) -> None:
    """As `sanpath import` does."""
    for item in reported.items:
        match item:
            case Rows():
                writer.samples("f", item)
            case Event():
                writer.event("f", item)
            case _:
                writer.inventory("f", START, item)


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    found = Writer(tmp_path, "test")
    yield found
    found.flush()
    found.close()


WHOLE = json.loads(
    document(
        4,
        job("a", 0, 10, 1000, iodepth="4", numjobs="2", bs="4k", ioengine="libaio", size="1g", runtime="4")
        | {"job_runtime": 2000, "eta": 1, "elapsed": 2, "job_start": START // 1000, "trim": direction(0)},
        job("b", 1, 10, 1000, ramp_time="1"),
        disk_util=[{"name": "sda", "read_ios": 1, "write_ios": 2, "read_ticks": 3, "write_ticks": 4, "in_queue": 5}],
        **{"global options": {"rw": "randrw"}},
    )
)


@pytest.mark.parametrize("place", list(places(WHOLE)), ids=lambda at: ".".join(map(str, at)))
def test_nonsense_in_a_document_can_be_recorded_or_is_refused(place: tuple[str | int, ...], writer: Writer) -> None:
    good = document(8, job("a", 0, 20, 5000), job("b", 1, 20, 1000))
    for value in HOSTILE:
        wrong = json.dumps(replaced(WHOLE, place, value), indent=2).encode() + b"\n"
        with contextlib.suppress(CollectorError):
            record(Reported.of_report(wrong, good), writer)


TEXTS = {
    "terse": terse(1000, 2000, ";sda;1;0;0;0;1;0;1;1.0%"),
    "normal": b"""\
a: (g=0): rw=randrw, bs=(R) 8192B-8192B, (W) 8192B-8192B, (T) 8192B-8192B, ioengine=libaio, iodepth=8
fio-3.33
a: (groupid=0, jobs=1): err= 0: pid=4000: Thu Oct 10 12:00:20 2024
  read: IOPS=10.0k, BW=78.1MiB/s (81.9MB/s)(781MiB/10000msec)
     lat (usec): min=93, max=11025k, avg=1100.00, stdev=210.70
    clat percentiles (usec):
     | 50.00th=[ 1057], 95.00th=[ 1778], 99.00th=[ 2966]
     issued rwts: total=100000,42864,0,0 short=0,0,0,0 dropped=0,0,0,0
Run status group 0 (all jobs):
  sdb: ios=49500/46000, merge=0/0, ticks=50000/30000, in_queue=80000, util=96.00%
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("form", list(TEXTS))
def test_nonsense_in_text_can_be_recorded_or_is_refused(form: str, writer: Writer) -> None:
    for found in re.finditer(rb"\d+", TEXTS[form]):
        for value in (b"9" * 18, b"9" * 400, b"-1", b"nan", b"1e999", b"0", b"", b"\xff"):
            wrong = TEXTS[form][: found.start()] + value + TEXTS[form][found.end() :]
            with contextlib.suppress(CollectorError):
                record(Reported.of_report(wrong), writer)

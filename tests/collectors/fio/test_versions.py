"""One run, as versions of fio print it in their formats, and as people copy it: it is always the same."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.collectors.fio.printed import START, Reported, client_document, document, job, on

LOST = "lost"
HEADER = "w 1: (g=0): rw=randrw, bs={sizes}, ioengine=libaio, iodepth={depth}"
SIZES = {
    "3": "(R) {block}B-{block}B, (W) {block}B-{block}B, (T) {block}B-{block}B",
    "2.18": "{block}B-{block}B,{block}B-{block}B,{block}B-{block}B",
    "2.2": "{kib}K-{kib}K/{kib}K-{kib}K/{kib}K-{kib}K",
    "1.59": "{kib}K-{kib}K/{kib}K-{kib}K",
}
BANNERS = {"3": "fio-3.1", "2.18": "fio-2.18", "2.2": "fio-2.2.10", "1.59": "fio 1.59"}
ISSUED = {
    "3": "issued rwt: total={reads},{writes},0, short=0,0,0, dropped=0,0,0",
    "2.18": "issued rwt: total={reads},{writes},0, short=0,0,0, dropped=0,0,0",
    "2.2": "issued    : total=r={reads}/w={writes}/d=0, short=r=0/w=0/d=0, drop=r=0/w=0/d=0",
    "1.59": "issued r/w/d: total={reads}/{writes}/0, short=0/0/0",
}
RUNS = st.builds(
    dict,
    reads=st.integers(1, 10**8),
    writes=st.integers(1, 10**8),
    kib=st.sampled_from([4, 8, 64, 256]),
    depth=st.integers(1, 256),
    runtime_ms=st.integers(1000, 3_600_000),
    latency_us=st.integers(20, 900_000),
)


def normal_text(version: str, run: dict[str, int], indentation: str = "") -> bytes:
    """A run of one process as a version prints it."""
    values = {**run, "block": 1024 * run["kib"]}
    dated = "" if version == "1.59" else ": Fri Feb 16 10:00:00 2018"
    lines = [
        HEADER.format(sizes=SIZES[version].format(**values), **values),
        BANNERS[version],
        "Starting 1 process",
        "",
        f"w 1: (groupid=0, jobs=1): err= 0: pid=77{dated}",
    ]
    for name in ("read ", "write"):
        moved = run[f"{name.strip()}s"] * run["kib"]
        if version in ("3", "2.18"):
            mebibytes = f"{moved / 1024:.0f}MiB" if moved > 10240 else f"{moved}KiB"
            lines.append(f"  {name.strip():>5}: IOPS=1.5k, BW=1MiB/s (2MB/s)({mebibytes}/{run['runtime_ms']}msec)")
        else:
            megabytes = f"{moved / 1024:.1f}MB" if moved > 9999 else f"{moved}KB"
            lines.append(f"  {name}: io={megabytes}, bw=35225KB/s, iops=8806 , runt={run['runtime_ms']:6d}msec")
        lines += [
            "    slat (usec): min=6 , max=1524 , avg=12.71, stdev= 7.84",
            f"    clat (usec): min=45 , max=1360.2K, avg={0.98 * run['latency_us']:.2f}, stdev=9219.80",
            f"     lat (usec): min=51 , max=1360.3K, avg={run['latency_us']}.00, stdev=9219.81",
            "    clat percentiles (usec):",
            "     |  1.00th=[  278], 50.00th=[ 1240], 95.00th=[4016], 99.00th=[33024],",
            "    bw (KB  /s): min= 1306, max=67400, per=25.27%, avg=35324.64, stdev=11334.54",
        ]
    lines += ["    lat (usec) : 50=0.02%, 100=0.19%", "  cpu          : usr=3.50%, sys=9.25%, ctx=9, majf=0, minf=9"]
    lines += ["     " + ISSUED[version].format(**values), "", "Run status group 0 (all jobs):"]
    lines += ["   READ: io=8.1GB, aggrb=140MB/s, minb=34MB/s, maxb=36MB/s, mint=60001msec, maxt=60011msec", ""]
    lines += ["Disk stats (read/write):", "  sda: ios=528/527, merge=3/4, ticks=99/98, in_queue=197, util=99.76%"]
    if indentation == LOST:
        indentation, lines = "", [line.strip() for line in lines]
    return "".join(f"{indentation}{line}\n" for line in lines).encode()


def json_text(version: str, run: dict[str, int]) -> bytes:
    """The same run as a document: before 3.0 in KiB and microseconds, before 2.2 without numbers of I/Os."""
    body: dict[str, Any] = {"jobname": "w 1", "groupid": 0, "error": 0, "usr_cpu": 3.5, "sys_cpu": 9.25}
    for name in ("read", "write"):
        ops, runtime = run[f"{name}s"], run["runtime_ms"]
        kib = ops * run["kib"]
        figures: dict[str, Any] = {"bw": kib * 1000 // runtime, "iops": 1000 * ops / runtime, "runtime": runtime}
        latency = {"min": 51, "max": 1_360_300, "mean": float(run["latency_us"])}
        if version == "3":
            latency = {key: 1000 * value for key, value in latency.items()}
            figures |= {"io_bytes": 1024 * kib, "io_kbytes": kib, "total_ios": ops, "lat_ns": latency | {"N": ops}}
        else:
            figures |= {"io_bytes": kib, "lat": latency} | ({"total_ios": ops} if version == "2.17" else {})
        if version == "2.1":
            figures["iops"] = int(figures["iops"])
        body[name] = figures
    if version != "2.1":
        body["job options"] = {
            "rw": "randrw",
            "bs": f"{run['kib']}k",
            "ioengine": "libaio",
            "iodepth": str(run["depth"]),
        }
    return json.dumps(
        {"fio version": f"fio-{version}", "timestamp": START // 10**6, "jobs": [body]}, indent=2
    ).encode()


@pytest.mark.parametrize("version", BANNERS)
@settings(max_examples=25)
@given(run=RUNS, indentation=st.sampled_from(["", "    ", "\t", LOST]))
def test_normal_text_of_every_version_tells_the_same(version: str, run: dict[str, int], indentation: str) -> None:
    reported = Reported.of_report(normal_text(version, run, indentation), since=0)
    assert reported.entities["f/w 1"]["block_bytes"] == 1024 * run["kib"]
    assert reported.entities["f/w 1"]["in_flight_configured"] == run["depth"]
    assert reported.entities["f/w 1"]["engine_version"] == BANNERS[version].removeprefix("fio").strip("- ")
    for name in ("read", "write"):
        ops = run[f"{name}s"]
        assert reported.gained("f/w 1")[f"ops_{name}_total"] == ops
        assert reported.gained("f/w 1")[f"bytes_{name}_total"] == ops * 1024 * run["kib"]
        assert reported.gained("f/w 1")[f"latency_seconds_{name}_total"] == pytest.approx(
            ops * run["latency_us"] / 1e6
        )
        assert reported.column("f/w 1", f"latency_seconds_max_{name}")[-1] == pytest.approx(1.3603)
        assert reported.column("f/w 1", f"latency_seconds_p99_{name}")[-1] == pytest.approx(0.033024)
    begin, end = reported.moments["f/w 1"]
    assert end - begin == pytest.approx(run["runtime_ms"] / 1000)
    assert reported.clock == ("elapsed" if version == "1.59" else "local")
    if indentation != LOST:
        assert reported.disk("sda")[-1][1]["ops_read_total"] == 528


@pytest.mark.parametrize("version", ["3", "2.17", "2.1"])
@settings(max_examples=25)
@given(run=RUNS)
def test_documents_of_every_version_tell_the_same(version: str, run: dict[str, int]) -> None:
    reported = Reported.of_report(json_text(version, run), since=0)
    for name in ("read", "write"):
        ops, moved = reported.gained("f/w 1")[f"ops_{name}_total"], reported.gained("f/w 1")[f"bytes_{name}_total"]
        half_an_operation_a_second = run["runtime_ms"] / 2000 + 1 if version == "2.1" else 0
        assert abs(ops - run[f"{name}s"]) <= half_an_operation_a_second
        assert moved == run[f"{name}s"] * 1024 * run["kib"]
        waited = reported.gained("f/w 1")[f"latency_seconds_{name}_total"]
        assert waited == pytest.approx(ops * run["latency_us"] / 1e6, rel=1e-6)


def test_what_a_document_does_not_say_is_not_known() -> None:
    """fio 2.1 prints no options: neither the defaults of fio nor anything else may be taken for them."""
    run = {"reads": 1000, "writes": 1, "kib": 4, "depth": 32, "runtime_ms": 1000, "latency_us": 500}
    reported = Reported.of_report(json_text("2.1", run), since=0)
    known = {"engine", "engine_version"}
    assert reported.entities["f/w 1"].keys() == known
    assert reported.reported("step-begin", "offered") == [None]


@pytest.mark.parametrize("before", ["$ ", "\r", "Jobs: 1 (f=1): [r(1)][100.0%][eta 00m:00s]", "   ", "\t"])
@pytest.mark.parametrize("size", [1, 7, 100, 10**6])
def test_a_document_may_follow_other_text_on_its_line_or_be_indented(before: str, size: int) -> None:
    whole = document(1, job("a", 0, 1000, 1000, rw="read"))
    if before.isspace() and before != "\r":
        content = b"".join(before.encode() + line for line in whole.splitlines(keepends=True))
    else:
        content = before.encode() + whole
    content = b"fio: some warning\n" + content + b"bye\n" + content
    reported = Reported.of_report(*(content[at : at + size] for at in range(0, len(content), size)))
    assert reported.gained("f/a")["ops_read_total"] == 1000


def test_options_of_all_jobs_of_a_client_document_count() -> None:
    entry = on("h1", 16_000, 1000, rw="read")
    whole = json.loads(client_document(entry))
    whole["global options"] = {"ioengine": "libaio", "iodepth": "32", "direct": "1", "bs": "8k"}
    reported = Reported.of_report(json.dumps(whole).encode())
    assert reported.reported("step-begin", "offered") == [32]
    assert reported.entities["f/a"]["direct"] is True
    assert reported.entities["f/a"]["block_bytes"] == 8192


def busy_job(in_flight: float, **options: str) -> dict[str, Any]:
    """A job that reads 1000 times a second, for two seconds, with so many I/Os outstanding."""
    one = job("a", 0, 2000, 2000, rw="randread", bs="4k", **options)
    one["read"]["lat_ns"]["mean"] = in_flight * 1e6
    return one


def test_a_job_without_an_engine_is_synchronous_unless_more_was_outstanding() -> None:
    """On Windows the default is asynchronous."""
    synchronous = Reported.of_report(document(2, busy_job(0.98, iodepth="64")))
    assert synchronous.reported("step-begin", "offered") == [1]
    windows = Reported.of_report(document(2, busy_job(63.0, iodepth="64")))
    assert windows.reported("step-begin", "offered") == [64]
    assert windows.entities["f/a"]["synchronous"] is False
    assert windows.warnings == []


def test_a_configuration_that_the_figures_contradict_is_not_believed() -> None:
    reported = Reported.of_report(document(2, busy_job(63.0, iodepth="8", ioengine="libaio")))
    assert reported.reported("step-begin", "offered") == [None]
    assert reported.warnings == ["more-in-flight"]
    assert reported.in_flight("f/a") == pytest.approx(63.0)


def test_a_group_that_does_what_its_options_exclude_stands_for_other_jobs() -> None:
    """Before 3.0 no sum of the run times shows that."""
    group = job("a", 0, 2000, 2000, rw="randread", ioengine="libaio", iodepth="8")
    group["write"] = group["read"]
    reported = Reported.of_report(document(2, group))
    assert reported.warnings == ["mixed-jobs"]
    assert reported.reported("step-begin", "offered") == [None]
    verified = job("a", 0, 2000, 2000, rw="write", verify="crc32c", ioengine="libaio", iodepth="8")
    verified["write"] = verified["read"]
    assert Reported.of_report(document(2, verified)).warnings == []


@pytest.mark.parametrize(
    ("options", "reads", "warnings"),
    [
        ({"rw": "randread"}, 10_000, []),
        ({"rw": "write"}, 0, []),
        ({"rw": "randrw", "rwmixread": "70"}, 7_000, ["unified"]),
        ({"read_iolog": "trace.log"}, 10_000, ["unified"]),
    ],
)
def test_reads_and_writes_that_are_reported_together(
    options: dict[str, str], reads: int, warnings: list[str]
) -> None:
    one = job("a", 0, 10_000, 1000, ioengine="libaio", iodepth="8", **options)
    one["mixed"] = one.pop("read")
    del one["write"]
    reported = Reported.of_report(document(1, one))
    assert reported.gained("f/a")["ops_read_total"] == reads
    assert reported.gained("f/a")["ops_write_total"] == 10_000 - reads
    assert reported.gained("f/a")["bytes_read_total"] == 4096 * reads
    assert reported.warnings == warnings


def test_reads_and_writes_that_nothing_tells_apart_are_said_to_be_taken_for_reads() -> None:
    one = job("a", 0, 10_000, 1000)
    one["mixed"] = one.pop("read")
    del one["write"], one["job options"]
    reported = Reported.of_report(document(1, one))
    assert reported.gained("f/a")["ops_read_total"] == 10_000
    assert reported.reported("data-warning", "text") == [
        "a reports reads and writes together: all are taken for reads"
    ]
    assert "read_ratio" not in reported.entities["f/a"]


def test_a_text_of_which_only_the_sum_of_all_clients_was_kept_is_one_job() -> None:
    run = {"reads": 9000, "writes": 5000, "kib": 4, "depth": 8, "runtime_ms": 2000, "latency_us": 700}
    text = normal_text("3", run).replace(b"w 1: (groupid", b"All clients: (groupid")
    assert Reported.of_report(text, since=0).gained("f/All clients")["ops_read_total"] == 9000


@pytest.mark.parametrize(("kind", "direction"), [("randwrite", "write"), ("randread", "read"), ("randrw", "read")])
def test_normal_text_of_reads_and_writes_together(kind: str, direction: str) -> None:
    run = {"reads": 9000, "writes": 0, "kib": 4, "depth": 8, "runtime_ms": 2000, "latency_us": 700}
    text = normal_text("3", run).decode().replace("rw=randrw", f"rw={kind}").replace("   read: IOPS", "  mixed: IOPS")
    lines_of_writes = text.partition("  write: IOPS")[2].partition("    lat (usec) : 50")[0]
    text = text.replace("  write: IOPS" + lines_of_writes, "")
    reported = Reported.of_report(text.encode(), since=0)
    assert reported.gained("f/w 1")[f"ops_{direction}_total"] == 9000
    assert reported.gained("f/w 1")[f"latency_seconds_{direction}_total"] == pytest.approx(6.3)
    assert sum(reported.gained("f/w 1")[f"ops_{d}_total"] for d in ("read", "write")) == 9000
    assert reported.warnings == (["unified"] if kind == "randrw" else [])


def test_a_sum_that_follows_reads_and_writes_in_normal_text_is_not_read() -> None:
    """unified_rw_reporting=both; fio prints no bytes of the sum."""
    run = {"reads": 9000, "writes": 5000, "kib": 4, "depth": 8, "runtime_ms": 2000, "latency_us": 700}
    plain = normal_text("3", run).decode()
    summed = "  mixed: IOPS=0, BW=0 (0)(0B/2000msec)\n     lat (usec): min=7, max=99k, avg=900.00, stdev=9.91\n"
    both = plain.replace("    lat (usec) : 50", summed + "    lat (usec) : 50")
    assert both != plain
    assert Reported.of_report(both.encode()).items == Reported.of_report(plain.encode()).items


def test_the_depth_of_a_job_with_a_latency_target_is_not_known() -> None:
    run = {"reads": 9000, "writes": 5000, "kib": 4, "depth": 64, "runtime_ms": 2000, "latency_us": 700}
    target = "     latency   : target=10000000, window=200000, percentile=100.00%, depth=9\n\nRun status"
    text = normal_text("3", run).decode().replace("\nRun status", target)
    options = {"ioengine": "libaio", "iodepth": "64", "latency_target": "10ms"}
    for output in (text.encode(), document(2, job("w 1", 0, 9000, 2000, **options))):
        reported = Reported.of_report(output)
        assert reported.reported("step-begin", "offered") == [None]
        assert reported.reported("step-begin", "rate_limited") == [True]
        assert reported.warnings == ["latency-target"]


def test_a_fraction_that_fio_lost_costs_no_bytes() -> None:
    """fio 3.1 prints 24.98 GiB as 24.0GiB, and 11.98MiB/s as 11.0MiB/s."""
    run = {"reads": 6_549_926, "writes": 1, "kib": 4, "depth": 32, "runtime_ms": 60_000, "latency_us": 291}
    text = normal_text("3", run).decode().replace(f"({6_549_926 * 4 / 1024:.0f}MiB/", "(24.0GiB/")
    assert "24.0GiB" in text
    assert Reported.of_report(text.encode(), since=0).gained("f/w 1")["bytes_read_total"] == 4096 * 6_549_926


@pytest.mark.parametrize("printed", ["nan", "-nan", "inf"])
def test_a_mean_of_nothing_does_not_cost_the_document(printed: str) -> None:
    run = {"reads": 1000, "writes": 1, "kib": 4, "depth": 4, "runtime_ms": 1000, "latency_us": 3000}
    text = json_text("2.17", run).decode().replace('"usr_cpu": 3.5', f'"usr_cpu" : {printed}')
    assert printed in text
    assert Reported.of_report(text.encode(), since=0).gained("f/w 1")["ops_read_total"] == 1000


@pytest.mark.parametrize(
    ("levels", "depth", "offered"),
    [
        ("1=0.1%, 2=0.1%, 4=0.1%, 8=0.1%, 16=0.1%, 32=99.9%, >=64=0.0%", 32, 4 * 32),
        ("1=0.1%, 2=0.1%, 4=0.1%, 8=0.1%, 16=0.1%, 32=0.1%, >=64=99.9%", 256, 4 * 256),
        ("1=0.1%, 2=0.1%, 4=0.1%, 8=0.1%, 16=0.1%, 32=99.9%, >=64=0.0%", 48, 4 * 48),
        ("1=100.0%, 2=0.0%, 4=0.0%, 8=0.0%, 16=0.0%, 32=0.0%, >=64=0.0%", 16, 4),
        ("1=60.0%, 2=20.0%, 4=20.0%, 8=0.0%, 16=0.0%, 32=0.0%, >=64=0.0%", 16, None),
    ],
)
def test_outstanding_ios_of_an_entry_without_its_header(levels: str, depth: int, offered: float | None) -> None:
    """People copy the entry, and leave out the header, which says the queue depth and the engine."""
    run = {"reads": 9000, "writes": 1, "kib": 4, "depth": depth, "runtime_ms": 2000, "latency_us": 700}
    lines = normal_text("3", run).decode().replace("jobs=1)", "jobs=4)").splitlines(keepends=True)[4:]
    lines.insert(
        -6, f"  IO depths    : {levels}\n     latency   : target=0, window=0, percentile=100.00%, depth={depth}\n"
    )
    reported = Reported.of_report("".join(lines).encode(), since=0)
    assert reported.reported("step-begin", "offered") == [offered]


def test_bytes_that_are_few_have_a_space_before_their_unit() -> None:
    run = {"reads": 2048, "writes": 1, "kib": 4, "depth": 1, "runtime_ms": 60_000, "latency_us": 3000}
    text = re.sub(r"read : io=\w+,", "read : io=22528 B,", normal_text("2.2", run).decode())
    assert "io=22528 B," in text
    assert Reported.of_report(text.encode(), since=0).gained("f/w 1")["bytes_read_total"] == 22528

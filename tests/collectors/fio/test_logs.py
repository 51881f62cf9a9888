"""The logs that fio writes of a job, by the name of the file and its lines."""

from __future__ import annotations

import gzip
import lzma
import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from sanpath.recorder.importing.files.imported_file import ImportedFile
from sanpath.recording.writing.writer import Writer
from sanpath_collectors.fio.jobs.buckets import bucket_limits, bucket_middle, lower_limit, upper_bounds
from sanpath_collectors.fio.reader import FioResult
from tests.collectors.fio.printed import Reported, refusal

EPOCH_MS = 1_800_000_000_000


def lines(*rows: Sequence[object]) -> bytes:
    return b"".join(", ".join(map(str, row)).encode() + b"\n" for row in rows)


def fed(name: str, *parts: bytes) -> Reported:
    return Reported.fed(FioResult("f", name), *parts, since=EPOCH_MS * 1000)


def raw(count: int, seed: int = 1) -> bytes:
    """Reads and writes with latencies between 100 us and 1 ms, about 300 a second."""
    chance = random.Random(seed)
    rows = ((number * 10 // 3, chance.randrange(100_000, 1_000_000), number % 2, 4096, 0) for number in range(count))
    return lines(*rows)


def test_bandwidth_is_summed_up_to_bytes() -> None:
    reported = fed(
        "lg_bw.1.log", lines((499, 1000, 0, 0, 0), (500, 500, 1, 0, 0), (1000, 2000, 0, 0, 0), (1001, 600, 1, 0, 0))
    )
    assert reported.clock == "elapsed"
    assert reported.moments == {"f/lg.1": [0.0, 0.5, 1.001]}
    assert reported.column("f/lg.1", "bytes_read_total") == [0, 510976, 510976 + 1026048]
    assert reported.column("f/lg.1", "bytes_write_total") == [0, 256000, 256000 + 307814]
    assert reported.steps == [("step-begin", "lg.1", 0.0), ("step-end", "lg.1", 1.001)]
    assert ("member_of", ("load", "f/lg.1"), ("load", "f")) in reported.links


def test_operations_a_second_are_summed_up_to_operations() -> None:
    reported = fed("lg_iops.2.log", lines(*((number * 1000, 250, 0, 0, 0) for number in range(1, 5))))
    assert reported.column("f/lg.2", "ops_read_total") == [0, 250, 500, 750, 1000]
    assert reported.column("f/lg.2", "ops_write_total") == [0, 0, 0, 0, 0]


def test_windows_without_io_are_missing_and_count_for_nothing() -> None:
    reported = fed(
        "lg_iops.1.log", lines((1000, 100, 0, 0, 0), (2000, 100, 0, 0, 0), (5000, 100, 0, 0, 0), (6000, 100, 0, 0, 0))
    )
    assert reported.moments == {"f/lg.1": [0.0, 1.0, 2.0, 5.0, 6.0]}
    assert reported.column("f/lg.1", "ops_read_total") == [0, 100, 200, 300, 400]


def test_the_last_window_counts_once_where_fio_writes_it_twice() -> None:
    reported = fed("lg_iops.1.log", lines((500, 100, 0, 0, 0), (1000, 100, 0, 0, 0), (1000, 100, 0, 0, 0)))
    assert reported.column("f/lg.1", "ops_read_total") == [0, 50, 100]


@pytest.mark.parametrize(
    ("kind", "metric"),
    [("lat", "latency_seconds"), ("clat", "completion_seconds"), ("slat", "submission_seconds")],
)
def test_mean_latencies_cover_their_window(kind: str, metric: str) -> None:
    reported = fed(
        f"lg_{kind}.1.log", lines((500, 400_000, 0, 0, 0), (500, 250_000, 1, 0, 0), (1000, 410_000, 0, 0, 0))
    )
    assert reported.column("f/lg.1", f"{metric}_mean_read") == pytest.approx([0.0004, 0.00041])
    assert reported.column("f/lg.1", f"{metric}_mean_write") == [pytest.approx(0.00025), None]
    assert reported.covers["f/lg.1"] == [0.5, 0.5]


def test_times_since_1970_are_those_of_the_epoch() -> None:
    rows = ((EPOCH_MS + 1000 * number, 100, 0, 0, 0, "0x0000") for number in range(1, 4))
    reported = fed("lg_iops.1.log", lines(*rows))
    assert reported.clock == "utc"
    assert reported.moments == {"f/lg.1": [0.0, 1.0, 2.0, 3.0]}


def test_a_log_of_all_jobs_has_no_number() -> None:
    assert list(fed("my_run_iops.log", lines((1000, 5, 0, 0, 0))).rows) == ["f/my_run"]


def test_mean_and_largest_of_each_window_are_told_apart() -> None:
    reported = fed(
        "lg_lat.1.log", lines(*((1000 * (n // 2), 400_000 + n, 900_000, n % 2, 0, 0) for n in (2, 3, 4, 5)))
    )
    assert reported.column("f/lg.1", "latency_seconds_mean_read") == pytest.approx([0.000400002, 0.000400004])
    assert reported.column("f/lg.1", "latency_seconds_mean_write") == pytest.approx([0.000400003, 0.000400005])


def test_every_line_of_a_raw_log_is_an_io() -> None:
    reported = fed(
        "db_lat.1.log",
        lines(
            (0, 400_000, 0, 4096, 0),
            (10, 200_000, 1, 8192, 0),
            (999, 400_000, 0, 4096, 0),
            (1500, 400_000, 0, 4096, 0),
        ),
    )
    assert reported.moments == {"f/db.1": [0.0, 1.0, 1.501]}
    assert reported.column("f/db.1", "ops_read_total") == [0, 2, 3]
    assert reported.column("f/db.1", "bytes_write_total") == [0, 8192, 8192]
    assert reported.column("f/db.1", "latency_seconds_read_total") == pytest.approx([0, 0.0008, 0.0012])
    assert reported.column("f/db.1", "latency_seconds_max_read")[-1] == pytest.approx(0.0004)
    assert reported.column("f/db.1", "latency_seconds_p99_write")[-1] == pytest.approx(0.0002, rel=0.016)
    assert [event.detail["direction"] for event in reported.events("latency-histogram")] == ["read", "write"]


def test_raw_logs_of_other_values_tell_operations_and_bytes_too() -> None:
    for kind in ("bw", "iops", "clat", "slat"):
        content = raw(600) if kind != "iops" else lines(*((n * 10 // 3, 1, n % 2, 4096, 0) for n in range(600)))
        reported = fed(f"db_{kind}.1.log", content)
        last = {name: value for _, values in reported.rows["f/db.1"] for name, value in values.items()}
        assert (last["ops_read_total"], last["bytes_write_total"]) == (300, 300 * 4096)
        assert "latency_seconds_read_total" not in last


@pytest.mark.parametrize("packed", [False, True])
def test_the_database_and_python_sum_up_the_same(tmp_path: Path, packed: bool) -> None:
    content = raw(2000) + lines((6666, 5, 2, 4096, 0)) + b"garbage\n12, x, 0, 1, 1\n"
    path = tmp_path / ("db_lat.1.log.gz" if packed else "db_lat.1.log")
    path.write_bytes(gzip.compress(content) if packed else content)
    assert Reported.of_file(path).items == Reported.fed(FioResult("f", "db_lat.1.log"), content).items


def test_a_raw_log_that_the_database_cannot_unpack_is_read_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "db_lat.1.log.xz"
    path.write_bytes(lzma.compress(raw(500)))
    assert Reported.of_file(path).gained("f/db.1")["ops_read_total"] == 250


@pytest.mark.parametrize(
    "more",
    [(), (4096,), (4096, "0x0000"), (4096, "0x0000", 123456789)],
    ids=["none", "offset", "priority", "issue time"],
)
def test_columns_that_other_options_add_do_not_matter(tmp_path: Path, more: tuple[object, ...]) -> None:
    path = tmp_path / "db_lat.1.log"
    path.write_bytes(lines(*((number, 400_000, 0, 4096, *more) for number in range(1500))))
    reported = Reported.of_file(path)
    assert reported.gained("f/db.1")["ops_read_total"] == 1500
    assert reported.in_flight("f/db.1") == pytest.approx(0.4)


def test_a_raw_log_with_the_time_of_day_begins_with_its_first_io(tmp_path: Path) -> None:
    path = tmp_path / "db_lat.1.log"
    path.write_bytes(lines(*((EPOCH_MS + 850 + number, 400_000, 0, 4096, 0) for number in range(1000))))
    reported = Reported.of_file(path)
    assert [moment - EPOCH_MS / 1000 for moment in reported.moments["f/db.1"]] == pytest.approx([0.85, 1.85])
    assert reported.in_flight("f/db.1") == pytest.approx(0.4)


def test_latencies_that_cannot_be_nanoseconds_are_doubted() -> None:
    assert fed("db_lat.1.log", lines((0, 400, 0, 4096, 0), (1, 300, 0, 4096, 0))).warnings == ["latency-unit"]
    assert fed("db_lat.1.log", lines((0, 40_000, 0, 4096, 0), (1, 30_000, 0, 4096, 0))).warnings == []


@pytest.mark.parametrize(
    ("latency", "more", "doubted"),
    [(8000, (), True), (8_000_000, (), False), (8000, (0,), False)],
    ids=["microseconds", "nanoseconds", "a version that writes the priority, at a limited rate"],
)
def test_a_job_that_never_had_an_io_outstanding_is_doubted(
    tmp_path: Path, latency: int, more: tuple[int, ...], doubted: bool
) -> None:
    """fio before 3.0 wrote microseconds: here one I/O after the other, of 8 ms each."""
    path = tmp_path / "db_lat.1.log"
    path.write_bytes(lines(*((8 * number, latency, 0, 4096, *more) for number in range(1, 500))))
    assert Reported.of_file(path).warnings == ["latency-unit"] * doubted
    assert fed("db_lat.1.log", path.read_bytes()).warnings == ["latency-unit"] * doubted


@pytest.mark.parametrize(
    ("latency", "more", "doubted"),
    [(400, (), True), (40_000, (), True), (400, ("0x0000",), True), (40_000, (0,), False), (40_000, (0, 0), False)],
)
@pytest.mark.parametrize("kind", ["lat", "clat"])
def test_mean_latencies_that_may_be_microseconds_are_doubted(
    kind: str, latency: int, more: tuple[object, ...], doubted: bool
) -> None:
    """Before 3.18 a line has four fields, and before 3.0 its latency is in microseconds."""
    reported = fed(f"db_{kind}.1.log", lines(*((1000 * second, latency, 0, 0, *more) for second in range(1, 5))))
    assert ("latency-unit" in reported.warnings) is doubted


@pytest.mark.parametrize(
    ("versions", "more", "seconds", "doubted"),
    [
        (["2.14"], (), 0.0019, False),
        (["1.59", "2.14"], (), 0.0019, False),
        (["2.14"], (8192,), 0.0019, False),  # log_offset
        (["2.14"], (8192, 0), 0.0000019, False),  # the log is of another version
        (["3.1"], (), 0.0000019, False),
        (["2.14", "3.1"], (), 0.0000019, True),
        (["unknown"], (), 0.0000019, True),
    ],
)
@pytest.mark.parametrize("block", [0, 4096])
def test_the_version_of_the_result_tells_the_unit_of_the_log(
    tmp_path: Path, versions: list[str], more: tuple[object, ...], seconds: float, doubted: bool, block: int
) -> None:
    path = tmp_path / "db_lat.1.log"
    path.write_bytes(lines(*((100 * number, 1900, 0, block, *more) for number in range(1, 40))))
    for whole in (True, False):
        reader = FioResult("f", path.name)
        reader.versions = versions
        found = Reported(reader.read(ImportedFile(path))) if whole else Reported.fed(reader, path.read_bytes())
        if block:
            gained = found.gained("f/db.1")
            mean = gained["latency_seconds_read_total"] / gained["ops_read_total"]
            assert found.column("f/db.1", "latency_seconds_p50_read")[-1] == pytest.approx(seconds, rel=0.016)
            assert found.column("f/db.1", "latency_seconds_max_read")[-1] == pytest.approx(seconds)
        else:
            mean = found.column("f/db.1", "latency_seconds_mean_read")[-1] or 0.0
        assert mean == pytest.approx(seconds)
        assert ("latency-unit" in found.warnings) is doubted


def several_jobs(*jobs: bytes) -> bytes:
    """With per_job_logs=0 fio appends the log of each job to one file."""
    return b"".join(jobs)


def test_rates_of_several_jobs_in_one_log_are_summed_up_by_window() -> None:
    one = lines(*((500 * number, 100, number_of, 0, 0) for number in range(1, 5) for number_of in (0, 1)))
    two = lines((501, 300, 0, 0, 0), (999, 300, 0, 0, 0), (1500, 300, 0, 0, 0), (1500, 300, 0, 0, 0))
    reported = fed("lg_iops.log", several_jobs(one, two, one))
    assert reported.moments == {"f/lg": [0.0, 0.501, 1.0, 1.5, 2.0]}
    assert reported.gained("f/lg")["ops_read_total"] == pytest.approx(2 * 200 + 450, rel=0.01)
    assert reported.gained("f/lg")["ops_write_total"] == pytest.approx(2 * 200, rel=0.01)
    assert reported.warnings == ["several-jobs", "partial-log"]


def test_ios_of_several_jobs_in_one_log_are_summed_up_by_second(tmp_path: Path) -> None:
    content = several_jobs(raw(2000), raw(1000, seed=2))
    path = tmp_path / "db_lat.log"
    path.write_bytes(content)
    items = fed("db_lat.log", content).items
    assert Reported.of_file(path).items == items
    assert Reported(items, "elapsed").column("f/db", "ops_read_total")[1] == 300


def test_means_of_several_jobs_in_one_log_are_refused_with_what_to_do() -> None:
    job_means = lines(*((500 * number, 400_000, 0, 0, 0) for number in range(1, 9)))
    job_counts = b"".join(histogram_line(1000 * number, 0, 1856, b900=5) for number in range(1, 4))
    for name, job in (("lg_lat.log", job_means), ("lg_clat_hist.log", job_counts)):
        assert "import the JSON of the run, or log with per_job_logs=1" in refusal(several_jobs(job, job), name=name)


def test_a_priority_in_hexadecimal_does_not_matter() -> None:
    """log_prio=1 without log_offset"""
    ios = lines(*((number, 400_000, 0, 4096, "0x4004") for number in range(1500)))
    assert fed("db_lat.1.log", ios).gained("f/db.1")["ops_read_total"] == 1500
    means = lines(*((1000 * second, 100, 0, 0, "0x4004") for second in range(1, 4)))
    assert fed("db_iops.1.log", means).column("f/db.1", "ops_read_total") == [0, 100, 200, 300]
    both = lines(*((1000 * second, 400_000, 900_000, 0, 0, "0x4004") for second in range(1, 4)))
    assert fed("db_lat.1.log", both).column("f/db.1", "latency_seconds_mean_read") == pytest.approx([0.0004] * 3)


def test_operations_a_second_before_2_15_are_means_with_a_block_size() -> None:
    means = lines(*((500 * number, 250, 0, 4096) for number in range(1, 5)))
    assert fed("db_iops.log", means).column("f/db", "ops_read_total") == [0, 125, 250, 375, 500]


def histogram_line(at_ms: int, direction: int, width: int, **counts: int) -> bytes:
    row = [0] * width
    for bucket, count in counts.items():
        row[int(bucket.removeprefix("b"))] = count
    return lines((at_ms, direction, 4096, *row))


@pytest.mark.parametrize(
    ("width", "bucket", "seconds"),
    [
        # 1 ms: octave 15, bucket 14 ff. of 64; in microseconds octave 4, 7 of 16.
        (1856, 64 * 14 + 58, 1e-3),
        (232, 8 * 14 + 7, 1e-3),
        (1216, 64 * 4 + 61, 1e-3),
        (152, 8 * 4 + 7, 1e-3),
    ],
)
def test_histograms_are_laid_out_as_their_number_of_buckets_says(width: int, bucket: int, seconds: float) -> None:
    reported = fed("db_clat_hist.1.log", histogram_line(1000, 0, width, **{f"b{bucket}": 10}))
    assert reported.column("f/db.1", "latency_seconds_p50_read")[-1] == pytest.approx(seconds, rel=0.07)
    assert reported.column("f/db.1", "ops_read_total") == [0, 10]
    (event,) = reported.events("latency-histogram")
    assert float(str(event.detail["buckets"]).partition(":")[0]) == pytest.approx(seconds, rel=0.13)


def test_histograms_of_windows_are_summed_up() -> None:
    reported = fed(
        "db_clat_hist.1.log",
        histogram_line(1000, 0, 1856, b900=9, b1000=1),
        histogram_line(1000, 1, 1856, b950=5),
        histogram_line(2000, 0, 1856, b900=9, b1000=1),
    )
    assert reported.moments["f/db.1"] == [0.0, 1.0, 2.0]
    assert reported.column("f/db.1", "ops_read_total") == [0, 10, 20]
    assert reported.column("f/db.1", "ops_write_total") == [0, 5, 5]
    read, write = reported.events("latency-histogram")
    assert [share.partition(":")[2] for share in str(read.detail["buckets"]).split()] == ["0.9", "0.1"]
    assert write.detail["direction"] == "write"


def test_a_histogram_that_no_fio_writes_is_refused() -> None:
    assert "a histogram of 100 buckets, which no known fio writes" in refusal(
        histogram_line(1000, 0, 100, b1=1), name="db_clat_hist.1.log"
    )


def test_an_empty_log_says_what_that_means() -> None:
    for kind in ("lat", "bw", "clat_hist"):
        assert "no I/O was logged" in refusal(b"", name=f"db_{kind}.1.log")


def test_a_log_of_which_no_line_can_be_read_is_damaged() -> None:
    # fio 3 with ramp_time has written counts of 10^18.
    overflown = histogram_line(10_002, 0, 1856, b900=8_532_478_939_214_341_485)
    for kind, text in (("clat_hist", overflown), ("lat", b"1000, -1, 0, 0\n"), ("bw", b"\0" * 40)):
        reason = refusal(text, name=f"db_{kind}.1.log")
        assert "no I/O was logged" not in reason
        assert f"db.1: its {kind} log is damaged: no line of it can be read" in reason


def test_a_log_without_its_name_is_refused_with_a_hint() -> None:
    assert "logs are read under the names that fio has given them" in refusal(lines((500, 1, 0, 0, 0)))


def test_only_trims_are_no_io_that_is_read() -> None:
    assert fed("db_iops.1.log", lines((1000, 5, 0, 0, 0), (1000, 5, 2, 0, 0))).warnings == ["trims", "partial-log"]


@pytest.mark.parametrize("size", [1, 7, 1013])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("db_lat.1.log", raw(400)),
        ("db_clat.1.log", raw(400)),
        ("db_bw.1.log", lines(*((500 * n + n % 2, 90 * n, n % 2, 0, 0) for n in range(1, 300)))),
        ("db_clat_hist.1.log", histogram_line(1000, 0, 1856, b9=1) + histogram_line(2000, 1, 1856, b800=1)),
    ],
)
def test_where_a_part_ends_does_not_matter(name: str, content: bytes, size: int) -> None:
    parts = [content[at : at + size] for at in range(0, len(content), size)]
    assert fed(name, *parts).items == fed(name, content).items


@pytest.mark.parametrize("kind", ["lat", "bw", "iops", "slat", "clat", "clat_hist"])
@pytest.mark.parametrize(
    "damage",
    [
        b"\xff\xfe\0",
        b",,,,\n",
        b"-5, -5, -5, -5\n",
        b"9" * 5000 + b", 1, 0, 0\n",
        b"1, " + b"9" * 40 + b", 0, 0\n",
        b"x" * 70_000,
    ],
    ids=["no text", "commas", "negative", "huge time", "huge value", "no line end"],
)
def test_damage_in_a_log_leaves_the_rest(kind: str, damage: bytes, tmp_path: Path) -> None:
    good = histogram_line(1000, 0, 1856, b9=5) if kind == "clat_hist" else lines((1000, 5000, 0, 0, 0))
    more = histogram_line(2000, 0, 1856, b9=5) if kind == "clat_hist" else lines((2000, 5000, 0, 0, 0))
    reported = fed(f"db_{kind}.1.log", good, damage + b"\n", more)
    assert reported.moments["f/db.1"][-1] == 2.0
    writer = Writer(tmp_path, "test")
    for item in reported.items:
        if hasattr(item, "values"):
            writer.samples("f", item)  # type: ignore[arg-type] # Rows alone have values
    writer.close()


@pytest.mark.parametrize("count", [1856, 928, 464, 29, 1216, 19])
def test_buckets_follow_each_other_without_a_gap(count: int) -> None:
    found = bucket_limits(count)
    assert found is not None
    assert len(found[1]) == count
    assert found[1][0][0] == 0
    assert all(one[1] == two[0] for one, two in pairwise(found[1]))


@pytest.mark.parametrize("count", [0, 1, 64, 100, 1855, 29 * 128])
def test_other_numbers_of_buckets_are_unknown(count: int) -> None:
    assert bucket_limits(count) is None


@pytest.mark.parametrize("value", [0, 1, 127, 128, 129, 1_000_000, 17_832_000, 2**40 + 12345])
def test_a_value_lies_in_its_bucket_to_1_6_percent(value: int) -> None:
    lower = lower_limit(value)
    ((upper, share),) = upper_bounds({str(value): 3})
    assert lower <= value < round(upper * 1e9)
    assert (upper * 1e9 - lower) <= max(1, value / 63)
    assert lower <= bucket_middle(lower) < upper * 1e9
    assert share == 1.0


@pytest.mark.parametrize("kind", ["bw", "iops", "lat", "clat", "slat"])
@pytest.mark.parametrize("block", [0, 4096])
def test_a_log_that_cannot_be_judged_alone_says_so(kind: str, block: int) -> None:
    """Only a line for each I/O gives their number together with their latency."""
    reported = fed(f"db_{kind}.1.log", lines(*((1000 * second, 5_000_000, 0, block, 0) for second in range(1, 5))))
    assert ("partial-log" in reported.warnings) == (kind != "lat" or not block)

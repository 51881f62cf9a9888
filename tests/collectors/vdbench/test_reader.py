"""What a person notices of vdbench's reports that no single case shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from sanpath import registry
from sanpath.plugin import CollectorError, Event, Item, Rows, SourceEntity
from sanpath_collectors.vdbench.clock import ReportClock
from sanpath_collectors.vdbench.columns import Columns
from sanpath_collectors.vdbench.parse import (
    normalise_decimal_marks,
    parse_day,
    parse_number,
    parse_size_bytes,
    parse_time_of_day,
    parse_utc_offset_us,
)
from sanpath_collectors.vdbench.reader import VdbenchReader

CASES = Path(__file__).parent
HOUR = 3_600_000_000
COLUMNS = "tod timestamp Run Interval reqrate rate MB/sec bytes/io read% resp read_resp write_resp queue_depth"


def read(content: bytes) -> list[Item]:
    reader = VdbenchReader("v")
    return [*reader.feed(content), *reader.finish()]


def flatfile(*rows: tuple[str, str, str, float, float]) -> bytes:
    """Reads of 4 KiB: (time of day, zone, interval, reads/s, response time in ms) a row."""
    lines = [f" {COLUMNS} "]
    for tod, zone, label, ops, response in rows:
        stamp = f"10/27/2019-{tod[:8]}-{zone}"
        figures = f"{ops / 256:.4f} 4096 100 {response} {response} 0 {ops * response / 1000:.4f}"
        lines.append(f"{tod} {stamp} rd1 {label} 9999988 {ops} {figures} ")
    return ("\n".join(lines) + "\n").encode()


def warnings(items: list[Item]) -> list[object]:
    return [item.detail["code"] for item in items if isinstance(item, Event) and item.name == "data-warning"]


def rows(items: list[Item]) -> list[Rows]:
    return [item for item in items if isinstance(item, Rows)]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"<html><title>Vdbench output/status.html</title><pre>\nStarting slaves\n",
        b"<pre>\nSD report for sd=sd1\n\n13:49:00.010 Starting RD=rd1; I/O rate: 50; elapsed=60; For loops: None\n",
        b"Run totals of the week\n",
        b"tod,Run,Interval\n",
        b"* parameter file of another program\n",
    ],
)
def test_what_is_none_of_the_reports_is_left_to_others(text: bytes) -> None:
    assert not VdbenchReader.recognises(text, "report.html")
    with pytest.raises(CollectorError, match=r"import flatfile\.html, summary\.html"):
        read(text)


def test_rows_that_were_copied_without_their_times_are_not_called_an_interrupted_run() -> None:
    """People cut the first column off."""
    text = b"""09:30:50.005 Starting RD=rd1; I/O rate: Uncontrolled MAX; elapsed=30; For loops: threads=2

interval        i/o   MB/sec   bytes   read     resp     read    write     read    write     resp  queue  cpu%  cpu%
               rate  1024**2     i/o    pct     time     resp     resp      max      max   stddev  depth sys+u   sys
       1     2500.0    19.53    8192   0.00    0.800    0.000    0.800     0.00     4.60    0.500    2.0   5.1   2.5
 avg_2-6     2500.0    19.53    8192   0.00    0.800    0.000    0.800     0.00     4.60    0.500    2.0   5.1   2.5
"""
    with pytest.raises(CollectorError, match="the time of day is missing at the beginning of its rows"):
        read(text)


def test_no_other_collector_takes_a_report() -> None:
    for file in CASES.glob("*/*.html"):
        found = registry.result_reader(file.read_bytes()[:65536], file.name)
        assert found is not None
        assert found[0].name == "vdbench"


def test_a_flatfile_that_has_only_begun_is_followed_already() -> None:
    assert VdbenchReader.recognises(b"<title>Vdbench output/flatfile.html</title><pre>\n", "flatfile.html")
    assert VdbenchReader.recognises(b"<pre>\n", "flatfile.html")
    assert not VdbenchReader.recognises(b"<pre>\n", "other.html")


def test_the_end_of_summer_time_does_not_turn_the_test_back() -> None:
    items = read(
        flatfile(
            ("02:59:58.010", "CEST", "1", 1000, 1.0),
            ("02:59:59.020", "CEST", "2", 1000, 1.0),
            ("02:00:00.010", "CET", "3", 1000, 1.0),
            ("02:00:01.010", "CET", "4", 1000, 1.0),
            ("02:00:01.020", "CET", "avg_2-4", 1000, 1.0),
        )
    )
    seen = [row.seen[0] for row in rows(items)]
    assert [after - before for before, after in pairwise(seen)] == [1_010_000, 990_000, 1_000_000]
    assert rows(items)[-1].values["ops_read_total"] == [3000]


def test_an_average_that_its_intervals_do_not_add_up_to_is_told() -> None:
    first = ("10:00:01.000", "CET", "1", 800.0, 1.0)
    intervals = [(f"10:00:0{n}.000", "CET", str(n), 1000.0, 1.0) for n in (2, 3)]
    assert "average-disagrees" not in warnings(read(flatfile(first, *intervals, ("10:00:03.1", "CET", "", 0, 0))))
    agreeing = read(flatfile(first, *intervals, ("10:00:03.100", "CET", "avg_2-3", 1010.0, 1.0)))
    assert "average-disagrees" not in warnings(agreeing)
    wrong = read(flatfile(first, *intervals, ("10:00:03.100", "CET", "avg_2-3", 1100.0, 1.0)))
    assert "average-disagrees" in warnings(wrong)


def test_an_average_that_was_copied_without_its_intervals_is_the_figure_of_its_run() -> None:
    items = read(
        b"10:00:00.000 Starting RD=rd1; I/O rate: Uncontrolled MAX; elapsed=6; For loops: None\n\n"
        b"Mar 02, 2026   interval        i/o   MB/sec   bytes   read     resp     read    write     resp     resp"
        b" queue  cpu%  cpu%\n"
        b"                             rate  1024**2     i/o    pct     time     resp     resp      max   stddev"
        b" depth sys+u   sys\n"
        b"10:00:06.000    avg_2-6     2000.0     7.81    4096 100.00    2.000    2.000    0.000     9.00    0.100"
        b"   4.0   3.0   1.0\n"
    )
    loads = [row for row in rows(items) if row.table.kind == "load"]
    assert not warnings(items)
    assert loads[-1].values["ops_read_total"] == [10_000]
    assert loads[-1].seen[0] - loads[0].seen[0] == 5_000_000


def test_a_run_with_nothing_but_its_warm_up_has_no_step_and_says_so() -> None:
    items = read(flatfile(("10:00:01.000", "CET", "1", 800.0, 1.0), ("10:00:01.100", "CET", "avg_2-1", 0.0, 0.0)))
    assert warnings(items) == ["only-warm-up"]
    assert not rows(items)


@pytest.mark.parametrize(
    ("depth", "offered"),
    # Four SDs with 8 threads each: what was measured has to agree, because a run may use only some of them.
    [(31.8, 32.0), (29.0, 32.0), (16.0, 16.0)],
)
def test_threads_count_for_each_sd_that_is_used(depth: float, offered: float) -> None:
    response = depth / 10
    report = f"""<pre>
Vdbench summary report, created 10:00:00 Apr 08 2016 MDT
Link to SD reports:              <A HREF="sd1.html">sd1</A>      <A HREF="sd2.html">sd2</A>
                                 <A HREF="sd3.html">sd3</A>      <A HREF="sd4.html">sd4</A>

<i><b>10:00:02.000 Starting RD=rd1; I/O rate: Uncontrolled MAX; elapsed=3; For loops: threads=8</b></i>

Apr 08, 2016  interval        i/o   MB/sec   bytes   read     resp     read    write     resp     resp queue
                             rate  1024**2     i/o    pct     time     resp     resp      max   stddev depth
10:00:03.100         1   10000.00    39.06    4096 100.00 {response} {response}    0.000   22.083    5.974 {depth:.1f}
10:00:04.100         2   10000.00    39.06    4096 100.00 {response} {response}    0.000   22.083    5.974 {depth:.1f}
10:00:05.100         3   10000.00    39.06    4096 100.00 {response} {response}    0.000   22.083    5.974 {depth:.1f}
10:00:05.200   avg_2-3   10000.00    39.06    4096 100.00 {response} {response}    0.000   22.083    5.974 {depth:.1f}
"""
    (begin,) = (i for i in read(report.encode()) if isinstance(i, Event) and i.name == "step-begin")
    assert begin.detail["offered"] == offered


@pytest.mark.parametrize(
    ("depth", "offered"),
    # Threads are for each SD, of which there may be several: 130 of two SDs. Fewer than those of one are held back.
    # A number between two multiples is what an interval happened to have.
    [(19.9, None), (63.2, 64.0), (77.0, None), (130.0, 128.0)],
)
def test_a_queue_below_the_threads_of_one_sd_is_not_what_was_configured(depth: float, offered: float | None) -> None:
    content = flatfile(("10:00:01.000", "CET", "1", 1000.0, depth), ("10:00:02.000", "CET", "2", 1000.0, depth))
    with_threads = content.replace(b" reqrate ", b" threads reqrate ").replace(b" 9999988 ", b" 64 9999988 ")
    items = read(with_threads)
    (begin,) = (item for item in items if isinstance(item, Event) and item.name == "step-begin")
    assert begin.detail["offered"] == offered
    assert ("in-flight-as-measured" in warnings(items)) == (offered is not None)


@pytest.mark.parametrize(
    ("ops", "limited", "offered"),
    # Asked for 50 a second: what is in the queue then is no choice of the load. One that hardly does any is not held
    # back by that, but by what it waits for.
    [(46.0, True, None), (8.0, False, 2.0)],
)
def test_a_rate_limits_only_a_run_that_comes_near_it(ops: float, limited: bool, offered: float | None) -> None:
    content = flatfile(("10:00:01.000", "CET", "1", ops, 250.0), ("10:00:02.000", "CET", "2", ops, 250.0))
    content = content.replace(b" reqrate ", b" threads reqrate ").replace(b" 9999988 ", b" 2 50 ")
    (begin,) = (item for item in read(content) if isinstance(item, Event) and item.name == "step-begin")
    assert begin.detail["offered"] == offered
    assert begin.detail["rate_limited"] is limited


@pytest.mark.parametrize("rate", [b"999977", b"999988", b"9999977", b"9999988"])
def test_a_rate_that_stands_for_a_curve_or_for_the_maximum_is_no_limit(rate: bytes) -> None:
    content = flatfile(("10:00:01.000", "CET", "1", 8.0, 250.0), ("10:00:02.000", "CET", "2", 8.0, 250.0))
    (*_, load) = (i for i in read(content.replace(b"9999988", rate)) if isinstance(i, SourceEntity))
    assert load.attributes["rate_limited"] is False
    assert "requested_ops_per_second" not in load.attributes


def test_megabytes_of_another_size_than_the_header_says_are_told() -> None:
    binary = (CASES / "summary-5.04.07-utc-two-sds-warm-up" / "summary.html").read_bytes()
    assert "bytes-disagree" not in warnings(read(binary))
    wrong = binary.replace(b" 89.", b" 49.").replace(b" 90.", b" 50.")
    assert "bytes-disagree" in warnings(read(wrong))


@pytest.mark.parametrize("thousands", [",", ".", "'", " ", "\u00a0", "\u202f", ""])
def test_counts_of_a_distribution_whatever_groups_their_thousands(thousands: str) -> None:
    mark = "," if thousands == "." else "."
    report = f"""<pre>
Total response time histogram.

<i><b>10:00:00.000 Starting RD=rd1; I/O rate: Uncontrolled MAX; elapsed=60; For loops: None</b></i>

Reads:
  min(ms) <     max(ms)        count       %%    cum%%

    0{mark}000 <       0{mark}200        1{thousands}500  75{mark}0000  75{mark}0000  +++++
    0{mark}200 <         max          500  25{mark}0000 100{mark}0000  ++
"""
    (event,) = (i for i in read(report.encode()) if isinstance(i, Event) and i.name == "latency-histogram")
    assert event.detail["buckets"] == "0.0002:0.75 inf:0.25"


def distribution(title: str, run: str = "rd1") -> bytes:
    return f"""<pre>
Total response time histogram.

<i><b>10:00:00.000 Starting RD={run}; I/O rate: Uncontrolled MAX; elapsed=60; For loops: None</b></i>

{title}:
  min(ms) <     max(ms)        count       %%    cum%%

    0.000 <       0.200         1500  75.0000  75.0000  +++++
    0.200 <         max          500  25.0000 100.0000  ++
""".encode()


@pytest.mark.parametrize(
    ("title", "direction"),
    [("Only reads done for this workload", "read"), ("Only writes done for this workload", "write")],
)
def test_a_distribution_of_a_run_with_one_direction(title: str, direction: str) -> None:
    (event,) = (i for i in read(distribution(title)) if isinstance(i, Event) and i.name == "latency-histogram")
    assert (event.detail["direction"], event.detail["buckets"]) == (direction, "0.0002:0.75 inf:0.25")


def test_the_warm_up_that_the_last_row_shows_is_final() -> None:
    times = [(f"10:00:0{n}.000", "UTC", str(n), 100.0, 1.0) for n in range(1, 6)]
    ends = [e for e in read(flatfile(*times, ("10:00:05.100", "UTC", "avg_4-5", 100.0, 1.0))) if isinstance(e, Event)]
    ramps = [(event.seen % 60_000_000, event.detail.get("final")) for event in ends if event.name == "ramp-end"]
    assert ramps == [(1_000_000, None), (3_000_000, True)]


def test_a_run_that_a_file_holds_twice_counts_once() -> None:
    report = flatfile(*((f"10:00:0{n}.000", "UTC", str(n), 100.0, 1.0) for n in range(1, 5)))
    once, twice = read(report), read(report + report)
    assert rows(twice) == rows(once)
    assert "run-twice" in warnings(twice)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_report_that_powershell_wrote(encoding: str) -> None:
    report = flatfile(*((f"10:00:0{n}.000", "UTC", str(n), 100.0, 1.0) for n in range(1, 5)))
    assert VdbenchReader.recognises(report.decode().encode(encoding), "out.txt")
    assert len(rows(read(report.decode().encode(encoding)))) == 4


def test_something_in_front_of_the_lines_of_a_summary_is_told() -> None:
    header = "10:00:00.000 Starting RD=rd1; I/O rate: 100; elapsed=60; For loops: None"
    with pytest.raises(CollectorError, match="in front of its lines"):
        read(f"# Vdbench summary report, created 10:00:00 Mar 04 2024 UTC\n# {header}\n#\n".encode())


@dataclass
class Written:
    name: str
    content: bytes
    modified_us: int = 0

    def chunks(self) -> Iterator[bytes]:
        yield self.content

    def query(self, columns: Mapping[str, str], sql: str) -> Iterator[tuple[int | float | str | None, ...]]:
        raise NotImplementedError


@pytest.mark.parametrize(("run", "is_known"), [("rd1", True), ("rd2", False)])
def test_the_distribution_of_a_run_belongs_to_the_end_of_its_step(run: str, is_known: bool) -> None:
    report = flatfile(*((f"10:00:0{n}.000", "UTC", str(n), 100.0, 1.0) for n in range(1, 5)))
    files = [Written("flatfile.html", report), Written("histogram.html", distribution("Reads", run))]
    assert VdbenchReader.part_of("histogram.html") == VdbenchReader.run_of_parts(report) != ""
    events = [item for item in VdbenchReader("v").read_parts(files) if isinstance(item, Event)]
    (end,) = (event for event in events if event.name == "step-end")
    found = [(event.seen, event.detail["load"]) for event in events if event.name == "latency-histogram"]
    assert found == ([(end.seen, "v/rd1")] if is_known else [])
    assert any(event.detail.get("code") == "no-distribution" for event in events) == (not is_known)


def test_the_distributions_of_another_test_are_left_out() -> None:
    report = flatfile(*((f"10:00:0{n}.000", "UTC", str(n), 100.0, 1.0) for n in range(1, 5)))
    others = distribution("Reads") + distribution("Reads", "rd2")
    files = [Written("flatfile.html", report), Written("histogram.html", others)]
    events = [item for item in VdbenchReader("v").read_parts(files) if isinstance(item, Event)]
    assert not any(event.name == "latency-histogram" for event in events)


@pytest.mark.parametrize(
    ("cells", "plain"),
    [
        (["50,0169", "4096"], ["50.0169", "4096"]),
        (["1,987,017", "0.5"], ["1987017", "0.5"]),
        (["1,987,017.5", "0.5"], ["1987017.5", "0.5"]),
        (["1.234,5", "n/a"], ["1234.5", "n/a"]),
    ],
)
def test_numbers_of_localised_machines(cells: list[str], plain: list[str]) -> None:
    assert normalise_decimal_marks(cells) == plain


@pytest.mark.parametrize("text", ["n/a", "", "nan", "inf", "-1", "1e999", "1e13", "4k"])
def test_what_is_no_figure_is_none(text: str) -> None:
    assert parse_number(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Apr 08, 2016", 16899),
        ("09:42:35 Oct 09 2019 ICT", 18178),
        ("5月 10, 2023", 19487),
        ("Okt. 09, 2019", 18178),
        ("juin 01, 2020", 18414),
        ("juil. 01, 2020", 18444),
        ("märz 01, 2020", 18322),
        ("Foo 09, 2019", None),
        ("Feb 30, 2019", None),
        ("", None),
    ],
)
def test_dates_of_headers(text: str, expected: int | None) -> None:
    assert parse_day(text) == expected


@pytest.mark.parametrize(
    ("zone", "hours"),
    [("UTC", 0), ("GMT", 0), ("GMT+05:30", 5.5), ("GMT-03:00", -3), ("ICT", None), ("CST", None), ("UTCX", None)],
)
def test_only_zones_that_count_from_utc_are_exact(zone: str, hours: float | None) -> None:
    assert parse_utc_offset_us(zone) == (None if hours is None else hours * HOUR)


@pytest.mark.parametrize(
    ("text", "size"), [("4k", 4096), ("1M", 2**20), ("16g", 2**34), ("512", 512), ("(4k,8k)", None), ("", None)]
)
def test_sizes(text: str, size: float | None) -> None:
    assert parse_size_bytes(text) == size


def test_a_report_without_a_date_counts_from_its_first_time() -> None:
    clock = ReportClock()
    first, second = clock.tick(23 * HOUR), clock.tick(1 * HOUR)
    assert [clock.to_clock(first), clock.to_clock(second)] == [0, 2 * HOUR]
    assert clock.kind == "elapsed"


@pytest.mark.parametrize(
    ("then", "expected", "passed"),
    [(1.75, 0, 0.25), (14.5, 0, 21.5), (10, 0, 17.0), (10, 41, 41.0), (17, 48, 48.0), (18, 1, 1.0), (18, 30, 1.0)],
    ids=["set back", "next day", "eight hours earlier", "two days", "same time", "as expected", "ended early"],
)
def test_a_clock_is_set_back_by_two_hours_at_most(then: float, expected: float, passed: float) -> None:
    """A run from 17:00, or at 2:30 in the night of the end of summer time."""
    clock = ReportClock()
    first = clock.tick(round((17 if then > 2 else 2.5) * HOUR))
    assert clock.tick(round(then * HOUR), round(expected * HOUR)) - first == pytest.approx(passed * HOUR)


def test_a_date_that_comes_after_the_first_time_holds_for_both() -> None:
    clock = ReportClock()
    first = clock.tick(23 * HOUR)
    clock.set_date(1, utc_offset_us=2 * HOUR)
    second = clock.tick(1 * HOUR)
    assert [clock.to_clock(first), clock.to_clock(second)] == [21 * HOUR, 23 * HOUR]
    assert clock.kind == "utc"


@pytest.mark.parametrize("text", ["24:00:00.000", "13:49", "13:49:61.000", "x", "13:49:01.2601"])
def test_times_of_day_that_are_none(text: str) -> None:
    assert parse_time_of_day(text) is None


@pytest.mark.parametrize(("mean", "size"), [("526000", None), ("4096", 4096), ("4100", 4096), ("0", 4096)])
def test_a_block_size_that_is_the_first_of_a_distribution_is_not_known(mean: str, size: float | None) -> None:
    columns = Columns(["threads", "xfersize", "bytes/io"])
    assert columns.settings(["1", "4096", mean]).block_bytes == size


@pytest.mark.parametrize(
    ("hosts", "printed", "busy"),
    [
        (b'<A HREF="localhost.html">localhost</A>', b"  6.2   2.1", [0.061, 0.062, 0.063]),
        (b'<A HREF="hd1.html">hd1</A>      <A HREF="hd2.html">hd2</A>', b"  6.2   2.1", []),
        (b'<A HREF="localhost.html">localhost</A>', b"  0.0   0.0", [0.061, 0.063]),
    ],
    ids=["one host", "the mean of two", "not told"],
)
def test_how_busy_the_machine_was(hosts: bytes, printed: bytes, busy: list[float]) -> None:
    content = (CASES / "screen-long-label" / "screen.log").read_bytes().replace(b"  6.2   2.1", printed, 1)
    head = b"Vdbench summary report, created 07:29:50 Jun 07 2022 UTC\nLink to HOST reports:            " + hosts
    of_machine = [row for row in rows(read(head + b"\n" + content)) if row.table.kind == "host"]
    assert all(row.entity == ["v"] for row in of_machine)
    assert [row.values["cpu_busy_ratio"][0] for row in of_machine] == busy

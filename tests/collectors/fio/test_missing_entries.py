"""Copies of normal text that lack entries of processes: what is there stands for all, or is said to be a part."""

from __future__ import annotations

import time

import pytest

from sanpath_collectors.fio.formats.missing_entries import GroupTotals
from sanpath_collectors.fio.formats.normal_entry import Entry
from tests.collectors.fio.printed import Reported

SIZES = "(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B"
SECONDS = 30


def entry(number: int, ops: int, share: str) -> str:
    return (
        f"a: (groupid=0, jobs=1): err= 0: pid={4000 + number}: Fri May 22 11:00:30 2026\n"
        f"  read: IOPS={ops // SECONDS}, BW=1MiB/s (1MB/s)({4 * ops}KiB/{SECONDS * 1000}msec)\n"
        "     lat (usec): min=10, max=9000, avg=2000.00, stdev=1.00\n"
        f"   bw (  KiB/s): min= 10, max=4000, per={share}%, avg=400.00, stdev=1.00, samples=60\n"
        f"     issued rwts: total={ops},0,0,0 short=0,0,0,0 dropped=0,0,0,0\n"
    )


def summary_of(total_kib: int, rates: str = "") -> str:
    moved = f"io={total_kib}KiB (1MB), run=30-30msec"
    return f"\nRun status group 0 (all jobs):\n   READ: bw=1MiB/s (1MB/s), {rates}{moved}\n"


def text(*entries: str, started: int = 4, total_kib: int | None = None, jobs: str = "a") -> str:
    headers = "".join(f"{job}: (g=0): rw=randread, bs={SIZES}, ioengine=libaio, iodepth=8\n" for job in jobs)
    begin = f"{headers}...\nfio-3.33\nStarting {started} processes\n"
    return begin + "".join(entries) + (summary_of(total_kib) if total_kib else "")


def of_all(reported: Reported) -> int:
    return sum(int(reported.gained(load)["ops_read_total"]) for load in reported.rows)


@pytest.mark.parametrize("total_kib", [None, 4 * 12_100])
def test_the_first_of_four_processes_that_are_alike_stands_for_all(total_kib: int | None) -> None:
    reported = Reported.of_report(text(entry(0, 3000, "24.89"), total_kib=total_kib).encode(), since=0)
    assert of_all(reported) == 4 * 3000
    assert reported.gained("f/a")["latency_seconds_read_total"] == pytest.approx(4 * 3000 * 0.002)
    assert reported.reported("step-begin", "offered") == [4 * 8]
    assert reported.reported("data-warning", "text")[0] == (
        "the text has one entry of group 0, with 25% of what the group has moved: "
        "its 4 processes are taken to be alike"
    )


def test_jobs_that_differ_in_their_names_alone_are_alike() -> None:
    reported = Reported.of_report(text(entry(0, 3000, "49.8"), started=2, jobs="ab").encode(), since=0)
    assert of_all(reported) == 2 * 3000


def test_a_summary_of_processes_as_fast_as_each_other_tells_their_number() -> None:
    """The text begins within an entry: what fio started is not known."""
    rates = "bw=1139MiB/s (1195MB/s), 281MiB/s-291MiB/s (294MB/s-305MB/s)"
    copied = entry(3, 4096, "24.69") + (
        f"     latency   : target=0, window=0, percentile=100.00%, depth=16\n\n"
        f"Run status group 0 (all jobs):\n   READ: {rates}, io=64.0MiB (67MB), run=15218-15249msec\n"
    )
    reported = Reported.of_report(copied.encode(), since=0)
    assert of_all(reported) == 4 * 4096
    assert "its 4 processes are taken to be alike" in str(reported.reported("data-warning", "text")[0])


def test_each_status_of_a_run_is_read_like_the_first() -> None:
    """fio prints the number of processes once, before the first status."""
    second = entry(0, 6000, "24.89").replace("30000msec", "60000msec").replace("11:00:30", "11:01:00")
    copied = text(entry(0, 3000, "24.89"), total_kib=4 * 12_000) + second + summary_of(4 * 24_000)
    reported = Reported.of_report(copied.encode(), since=0)
    assert of_all(reported) == 4 * 6000
    assert "its 4 processes are taken to be alike" in str(reported.reported("data-warning", "text")[-1])


def test_the_number_of_processes_is_not_that_of_the_run_before() -> None:
    begin = f"b: (g=0): rw=randread, bs={SIZES}, ioengine=libaio, iodepth=8\nfio-3.33\n"
    later = entry(0, 1000, "24.89").replace("a: (groupid", "b: (groupid").replace("11:00:30", "11:05:00")
    copied = text(entry(0, 3000, "24.89"), total_kib=4 * 12_000) + begin + later + summary_of(4 * 4_000)
    assert of_all(Reported.of_report(copied.encode(), since=0)) == 4 * 3000 + 1000


@pytest.mark.parametrize("slowest", ["0KiB/s", "10KiB/s"])
def test_processes_that_the_summary_tells_apart_are_not_alike(slowest: str) -> None:
    """Their headers are, but one was 291 times as fast as another."""
    summary = summary_of(4 * 12_000, f"{slowest}-2910KiB/s (10kB/s-2980kB/s), ")
    reported = Reported.of_report((text(entry(0, 3000, "25")) + summary).encode(), since=0)
    assert of_all(reported) == 3000
    assert reported.reported("data-warning", "text")[0] == (
        "the text has one entry of group 0, with 25% of what the group has moved: copy all of fio's output"
    )


def test_entries_that_are_not_alike_are_said_to_be_a_part() -> None:
    two = text(entry(0, 3000, "20"), entry(1, 1000, "7"), total_kib=4 * 20_000)
    reported = Reported.of_report(two.encode(), since=0)
    assert of_all(reported) == 4000
    assert reported.reported("data-warning", "text")[0] == (
        "the text has 2 entries of group 0, with 20% of what the group has moved: copy all of fio's output"
    )


def test_a_share_alone_proves_nothing() -> None:
    """fio prints shares of means over windows: 4 % to 77 % where one process moved all."""
    whole = text(entry(0, 3000, "53.1"), started=1)
    disagreeing = text(entry(0, 3000, "53.1"))
    complete = text(entry(0, 3000, "24.9"), total_kib=4 * 3000)
    for copied in (whole, disagreeing, complete):
        reported = Reported.of_report(copied.encode(), since=0)
        assert (of_all(reported), "lacks-entries" in reported.warnings) == (3000, False)


def test_figures_of_an_entry_whose_beginning_is_missing_are_told() -> None:
    lost = entry(0, 3000, "25").partition("     lat")[2].partition("\n")[2]
    reported = Reported.of_report((lost + entry(1, 3000, "25")).encode(), since=0)
    assert of_all(reported) == 3000
    assert "no-beginning" in reported.warnings


@pytest.mark.parametrize("engine", ["net", "netsplice", "rdma"])
def test_a_test_of_the_network_is_none_of_storage(engine: str) -> None:
    other = text(entry(0, 3000, "100.00"), started=1).replace("libaio", engine)
    with pytest.raises(Exception, match=f"jobs with ioengine={engine} do no I/O on storage"):
        Reported.of_report(other.encode(), since=0)


@pytest.mark.parametrize(
    ("begin", "first", "second"),
    [("   bw (KiB/s): min=", "max=1,", "avg=1,"), ("  read : io=1, ", "iops=1", "runt= ")],
)
def test_a_hostile_line_of_figures_takes_time_in_proportion(begin: str, first: str, second: str) -> None:
    parsed = Entry("a", None, 0, 1, 0, None)
    parsed.read_line("  read: IOPS=100, BW=1MiB/s (1MB/s)(12000KiB/30000msec)")
    began = time.process_time()
    parsed.read_line(begin + first * 10_000 + second * 10_000)
    assert time.process_time() - began < 2


@pytest.mark.parametrize("size", [64 << 10, 1 << 20])
@pytest.mark.parametrize(
    "line", ["{rates}{ends} io=5MiB", "   READ: bw=1{rates}{ends} io=5MiB", "   READ: bw=1{ios}"]
)
def test_a_hostile_summary_takes_time_in_proportion(size: int, line: str) -> None:
    totals = GroupTotals()
    totals.read_line("Run status group 0 (all jobs):")
    text = line.format(rates=": bw=1/s " * (size // 18), ends=", " * (size // 4), ios=" io=1" * (size // 5))
    began = time.process_time()
    totals.read_line(text)
    assert time.process_time() - began < 2

"""Normal text as it is copied: ends of lines that were lost, notes between them, entries and figures that are cut."""

from __future__ import annotations

import pytest

from tests.collectors.fio.printed import Reported, refusal

SECONDS = 40
OPS = 500 * SECONDS
SIZES = "(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B"
COMMAND = "$ fio --name=w --rw=randwrite --bs=4k --iodepth=1 --numjobs=1 --direct=1"
HEADER = f"w: (g=0): rw=randwrite, bs={SIZES}, ioengine=psync, iodepth=1"
FIGURES = [
    f"  write: IOPS=500, BW=2000KiB/s (2048kB/s)({4 * OPS}KiB/{SECONDS}000msec); 0 zone resets",
    "    clat (usec): min=9, max=9000, avg=1990.00, stdev= 1.00",
    "     lat (usec): min=10, max=9100, avg=2000.00, stdev= 1.00",
    "    clat percentiles (usec):",
    "     | 50.00th=[ 1900], 95.00th=[ 2900], 99.00th=[ 3900]",
    "   bw (  KiB/s): min= 10, max=4000, per=100.00%, avg=400.00, stdev=1.00, samples=60",
    "  lat (msec)   : 2=99.00%, 4=1.00%",
    "  cpu          : usr=1.00%, sys=2.00%, ctx=1, majf=0, minf=11",
    "  IO depths    : 1=100.0%, 2=0.0%, >=64=0.0%",
    "     submit    : 0=0.0%, 4=100.0%, >=64=0.0%",
    f"     issued rwts: total=0,{OPS},0,0 short=0,0,0,0 dropped=0,0,0,0",
    "     latency   : target=0, window=0, percentile=100.00%, depth=1",
    "Run status group 0 (all jobs):",
    "  WRITE: bw=2000KiB/s (2048kB/s), 2000KiB/s-2000KiB/s, io=78.1MiB (81.9MB), run=40000-40000msec",
    "Disk stats (read/write):",
    f"  sdb: ios=0/{OPS}, merge=0/0, ticks=0/36000, in_queue=36000, util=99.00%",
]
ENTRY = "w: (groupid=0, jobs=1): err= 0: pid=7: Mon Jun 15 21:10:40 2026"
WHOLE = [COMMAND, HEADER, "fio-3.33", "Starting 1 process", ENTRY, *FIGURES]


def glued(*before: str) -> str:
    """The figures of a job in one line, without anything where the ends of lines were."""
    return "\n".join([*before, ENTRY + "".join(line.strip() for line in FIGURES)])


@pytest.mark.parametrize(
    "text",
    [glued(*WHOLE[:4]), " ".join(WHOLE[:4]) + " " + glued()],
    ids=["of the figures", "of all, with a space for each before the figures"],
)
def test_ends_of_lines_that_were_lost_change_nothing(text: str) -> None:
    whole, copy = (
        Reported.of_report(each.encode(), since=0)
        for each in ("\n".join(WHOLE) + "\n", f"Results\n{text}\nThe end.\n")
    )
    assert whole.gained("f/w")["latency_seconds_write_total"] == pytest.approx(OPS * 0.002)
    assert whole.disk("sdb")
    assert (copy.rows, copy.entities, copy.disk("sdb")) == (whole.rows, whole.entities, whole.disk("sdb"))


def test_a_blank_line_ends_a_command() -> None:
    """Pages explain the options of a command below it."""
    notes = "\n\n--name=w is its name\n--iodepth=32 would be more\n\n"
    reported = Reported.of_report(f"{COMMAND[2:]}{notes}{ENTRY}\n{FIGURES[0]}\n".encode(), since=0)
    assert reported.reported("step-begin", "offered") == [1]


@pytest.mark.parametrize("option", ["--fdatasync=1", "--fsync=1"])
def test_what_a_copy_without_processor_times_leaves_is_taken_for_flushes(option: str) -> None:
    """Ten processes, each with one write at a time of 0.2 ms: 2.3 ms are left of the 2.5 ms that each takes."""
    processes, ops, latency_us = 10, 10 * 400 * SECONDS, 200
    command = (
        f"$ fio --name=w --rw=randwrite --bs=4k --runtime={SECONDS} --numjobs={processes} --group_reporting {option}"
    )
    entry = ENTRY.replace("jobs=1", f"jobs={processes}")
    lines = [command, HEADER, "...", "fio-3.33", f"Starting {processes} processes", entry]
    figures = [f"  write: IOPS=4000, BW=16MiB/s (16MB/s)({4 * ops}KiB/{SECONDS}000msec)"]
    figures += [f"     lat (usec): min=10, max=9100, avg={latency_us}.00, stdev= 1.00", ""]
    reported = Reported.of_report("\n".join([*lines, *figures]).encode(), since=0)
    gained = reported.gained("f/w")
    assert gained["ops_flush_total"] == ops
    assert gained["latency_seconds_flush_total"] / ops == pytest.approx(2.25e-3, rel=0.03)


def test_the_only_entry_of_a_job_of_several_processes_stands_for_all() -> None:
    """The text ends before anything tells its share."""
    lines = [HEADER, "...", "fio-3.33", "Starting 8 processes", ENTRY, *FIGURES[:3], ""]
    reported = Reported.of_report("\n".join(lines).encode(), since=0)
    assert reported.gained("f/w")["ops_write_total"] == pytest.approx(8 * OPS, rel=1e-4)
    assert reported.reported("step-begin", "offered") == [8]
    text = "the text has one entry of a job with 8 processes: these are taken to be alike"
    assert text in reported.reported("data-warning", "text")


@pytest.mark.parametrize(("submitting_us", "is_one_by_one"), [(1900, True), (200, False)])
def test_ios_that_are_done_in_their_submission_are_synchronous(submitting_us: int, is_one_by_one: bool) -> None:
    header = HEADER.replace("psync", "libaio")
    parts = [f"    slat (usec): min=1, max=9000, avg={submitting_us}.00, stdev= 1.00"]
    parts += [f"    clat (usec): min=1, max=9000, avg={2000 - submitting_us}.00, stdev= 1.00"]
    lines = [header, "fio-3.33", "Starting 1 process", ENTRY, FIGURES[0], *parts, *FIGURES[2:]]
    reported = Reported.of_report("\n".join(lines).encode(), since=0)
    assert reported.entities["f/w"]["synchronous"] is is_one_by_one


@pytest.mark.parametrize("end", [ENTRY, f"{ENTRY}\n{FIGURES[0][:40]}"], ids=["entry", "totals"])
def test_a_text_that_ends_before_its_figures_is_said_to(end: str) -> None:
    message = "it contains no result of fio: the text ends before the figures of its job do"
    assert message in refusal("\n".join([*WHOLE[:4], end]).encode())

"""What `sanpath import` makes of fio's terse lines."""

from __future__ import annotations

import pytest

from tests.collectors.fio.printed import Reported, terse


def test_terse_lines_of_one_job_are_its_processes_or_its_statuses() -> None:
    processes = Reported.of_report(terse(1000, 2001), terse(990, 2000), terse(1010, 2003))
    assert list(processes.rows) == ["f/a", "f/a#2", "f/a#3"]
    assert processes.clock == "elapsed"
    same_size = Reported.of_report(terse(1000, 2000), terse(1000, 3000))
    assert list(same_size.rows) == ["f/a", "f/a#2"]
    statuses = Reported.of_report(terse(1000, 1000), terse(2000, 2000), terse(3000, 3000))
    assert statuses.moments == {"f/a": [0.0, 1.0, 2.0, 3.0]}
    disks = [f";sda;{n};0;0;0;1;0;1;1.0%" for n in (1, 2)]
    two = [terse(ops, runtime, disk) for ops, runtime, disk in ((1000, 1000, disks[0]), (1100, 1050, disks[1]))]
    assert Reported.of_report(*two).moments == {"f/a": [0.0, 1.0, 1.05]}


@pytest.mark.parametrize(("ops", "block"), [(12345, 4096), (998, 512), (77, 1 << 20), (40000, 65536)])
def test_operations_of_terse_lines_are_exact_where_the_block_is_a_power_of_two(ops: int, block: int) -> None:
    gained = Reported.of_report(terse(ops, 7001, block=block)).gained("f/a")
    assert gained["ops_read_total"] == ops
    assert gained["bytes_read_total"] == ops * block // 1024 * 1024
    assert gained["latency_seconds_read_total"] == pytest.approx(ops * 100e-6)


def test_operations_of_other_blocks_are_those_of_the_rate_to_half_a_one_a_second() -> None:
    gained = Reported.of_report(terse(7000, 7000, block=5120)).gained("f/a")
    assert gained["ops_read_total"] == pytest.approx(7000, abs=4)


def test_runs_in_a_file_without_times_lie_end_to_end() -> None:
    reported = Reported.of_report(
        terse(1000, 2000, ";sda;1;0;0;0;1;0;1;1.0%"), terse(1000, 3000, ";sda;9;0;0;0;1;0;1;1.0%", name="b")
    )
    assert reported.steps == [
        ("step-begin", "a", 0.0),
        ("step-end", "a", 2.0),
        ("step-begin", "b", 2.0),
        ("step-end", "b", 5.0),
    ]


def test_a_cut_terse_line_is_left_out_and_said() -> None:
    reported = Reported.of_report(terse(1000, 2000), terse(1000, 2000, name="b")[:100])
    assert list(reported.rows) == ["f/a"]
    assert reported.warnings == ["cut-line"]


def disk(ios: int) -> str:
    return f";sda;{ios};0;0;0;1;0;1;1.0%"


def depth(level: int) -> str:
    return "".join(f"{100.0 * (number == level)}%;" for number in range(7))


@pytest.mark.parametrize("with_disks", [True, False])
def test_runs_of_one_job_appended_to_a_file_are_runs_of_their_own(with_disks: bool) -> None:
    """for qd in 1 2 4 8; do fio --minimal --iodepth=$qd --runtime=30 --time_based ... >> out; done"""
    sweep = [
        terse(5000 * 2**step, 30_000 + step, disk(5000 * 2**step) if with_disks else "", depths=depth(step))
        for step in (1, 2, 3, 4)
    ]
    reported = Reported.of_report(*sweep)
    assert reported.reported("step-begin", "loads") == ["f/a", "f/a (2)", "f/a (3)", "f/a (4)"]
    assert reported.summaries == [True] * 4
    assert [reported.gained(load)["ops_read_total"] for load in reported.rows] == [10_000, 20_000, 40_000, 80_000]


@pytest.mark.parametrize(
    ("first", "second", "runs"),
    [
        ((10_000, 30_000), (10_100, 30_001), 2),  # the same test again, a little faster
        ((10_000, 30_000), (10_002, 30_001), 1),  # the last status, soon after the one before
        ((100, 1000), (20_000, 2000), 1),  # a job that was slow at first
        ((10_000, 1000), (10_000, 9000), 1),  # a job that waits
    ],
)
def test_a_later_status_is_told_from_another_run(first: tuple[int, int], second: tuple[int, int], runs: int) -> None:
    lines = [terse(ops, runtime, disk(at)) for at, (ops, runtime) in enumerate((first, second))]
    assert len(Reported.of_report(*lines).steps) == 2 * runs


def test_a_run_of_the_same_size_is_another_if_its_latencies_differ() -> None:
    slower = terse(10_000, 9000, disk(2)).replace(b"1;200;100.0", b"1;900;900.0")
    assert len(Reported.of_report(terse(10_000, 1000, disk(1)), slower).steps) == 4


def unified(line: bytes, directions: int) -> bytes:
    """The line of version 3 as unified_rw_reporting=1 (one direction) or both (three) changes it."""
    fields = line.split(b";")
    read, write, rest = fields[5:46], fields[46:87], fields[87:]
    return b";".join(fields[:5] + [*read, *write, *read][: 41 * directions] + rest)


def test_lines_that_add_reads_and_writes_up_are_read() -> None:
    line = terse(1000, 2000, disk(7))
    plain = Reported.of_report(line)
    both = Reported.of_report(unified(line, 3))
    assert (both.gained("f/a"), both.disk("sda"), both.warnings) == (plain.gained("f/a"), plain.disk("sda"), [])
    summed = Reported.of_report(unified(line, 1))
    assert (summed.gained("f/a"), summed.disk("sda")) == (plain.gained("f/a"), plain.disk("sda"))
    assert summed.warnings == ["unified"]


@pytest.mark.parametrize("reports", range(1, 6))
@pytest.mark.parametrize("processes", [1, 2])
def test_however_often_jobs_report_while_one_follows_the_other_each_did_what_it_says_last(
    reports: int, processes: int
) -> None:
    """A job that has ended repeats its line while the next one runs."""

    def of(name: str, seconds: float) -> list[bytes]:
        ms = round(1000 * min(2.0 * reports, seconds))
        return [terse((ms + process) * 2, ms or 1, name=name) if ms else idle(name) for process in range(processes)]

    def idle(name: str) -> bytes:
        return terse(0, 1, name=name).replace(b";0;0;0;1;", b";0;0;0;0;", 1)

    lines = [
        line
        for report in range(1, 2 * reports + 1)
        for line in (*of("a", 2.0 * report), *of("b", max(0.0, 2.0 * (report - reports))))
    ]
    reported = Reported.of_report(*lines)
    done = {load: reported.gained(load)["ops_read_total"] for load in reported.rows}
    assert len(done) == 2 * processes
    assert sum(done.values()) == pytest.approx(2 * processes * 4000 * reports, rel=0.01)

"""Normal text of several runs in one document: each has its own time and options, whatever of it was left out."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from tests.collectors.fio.printed import Reported

BEGIN = datetime(2026, 5, 22, 11, 0, tzinfo=UTC)
RUN = timedelta(seconds=30)
PAUSE = timedelta(minutes=10)
DEPTHS = (8, 2, 32)
PARTS = ("command", "header", "date")


def run(number: int, left_out: str = "") -> str:
    """A run of 30 s with a depth of its own, which begins ten minutes after the one before."""
    depth, end = DEPTHS[number], BEGIN + RUN + number * PAUSE
    kind, direction = ("randwrite", "write") if number % 2 else ("randread", "read")
    ops = 100 * (number + 1) * 30
    totals = f"0,{ops},0,0" if number % 2 else f"{ops},0,0,0"
    size = "(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B"
    parts = {
        "command": f"# fio --name=a --filename=/dev/sdd --direct=1 --runtime=30 \\\n"
        f"      --ioengine=libaio --iodepth={depth} --rw={kind} --bs=4k\n",
        "header": f"a: (g=0): rw={kind}, bs={size}, ioengine=libaio, iodepth={depth}\n",
        "date": f": {end:%a %b %d %H:%M:%S %Y}",
    }
    parts |= dict.fromkeys(left_out.split(), "")
    return (
        f"{parts['command']}{parts['header']}...\nfio-3.13\nStarting 1 process\n"
        f"a: (groupid=0, jobs=1): err= 0: pid={4000 + number}{parts['date']}\n"
        f"  {direction}: IOPS={ops // 30}, BW=1MiB/s (1MB/s)({4 * ops}KiB/30000msec)\n"
        f"     lat (usec): min=10, max=900, avg=200.00, stdev=1.00\n"
        f"     issued rwts: total={totals} short=0,0,0,0 dropped=0,0,0,0\n"
        "\nRun status group 0 (all jobs):\n   READ: bw=1MiB/s\n\n"
    )


def periods(reported: Reported) -> Sequence[tuple[float, float]]:
    """Begin and end of each step."""
    begins = [moment for event, _, moment in reported.steps if event == "step-begin"]
    ends = [moment for event, _, moment in reported.steps if event == "step-end"]
    return sorted(zip(begins, ends, strict=True))


def done(reported: Reported) -> Sequence[float]:
    return [sum(count for name, count in reported.gained(load).items() if "ops" in name) for load in reported.rows]


@pytest.mark.parametrize("of_run", range(3))
@pytest.mark.parametrize("left_out", ["", *PARTS, "command header", "header date", "command date"])
def test_runs_of_a_document_follow_each_other(left_out: str, of_run: int) -> None:
    text = "".join(run(number, left_out if number == of_run else "") for number in range(3))
    reported = Reported.of_report(text.encode())
    assert done(reported) == [3000, 6000, 9000]
    found = periods(reported)
    assert [end - begin for begin, end in found] == [30] * 3
    assert all(end <= next_begin for (_, end), (next_begin, _) in itertools.pairwise(found))


@pytest.mark.parametrize("of_run", range(3))
def test_a_run_without_its_header_has_the_options_of_its_own_command(of_run: int) -> None:
    text = "".join(run(number, "header" if number == of_run else "") for number in range(3))
    offered = Reported.of_report(text.encode()).reported("step-begin", "offered")
    assert offered == list(DEPTHS)


@pytest.mark.parametrize("is_after", [False, True])
def test_a_header_has_the_options_of_its_run_where_the_command_has_only_variables(is_after: bool) -> None:
    """Nothing is between header and results. `is_after`: the shell prints the command after the header."""
    text = ""
    for number in range(3):
        header, _, results = run(number, "command").partition("...\nfio-3.13\nStarting 1 process\n")
        shown = run(number).partition("a: (g=0)")[0]
        shown = re.sub(r"--iodepth=\d+ --rw=\w+", "--iodepth=$DEPTH --rw=$KIND", shown)
        text += header + shown + results if is_after else shown + header + results
    assert Reported.of_report(text.encode()).reported("step-begin", "offered") == list(DEPTHS)


@pytest.mark.parametrize("of_run", [1, 2])
def test_a_run_without_header_and_command_has_not_the_options_of_the_one_before(of_run: int) -> None:
    text = "".join(run(number, "command header" if number == of_run else "") for number in range(3))
    offered = Reported.of_report(text.encode()).reported("step-begin", "offered")
    assert [depth for number, depth in enumerate(offered) if number != of_run] == [
        depth for number, depth in enumerate(DEPTHS) if number != of_run
    ]
    assert offered[of_run] is None


def test_every_run_without_a_date_begins_when_the_one_before_has_ended() -> None:
    text = run(0) + run(1, "date") + run(2, "date")
    (_, first), (second, second_end), (third, _) = periods(Reported.of_report(text.encode()))
    assert (second - first, third - second_end) == (0, 0)


@pytest.mark.parametrize("noted", ['{\n  "id": "7",\n  "key": "a"}\n\n', '{\n  "id": "7",\n...\n', "{ a, b\n"])
def test_a_brace_of_something_else_hides_no_result_after_it(noted: str) -> None:
    text = run(0) + run(1)
    reported = Reported.of_report((noted + text).encode())
    assert reported.items == Reported.of_report(text.encode()).items


def test_a_result_that_the_file_holds_twice_counts_once() -> None:
    once = Reported.of_report((run(0) + run(1)).encode())
    twice = Reported.of_report((run(0) + run(1) + run(0) + run(1)).encode())
    assert periods(twice) == periods(once)
    assert done(twice) == done(once)
    assert twice.warnings == ["copy", "copy"]


def test_figures_in_bold_type_are_figures() -> None:
    text = run(0) + run(1)
    stressed = re.sub(r"(?m)^  ((?:read|write): IOPS=\d+)", r"**\1**", text)
    assert stressed != text
    assert Reported.of_report(stressed.encode()).items == Reported.of_report(text.encode()).items

"""Logs of many lines are read many rows at a time; what comes out is what the rows give one by one."""

from __future__ import annotations

from random import Random

import pytest

from sanpath.plugin import Event, Item, Rows
from sanpath_collectors.perfmon import pdh
from sanpath_collectors.perfmon.block import parse_block
from sanpath_collectors.perfmon.reader import PerfMonLog

COUNTERS = ("Disk Reads/sec", "Avg. Disk sec/Read", "Disk Writes/sec", "Current Disk Queue Length", "Split IO/Sec")


Sample = tuple[int, str, dict[str, int | float | None]]
"""Time, entity and values."""


def log(rows: int, separator: str = ",") -> list[bytes]:
    """A header and rows of one disk; the last counter is of no use to anybody."""
    noise = Random(1)
    kind = "C" if separator == "," else "T"
    names = [f"(PDH-{kind}SV 4.0) (UTC)(0)", *(rf"\\A\PhysicalDisk(0)\{name}" for name in COUNTERS)]
    lines = [names]
    for row in range(rows):
        values = [f"{noise.random() * 10 ** noise.randint(-7, 2):.20g}" for _ in COUNTERS]
        lines.append([f"11/20/2026 {8 + row // 3600:02}:{row // 60 % 60:02}:{row % 60:02}.123", *values])
    return [separator.join(f'"{cell}"' for cell in line).encode() + b"\r\n" for line in lines]


def yielded(parts: list[bytes]) -> tuple[list[Sample], list[object], int]:
    """Samples, the texts of warnings, and how many items the samples came in."""
    reader = PerfMonLog("p")
    items: list[Item] = [item for part in parts for item in reader.feed(part)]
    items += reader.finish()
    batches = [item for item in items if isinstance(item, Rows)]
    samples: list[Sample] = [
        (seen, rows.entity[number], {metric: column[number] for metric, column in rows.values.items()})
        for rows in batches
        for number, seen in enumerate(rows.seen)
    ]
    return samples, [item.detail["text"] for item in items if isinstance(item, Event)], len(batches)


DAMAGES = {
    "nothing": lambda line: line,
    "a blank": lambda line: line.replace(line.split(b",")[1], b'" "', 1),
    "a negative value": lambda line: line.replace(b',"', b',"-', 1),
    "two values in a cell": lambda line: line.replace(b',"', b',"1 ', 1),
    "a value of another kind": lambda line: line.replace(b',"', b',"0x', 1),
    "a word": lambda line: line.replace(line.split(b",")[2], b'"true"', 1),
    "a line that is cut": lambda line: line[:40] + b"\r\n",
    "a cell too few": lambda line: line[: line.rindex(b',"')] + b"\r\n",
    "a cell too many": lambda line: line.replace(b"\r\n", b',"7"\r\n'),
    "a line without quotes": lambda line: line.replace(b'"', b""),
    "a day that there is not": lambda line: b'"02/30' + line[6:],
    "a clock that goes back": lambda line: line.replace(b" 08:", b" 07:"),
    "a message": lambda line: b"The command is running.\r\n" + line,
    "a second header": lambda line: log(0)[0] + line,
    "another line end": lambda line: line.replace(b"\r", b""),
    "a space before a separator": lambda line: line.replace(b'","', b'" ,"', 1),
    "a space after a separator": lambda line: line.replace(b'","', b'", "', 1),
    "a space before the line": lambda line: b" " + line,
    "a space after the line": lambda line: line.replace(b"\r\n", b" \r\n"),
    "a space in the line end": lambda line: line.replace(b"\r\n", b"\r \n"),
    "a separator in a cell": lambda line: line.replace(b'","', b'",","', 1),
    "an empty time": lambda line: b'"' + line[line.index(b'",') :],
    "a shorter time": lambda line: line.replace(b".123", b"", 1),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_line_costs_only_itself(damage: str) -> None:
    lines = log(1500)
    for number in (300, 301, 1200):
        lines[number] = DAMAGES[damage](lines[number])
    together, warnings, batches = yielded([b"".join(lines)])
    alone, warnings_alone, _ = yielded(lines)
    assert together == alone
    assert warnings == warnings_alone
    assert batches < 120, "the other rows were taken together"


def test_values_are_those_that_float_reads() -> None:
    lines = log(400, "\t")
    gauges = [float(line.split(b"\t")[4].strip(b'"')) for line in lines[1:]]
    samples, _, batches = yielded([b"".join(lines)])
    found = [values["in_flight"] for _, _, values in samples]
    assert [value for value in found if value is not None] == gauges  # None: where the counters begin
    assert batches < 20


def test_a_comma_inside_a_cell_is_no_separator_of_tabs() -> None:
    lines = log(40, "\t")
    lines[20] = lines[20].replace(b'\t"', b'\t"1,', 1)
    assert yielded([b"".join(lines)])[0] == yielded(lines)[0]


def test_a_few_of_many_columns_are_read_together() -> None:
    """esxtop writes thousands of columns, of which few are of interest."""
    lines = [f'"01/15/2027 10:00:{row:02}",' + ",".join(f'"{row}.{cell}"' for cell in range(10)) for row in range(9)]
    block = parse_block("".join(f"{line}\r\n" for line in lines).encode(), ",", 11)
    assert block is not None
    few, every = block.matrix([3, 10]), block.matrix(range(1, 11))
    assert few is not None
    assert every is not None
    assert few.tolist() == every[:, [2, 9]].tolist() == [[float(f"{row}.2"), float(f"{row}.9")] for row in range(9)]


@pytest.mark.parametrize("fraction", ["", ".1", ".123", ".123456"])
def test_times_are_those_of_single_rows(fraction: str) -> None:
    times = [f"{day} {hour}{fraction}" for day in ("02/28/2028", "02/29/2028") for hour in ("00:00:00", "23:59:59")]
    block = parse_block("".join(f'"{time}","1"\n' for time in times).encode(), ",", 2)
    assert block is not None
    assert block.times_us.tolist() == [pdh.parse_time_us(time.encode()) for time in times]


@pytest.mark.parametrize(
    "time", ["02/29/2027 10:00:00", "01/15/2027 24:00:00", "01/01/1970 00:00:00", "01/15/2027T10:00:00"]
)
def test_a_time_that_there_is_not_is_none_of_a_block(time: str) -> None:
    assert pdh.parse_time_us(time.encode()) is None
    assert parse_block(f'"{time}","1"\n'.encode() * 3, ",", 2) is None


def test_a_row_shorter_than_a_time_is_none_of_a_block() -> None:
    assert parse_block(b'"01/15/2027 10:00:00","1"\n"",""\n', ",", 2) is None

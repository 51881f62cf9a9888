"""Times that another program put in front of the lines of iostat."""

from __future__ import annotations

import pytest

from sanpath_collectors.iostat.reader import IostatResult
from tests.collectors.iostat.test_reader import TABLE, TITLE, codes, read, rows


@pytest.mark.parametrize(
    ("prefixes", "clock", "begin"),
    [
        (("08:00:01", "08:00:06", "08:00:11"), "local", 1_709_280_001),
        (("Mar  1 08:00:01", "Mar  1 08:00:06", "Mar  1 08:00:11"), "local", 1_709_280_001),
        (("2024-03-01 08:00:01", "2024-03-01 08:00:06", "2024-03-01 08:00:11"), "local", 1_709_280_001),
        (("23:59:59.123", "00:00:04.123", "00:00:09.123"), "local", 1_709_337_599),
        (("1709280001", "1709280006", "1709280011"), "utc", 1_709_280_001),
        (
            ("[2024-03-01T10:00:01.1+02:00]", "[2024-03-01T10:00:06.1+02:00]", "[2024-03-01T10:00:11.1+02:00]"),
            "utc",
            1_709_280_001,
        ),
        (
            ("2024-03-01T08:00:01.123456Z", "2024-03-01T08:00:06.123456Z", "2024-03-01T08:00:11.123456Z"),
            "utc",
            1_709_280_001,
        ),
    ],
)
def test_a_time_that_another_program_put_in_front_of_each_line_is_that_of_the_report(
    prefixes: tuple[str, ...], clock: str, begin: int
) -> None:
    processors = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n  1.00 0.00 1.00 0.00 0.00 98.00\n\n"
    parts = (TITLE + processors + TABLE, processors + TABLE, processors + TABLE)
    text = "".join(
        f"{time} {line}\n" for time, part in zip(prefixes, parts, strict=True) for line in part.split("\n")[:-1]
    )
    assert IostatResult.recognises(text.encode(), "a.txt")
    reader, items = read(text)
    assert reader.clock == clock
    totals = [row for row in rows(items) if row.table.kind == "lun"]
    assert [row.seen[0] // 1_000_000 - begin for row in totals] == [0, 5, 10]
    assert totals[-1].values["ops_read_total"] == [1000]
    assert "interval-unknown" not in codes(items)


def test_times_in_front_of_lines_without_a_date_are_removed() -> None:
    text = "".join(f"08:00:0{second} {line}\n" for second in (1, 2, 3) for line in TABLE.split("\n")[:-1])
    reader, items = read(text)
    assert reader.clock == "elapsed"
    assert [row.entity for row in rows(items)] == [["sda"]] * 3

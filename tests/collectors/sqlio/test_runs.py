"""What a user would notice of SQLIO results: figures that fit together, runs that are kept apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.plugin import CollectorError, Event, Item, Rows, SourceEntity
from sanpath_collectors.sqlio.reader import SqlioReader

CASES = Path(__file__).parent
RESULTS = ("two-and-64-threads/result.txt", "console-copy/sqlio results.txt", "two-files/run.log", "utf-16/out.txt")


def read(content: bytes) -> list[Item]:
    reader = SqlioReader("sqlio")
    return [*reader.feed(content), *reader.finish()]


def content(name: str) -> bytes:
    return (CASES / name).read_bytes()


def events(items: list[Item], name: str) -> list[Event]:
    return [item for item in items if isinstance(item, Event) and item.name == name]


def last_values(rows: Rows) -> dict[str, int | float | None]:
    return {metric: values[-1] for metric, values in rows.values.items()}


@pytest.mark.parametrize("name", RESULTS)
def test_throughput_times_latency_holds_the_number_in_flight(name: str) -> None:
    """Little's law: the latency is cut off twice, so the true one lies within two milliseconds above."""
    runs = [item for item in read(content(name)) if isinstance(item, Rows)]
    result = 0
    for rows in runs:
        seconds = (rows.seen[1] - rows.seen[0]) / 1e6
        end = last_values(rows)
        for direction in ("read", "write"):
            floor = end[f"latency_seconds_mean_{direction}"]
            if floor is None:
                continue
            per_second = (end[f"ops_{direction}_total"] or 0) / seconds
            in_flight = end["in_flight_configured"] or 0
            column = next(c for c in rows.table.columns if c.metric == f"latency_seconds_mean_{direction}")
            low = per_second * floor * column.scale
            assert low <= in_flight < low + per_second * column.resolution
            result += 1
    assert result >= 1


def test_the_published_test_reads_as_published() -> None:
    few, many = [item for item in read(content(RESULTS[0])) if isinstance(item, Rows)]
    for rows, in_flight in ((few, 16), (many, 512)):
        end = last_values(rows)
        assert (end["ops_read_total"] or 0) / 60 == pytest.approx(6250, rel=1e-3)
        assert (end["bytes_read_total"] or 0) / 60 / 2**20 == pytest.approx(390, rel=2e-3)
        assert end["in_flight_configured"] == in_flight
    assert last_values(many)["latency_seconds_mean_read"] == 81
    assert last_values(many)["latency_seconds_max_read"] == 118


def test_nothing_is_carried_from_one_run_to_the_next() -> None:
    begins = events(read(content("console-copy/sqlio results.txt")), "step-begin")
    assert [begin.detail["offered"] for begin in begins] == [32, 4, 1, 2]


def test_a_stopped_run_is_said_and_lends_no_figures() -> None:
    items = read(content("console-copy/sqlio results.txt"))
    assert [warning.detail["code"] for warning in events(items, "data-warning")] == ["not-finished"]
    assert not [begin for begin in events(items, "step-begin") if begin.detail["offered"] == 512]


def test_no_moment_belongs_to_two_runs() -> None:
    items = read(content("console-copy/sqlio results.txt"))
    begins, ends = events(items, "step-begin"), events(items, "step-end")
    assert all(end.seen < begin.seen for end, begin in zip(ends, begins[1:], strict=False))


def test_a_load_has_the_attributes_that_all_of_its_runs_had() -> None:
    entities = [item for item in read(content(RESULTS[0])) if isinstance(item, SourceEntity)]
    of_file = [entity for entity in entities if entity.local_id == entities[0].local_id]
    assert of_file[0].attributes["in_flight_configured"] == 16
    assert "in_flight_configured" not in of_file[-1].attributes
    assert of_file[-1].attributes["block_bytes"] == 65536


def test_each_run_is_a_load_with_its_own_attributes() -> None:
    entities = [item for item in read(content(RESULTS[0])) if isinstance(item, SourceEntity)]
    runs = [entity for entity in entities if entity.local_id.startswith(f"{entities[0].local_id}/")]
    assert [run.attributes["in_flight_configured"] for run in runs] == [16, 512]


def test_file_cache_is_told_from_disk_cache() -> None:
    text = content("two-and-64-threads/result.txt").decode()
    hardware = "use hardware disk cache (but not file cache)"
    for reported, direct in (
        (hardware, True),
        ("not use file nor disk caches (as is SQL Server)", True),
        ("use both file and disk caches", False),
        ("use file cache (but not disk cache)", False),
    ):
        entities = [
            item for item in read(text.replace(hardware, reported).encode()) if isinstance(item, SourceEntity)
        ]
        assert entities[0].attributes["direct"] is direct, reported


def test_a_command_line_alone_is_no_result() -> None:
    typed = b"C:\\SQLIO>sqlio -kR -s30 -frandom -o8 -b64 -LS -Fparam.txt\r\n"
    assert not SqlioReader.recognises(typed, "test.cmd")
    with pytest.raises(CollectorError, match="it contains no run"):
        read(typed)


@pytest.mark.parametrize(
    ("name", "text", "is_one"),
    [
        ("param.txt", "C:\\a.dat 2 0x0 100\n", True),
        ("LUN7_PARAMS.TXT", "# remark\n\nC:\\my files\\a.dat 2 0x0 100 # new\n", True),
        ("files.txt", "C:\\a.dat 2 0x0 100\n", False),
        ("param.txt", "C:\\a.dat 2 0x0 100\nand some prose\n", False),
        ("param.txt", "alpha 1 2 3\n", False),
        ("param.txt", "# nothing but a remark\n", False),
    ],
)
def test_a_parameter_file_is_known_by_its_name_and_all_of_its_lines(name: str, text: str, is_one: bool) -> None:
    assert SqlioReader.recognises(text.encode(), name) is is_one

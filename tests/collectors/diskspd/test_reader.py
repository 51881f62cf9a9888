"""What a person meets with DiskSpd's results beside the files of the cases: results that follow each other, lost
sections, other encodings, damage."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sanpath.model import Event, Rows, SourceEntity
from sanpath.plugin import CollectorError, Failure, Item
from sanpath_collectors.diskspd.command_line import parse_command_line
from sanpath_collectors.diskspd.reader import DiskSpdResult

CASES = Path(__file__).parent
OLD = (CASES / "text-2.0.12-without-a-start/result.txt").read_text(encoding="utf-8")
POWERSHELL = (CASES / "text-2.1-powershell-pool-two-spans/result.txt").read_bytes()
SERIES = (CASES / "xml-series-two-targets/result.xml").read_text(encoding="utf-8")


def read(content: bytes) -> list[Item]:
    reader = DiskSpdResult("ds")
    return [*reader.feed(content), *reader.finish()]


def events(items: list[Item], name: str) -> list[Event]:
    return [item for item in items if isinstance(item, Event) and item.name == name]


def codes(items: list[Item]) -> list[object]:
    return [event.detail["code"] for event in events(items, "data-warning")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_every_encoding_gives_the_same(encoding: str) -> None:
    text = POWERSHELL.decode("utf-16").replace("\r\n", "\n")
    assert read(text.encode(encoding)) == read(POWERSHELL)


def test_results_in_one_file_are_steps_one_after_the_other() -> None:
    items = read((OLD + OLD).encode())
    begins, ends = events(items, "step-begin"), events(items, "step-end")
    assert [event.detail["group"] for event in begins] == [1, 2]
    assert ends[0].seen <= begins[1].seen
    assert ends[1].seen - begins[1].seen == 30_000_000


def tables_of(text: str) -> str:
    """The tables of a result, without what is above and below them, as people paste them."""
    after = text[text.index("Total IO") :]
    return re.split(r"^(?:Totals:|Results for)", after, maxsplit=1, flags=re.MULTILINE)[0]


def counted(items: list[Item]) -> list[dict[str, object]]:
    """Of each load row by row, what was counted; without the configuration."""
    rows = [item for item in items if isinstance(item, Rows) and item.table.kind == "load"]
    return [{m: v for m, v in row.values.items() if m != "in_flight_configured"} for row in rows]


@pytest.mark.parametrize("times", [1, 3])
def test_tables_alone_give_the_same_figures(times: int) -> None:
    whole, tables = read(OLD.encode()), read(tables_of(OLD).encode() * times)
    assert counted(tables) == counted(whole) * times
    for begin, end in zip(events(tables, "step-begin"), events(tables, "step-end"), strict=True):
        assert (end.seen - begin.seen) / 1e6 == pytest.approx(30.0, rel=1e-3)


def test_sums_of_reads_and_writes_alone_are_recognised_and_refused_for_what_is_missing() -> None:
    sums = tables_of(OLD).partition("Read IO")[0].encode()
    assert DiskSpdResult.recognises(sums, "paste.txt")
    with pytest.raises(CollectorError, match="give the tables Read IO and Write IO"):
        read(sums)


def test_the_table_that_was_not_copied_is_what_the_sums_leave() -> None:
    whole, shorter = tables_of(OLD), tables_of(OLD).partition("Write IO")[0]
    for given, expected in zip(counted(read(shorter.encode())), counted(read(whole.encode())), strict=True):
        for measure in ("ops_write_total", "bytes_write_total", "ops_read_total", "bytes_read_total"):
            assert given[measure] == expected[measure]
        assert given["latency_seconds_write_total"] == pytest.approx(
            expected["latency_seconds_write_total"], rel=0.02
        )


@pytest.mark.parametrize(
    "prompt", ["diskspd.exe", r"PS C:\my tools> .\DiskSpd.exe", "C:\\tools>diskspd", "$ ./diskspd"]
)
def test_the_command_above_sums_says_in_which_direction_they_are(prompt: str) -> None:
    """And how many I/Os were outstanding. A mixed test remains without its directions."""
    sums = """\
        Total IO
        thread |       bytes     |     I/Os     |     MB/s   |  I/O per s |  AvgLat  | LatStdDev |  file
        ------------------------------------------------------------------------------------------------
             0 |      8192000000 |      1000000 |     130.21 |   16666.67 |    0.960 |     0.185 | T:\\a.dat (10GB)
        ------------------------------------------------------------------------------------------------
        total:        8192000000 |      1000000 |     130.21 |   16666.67 |    0.960 |     0.185
        """
    for option, name, other in (("-w100", "write", "read"), ("-w0", "read", "write")):
        items = read(f"I did this:\n{prompt} -b8K -t1 -o16 {option} -d60 T:\\a.dat\n\n{sums}".encode())
        row = [item for item in items if isinstance(item, Rows) and item.table.kind == "load"][-1].values
        assert row[f"ops_{name}_total"] == [1_000_000]
        assert row[f"ops_{other}_total"] == [0]
        assert row["in_flight_configured"] == [16]
    with pytest.raises(CollectorError, match="give the tables Read IO and Write IO"):
        read(f"{prompt} -b8K -w30 T:\\a.dat\n{sums}".encode())


def attributes_below(command: str) -> dict[str, object]:
    """The configuration of 16,667 reads a second of 8 KiB and 7.68 ms (128 outstanding) below this command."""
    table = """\
{} IO
thread | bytes | I/Os | MB/s | I/O per s | AvgLat | LatStdDev | file
0 | {} | {} | 130.21 | {} | 7.680 | 0.185 | T:\\a.dat (10GB)
total: {} | {} | 130.21 | {} | 7.680 | 0.185
"""
    done, nothing = (8_192_000_000, 1_000_000, 16666.67) * 2, (0, 0, 0.0) * 2
    tables = "\n".join(
        table.format(name, *figures) for name, figures in (("Total", done), ("Read", done), ("Write", nothing))
    )
    items = read(f"{command}\n\n{tables}".encode())
    return dict(next(item for item in items if isinstance(item, SourceEntity)).attributes)


@pytest.mark.parametrize("end", ["\n", " `\n", " ^\n"])
def test_a_wrapped_command_is_the_whole_command(end: str) -> None:
    whole = "PS C:\\> .\\diskspd.exe -b8K -d60 -r -w0 -Sh -t1 -o128 T:\\a.dat"
    assert attributes_below(whole)["in_flight_configured"] == 128
    for part in (" -o", " -Sh", " T:"):
        whole_but = whole.replace(part, f"{end}{part[1:]}").replace(" -t1", f"{end}-t1")
        assert attributes_below(whole_but) == attributes_below(whole)


@pytest.mark.parametrize(
    "options",
    [
        "-w0 -o128 -t1",
        "-w0 -o128 `",
        "-o8 -t1 T:\\a.dat",
        "-w30 -o128 T:\\a.dat",
        "-w100 -o128 T:\\a.dat",
        "-o128 > a.txt",
    ],
    ids=[
        "no target",
        "nothing follows",
        "fewer I/Os outstanding",
        "also writes",
        "only writes",
        "no target but a file of results",
    ],
)
def test_an_incomplete_command_or_that_of_another_run_says_nothing(options: str) -> None:
    found = attributes_below(f"C:\\> diskspd -b8K {options}")
    assert "in_flight_configured" not in found
    assert "read_ratio" not in found


def test_a_path_of_linux_is_no_option() -> None:
    profile = parse_command_line("diskspd -d60 -o4 -b8K /dev/sdb").profile([""], None, {})
    assert (profile.seconds, profile.in_flight) == (60, 4)


def test_xml_results_in_one_file() -> None:
    later = SERIES.replace("13:14:15", "14:14:15").replace("<RequestCount>4<", "<RequestCount>8<")
    items = read((SERIES + "\n" + later).encode())
    assert [event.detail["offered"] for event in events(items, "step-begin")] == [6, 10]
    hour_us = 3600 * 1_000_000
    assert events(items, "step-begin")[1].seen - events(items, "step-begin")[0].seen == hour_us
    # What the two do not agree on is no attribute of the load.
    last = [item for item in items if isinstance(item, SourceEntity) and item.local_id == "ds"][-1]
    assert "in_flight_configured" not in last.attributes
    assert last.attributes["threads"] == 2


def test_settings_come_from_the_command_line_where_their_section_is_lost() -> None:
    text = OLD[: OLD.index("Input parameters:")] + OLD[OLD.index("Results for") :]
    items = read(text.encode())
    assert codes(items) == ["no-input-parameters"]
    result, whole = (
        next(item for item in found if isinstance(item, SourceEntity)).attributes
        for found in (items, read(OLD.encode()))
    )
    # -o2 in the command line, 4 in the section.
    assert result == {**whole, "in_flight_configured": 4}


def test_a_rate_limit_of_an_old_version_is_in_its_command_line_only() -> None:
    items = read(OLD.replace("-b8K", "-b8K -g500").encode())
    assert events(items, "step-begin")[0].detail["rate_limited"] is True
    assert events(read(OLD.encode()), "step-begin")[0].detail["rate_limited"] is False


@pytest.mark.parametrize(
    ("line", "in_flight", "random", "reads", "direct", "fill"),
    [
        ("diskspd.exe x.dat", 2, 0, 1, False, None),
        ("diskspd.exe -o8 -t4 -r4K -w100 -Sh x.dat", 32, 1, 0, True, "repeating"),
        ("diskspd.exe -F4 -O8 -rs30 -w40 -Sb -Z x.dat", 32, 0.3, 0.6, False, "zeros"),
        ("diskspd.exe /o3 /F2 /S /w50 /Z1M,fill.bin x.dat", 6, 0, 0.5, True, None),
        ("diskspd.exe -h -Z1M -w50 x.dat", 2, 0, 0.5, True, "random"),
    ],
)
def test_command_line(line: str, in_flight: int, random: float, reads: float, direct: bool, fill: str | None) -> None:
    profile = parse_command_line(line).with_targets_for(["x.dat"]).profile(["x.dat"], None, {})
    assert profile.in_flight == in_flight
    assert profile.random_ratio == random
    assert profile.read_ratio == pytest.approx(reads)
    assert profile.direct is direct
    assert profile.fill == fill


TABLE = """\
        {name} IO
        thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file
        ------------------------------------------------------------------------------------------------
             0 |      4096000000 |    1.000.000 |      65.10 |   16666.67 |    0.900 |     0.185 | T:\\a.dat (10GB)
             1 |      8192000000 |    2,000,000 |     130.21 |   33333.33 |    0.300 |     0.185 | T:\\a.dat (10GB)
        """


def test_rows_without_a_total_row_are_summed_up() -> None:
    """People also group digits, and leave out everything but the rows."""
    items = read((TABLE.format(name="Read") + TABLE.format(name="Write")).encode())
    row = [item for item in items if isinstance(item, Rows) and item.table.kind == "load"][-1].values
    assert row["ops_read_total"] == row["ops_write_total"] == [3_000_000]
    assert row["latency_seconds_read_total"] == [pytest.approx((0.9 + 0.6) * 1e12, rel=1e-6)]
    assert "no-totals" in codes(items)


def test_a_table_with_fewer_rows_than_threads_was_cut() -> None:
    text = "thread count:   3\n" + TABLE.format(name="Read") + TABLE.format(name="Write")
    with pytest.raises(CollectorError, match="ends before its results"):
        read(f"Results for timespan 1:\n{text}".encode())


def row_of(thread: int, ops: int, file: str) -> str:
    return (
        f"     {thread} | {8192 * ops} | {ops} | {ops / 7680:.2f} | {ops / 60:.2f} | 3.200 | 0.100 | {file} (64GiB)\n"
    )


def table_of(name: str, ops: int, files: str = "a", threads: int = 2, pool: bool = False) -> str:
    """A table in which each thread did `ops` on its file, or a thread of a pool on each."""
    columns = "thread | bytes | I/Os | MiB/s | I/O per s | AvgLat | LatStdDev | file\n"
    rows = [row_of(t, ops, f"E:\\{file}.dat") for t in range(threads) for file in (files if pool else files[:1])]
    total = ops * len(rows)
    return (
        f"{name} IO\n{columns}{''.join(rows)}total: {8192 * total} | {total} | 1 | {total / 60:.2f} | 3.200 | 0.1\n"
    )


HEADING = "Results for timespan 1:\nactual test time: 60.00s\nthread count: 2\n"


def moved(text: str) -> tuple[float, ...]:
    """The reads and writes of the only step, of all its loads together."""
    rows = [item for item in read(text.encode()) if isinstance(item, Rows) and item.table.kind == "load"]
    return tuple(sum(value or 0 for value in rows[-1].values[f"ops_{d}_total"]) for d in ("read", "write"))


def test_wherever_the_file_is_cut_reads_and_writes_are_those_of_both() -> None:
    """A number that is cut lacks digits, and a thread that is cut lacks a row: Total IO says what both are."""
    before = HEADING + table_of("Total", 2_400_000) + table_of("Read", 1_300_000)
    last = table_of("Write", 1_100_000)
    for end in range(len(last) + 1):
        assert moved(before + last[:end]) == (2_600_000, 2_200_000), last[:end]


def test_remarks_on_a_table_that_is_cut_say_no_more_than_that() -> None:
    before = HEADING + table_of("Total", 2_400_000) + table_of("Read", 1_300_000)
    last = table_of("Write", 1_100_000)
    for cut in (last.index("1100000"), last.rindex("1100000 ") + 4):
        items = read((before + last[:cut]).encode())
        assert [event.detail["text"] for event in events(items, "data-warning")] == [
            "timespan 1: rows of the table Write IO are missing: its figures are what Total IO leaves"
        ]


@pytest.mark.parametrize(("files", "pool"), [("a", False), ("abcd", True)])
def test_without_the_sums_of_both_a_table_needs_all_rows(files: str, pool: bool) -> None:
    """In a pool, each thread has a row for each file."""
    before, last = HEADING + table_of("Read", 1000, files, pool=pool), table_of("Write", 900, files, pool=pool)
    rows = 2 * len(files)
    for end in range(len(last)):
        if "\ntotal: " in last[:end] or last[:end].count("64GiB)") == rows:
            assert moved(before + last[:end]) == (1000 * rows, 900 * rows), last[:end]
        elif last[:end].startswith("Write IO"):
            with pytest.raises(CollectorError, match="ends before its results"):
                read((before + last[:end]).encode())


def test_the_first_table_of_a_pool_needs_as_many_rows_of_each_thread() -> None:
    """The totals were not copied: a thread's last rows are missing, though there are as many rows as threads."""
    sums = [table_of(name, 1000, "abcd", pool=True).partition("total:")[0] for name in ("Read", "Write")]
    assert moved(HEADING + sums[0] + sums[1]) == (8000, 8000)
    for rows in (2, 4, 6):
        short = ["".join(each.splitlines(keepends=True)[: 2 + rows]) for each in sums]
        with pytest.raises(CollectorError, match="ends before its results"):
            read((HEADING + short[0] + short[1]).encode())


def test_a_table_of_one_direction_alone_is_not_all_of_a_load() -> None:
    with pytest.raises(CollectorError, match="only one is in the file, and Total IO is not"):
        read(TABLE.format(name="Read").encode())


def test_figures_that_are_cut_off_are_left_out() -> None:
    text = POWERSHELL.decode("utf-16")
    items = read(text[: text.rindex("Total IO")].encode())
    assert [event.detail["step"] for event in events(items, "step-begin")] == ["timespan 1"]
    assert codes(items) == ["start-is-process-start", "cut-file"]


def test_a_series_without_latencies_gives_way_to_the_figures_of_the_whole() -> None:
    text = SERIES.replace('ReadAvgLatencyMilliseconds="', 'ReadAvgLatencyMilliseconds="0.000" x="')
    items = read(text.encode())
    assert events(items, "step-begin")[0].detail["summary"] is True
    end = [item for item in items if isinstance(item, Rows) and item.table.kind == "load"][-1]
    assert end.values["latency_seconds_read_total"] == [9_000_000_000, 6_000_000_000]


def test_damaged_xml_keeps_what_came_before() -> None:
    items = read((SERIES + "\n" + SERIES.replace("</System>", "</Sistem>")).encode())
    assert len(events(items, "step-begin")) == 1
    assert "damaged-xml" in codes(items)


def test_entities_are_not_expanded() -> None:
    text = '<!DOCTYPE Results [<!ENTITY a "boo">]>\n' + SERIES.replace("WIN-XML", "WIN&a;")
    load = next(item for item in read(text.encode()) if isinstance(item, SourceEntity))
    assert load.attributes["computer_name"] == "WIN&a;"


def test_nothing_to_read_is_said_with_what_to_do() -> None:
    with pytest.raises(CollectorError) as caught:
        read(b"<Results><System></Results>")
    assert caught.value.failure is Failure.UNREADABLE
    assert "mismatched tag" in str(caught.value)


def test_other_files_are_not_recognised() -> None:
    assert not DiskSpdResult.recognises(b"", "result.xml")
    assert not DiskSpdResult.recognises(b"<Results>\n<Table/></Results>", "diskspd.xml")
    assert not DiskSpdResult.recognises(b"Input parameters:\n depth: 3\n", "diskspd.txt")


def test_the_content_of_writes_is_not_known_from_a_pattern_that_stands_for_random_data_too() -> None:
    text = (Path(__file__).parent / "xml-series-two-targets/result.xml").read_text(encoding="utf-8")
    fills = []
    for pattern in ("zero", "sequential"):
        reader = DiskSpdResult("diskspd")
        items = [*reader.feed(text.replace(">zero<", f">{pattern}<").encode()), *reader.finish()]
        fills.append({i.attributes.get("fill") for i in items if isinstance(i, SourceEntity)} - {None})
    assert fills == [{"zeros"}, set()]


@pytest.mark.parametrize("text", [SERIES, OLD], ids=["XML", "text"])
def test_decimal_commas_are_read_as_points(text: str) -> None:
    """A result that was saved again in a country with decimal commas."""
    commas = re.sub(r"(?<=[ \">|])(\d+)\.(\d{2,6})(?=[ \"<|%s\n]|MiB)", r"\1,\2", text)
    assert commas != text
    assert [i for i in read(commas.encode()) if isinstance(i, Rows)] == [
        i for i in read(text.encode()) if isinstance(i, Rows)
    ]

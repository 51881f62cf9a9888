"""Logs of Windows' counters: what a person with a log at hand would notice."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from duckdb import connect

from sanpath.errors import UsageError
from sanpath.facts.samples.step_samples import StepSamples, step_samples
from sanpath.model import Step
from sanpath.plugin import CollectorError, Event, Item, ResultReader, Rows, SourceEntity
from sanpath.recorder.importing.importer import ImportRequest, import_file
from sanpath.recording.reading.recording import Recording
from sanpath_collectors.perfmon import names, pdh
from sanpath_collectors.perfmon.columns import build_plan
from sanpath_collectors.perfmon.reader import PerfMonLog

CASES = Path(__file__).parent
HEADER = '"(PDH-CSV 4.0) (UTC)(0)"'
SECOND = 1_000_000
NAMES: dict[str, Any] = yaml.safe_load(Path(names.__file__).with_suffix(".yaml").read_text(encoding="utf-8"))["names"]
DISK = ("Disk Reads/sec", "Disk Writes/sec", "Disk Read Bytes/sec", "Avg. Disk sec/Read", "Avg. Disk Queue Length")


def log(columns: list[str], *rows: list[str], start: int = 0) -> str:
    lines = [",".join([HEADER, *(f'"{name}"' for name in columns)])]
    for number, row in enumerate(rows, start=start):
        lines.append(
            ",".join(f'"{cell}"' for cell in [f"11/20/2026 08:{number // 60:02}:{number % 60:02}.000", *row])
        )
    return "\r\n".join(lines) + "\r\n"


def read(content: bytes | str, reader: ResultReader | None = None) -> list[Item]:
    reader = reader or PerfMonLog("perfmon")
    data = content.encode() if isinstance(content, str) else content
    return [*reader.feed(data), *reader.finish()]


def last(items: list[Item], kind: str) -> dict[str, dict[str, Any]]:
    """Entity → metric → the newest value."""
    found: dict[str, dict[str, Any]] = {}
    for rows in items:
        if isinstance(rows, Rows) and rows.table.kind == kind:
            for number, entity in enumerate(rows.entity):
                found.setdefault(entity, {}).update({m: values[number] for m, values in rows.values.items()})
    return found


def warnings(items: list[Item]) -> dict[str, str]:
    return {
        str(item.detail["code"]): str(item.detail["text"])
        for item in items
        if isinstance(item, Event) and item.name == "data-warning"
    }


def imported(tmp_path: Path, case: str, file: str) -> StepSamples:
    """What the facts see of the only disk of a case's file, over all of its time."""
    import_file(ImportRequest(CASES / case / file, tmp_path / "r.sanpath"))
    recording, connection = Recording(tmp_path / "r.sanpath"), connect()
    samples = step_samples(recording, connection, "lun", [Step("all", 0, 2**62, "whole run", (), None)])
    connection.close()
    assert len(samples) == 1
    return samples[0]


def test_littles_law_holds_for_what_comes_out(tmp_path: Path) -> None:
    """64 threads with 8 outstanding each over a full 4GFC link: 512 in flight = 6,249 a second times 81.9 ms."""
    disk = imported(tmp_path, "typeperf-one-disk", "typeperf.csv")
    operations, waited = disk.rate("ops_read_total"), disk.rate("latency_seconds_read_total")
    assert operations == pytest.approx(6249)
    assert waited is not None
    assert operations is not None
    assert waited / operations == pytest.approx(0.0819, rel=1e-3)
    assert waited == pytest.approx(512, rel=1e-3)
    assert disk.rate("in_flight_seconds_total") == pytest.approx(512, rel=1e-3)
    assert disk.rate("bytes_read_total") == pytest.approx(6249 * 65536, rel=1e-3)
    assert disk.windows == 2


def test_time_without_an_instance_is_no_idle_time(tmp_path: Path) -> None:
    """Disk 1 is gone for two of its four intervals: its rate is that of the other two, and only they count."""
    import_file(ImportRequest(CASES / "logman-instance-gone/logman.csv", tmp_path / "r.sanpath"))
    recording, connection = Recording(tmp_path / "r.sanpath"), connect()
    samples = step_samples(recording, connection, "lun", [Step("all", 0, 2**62, "whole run", (), None)])
    connection.close()
    disks = {sample.entity: sample for sample in samples}
    gone, there = disks["sqlvm1/PhysicalDisk1"], disks["sqlvm1/PhysicalDisk0"]
    assert gone.rate("ops_read_total") == pytest.approx(100)
    assert there.rate("ops_read_total") == pytest.approx(7.5)  # 10, 0, 10, 10: what was idle counts


def test_the_sum_of_all_disks_is_none_of_them() -> None:
    columns = [rf"\\A\PhysicalDisk({i})\Disk Reads/sec" for i in ("0 C:", "1 D:", "_Total")]
    disks = last(read(log(columns, [" "] * 3, ["10", "20", "30"])), "lun")
    assert {entity: values["ops_read_total"] for entity, values in disks.items()} == {
        "a/PhysicalDisk0": 10,
        "a/PhysicalDisk1": 20,
    }


def test_where_only_the_sum_was_collected_it_is_shown_and_said_so() -> None:
    items = read(log([r"\\A\PhysicalDisk(_Total)\Disk Reads/sec"], [" "], ["30"]))
    assert last(items, "lun") == {"a/all disks": {"ops_read_total": 30}}
    assert "only-total" in warnings(items)


def test_logical_disks_only_stand_in_for_physical_ones() -> None:
    both = [r"\\A\LogicalDisk(C:)\Disk Reads/sec", r"\\A\PhysicalDisk(0 C:)\Disk Reads/sec"]
    assert list(last(read(log(both, [" ", " "], ["5", "5"])), "lun")) == ["a/PhysicalDisk0"]
    items = read(log(both[:1], [" "], ["5"]))
    assert list(last(items, "lun")) == ["a/C:"]
    assert "logical-disks" in warnings(items)


@pytest.mark.parametrize("language", ["de", "fr", "es", "it", "pt", "ru", "tr", "pl"])
@pytest.mark.parametrize("page", ["utf-8", "utf-8-sig", "utf-16", "ansi"])
def test_a_log_in_another_language_gives_the_same(language: str, page: str) -> None:
    """Each spelling of each name, in the encodings that Windows writes."""
    ansi = {"ru": "cp1251", "tr": "cp1254", "pl": "cp1250"}.get(language, "cp1252")
    words = NAMES["disk"]
    spellings = max(len(words["counters"][name][language]) for name in DISK)
    for number in range(spellings):
        local = [words["counters"][name][language] for name in DISK]
        disk = words["objects"]["PhysicalDisk"][language]
        columns = [rf"\\A\{disk[number % len(disk)]}(3 X:)\{known[number % len(known)]}" for known in local]
        processor = NAMES["processor"]
        columns.append(
            rf"\\A\{processor['objects']['Processor'][language][0]}(_Total)"
            rf"\{processor['counters']['% Processor Time'][language][0]}"
        )
        content = log(columns, [" "] * 6, ["100", "50", "819200", "0.002", "0.3", "75"])
        items = read(content.encode(ansi if page == "ansi" else page))
        assert last(items, "lun")["a/PhysicalDisk3"] == {
            "ops_read_total": 100,
            "ops_write_total": 50,
            "bytes_read_total": 819200,
            "latency_seconds_read_total": 200_000_000,
            "in_flight_seconds_total": 300_000_000,
        }
        assert last(items, "host")["a"] == {"cpu_busy_ratio": 0.75}


def test_names_in_the_console_code_page_are_known() -> None:
    """`typeperf > file` of cmd.exe: cp850 in Germany, where ä is another byte than in Windows programs."""
    content = log([r"\\A\Physikalischer Datenträger(0)\Lesevorgänge/s"], [" "], ["7"]).encode("cp850")
    assert last(read(content), "lun")["a/PhysicalDisk0"]["ops_read_total"] == 7


def test_a_translation_never_stands_for_two_counters() -> None:
    for group in NAMES.values():
        for names_of in (group["objects"], group["counters"]):
            for language in {lang for languages in names_of.values() for lang in languages}:
                spelled = [names.fold(n) for languages in names_of.values() for n in languages.get(language, ())]
                assert len(spelled) == len(set(spelled)), language


def test_unknown_names_are_listed_once_with_what_to_do() -> None:
    items = read(
        log([r"\\A\Fysieke schijf(0)\Lezen/s", r"\\A\Processor(_Total)\% Processor Time"], ["1", "2"], ["1", "2"])
    )
    reported = warnings(items)["counters-missing"]
    assert "Fysieke schijf" in reported
    assert "Get-CimInstance" in reported
    assert r"Perflib\009" in reported


@pytest.mark.parametrize(("disk", "is_named"), [("LogicalDisk(_Total)", False), ("Fysieke schijf(0)", True)])
def test_objects_beside_known_disks_are_not_taken_for_disks(disk: str, is_named: bool) -> None:
    items = read(
        log(
            [rf"\\A\{disk}\% Disk Time", r"\\A\Memory\Available MBytes", r"\\A\System\Context Switches/sec"],
            ["1", "2", "3"],
            ["1", "2", "4"],
        )
    )
    assert ("Memory" in warnings(items)["counters-missing"]) is is_named


def test_a_blank_is_missing_and_a_mean_of_nothing_is_zero() -> None:
    columns = [r"\\A\PhysicalDisk(0)\Disk Reads/sec", r"\\A\PhysicalDisk(0)\Avg. Disk sec/Read"]
    disk = last(read(log(columns, [" ", " "], ["0", "0"], ["10", "0.004"], ["10", " "])), "lun")["a/PhysicalDisk0"]
    assert disk == {"ops_read_total": 20, "latency_seconds_read_total": None}
    until = last(read(log(columns, [" ", " "], ["0", " "], ["10", "0.004"])), "lun")["a/PhysicalDisk0"]
    assert until == {"ops_read_total": 10, "latency_seconds_read_total": 40_000_000}


def test_the_busiest_core_is_not_the_mean_of_all() -> None:
    columns = [rf"\\A\Processor({core})\% Processor Time" for core in ("0", "1", "2", "3", "_Total")]
    host = last(read(log(columns, [" "] * 5, ["100", "0", "20", "0", "30"])), "host")["a"]
    assert host["cpu_busy_ratio"] == pytest.approx(0.3)
    assert host["cpu_busiest_core_ratio"] == 1.0
    assert host["cpu_busy_seconds_total"] == pytest.approx(1.2e9)
    assert host["cpu_seconds_total"] == pytest.approx(4e9)


@pytest.mark.parametrize("more", [("_Total",), ()], ids=["a total of the machine", "none"])
def test_the_total_of_a_numa_node_is_not_that_of_the_machine(more: tuple[str, ...]) -> None:
    instances = ("0,0", "0,1", "0,_Total", "1,0", "1,1", "1,_Total", *more)
    columns = [rf"\\A\Processor Information({instance})\% Processor Time" for instance in instances]
    loads = ["100", "60", "80", "0", "0", "0", "40"][: len(instances)]
    host = last(read(log(columns, [" "] * len(loads), loads)), "host")["a"]
    assert host["cpu_busy_ratio"] == pytest.approx(0.4)
    assert host["cpu_busiest_core_ratio"] == 1.0


def test_header_with_commas_quotes_and_brackets_in_instances() -> None:
    volume = r'\\A\Cluster CSVFS(Vol, ""x"" (2))'
    columns = [rf"{volume}\Reads/sec", rf"{volume}\Avg. sec/Read"]
    assert last(read(log(columns, [" ", " "], ["10", "0.001"])), "lun") == {
        'a/CSV Vol, "x" (2)': {"ops_read_total": 10, "latency_seconds_read_total": 10_000_000}
    }


def test_the_zone_of_the_header_makes_times_utc() -> None:
    reader = PerfMonLog("p")
    content = log([r"\\A\PhysicalDisk(0)\Disk Reads/sec"], ["1"], ["1"]).replace(
        "(UTC)(0)", "(India Standard Time)(-330)"
    )
    newest = max(moment for rows in read(content, reader) if isinstance(rows, Rows) for moment in rows.seen)
    assert reader.clock == "utc"
    assert newest == pdh.parse_time_us(b"11/20/2026 02:30:01.000")


@pytest.mark.parametrize(
    "cell", ["(PDH-CSV 4.0)", "(PDH-CSV 4.0) (RTZ 2 (", "(PDH-CSV 4.0) (", "(PDH-CSV 4.0) (x)(99999)"]
)
def test_a_broken_zone_is_local_time(cell: str) -> None:
    reader = PerfMonLog("p")
    content = log([r"\\A\PhysicalDisk(0)\Disk Reads/sec"], ["1"], ["1"]).replace("(PDH-CSV 4.0) (UTC)(0)", cell)
    items = read(content, reader)
    assert reader.clock == "local"
    assert last(items, "lun")["a/PhysicalDisk0"]["ops_read_total"] == 1


def test_a_row_that_is_not_quoted_is_read_too() -> None:
    content = log([r"\\A\PhysicalDisk(0)\Disk Reads/sec"], ["1"], ["1"])
    header, *rows = content.splitlines()
    plain = "\r\n".join([header, *(row.replace('"', "") for row in rows)]) + "\r\n"
    assert last(read(plain), "lun") == last(read(content), "lun")


@pytest.mark.parametrize(
    ("times", "seconds"),
    [
        (("11/20/2026 11:59:58 PM", "11/21/2026 12:00:03 AM"), 5),
        (("20/11/2026 23:59:58", "21/11/2026 0:00:03"), 5),
        (("2026-11-20 23:59:58", "2026-11-21 00:00:03"), 5),
        (("20-11-2026 23.59.58", "21-11-2026 00.00.03"), 5),
        (("03/04/2026 08:00:00", "03/04/2026 08:00:05"), 5),
    ],
)
def test_long_form_in_the_dates_of_several_countries(times: tuple[str, str], seconds: int) -> None:
    lines = ['"Timestamp","Path","Value"']
    lines += [rf'"{time}","\\a\physicaldisk(0 c:)\disk reads/sec","10"' for time in times]
    items = read("\n".join(lines) + "\n")
    assert last(items, "lun") == {"a/PhysicalDisk0": {"ops_read_total": 10 * seconds}}
    assert ("ambiguous-date" in warnings(items)) == times[0].startswith("03/04")


def test_long_form_learns_of_an_instance_that_comes_later() -> None:
    def sample(second: int, *disks: int) -> Iterator[str]:
        for disk in disks:
            yield rf'"20.11.2026 08:00:0{second}";"\\a\physicaldisk({disk})\disk reads/sec";"10,5"'

    lines = ['"Timestamp";"Path";"CookedValue"', *sample(0, 0), *sample(2, 0), *sample(4, 0, 1), *sample(6, 0, 1)]
    disks = last(read("\n".join(lines) + "\n"), "lun")
    assert disks["a/PhysicalDisk0"] == disks["a/PhysicalDisk1"] == {"ops_read_total": 21}


def test_a_growing_log_gives_what_the_whole_gives() -> None:
    content = (CASES / "logman-instance-gone/logman.csv").read_bytes()
    bit_by_bit, reader = [], PerfMonLog("perfmon")
    for at in range(0, len(content), 11):
        bit_by_bit += reader.feed(content[at : at + 11])
    assert [*bit_by_bit, *reader.finish()] == read(content)


def test_rows_taken_together_give_what_they_give_one_by_one() -> None:
    noise = Random(7)
    columns = [rf"\\SQL1\PhysicalDisk({n} X:)\{name}" for n in range(3) for name in (*DISK, "Avg. Disk sec/Write")]
    columns += [rf"\\SQL1\Processor Information(0,{n})\% Processor Time" for n in range(4)]
    lines = [[f"{noise.choice((0.0, noise.random() * 90)):.9f}" for _ in columns] for _ in range(40)]
    lines[13][2] = " "
    lines[21][0] = "-1"
    text = log(columns, *lines).encode()
    together, alone = PerfMonLog("perfmon"), PerfMonLog("perfmon")
    single_lines = text.splitlines(keepends=True)
    bounds = (0, 1, 10, 25, len(single_lines))
    blocks = [list(together.feed(b"".join(single_lines[a:b]))) for a, b in pairwise(bounds)]
    singles = [list(alone.feed(line)) for line in single_lines]
    assert sum(map(len, blocks)) < sum(map(len, singles)), "some rows were taken together"
    assert values_of(blocks) == values_of(singles)


def values_of(batches: list[list[Item]]) -> dict[tuple[str, str, int, str], object]:
    """(kind, entity, time, metric) → value."""
    samples = [item for items in batches for item in items if isinstance(item, Rows)]
    return {
        (rows.table.kind, entity, seen, metric): values[number]
        for rows in samples
        for number, (entity, seen) in enumerate(zip(rows.entity, rows.seen, strict=True))
        for metric, values in (*rows.values.items(), ("covers", rows.covers_seconds or [0.0] * len(rows.seen)))
    }


def test_the_configuration_names_the_machine_if_it_is_one() -> None:
    columns = [r"\\WIN-8Q2\PhysicalDisk(0)\Disk Reads/sec"]
    assert list(last(read(log(columns, ["1"], ["1"]), PerfMonLog("p", "sql1")), "lun")) == ["sql1/PhysicalDisk0"]
    two = [*columns, r"\\WIN-9\PhysicalDisk(0)\Disk Reads/sec"]
    found = last(read(log(two, ["1", "1"], ["1", "1"]), PerfMonLog("p", "sql1")), "lun")
    assert list(found) == ["win-8q2/PhysicalDisk0", "win-9/PhysicalDisk0"]


def test_only_what_is_wanted_is_converted() -> None:
    """A log of everything has thousands of columns: those of no use may hold anything."""
    columns = [r"\\A\PhysicalDisk(0)\Disk Reads/sec", *(rf"\\A\Process(p#{n})\Thread Count" for n in range(3000))]
    items = read(log(columns, ["1", *["junk"] * 3000], ["1", *["junk"] * 3000]))
    assert last(items, "lun") == {"a/PhysicalDisk0": {"ops_read_total": 1}}
    assert len(build_plan(["", *columns], "a").series) == 1


def test_a_file_that_is_none_is_refused_with_what_to_do() -> None:
    with pytest.raises(CollectorError, match="it has no header"):
        read("Error: No valid counters.\r\n")
    with pytest.raises(CollectorError, match="no interval is complete"):
        read(log([r"\\A\PhysicalDisk(0)\Disk Reads/sec"], [" "]))
    with pytest.raises(CollectorError, match=r"collect \\PhysicalDisk"):
        read(log([r"\\A\Memory\Available MBytes"], ["1"], ["1"]))


def test_a_line_without_an_end_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdh, "MAX_LINE_BYTES", 1000)
    reader = PerfMonLog("p")
    for _ in range(9):
        assert list(reader.feed(b"x" * 100)) == []
    with pytest.raises(CollectorError, match="a line of more than"):
        list(reader.feed(b"x" * 200))


@pytest.mark.parametrize(
    ("head", "is_one"),
    [
        (b'\r\n"(PDH-CSV 4.0)","\\\\A\\PhysicalDisk(0)\\Disk Reads/sec"\r\n', True),
        (b'#TYPE x\r\n"Timestamp","Path","CookedValue"\r\n', True),
        ('"(PDH-CSV 4.0)"'.encode("utf-16"), True),
        (b"Timestamp,Device,Value\n", False),
        (b'{"fio version" : "fio-3.33"}', False),
        (b"", False),
    ],
)
def test_recognises_its_files_only(head: bytes, is_one: bool) -> None:
    assert PerfMonLog.recognises(head, "log.csv") is is_one


def test_the_disk_joins_by_its_number() -> None:
    items = read(log([r"\\SQLVM1\PhysicalDisk(12 E: F:)\Disk Reads/sec"], ["1"], ["1"]))
    lun = next(item for item in items if isinstance(item, SourceEntity) and item.kind == "lun")
    assert (lun.label, lun.ids) == ("sqlvm1/PhysicalDisk12", {"device": ("PhysicalDisk12",)})
    assert lun.attributes == {"drives": "E: F:"}


def test_a_foreign_table_does_not_fill_the_memory() -> None:
    lines = ['"Timestamp","Path","Value"', *(rf'"20.11.2026 08:00:00","/var/log/{n}","1"' for n in range(100_001))]
    with pytest.raises(CollectorError, match="this is not a counter log"):
        read("\n".join(lines))


@pytest.mark.parametrize(
    "text", ["a,b", '"a,b","c""d"', '"a"b,c', '"a', 'a"b",', ',"",', '"a""', '"\\\\m\\o(1,""2"")\\c"']
)
@pytest.mark.parametrize("separator", [",", "\t"])
def test_cells_are_cut_as_a_reader_of_csv_cuts_them(text: str, separator: str) -> None:
    line = text.replace(",", separator)
    found = pdh.Names(line, separator)
    assert list(found) == next(csv.reader([line], delimiter=separator))
    assert len(found) == len(list(found))


def test_more_machines_than_write_into_one_log_are_refused() -> None:
    columns = ",".join(rf"\\m{n}\o\c" for n in range(1001))
    with pytest.raises(CollectorError, match="too many machines"):
        list(PerfMonLog("load").feed(f'"(PDH-CSV 4.0) (UTC)(0)",{columns}\n'.encode()))


def test_a_binary_log_says_how_it_is_converted(tmp_path: Path) -> None:
    file = tmp_path / "disks.blg"
    file.write_bytes(bytes.fromhex("00000100000000004002000000000000") + bytes(48) + "tzres.dll".encode("utf-16-le"))
    with pytest.raises(
        UsageError, match=r"disks\.blg: a binary log is not read: relog NAME\.blg -f csv -o NAME\.csv"
    ):
        import_file(ImportRequest(file, tmp_path / "a.sanpath"))
    file.write_bytes(bytes(range(256)) * 40)
    with pytest.raises(UsageError, match=r"disks\.blg: .* relog NAME\.blg -f csv -o NAME\.csv turns a binary log"):
        import_file(ImportRequest(file, tmp_path / "a.sanpath"))

"""Result files that somebody has damaged, or made to do harm: a line that says so, or what can be read of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sanpath import registry
from sanpath.model import Column, Event, Rows, Table
from sanpath.plugin import CollectorError, Item
from sanpath.recorder.importing.importer import FileImport
from sanpath.recorder.importing.placement.placement import Placement, parse_zone
from sanpath.recorder.importing.row_batch import single_rows
from sanpath.recording.format import layout
from sanpath.recording.writing.clock import RecorderClock
from sanpath.recording.writing.writer import Writer
from sanpath_collectors.iometer.rows import Columns

CASES = Path(__file__).parents[2] / "collectors"


def read(reader: str, content: bytes) -> list[Item]:
    """What a reader makes of a content. Raises CollectorError."""
    found = registry.result_reader(b"", "", reader)
    assert found is not None
    one = found[1]("load")
    return [*one.feed(content), *one.finish()]


def test_a_csv_that_python_refuses_is_unreadable() -> None:
    with pytest.raises(CollectorError, match="not valid CSV"):
        read("figures", b'entity,quantity,value,source\n"' + b"x" * 200_000 + b'",a,b,c\n')


def test_aliases_in_figures_are_not_walked_through() -> None:
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]\n" for n in range(1, 30))
    text = f"l0: &l0 [1]\n{levels}figures:\n- entity: *l29\n"
    with pytest.raises(CollectorError, match="entity: one value is wanted"):
        read("figures", text.encode())


@pytest.mark.parametrize("limit", ["..", ".", "1.2.3", "9" * 400])
def test_a_bin_of_iometer_with_a_limit_that_is_no_number_is_none(limit: str) -> None:
    names = "Target Type,Target Name,Access Specification Name,# Disks,IOps,Read IOps,Write IOps,Queue Depth"
    counted = "Read I/Os,Bytes Read,Write I/Os,Bytes Written"
    header = f"{names},{counted},0 to {limit} uS,50 to 100.5 uS".split(",")
    row = Columns(header, ",").parse_row("ALL,All,4K,1,10,10,0,8,7,28672,0,0,3,7")
    assert row is not None
    assert row.bins == ((pytest.approx(100.5e-6), 7),)


def test_percentiles_of_fio_below_zero_are_none() -> None:
    content = b"".join(
        path.read_bytes() for path in (CASES / "fio/final-document-two-groups").iterdir() if path.suffix == ".json"
    )
    below = re.sub(rb'("(?:50|95|99)\.000000" : )(\d+)', rb"\1-\2", content)
    assert below != content
    rows = [item for item in read("fio", below) if isinstance(item, Rows)]
    assert rows
    assert all(value is None or value >= 0 for one in rows for result in one.values.values() for value in result)


@pytest.mark.parametrize("moment", [10**18, -(10**18), 2**63 - 1, 2**80])
@pytest.mark.parametrize("clock", ["local", "utc"])
def test_a_time_that_no_calendar_has_is_unreadable(moment: int, clock: str) -> None:
    for where in (parse_zone("Europe/Berlin"), None):
        if clock == "local" or abs(moment) >= 2**62:
            with pytest.raises(CollectorError, match="an impossible time"):
                Placement(zone=where).item(Event(moment, "x"), "local" if clock == "local" else "utc")


def test_samples_can_be_taken_apart() -> None:
    table = Table("load", (Column("in_flight"),))
    rows = Rows(table, ["a", "b"], [1, 2], {"in_flight": [3, None]}, None, [0.5, 1.0])
    assert list(single_rows(rows)) == [
        Rows(table, ["a"], [1], {"in_flight": [3]}, None, [0.5]),
        Rows(table, ["b"], [2], {"in_flight": [None]}, None, [1.0]),
    ]


def test_a_count_that_no_counter_holds_costs_its_sample_only(tmp_path: Path) -> None:
    table = Table("load", (Column("ops_read_total", 64),))
    rows = Rows(table, ["a", "b", "c"], [1, 2, 3], {"ops_read_total": [3, 2**70, -5]})
    layout.create(tmp_path / "r.sanpath")
    writer = Writer(tmp_path / "r.sanpath", "host.1")
    task = FileImport(writer, "load", RecorderClock(), Placement(), None, [], rows=3)
    task.write([rows])
    writer.close()
    assert task.rows == writer.rows_waiting == 1
    assert task.remarks == ["2 samples of load are left out: impossible figure or time"]

"""Sixty segments become one: sorted, complete, and never read beside those it was made of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sanpath.model import Column, Event, Rows, Table
from sanpath.recording import layout
from sanpath.recording.read import Recording
from sanpath.recording.store import LocalStore
from sanpath.recording.write import COMPACTED_SEGMENTS, Writer
from tests.recording.support import PORT, files, flush, numbers

TABLES = ("samples/switch_port", "inventory", "events", "polls")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    layout.create(tmp_path / "r.sanpath")
    return tmp_path / "r.sanpath"


@pytest.fixture
def writer(folder: Path) -> Iterator[Writer]:
    made = Writer(folder, "host.1", keep_seconds=0)
    yield made
    made.close()


def rows(file: Path) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        return connection.execute("SELECT * FROM read_parquet($file)", {"file": str(file)}).fetchall()


def test_every_sixty_segments_of_every_table_become_one(folder: Path, writer: Writer) -> None:
    for number in range(1, 2 * COMPACTED_SEGMENTS + 2):
        flush(writer, number)
    for table in TABLES:
        assert files(folder, table) == [
            "host.1-00000001-00000060.parquet",
            "host.1-00000061-00000120.parquet",
            "host.1-00000121-00000121.parquet",
        ]
    for found in numbers(Recording(folder)):
        assert found == list(range(1, 122))


def test_a_compacted_segment_of_samples_is_sorted_by_source_entity_and_time(folder: Path, writer: Writer) -> None:
    for number in range(COMPACTED_SEGMENTS):
        source = "ab"[number % 2]
        writer.samples(source, Rows(PORT, ["p2", "p1"], [number, number], {"link_up": [1, 0]}))
        writer.flush()
    (name,) = files(folder)
    found = [row[:3] for row in rows(folder / "samples/switch_port" / name)]
    assert found == sorted(found)
    assert len(found) == 2 * COMPACTED_SEGMENTS


def test_events_of_one_moment_stay_in_the_order_in_which_they_happened(folder: Path, writer: Writer) -> None:
    names = [f"e{number}" for number in range(2 * COMPACTED_SEGMENTS)]
    for first, second in zip(names[::2], names[1::2], strict=True):
        writer.event("s", Event(5, first))
        writer.event("s", Event(5, second))
        writer.flush()
    assert len(files(folder, "events")) == 1
    assert [event.name for _, event in Recording(folder).events()] == names


def test_counters_keep_their_bits_and_sources_their_gaps(folder: Path, writer: Writer) -> None:
    for number in range(COMPACTED_SEGMENTS // 2):
        writer.samples("a", Rows(PORT, ["p"], [number], {"bytes_rx_total": [2**64 - 1 - number]}))
        writer.samples("b", Rows(PORT, ["p"], [number], {"link_up": [None], "bytes_rx_total": [None]}))
        writer.flush()
    (name,) = files(folder)
    with duckdb.connect() as connection:
        found = connection.execute(
            "SELECT source, bytes_rx_total, link_up FROM read_parquet($file)",
            {"file": str(folder / "samples/switch_port" / name)},
        ).fetchall()
    assert found == [
        *(("a", 2**64 - 1 - number, None) for number in range(COMPACTED_SEGMENTS // 2)),
        *[("b", None, None)] * (COMPACTED_SEGMENTS // 2),
    ]


def test_a_column_that_nobody_asked_for_does_not_appear(folder: Path, writer: Writer) -> None:
    for number in range(1, COMPACTED_SEGMENTS + 1):
        flush(writer, number)
    with duckdb.connect() as connection:
        assert Recording(folder).view(connection, "switch_port") == ["link_up"]


def test_what_has_been_compacted_stays_for_those_who_are_reading_it(folder: Path) -> None:
    writer = Writer(folder, "host.1")
    for number in range(1, COMPACTED_SEGMENTS):
        flush(writer, number)
    with duckdb.connect() as connection:
        Recording(folder).view(connection, "switch_port")
        flush(writer, COMPACTED_SEGMENTS)
        assert connection.execute("SELECT count(*) FROM samples_switch_port").fetchall() == [(59,)]
    writer.end({"ended_us": 1, "load_exit_code": None, "recorder_cpu_seconds": 0.0})
    assert len(files(folder)) == COMPACTED_SEGMENTS + 1
    for found in numbers(Recording(folder)):
        assert found == list(range(1, COMPACTED_SEGMENTS + 1))


def test_a_crash_before_the_small_ones_are_gone_doubles_nothing(
    folder: Path, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleted: list[str] = []
    delete = LocalStore.delete

    def crash(store: LocalStore, name: str) -> None:
        if len(deleted) == 30:
            raise KeyboardInterrupt
        deleted.append(name)
        delete(store, name)

    monkeypatch.setattr(LocalStore, "delete", crash)
    for number in range(1, COMPACTED_SEGMENTS):
        flush(writer, number)
    with pytest.raises(KeyboardInterrupt):
        flush(writer, COMPACTED_SEGMENTS)
    assert len(files(folder)) == 1 + COMPACTED_SEGMENTS - 30
    for found in numbers(Recording(folder)):
        assert found == list(range(1, COMPACTED_SEGMENTS + 1))


def test_a_compaction_that_fails_costs_nothing_and_is_not_tried_for_ever(folder: Path, writer: Writer) -> None:
    in_the_way = folder / "events/host.1-00000001-00000060.parquet.partial"
    in_the_way.mkdir(parents=True)
    for number in range(1, 2 * COMPACTED_SEGMENTS + 1):
        flush(writer, number)
    assert len(files(folder, "events")) == COMPACTED_SEGMENTS + 1
    assert len(files(folder, "polls")) == 2
    for found in numbers(Recording(folder)):
        assert found == list(range(1, 2 * COMPACTED_SEGMENTS + 1))


def test_tables_that_are_written_seldom_are_compacted_on_their_own(folder: Path, writer: Writer) -> None:
    seldom = Table("volume", (Column("link_up"),))
    for number in range(1, COMPACTED_SEGMENTS + 1):
        if number % 2:
            writer.samples("s", Rows(seldom, ["v"], [number], {"link_up": [1]}))
        flush(writer, number)
    assert len(files(folder, "samples/volume")) == COMPACTED_SEGMENTS // 2
    assert len(files(folder)) == 1

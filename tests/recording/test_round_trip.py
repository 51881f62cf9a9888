"""What is written is what is read: counters to the last bit, gaps as gaps, texts as they were."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from duckdb import connect

from sanpath.model import Column, Event, Poll, Rows, SourceEntity, SourceLink, Table
from sanpath.recording.format import layout
from sanpath.recording.reading.recording import Recording
from sanpath.recording.writing.writer import Writer
from tests.support.recording import RecordingBuilder

PORT = Table("switch_port", (Column("bytes_rx_total", 64), Column("errors_rx_total", 32), Column("link_up")))
ODD_TEXTS = [
    'it\'s "quoted"; DROP TABLE samples;--',
    "two\nlines\tand a tab\r",
    "[bold red]markup[/] <b>&amp;</b> {braces} %s $files",
    "größe 漢字 🎉 \u202eright to left",
    "nul\x00inside",
    "",
]


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    layout.create(tmp_path / "r.sanpath")
    made = Writer(tmp_path / "r.sanpath", "host.1")
    made.header({"writer": "host.1", "started_us": 7, "load_command": [], "sources": []})
    yield made
    made.close()


def rows(values: Mapping[str, list[Any]], entity: list[str] | None = None, table: Table = PORT) -> Rows:
    names = entity or [f"p{number}" for number in range(len(next(iter(values.values()))))]
    return Rows(table, names, list(range(len(names))), dict(values))


def samples(folder: Path, kind: str = "switch_port") -> list[dict[str, Any]]:
    connection = connect()
    recording = Recording(folder)
    recording.view(connection, kind)
    cursor = connection.execute(f'SELECT * FROM "samples_{kind}" ORDER BY source, seen')
    names = [column[0] for column in cursor.description or []]
    found = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    connection.close()
    assert not recording.unreadable
    return found


@pytest.mark.parametrize("value", [0, 1, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1])
def test_a_counter_keeps_all_its_bits(writer: Writer, value: int) -> None:
    writer.samples("sw1", rows({"bytes_rx_total": [value, None]}))
    writer.flush()
    assert [row["bytes_rx_total"] for row in samples(writer.folder)] == [value, None]


def test_unanswered_is_null_and_never_asked_is_no_column(writer: Writer) -> None:
    writer.samples("sw1", rows({"bytes_rx_total": [5], "link_up": [None]}))
    writer.flush()
    (row,) = samples(writer.folder)
    assert row["link_up"] is None
    assert "errors_rx_total" not in row


def test_a_source_that_asks_less_than_another_leaves_its_gap(writer: Writer) -> None:
    writer.samples("a", rows({"bytes_rx_total": [5]}))
    writer.samples("b", rows({"bytes_rx_total": [6], "errors_rx_total": [1]}))
    writer.flush()
    assert [row["errors_rx_total"] for row in samples(writer.folder)] == [None, 1]


def test_a_gauge_that_is_no_number_was_not_answered(writer: Writer) -> None:
    writer.samples("sw1", rows({"link_up": [1.5, math.nan, math.inf, -2.0]}))
    writer.flush()
    assert [row["link_up"] for row in samples(writer.folder)] == [1.5, None, None, -2.0]


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_texts_come_back_as_they_were(writer: Writer, text: str) -> None:
    item = SourceEntity(
        "switch_port", text, text, {"wwpn": (text,)}, {"description": text, "up": True, "speed": None}
    )
    link = SourceLink("member_of", ("switch_port", text), ("switch", text), text)
    event = Event(3, text, {"step": text, "offered": 8})
    poll = Poll(text, 1, 2, 3, "failed", "refused", text)
    writer.samples(text, rows({"link_up": [1]}, entity=[text]))
    writer.inventory(text, 1, item)
    writer.inventory(text, 2, link)
    writer.event(text, event)
    writer.poll(poll)
    writer.flush()
    found = Recording(writer.folder)
    assert found.inventory() == [(text, 1, item), (text, 2, link)]
    assert found.events() == [(text, event)]
    assert found.polls() == [poll]
    (row,) = samples(writer.folder)
    assert (row["source"], row["entity"]) == (text, text)


@pytest.mark.parametrize("count", [3, 3000])
def test_each_sample_keeps_its_source_and_entity(writer: Writer, count: int) -> None:
    entities = [f"p{number}" for number in range(count)]
    expected = {(source, entity): float(sum(map(ord, source + entity))) for source in "ab" for entity in entities}
    for source in ("a", "b"):
        writer.samples(source, rows({"link_up": [expected[source, name] for name in entities]}, entity=entities))
        writer.flush()
    writer.samples("a", rows({"link_up": [0.5]}, entity=["late"]))
    writer.flush()
    found = {(row["source"], row["entity"]): row["link_up"] for row in samples(writer.folder)}
    assert found == expected | {("a", "late"): 0.5}


def test_many_samples_of_few_entities_keep_their_texts(writer: Writer) -> None:
    """As a log of counters has them; two of the texts are written alike."""
    names = [*ODD_TEXTS, "p\ud800", "p\udc80"]
    entities = names * 2000
    writer.samples("s'1", rows({"link_up": list(range(len(entities)))}, entity=entities))
    writer.flush()
    found = samples(writer.folder)
    assert {row["source"] for row in found} == {"s'1"}
    written = [*ODD_TEXTS, "p?", "p?"]
    assert [row["entity"] for row in found] == written * 2000
    assert [row["link_up"] for row in found] == list(range(len(entities)))


def test_half_a_surrogate_pair_costs_one_character(writer: Writer) -> None:
    writer.samples("\ud800s", rows({"link_up": [1]}, entity=["p\udc80"]))
    writer.inventory("s", 1, SourceEntity("volume", "v\ud83d", "v", {}, {"tag": "\ud800"}))
    writer.event("s", Event(1, "e", {"step": "\ud800"}))
    writer.flush()
    (row,) = samples(writer.folder)
    assert (row["source"], row["entity"]) == ("?s", "p?")
    ((_, _, item),) = Recording(writer.folder).inventory()
    assert item == SourceEntity("volume", "v?", "v", {}, {"tag": "?"})
    assert Recording(writer.folder).events() == [("s", Event(1, "e", {"step": "?"}))]


@pytest.mark.parametrize(
    "wrong",
    [
        rows({"bytes_rx_total": [-1]}),
        rows({"bytes_rx_total": [2**64]}),
        rows({"bytes_rx_total": ["many"]}),
        rows({"bytes_rx_total": [1, 2]}, entity=["p1"]),
        rows({"link_up": [[1]]}),
        rows({"undeclared": [1]}),
        Rows(PORT, ["p1"], [2**63], {"link_up": [1]}),
        Rows(PORT, ["p1"], [1, 2], {"link_up": [1]}),
        Rows(PORT, ["p1"], [1], {"link_up": [1]}, covers_seconds=[1.0, 2.0]),
    ],
    ids=["negative", "65 bits", "text", "too many", "list", "undeclared", "time", "two times", "two windows"],
)
def test_rows_that_cannot_be_recorded_are_refused_and_cost_no_others(writer: Writer, wrong: Rows) -> None:
    writer.samples("good", rows({"bytes_rx_total": [5], "link_up": [1]}))
    with pytest.raises((ValueError, OverflowError, TypeError)):
        writer.samples("bad", wrong)
    writer.samples("good", rows({"bytes_rx_total": [6], "link_up": [1]}))
    writer.flush()
    assert [(row["source"], row["bytes_rx_total"]) for row in samples(writer.folder)] == [("good", 5), ("good", 6)]


def test_segments_of_two_writers_are_one_recording(writer: Writer) -> None:
    other = Writer(writer.folder, "host.2")
    other.header({"writer": "host.2", "started_us": 3, "load_command": ["fio", "j"], "sources": []})
    for number in range(3):
        writer.samples("a", rows({"bytes_rx_total": [number]}))
        other.samples("b", rows({"bytes_rx_total": [10 + number]}))
        writer.flush()
        other.flush()
    other.end({"ended_us": 9, "load_exit_code": 0, "recorder_cpu_seconds": 0.5})
    found = [(row["source"], row["bytes_rx_total"]) for row in samples(writer.folder)]
    assert sorted(found) == [("a", 0), ("a", 1), ("a", 2), ("b", 10), ("b", 11), ("b", 12)]
    recording = Recording(writer.folder)
    assert recording.started_us == 3
    assert recording.load_command == ["fio", "j"]
    assert [ending.load_exit_code for ending in recording.endings()] == [0]


def test_of_several_tables_of_a_source_the_first_with_a_clock_says_the_plane(tmp_path: Path) -> None:
    clock = Column("latency_seconds_read_total", 64, 1e-9)
    out = RecordingBuilder(tmp_path / "planes.sanpath")
    out.source(
        "host",
        "linux_host",
        Table("lun", (Column("queue_depth"),), plane="kernel"),
        Table("lun", (clock,), plane="guest_block"),
        Table("lun", (clock,), plane="device"),
        Table("lun", (Column("in_flight"),)),
        Table("hba", (clock,), plane="vscsi"),
    )
    assert out.write().planes("lun") == {"host": "guest_block"}


def test_what_was_not_flushed_waits_for_the_next_flush(writer: Writer) -> None:
    writer.samples("a", rows({"bytes_rx_total": [1]}))
    (writer.folder / "samples").write_text("in the way")
    with pytest.raises(OSError, match="samples"):
        writer.flush()
    (writer.folder / "samples").unlink()
    writer.samples("a", rows({"bytes_rx_total": [2]}))
    writer.flush()
    assert [row["bytes_rx_total"] for row in samples(writer.folder)] == [1, 2]
    assert writer.rows_waiting == 0

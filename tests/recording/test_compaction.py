"""Sixty segments become one: sorted, complete, and never read beside those it was made of."""

from __future__ import annotations

import contextlib
import random
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sanpath.model import Column, Event, Rows, SourceEntity, SourceLink, Table
from sanpath.recording.format import layout
from sanpath.recording.format.compaction import COMPACTED_SEGMENTS, DROPPED, Retention
from sanpath.recording.reading.recording import Recording
from sanpath.recording.storage.store import LocalStore
from sanpath.recording.writing.writer import Writer
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


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five flushes are compacted, and three of what becomes of them."""
    monkeypatch.setattr("sanpath.recording.format.compaction.COMPACTED_SEGMENTS", 5)
    monkeypatch.setattr("sanpath.recording.format.compaction.MERGED_SEGMENTS", 3)


def rows(file: Path) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        return connection.execute("SELECT * FROM read_parquet($file)", {"file": str(file)}).fetchall()


@pytest.mark.slow
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
    assert len(deleted) == 30
    assert sum(len(files(folder, table)) for table in TABLES) == len(TABLES) * (1 + COMPACTED_SEGMENTS) - 30
    for found in numbers(Recording(folder)):
        assert found == list(range(1, COMPACTED_SEGMENTS + 1))


@pytest.mark.slow
def test_a_compaction_that_fails_costs_nothing_and_is_made_up_for(folder: Path, writer: Writer) -> None:
    (folder / "events/host.1-00000001-00000060.parquet.partial").mkdir(parents=True)
    for number in range(1, COMPACTED_SEGMENTS + 2):
        flush(writer, number)
    assert len(files(folder, "events")) == COMPACTED_SEGMENTS + 1
    assert len(files(folder, "polls")) == 2
    for found in numbers(Recording(folder)):
        assert found == list(range(1, COMPACTED_SEGMENTS + 2))
    for number in range(COMPACTED_SEGMENTS + 2, 2 * COMPACTED_SEGMENTS + 1):
        flush(writer, number)
    assert len(files(folder, "events")) == 1


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_a_compaction_that_can_never_be_made_is_given_up(folder: Path, writer: Writer) -> None:
    for number in range(1, 5):
        flush(writer, number)
    (folder / "events/host.1-00000001-00000001.parquet").write_bytes(b"PAR1 no more")
    for number in range(5, 51):
        flush(writer, number)
    # The 20 with the damaged one are left as they are, and after them it goes on.
    assert len(files(folder, "events")) == 20 + 2
    assert [event.seen for _, event in Recording(folder).events()] == list(range(2, 51))


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_compacted_segments_become_one_again_and_those_again(folder: Path, writer: Writer) -> None:
    for number in range(1, 5 * 3 * 3 + 5 * 3 + 5 + 2):
        flush(writer, number)
    for table in TABLES:
        assert files(folder, table) == [
            "host.1-00000001-00000045.parquet",
            "host.1-00000046-00000060.parquet",
            "host.1-00000061-00000065.parquet",
            "host.1-00000066-00000066.parquet",
        ]
    for found in numbers(Recording(folder)):
        assert found == list(range(1, 67))


@pytest.mark.usefixtures("small")
def test_a_segment_that_is_large_stays_as_it_is(
    folder: Path, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sanpath.recording.format.compaction.MERGED_VALUES", 6 * 10)
    for number in range(1, 5 * 12 + 1):
        flush(writer, number)
    # A row of these samples is six values: two compacted segments are large enough.
    assert [name[7:24] for name in files(folder)] == [f"{n:08d}-{n + 9:08d}" for n in range(1, 61, 10)]


@pytest.mark.usefixtures("small")
def test_another_writers_segments_are_left_alone(folder: Path, writer: Writer) -> None:
    other = Writer(folder, "host.0", keep_seconds=0)
    for number in range(1, 4):
        flush(other, number)
    other.close()
    for number in range(1, 11):
        flush(writer, number)
    assert files(folder) == [
        "host.0-00000001-00000001.parquet",
        "host.0-00000002-00000002.parquet",
        "host.0-00000003-00000003.parquet",
        "host.1-00000001-00000005.parquet",
        "host.1-00000006-00000010.parquet",
    ]


@pytest.mark.usefixtures("small")
def test_inventory_that_is_told_again_takes_no_more_room(folder: Path, writer: Writer) -> None:
    def result(number: int, entity: SourceEntity, host: str) -> None:
        writer.inventory("s", number, entity)
        writer.inventory("s", number, SourceLink("runs_on", ("vm", "v"), ("host", host), "said"))
        for port in "ab":
            writer.inventory("s", number, SourceLink("connects", ("host", "h"), ("switch_port", port), "said"))
        writer.flush()

    one, other = SourceEntity("vm", "v", "one"), SourceEntity("vm", "v", "other")
    for number in range(1, 21):
        result(number, other if number == 7 else one, "away" if 3 <= number <= 12 else "home")
    found = Recording(folder).inventory()
    assert [(seen, i) for _, seen, i in found if isinstance(i, SourceEntity)] == [(1, one), (7, other), (8, one)]
    links = [(seen, i.relation, i.to_end[1]) for _, seen, i in found if isinstance(i, SourceLink)]
    assert [(seen, host) for seen, relation, host in links if relation == "runs_on"] == [
        (1, "home"),
        (3, "away"),
        (13, "home"),
    ]
    assert [(seen, port) for seen, relation, port in links if relation == "connects"] == [(1, "a"), (1, "b")]
    assert [len(rows(folder / "inventory" / name)) for name in files(folder, "inventory")] == [8, 4]


@contextlib.contextmanager
def room_for(size_bytes: int) -> Iterator[None]:
    """Files cannot grow beyond this size: what is written first has room, and what is made of it has none."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("small")
def test_a_compaction_that_runs_out_of_room_in_its_middle_leaves_nothing_behind(folder: Path, writer: Writer) -> None:
    chance = random.Random(7)

    def more(number: int) -> None:
        counts = [chance.getrandbits(60) for _ in range(200)]
        writer.samples("s", Rows(PORT, ["p"] * 200, [number] * 200, {"bytes_rx_total": counts}))
        writer.flush()

    with room_for(6000):
        for number in range(1, 8):
            more(number)
    assert [path.name for path in (folder / "samples/switch_port").iterdir() if path.suffix != ".parquet"] == []
    assert len(files(folder)) == 7
    for number in range(8, 11):
        more(number)
    assert files(folder) == ["host.1-00000001-00000010.parquet"]
    assert len(rows(folder / "samples/switch_port" / files(folder)[0])) == 2000


def keeping(folder: Path, seconds: float, now: list[int], keep_seconds: float = 0) -> Writer:
    return Writer(folder, "host.1", keep_seconds=keep_seconds, retention=Retention(seconds, lambda: now[0]))


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_what_is_too_old_is_dropped_and_the_recording_says_so(folder: Path) -> None:
    now = [0]
    writer = keeping(folder, 20e-6, now)
    for number in range(1, 51):
        now[0] = number
        flush(writer, number)
    writer.close()
    recording = Recording(folder)
    events, polls, inventory, samples = numbers(recording)
    assert [seen for seen in events if seen in range(1, 51)][-1] == 50
    assert len(inventory) == 50
    dropped = [event.detail["before"] for _, event in recording.events() if event.name == DROPPED]
    assert dropped == sorted(dropped)
    assert polls == samples == list(range(samples[0], 51))
    # The last decision leaves with the flush after it.
    assert samples[0] in {int(str(before)) + 1 for before in dropped}
    assert 20 <= len(samples) <= 20 + 2 * 5


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_nothing_leaves_before_it_is_written_that_it_has_left(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0]
    writer = keeping(folder, 10e-6, now)
    delete = LocalStore.delete

    def checked(store: LocalStore, name: str) -> None:
        delete(store, name)
        found = Recording(folder)
        before = max((int(str(e.detail["before"])) for _, e in found.events() if e.name == DROPPED), default=0)
        polls = [poll.due for poll in found.polls()]
        assert polls == list(range(polls[0], polls[-1] + 1))
        assert polls[0] <= before + 1, "gone without a word"

    monkeypatch.setattr(LocalStore, "delete", checked)
    for number in range(1, 41):
        now[0] = number
        flush(writer, number)
    writer.close()
    assert len(Recording(folder).polls()) < 40


def test_tables_that_are_written_seldom_are_compacted_on_their_own(folder: Path, writer: Writer) -> None:
    seldom = Table("volume", (Column("link_up"),))
    for number in range(1, COMPACTED_SEGMENTS + 1):
        if number % 2:
            writer.samples("s", Rows(seldom, ["v"], [number], {"link_up": [1]}))
        flush(writer, number)
    assert len(files(folder, "samples/volume")) == COMPACTED_SEGMENTS // 2
    assert len(files(folder)) == 1

"""Small files of very much: left out and named, in little memory; what a recorder writes is never taken for such."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from sanpath.diagnose import diagnose
from sanpath.model import Event, Poll, Rows, SourceEntity
from sanpath.recording.format import compaction, layout
from sanpath.recording.format.row_budget import FEW_ROWS
from sanpath.recording.reading.recording import Recording
from sanpath.recording.redaction.redact import redact
from sanpath.recording.writing.writer import Writer
from tests.recording.support import PORT, files
from tests.recording.test_memory import memory_bytes
from tests.support.recording import START_US
from tests.support.stories import STORIES, recorded

ROWS = 1_500_000
QUIET_POLLS = 250
EVIL = "evil.1-00000001-00000001.parquet"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(Path(recorded("published").folder), tmp_path / "r.sanpath"))


def add(folder: Path, table: str, rows: int, changed: str = "", name: str = EVIL) -> Path:
    """One more segment: a row of the table, so many times."""
    some, target = next((folder / table).glob("test.*.parquet")), folder / table / name
    one = f"SELECT * {changed} FROM read_parquet('{some}') LIMIT 1"
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT one.* FROM ({one}) one, range({rows})) TO '{target}' (FORMAT parquet, COMPRESSION zstd)"
        )
    return target


TABLES = ["events", "polls", "inventory", "samples/load", "samples/switch_port"]


@pytest.mark.parametrize("table", TABLES)
def test_a_small_file_of_very_many_rows_is_left_out_and_takes_no_memory(folder: Path, table: str) -> None:
    expected = diagnose(Recording(folder)).verdict
    size = add(folder, table, ROWS).stat().st_size
    assert size < 100_000
    Path("/proc/self/clear_refs").write_text("5")  # The peak begins anew (proc(5)).
    before = memory_bytes("VmRSS")
    recording = Recording(folder)
    assert diagnose(recording).verdict == expected
    assert recording.unreadable == {f"{table}/{EVIL}"}
    assert memory_bytes("VmHWM") - before < 64e6


def test_many_such_files_count_together(folder: Path) -> None:
    for number in range(5):
        add(folder, "events", FEW_ROWS // 2, name=f"evil.{number}-00000001-00000001.parquet")
    recording = Recording(folder)
    assert len(recording.events()) <= FEW_ROWS
    assert len(recording.unreadable) >= 4


def test_a_text_of_very_many_letters_is_left_out(folder: Path) -> None:
    expected = Recording(folder).events()
    text = "REPLACE ('{\"text\": \"' || repeat('x', 100000000) || '\"}' AS detail)"
    assert add(folder, "events", 1, text).stat().st_size < 1_000_000
    recording = Recording(folder)
    assert recording.events() == expected
    assert recording.unreadable == {f"events/{EVIL}"}


def test_it_is_left_out_of_the_copy_to_send(folder: Path, tmp_path: Path) -> None:
    add(folder, "polls", ROWS)
    assert redact(folder, tmp_path / "copy.sanpath").left_out == [f"polls/{EVIL}"]


@pytest.mark.parametrize("story", sorted(STORIES))
def test_what_is_recorded_is_not_taken_for_such(story: str) -> None:
    recording = recorded(story)
    diagnose(recording)
    assert recording.unreadable == set()


@pytest.fixture
def idle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A long quiet run, compacted: counters stand still, polls come at even times, nothing else is said."""
    monkeypatch.setattr(compaction, "COMPACTED_SEGMENTS", 50)
    monkeypatch.setattr("sanpath.recording.format.row_budget.FEW_ROWS", 0)
    layout.create(tmp_path / "idle.sanpath")
    writer = Writer(tmp_path / "idle.sanpath", "test.1", keep_seconds=0)
    ports = [f"p{number}" for number in range(300)]
    for number in range(QUIET_POLLS):
        seen = START_US + number * 5_000_000
        values = {"bytes_rx_total": [7] * 300, "errors_rx_total": [0] * 300, "link_up": [1] * 300}
        writer.samples("s", Rows(PORT, ports, [seen] * 300, values))
        for source in range(10):
            spent = 20_000 + number * 7919 % 9000
            writer.poll(Poll(f"s{source}", seen, seen + source, seen + source + spent, "ok", 300, 3))
        writer.event("recorder", Event(seen, "clock", {"offset_seconds": 0.0}))
        if number % 60 == 0:
            for port in ports:
                writer.inventory("s", seen, SourceEntity("switch_port", port))
        writer.flush()
    writer.close()
    return tmp_path / "idle.sanpath"


@pytest.mark.slow
def test_an_idle_run_is_not_taken_for_such(idle: Path) -> None:
    assert len(files(idle)) < 20
    recording = Recording(idle)
    assert len(recording.polls()) == 10 * QUIET_POLLS
    assert len(recording.events()) == QUIET_POLLS
    assert len(recording.inventory()) == 300
    with duckdb.connect() as connection:
        recording.view(connection, "switch_port")
        assert connection.execute("SELECT count(*) FROM samples_switch_port").fetchall() == [(300 * QUIET_POLLS,)]
    assert recording.unreadable == set()

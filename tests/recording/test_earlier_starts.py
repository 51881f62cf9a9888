"""A recorder that was killed and started again: what its earlier starts have left is dropped as its own is."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from sanpath.model import Event
from sanpath.recording.format import layout
from sanpath.recording.format.compaction import DROPPED, Retention
from sanpath.recording.reading.recording import Recording
from sanpath.recording.storage.store import LocalStore
from sanpath.recording.writing.writer import Writer
from tests.recording.support import PORT, files, flush, numbers

HOUR = 3600.0
KEPT = 10 * HOUR
FLUSHES = 23
"""Four compacted segments of five flushes, and three small ones."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("sanpath.recording.format.compaction.COMPACTED_SEGMENTS", 5)
    monkeypatch.setattr("sanpath.recording.format.compaction.MERGED_SEGMENTS", 100)
    layout.create(tmp_path / "r.sanpath")
    return tmp_path / "r.sanpath"


def began(folder: Path, name: str, recorder: str, keep_seconds: float | None = None) -> Writer:
    retention = Retention(keep_seconds, lambda: time.time_ns() // 1000) if keep_seconds else None
    writer = Writer(folder, name, keep_seconds=0, retention=retention)
    source = {"name": "s", "collector": "c", "every_seconds": 1, "tables": [PORT]}
    writer.header({"started_us": time.time_ns() // 1000, "recorder": recorder, "sources": [source]})
    return writer


def recorded(folder: Path, name: str, recorder: str, first: int = 1) -> Writer:
    writer = began(folder, name, recorder)
    for number in range(first, first + FLUSHES):
        flush(writer, number)
    return writer


def aged(folder: Path, name: str, hours_ago: float, flush_hours: float = 1.0) -> None:
    """As if a writer's first flush had been so long ago, and the next ones an hour later each."""
    for file in [folder / "writers" / f"{name}.json", *folder.rglob(f"{name}-*.parquet")]:
        last = int(file.stem[-8:]) if file.suffix == ".parquet" else 1
        moment = time.time() - HOUR * (hours_ago - (last - 1) * flush_hours)
        os.utime(file, (moment, moment))


def killed(folder: Path, name: str, recorder: str, hours_ago: float, first: int = 1) -> None:
    """Recorded for 23 hours from then on, and ended without a word."""
    recorded(folder, name, recorder, first).close()
    aged(folder, name, hours_ago)


def of(folder: Path, name: str, table: str = "samples/switch_port") -> list[str]:
    return [file[len(name) + 1 : -8] for file in files(folder, table) if file.startswith(f"{name}-")]


def test_what_a_killed_start_has_left_goes_as_its_own_would(folder: Path) -> None:
    killed(folder, "site.1", "site", hours_ago=25.5)
    (folder / "load" / "site.1").mkdir(parents=True)
    (folder / "load" / "site.1" / "output").write_text("kept byte for byte")
    successor = began(folder, "site.2", "site", KEPT)
    flush(successor, 101)
    flush(successor, 102)
    # The flush of 10.5 hours ago is the 16th: the 15 before it went, in segments of five.
    for table in ("samples/switch_port", "polls"):
        assert of(folder, "site.1", table)[0] == "00000016-00000020"
    for table in ("inventory", "events"):
        assert of(folder, "site.1", table)[0] == "00000001-00000005"
    assert (folder / "load" / "site.1" / "output").exists()
    events, polls, inventory, samples = numbers(Recording(folder))
    assert polls == samples == [*range(16, FLUSHES + 1), 101, 102]
    assert [seen for seen in events if seen < 200] == inventory == [*range(1, FLUSHES + 1), 101, 102]

    # Hours later the rest goes, and nothing of its own.
    aged(folder, "site.1", hours_ago=50)
    for number in range(103, 107):
        flush(successor, number)
    successor.end({"ended_us": 1, "load_exit_code": None, "recorder_cpu_seconds": 0.0})
    assert of(folder, "site.1") == of(folder, "site.1", "polls") == []
    *_, samples = numbers(Recording(folder))
    assert samples == list(range(101, 107))


def test_it_is_written_that_they_have_left_before_they_leave(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(folder, "site.1", "site", hours_ago=25.5)
    delete, reported = LocalStore.delete, []

    def checked(store: LocalStore, name: str) -> None:
        reported.append([event for _, event in Recording(folder).events() if event.name == DROPPED])
        delete(store, name)

    monkeypatch.setattr(LocalStore, "delete", checked)
    successor = began(folder, "site.2", "site", KEPT)
    flush(successor, 101)
    assert reported == []
    flush(successor, 102)
    successor.close()
    assert len(reported) == 6
    assert all(len(events) == 1 for events in reported)
    ((event,), *_) = reported
    assert isinstance(event, Event)
    ago = time.time() - int(str(event.detail["before"])) / 1e6
    assert ago == pytest.approx(11.5 * HOUR, abs=60)
    assert event.detail["keep_seconds"] == KEPT


@pytest.mark.parametrize(
    ("recorder", "ended", "silent_seconds", "goes"),
    [
        ("site", False, 3600, True),
        ("site", True, 10, True),
        ("site", False, 10, False),
        ("elsewhere", False, 3600, False),
        ("elsewhere", True, 3600, False),
        ("", True, 3600, False),
    ],
    ids=["killed", "ended", "lives under the same name", "another's", "another's that has ended", "an import"],
)
def test_nothing_goes_of_who_lives_or_has_another_name(
    folder: Path, recorder: str, ended: bool, silent_seconds: float, goes: bool
) -> None:
    other = recorded(folder, "other.1", recorder)
    if ended:
        other.end({"ended_us": 1, "load_exit_code": None, "recorder_cpu_seconds": 0.0})
    aged(folder, "other.1", hours_ago=50)
    newest = folder / "events" / files(folder, "events")[-1]
    os.utime(newest, (time.time() - silent_seconds,) * 2)
    before = sorted(folder.rglob("other.1-*"))
    successor = began(folder, "site.2", "site", KEPT)
    for number in range(101, 108):
        flush(successor, number)
    successor.close()
    after = sorted(folder.rglob("other.1-*"))
    assert after == (
        [file for file in before if "samples" not in str(file) and "polls" not in str(file)] if goes else before
    )


def test_a_start_that_began_and_died_within_the_time_that_is_kept_stays(folder: Path) -> None:
    killed(folder, "site.1", "site", hours_ago=25.5)
    killed(folder, "site.2", "site", hours_ago=9, first=31)
    successor = began(folder, "site.3", "site", KEPT)
    flush(successor, 101)
    flush(successor, 102)
    successor.close()
    *_, samples = numbers(Recording(folder))
    assert samples == [*range(16, FLUSHES + 1), *range(31, 31 + FLUSHES), 101, 102]


def test_superseded_segments_go_before_the_one_that_holds_them(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded(folder, "site.1", "site").close()
    port = folder / "samples" / "switch_port"
    for number in range(1, 6):  # Killed before it had deleted what it had compacted.
        shutil.copy(port / "site.1-00000021-00000021.parquet", port / f"site.1-{number:08d}-{number:08d}.parquet")
    aged(folder, "site.1", hours_ago=100)
    delete = LocalStore.delete

    def checked(store: LocalStore, name: str) -> None:
        delete(store, name)
        read = [seen for found in list(numbers(Recording(folder)))[3:] for seen in found if seen < 100]
        assert len(read) == len(set(read)), "read again"

    monkeypatch.setattr(LocalStore, "delete", checked)
    successor = began(folder, "site.2", "site", KEPT)
    flush(successor, 101)
    flush(successor, 102)
    successor.close()
    assert of(folder, "site.1") == []


def test_of_a_store_that_tells_no_times_nothing_goes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(folder, "site.1", "site", hours_ago=50)
    monkeypatch.setattr(LocalStore, "written", lambda _store, _name: None)
    successor = began(folder, "site.2", "site", KEPT)
    flush(successor, 101)
    flush(successor, 102)
    successor.close()
    assert len(of(folder, "site.1")) == 4 + 3


def test_a_store_that_fails_while_it_is_looked_at_costs_no_row(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(folder, "site.1", "site", hours_ago=50)

    def fails(_store: LocalStore, name: str) -> None:
        raise OSError(f"{name}: no answer")

    monkeypatch.setattr(LocalStore, "written", fails)
    successor = began(folder, "site.2", "site", KEPT)
    flush(successor, 101)
    monkeypatch.undo()
    successor.close()
    assert len(of(folder, "site.1")) == 4 + 3
    *_, samples = numbers(Recording(folder))
    assert samples == [*range(1, FLUSHES + 1), 101]

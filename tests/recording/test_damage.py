"""Damaged and foreign files in a recording are named and left out; folders that are no recording are not touched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from duckdb import connect

from sanpath.errors import RecordingError, UsageError
from sanpath.model import Column, Event, Poll, Rows, Table
from sanpath.recording.format import layout
from sanpath.recording.format.compaction import Retention
from sanpath.recording.format.documents import Ending, Header
from sanpath.recording.reading.recording import Recording
from sanpath.recording.redaction.redact import redact
from sanpath.recording.writing.writer import Writer

PORT = Table("switch_port", (Column("link_up"),))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three flushes: one sample, one event and one poll each."""
    path = tmp_path / "r.sanpath"
    layout.create(path)
    writer = Writer(path, "host.1")
    for number in range(1, 4):
        writer.samples("s", Rows(PORT, ["p"], [number], {"link_up": [number]}))
        writer.event("s", Event(number, f"e{number}"))
        writer.poll(Poll("s", number, number, number, "ok"))
        writer.flush()
    writer.close()
    return path


def link_up(recording: Recording) -> list[float]:
    connection = connect()
    recording.view(connection, "switch_port")
    found = [row[0] for row in connection.execute("SELECT link_up FROM samples_switch_port ORDER BY seen").fetchall()]
    connection.close()
    return found


def segment(folder: Path, table: str, number: int) -> Path:
    return folder / table / f"host.1-{number:08d}-{number:08d}.parquet"


@pytest.mark.parametrize("kept", [0, 3, 100, -1], ids=["empty", "three bytes", "half", "one byte short"])
def test_a_truncated_segment_is_left_out_and_named(folder: Path, kept: int) -> None:
    damaged = segment(folder, "samples/switch_port", 2)
    damaged.write_bytes(damaged.read_bytes()[:kept])
    recording = Recording(folder)
    assert link_up(recording) == [1, 3]
    assert recording.unreadable == {"samples/switch_port/host.1-00000002-00000002.parquet"}


def test_a_damaged_segment_of_one_table_costs_no_other_table(folder: Path) -> None:
    segment(folder, "events", 1).write_bytes(b"PAR1 not any more")
    recording = Recording(folder)
    assert [event.name for _, event in recording.events()] == ["e2", "e3"]
    assert [poll.due for poll in recording.polls()] == [1, 2, 3]
    assert link_up(recording) == [1, 2, 3]
    assert recording.unreadable == {"events/host.1-00000001-00000001.parquet"}


def test_damage_inside_a_segment_is_found_when_it_is_read(folder: Path) -> None:
    damaged = segment(folder, "events", 2)
    content = bytearray(damaged.read_bytes())
    content[4 : len(content) // 3] = b"\xff" * (len(content) // 3 - 4)
    damaged.write_bytes(content)
    recording = Recording(folder)
    assert [event.name for _, event in recording.events()] == ["e1", "e3"]
    assert recording.unreadable == {"events/host.1-00000002-00000002.parquet"}


@pytest.mark.slow
def test_no_flipped_bit_is_read_as_if_nothing_were_wrong(folder: Path) -> None:
    damaged = segment(folder, "samples/switch_port", 2)
    whole = damaged.read_bytes()
    for at in range(0, len(whole), 7):
        damaged.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        recording = Recording(folder)
        assert link_up(recording) == [1, 3]
        assert recording.unreadable == {"samples/switch_port/host.1-00000002-00000002.parquet"}


@pytest.mark.parametrize("by", ["another program", "an earlier version"])
def test_a_segment_without_a_checksum_is_read(folder: Path, by: str) -> None:
    for path in folder.rglob("*.parquet"):
        content = path.read_bytes()
        connection = connect()
        if by == "another program":
            connection.execute(f"COPY (SELECT * FROM '{path}') TO '{path}.new' (FORMAT parquet)")
            Path(f"{path}.new").replace(path)
        else:
            place = content.index(b"sanpath_sha256") + 16
            path.write_bytes(content[:place] + b"0" * 64 + content[place + 64 :])
        connection.close()
    recording = Recording(folder)
    assert link_up(recording) == [1, 2, 3]
    assert recording.unreadable == set()


def test_a_damaged_segment_is_left_out_of_the_copy_to_send_and_named(folder: Path, tmp_path: Path) -> None:
    damaged = segment(folder, "events", 2)
    content = bytearray(damaged.read_bytes())
    content[content.index(b"PAR1") + 40] ^= 1
    damaged.write_bytes(content)
    done = redact(folder, tmp_path / "copy.sanpath")
    assert done.left_out == ["events/host.1-00000002-00000002.parquet"]


def test_a_foreign_file_is_left_out_and_named(folder: Path) -> None:
    (folder / "samples/switch_port/export.parquet").write_bytes(
        segment(folder, "samples/switch_port", 1).read_bytes()
    )
    (folder / "samples/switch_port/notes.txt").write_text("mine")
    recording = Recording(folder)
    assert link_up(recording) == [1, 2, 3]
    assert recording.unreadable == {"samples/switch_port/export.parquet"}


def test_what_a_killed_writer_leaves_half_written_is_not_read(folder: Path) -> None:
    (folder / "samples/switch_port/host.1-00000004-00000004.partial").write_bytes(b"PAR1")
    recording = Recording(folder)
    assert link_up(recording) == [1, 2, 3]
    assert not recording.unreadable


@pytest.mark.parametrize("content", ["", "{", "[]", '{"started_us": "soon"}'])
def test_a_damaged_header_is_left_out_and_named(folder: Path, content: str) -> None:
    (folder / "writers").mkdir()
    (folder / "writers/host.1.json").write_text('{"started_us": 5}')
    (folder / "writers/host.2.json").write_text(content)
    (folder / "writers/host.2.end.json").write_text(content)
    recording = Recording(folder)
    assert recording.started_us == 5
    assert recording.endings() == []
    assert recording.unreadable == {"writers/host.2.json", "writers/host.2.end.json"}


def write(folder: Path, retention: Retention | None = None) -> None:
    """Three flushes of host.2, which ends as it should."""
    writer = Writer(folder, "host.2", retention=retention)
    writer.header(Header(started_us=0))
    for number in range(4, 7):
        writer.samples("s", Rows(PORT, ["p"], [number], {"link_up": [number]}))
        writer.flush()
    writer.end(Ending(ended_us=7, load_exit_code=None, recorder_cpu_seconds=0.0))


@pytest.mark.parametrize("number", [1, 2, 3], ids=["first", "middle", "last"])
def test_a_segment_that_is_gone_is_named(folder: Path, number: int) -> None:
    write(folder)
    name = f"samples/switch_port/host.2-{number:08d}-{number:08d}.parquet"
    assert Recording(folder).unreadable == set()
    (folder / name).unlink()
    assert Recording(folder).unreadable == {name}


def test_what_was_deleted_for_its_age_is_not_missing(folder: Path) -> None:
    write(folder, Retention(3600, lambda: 0))
    oldest, middle = (f"samples/switch_port/host.2-0000000{n}-0000000{n}.parquet" for n in (1, 2))
    (folder / oldest).unlink()
    assert Recording(folder).unreadable == set()
    write_back = (folder / middle).read_bytes()
    (folder / oldest).write_bytes(write_back)
    (folder / middle).unlink()
    assert Recording(folder).unreadable == {middle}


@pytest.mark.parametrize("table", ["samples/switch_port", "../..", "samples/../events", "nothing", ""])
def test_an_ending_that_names_any_number_of_any_table_costs_nothing(folder: Path, table: str) -> None:
    write(folder)
    ending = folder / "writers/host.2.end.json"
    ending.write_text(json.dumps(json.loads(ending.read_text()) | {"written": {table: 10**15}}))
    assert len(Recording(folder).unreadable) <= 3


def test_a_segment_within_a_wider_one_is_superseded(folder: Path) -> None:
    wide = folder / "samples/switch_port/host.1-00000001-00000003.parquet"
    connection = connect()
    connection.execute(
        f"COPY (SELECT * FROM read_parquet('{folder}/samples/switch_port/*.parquet')) TO '{wide}' (FORMAT parquet)"
    )
    connection.close()
    assert link_up(Recording(folder)) == [1, 2, 3]
    segment(folder, "samples/switch_port", 2).unlink()
    assert link_up(Recording(folder)) == [1, 2, 3]


def test_a_newer_format_is_refused_with_what_to_do(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"format": 2, "tool_version": "9.1"}))
    with pytest.raises(
        RecordingError, match=r"written by sanpath 9\.1 in format 2; .*install a newer sanpath"
    ) as caught:
        Recording(folder)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": "one"}', "\x00"])
def test_a_manifest_that_makes_no_sense_is_refused(folder: Path, content: str) -> None:
    (folder / "manifest.json").write_text(content)
    with pytest.raises(RecordingError, match=r"manifest\.json cannot be read"):
        Recording(folder)


def test_a_folder_that_is_no_recording_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="there is no such recording"):
        Recording(tmp_path / "nowhere")
    with pytest.raises(RecordingError, match="not a sanpath recording"):
        Recording(tmp_path)


def test_a_folder_in_use_is_not_made_a_recording(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="choose another folder with --into"):
        layout.create(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_is_no_folder_to_record_into(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    for folder in (tmp_path / "thesis.txt", tmp_path / "thesis.txt" / "r.sanpath"):
        with pytest.raises(UsageError, match="Not a directory"):
            layout.create(folder)


def test_an_empty_folder_becomes_a_recording_and_a_recording_is_joined(tmp_path: Path) -> None:
    assert layout.create(tmp_path).run_id == layout.create(tmp_path).run_id

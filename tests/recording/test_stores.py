"""A recording may lie wherever fsspec reaches; commands take its URL."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from sanpath.diagnose import diagnose
from sanpath.errors import RecordingError, UsageError
from sanpath.recording.format import layout
from sanpath.recording.format.compaction import COMPACTED_SEGMENTS, Retention
from sanpath.recording.reading.recording import Recording
from sanpath.recording.storage.store import location, store_at
from sanpath.recording.writing.writer import Writer
from tests.recording.support import flush, numbers


def below_dir(folder: Path) -> str:
    """A URL of fsspec's `dir`, a filesystem in Python that DuckDB has to be lent. It finds its own path below it."""
    Path(f"{folder}/r.sanpath/{folder}").mkdir(parents=True)
    return f"dir::file://{folder}/r.sanpath"


@pytest.fixture(params=["memory", "dir", "local", "file", "path"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path | str]:
    """An empty place of every sort."""
    places = {
        "memory": "memory://bucket/r.sanpath",
        "dir": below_dir(tmp_path / "below"),
        "local": f"local://{tmp_path}/r.sanpath",
        "file": f"file://{tmp_path}/r.sanpath",
        "path": tmp_path / "r.sanpath",
    }
    yield places[request.param]
    memory = fsspec.filesystem("memory")
    if memory.exists("/bucket"):
        memory.rm("/bucket", recursive=True)


def test_what_is_written_to_a_store_is_read_from_it(place: Path | str) -> None:
    created = layout.create(place)
    writer = Writer(place, "host.1", keep_seconds=0)
    writer.header({"started_us": 7})
    flush(writer, 1)
    growing = Recording(place)
    assert layout.check(place) == created, "others may join while it is written"
    assert list(numbers(growing)) == [[1]] * 4
    for number in range(2, COMPACTED_SEGMENTS + 2):
        flush(writer, number)
    assert list(numbers(Recording(place))) == [list(range(1, COMPACTED_SEGMENTS + 2))] * 4
    writer.end({"ended_us": 9, "load_exit_code": 3, "recorder_cpu_seconds": 0.5})
    recording = Recording(place)
    assert recording.manifest == created
    with pytest.raises(UsageError, match="has ended"):
        layout.check(place)
    assert [ending.load_exit_code for ending in recording.endings()] == [3]
    assert sorted(store_at(place).list("events")) == [
        "host.1-00000001-00000060.parquet",
        "host.1-00000061-00000061.parquet",
    ]
    assert diagnose(recording).run.load_exit_code == 3


def test_a_store_is_compacted_in_levels_and_old_samples_leave_it(
    place: Path | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sanpath.recording.format.compaction.COMPACTED_SEGMENTS", 4)
    monkeypatch.setattr("sanpath.recording.format.compaction.MERGED_SEGMENTS", 2)
    layout.create(place)
    now = [0]
    writer = Writer(place, "host.1", keep_seconds=0, retention=Retention(10e-6, lambda: now[0]))
    for number in range(1, 25):
        now[0] = number
        flush(writer, number)
    writer.close()
    inventory = sorted(store_at(place).list("inventory"))
    assert inventory == ["host.1-00000001-00000016.parquet", "host.1-00000017-00000024.parquet"]
    _, polls, _, samples = numbers(Recording(place))
    assert polls == samples == list(range(samples[0], 25))
    assert 10 <= len(samples) <= 10 + 2 * 4


def test_a_damaged_object_is_left_out_and_named() -> None:
    place = "memory://bucket/damaged.sanpath"
    layout.create(place)
    writer = Writer(place, "host.1")
    for number in (1, 2, 3):
        flush(writer, number)
    writer.close()
    store_at(place).put("events/host.1-00000002-00000002.parquet", b"PAR1 no more")
    recording = Recording(place)
    assert [event.seen for _, event in recording.events()] == [1, 3]
    assert recording.unreadable == {"events/host.1-00000002-00000002.parquet"}


def test_a_place_without_a_recording_is_said() -> None:
    with pytest.raises(RecordingError, match="there is no such recording"):
        Recording("memory://nothing/r.sanpath")
    fsspec.filesystem("memory").pipe_file("/other/file.txt", b"mine")
    with pytest.raises(UsageError, match="choose another folder with --into"):
        layout.create("memory://other")


def test_a_store_without_a_library_is_said() -> None:
    with pytest.raises(UsageError, match="nowhere://x: cannot be opened"):
        store_at("nowhere://x")


def test_a_password_in_a_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError) as caught:
        location("ftp://me:hunter2@host/r.sanpath")
    assert "hunter2" not in str(caught.value)


def test_a_run_into_a_store_brings_the_loads_output_there(tmp_path: Path) -> None:
    url = below_dir(tmp_path)
    load = [sys.executable, "-c", "print('said')"]
    command = [sys.executable, "-m", "sanpath", "run", "--into", url, "--format", "json", "--", *load]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["run"]["load_exit_code"] == 0
    store = store_at(url)
    (writer,) = store.list("load")
    assert store.read(f"load/{writer}/output") == b"said\n"
    assert (tmp_path / "r-report.md").exists()
    again = subprocess.run(
        [sys.executable, "-m", "sanpath", "diagnose", url, "--format", "json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert json.loads(again.stdout)["run"]["id"] == Recording(url).manifest.run_id


def test_a_full_disk_is_named_by_the_recording_on_it(tmp_path: Path) -> None:
    """The system does not name the file of a failed write."""
    store = store_at(tmp_path / "r.sanpath")
    with pytest.raises(OSError, match="No space left") as failed, store.writing("manifest.json"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert failed.value.filename == str(tmp_path / "r.sanpath")
    assert not list((tmp_path / "r.sanpath").glob("manifest*"))

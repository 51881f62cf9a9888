"""A recording that is read again and again: with what was kept of it the verdict is that of the whole."""

from __future__ import annotations

import random
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from sanpath.diagnose import diagnose
from sanpath.model import Event, Poll, Rows
from sanpath.recording.reading import recording as reading
from sanpath.recording.reading import sample_cache as holding
from sanpath.recording.reading.recording import Recording
from sanpath.recording.reading.sample_cache import SampleCache
from sanpath.recording.storage.store import store_at
from sanpath.recording.writing.writer import Writer
from sanpath.views.json import render
from sanpath.views.live.reading.judging import read_snapshot
from tests.pulse.support import judged_again
from tests.support.stories import recorded


class Growing:
    """A copy of a story that grows as it did when it was recorded: a flush at each of some moments."""

    def __init__(self, story: str, folder: Path) -> None:
        whole = recorded(story)
        self.folder, self._said = folder, judged_again(whole, every_kind=True)
        folder.mkdir()
        (folder / "writers").mkdir()
        shutil.copy(Path(str(whole.folder)) / "manifest.json", folder)
        for header in (Path(str(whole.folder)) / "writers").glob("*.json"):
            if not header.name.endswith(".end.json"):
                shutil.copy(header, folder / "writers")
                name = header.name.removesuffix(".json")
        self.writer = Writer(folder, name, keep_seconds=0.0)
        for source, seen, item in whole.inventory():
            self.writer.inventory(source, seen, item)

    def moments(self, number: int, seed: int) -> list[int]:
        """So many random moments of its time, in order."""
        drawn = random.Random(seed)
        return sorted(drawn.randint(self._said[0][0], self._said[-1][0]) for _ in range(number))

    def until(self, moment: int) -> None:
        """Let it grow, and flush."""
        while self._said and self._said[0][0] <= moment:
            _, source, item = self._said.pop(0)
            match item:
                case Rows():
                    self.writer.samples(source, item)
                case Event():
                    self.writer.event(source, item)
                case Poll():
                    self.writer.poll(item)
        self.writer.flush()


@pytest.mark.slow
@pytest.mark.parametrize("story", ["published", "mixed", "neighbour"])
def test_the_same_digits_at_random_moments(story: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    growing = Growing(story, tmp_path / "r.sanpath")
    held = SampleCache(store_at(growing.folder))
    for moment in growing.moments(8, seed=3):
        growing.until(moment)
        with monkeypatch.context() as uncached:
            uncached.setattr(reading, "MAX_VALUES", 0)
            whole = render(diagnose(Recording(growing.folder)))
        assert render(diagnose(Recording(growing.folder, sample_cache=held))) == whole
        for _ in range(2):  # The second one finds nothing new.
            seen = read_snapshot(growing.folder, cache=held)
            assert seen.diagnosis is not None, seen.failure
            assert render(seen.diagnosis) == whole
    held.close()


def rows_of(recording: Recording, kind: str = "switch_port") -> int:
    cached = recording.cached(kind)
    if cached is not None:
        return len(cached.columns["seen"].numbers)
    with closing(recording.connect()) as connection:
        if not recording.view(connection, kind):
            return 0
        return int(connection.execute(f'SELECT count(*) FROM "samples_{kind}"').fetchall()[0][0])


@pytest.mark.slow
def test_what_was_compacted_is_not_read_again_and_every_row_is_there_once(tmp_path: Path) -> None:
    growing = Growing("published", tmp_path / "r.sanpath")
    held = SampleCache(store_at(growing.folder))
    for moment in growing.moments(150, seed=5):  # Sixty flushes are compacted into one.
        growing.until(moment)
        assert rows_of(Recording(growing.folder, sample_cache=held)) == rows_of(Recording(growing.folder))
    assert len(list((growing.folder / "samples" / "switch_port").iterdir())) < 100
    held.close()


def test_what_is_gone_from_the_folder_is_gone_from_what_is_held(tmp_path: Path) -> None:
    growing = Growing("published", tmp_path / "r.sanpath")
    held = SampleCache(store_at(growing.folder))
    for moment in growing.moments(6, seed=9):
        growing.until(moment)
    before = rows_of(Recording(growing.folder, sample_cache=held))
    next((growing.folder / "samples" / "switch_port").iterdir()).unlink()
    after = rows_of(Recording(growing.folder, sample_cache=held))
    assert after == rows_of(Recording(growing.folder)) < before
    held.close()


def test_a_damaged_segment_is_left_out_and_the_others_are_held(tmp_path: Path) -> None:
    growing = Growing("published", tmp_path / "r.sanpath")
    held = SampleCache(store_at(growing.folder))
    for moment in growing.moments(6, seed=9):
        growing.until(moment)
    broken = sorted((growing.folder / "samples" / "switch_port").iterdir())[1]
    broken.write_bytes(broken.read_bytes()[:100])
    recording = Recording(growing.folder, sample_cache=held)
    assert rows_of(recording) == rows_of(Recording(growing.folder))
    assert any(broken.name in name for name in recording.unreadable)
    held.close()


def test_too_much_is_read_from_its_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "MAX_VALUES", 100)
    growing = Growing("published", tmp_path / "r.sanpath")
    held = SampleCache(store_at(growing.folder))
    for moment in growing.moments(3, seed=1):
        growing.until(moment)
        assert rows_of(Recording(growing.folder, sample_cache=held)) == rows_of(Recording(growing.folder))
    held.close()

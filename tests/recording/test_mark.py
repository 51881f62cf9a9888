"""A person's mark: one more writer of a recording that grows, none of one that has ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnose import diagnose
from sanpath.errors import RecordingError
from sanpath.recording.reading.recording import Recording
from sanpath.recording.writing.mark import add_mark
from tests.support.recording import microseconds
from tests.support.san import San
from tests.support.stories import published


def test_a_mark_is_read_as_it_was_typed_and_the_run_still_goes_on(tmp_path: Path) -> None:
    folder = published(San(tmp_path / "r.sanpath"), in_flight=(16, 128)).write(ended=False).folder
    assert isinstance(folder, Path)
    before = diagnose(Recording(folder))
    add_mark(folder, microseconds(9.0), 'to "RR" \u202e\x1b[2J ' + "x" * 500)
    add_mark(folder, microseconds(7.0), "first")
    after = diagnose(Recording(folder))
    assert [mark.text[:9] for mark in after.marks] == ["first", 'to "RR" \u202e']
    assert len(after.marks[1].text) == 200
    assert after.run == before.run
    assert after.verdict == before.verdict
    assert after.sources == before.sources
    assert any("'first' was marked" in note for note in after.steps[0].valid)
    assert not any("was marked" in note for note in after.steps[1].valid)


def test_a_recording_that_has_ended_is_left_as_it_is(tmp_path: Path) -> None:
    folder = published(San(tmp_path / "r.sanpath"), in_flight=(16,)).write().folder
    assert isinstance(folder, Path)
    files = sorted(folder.rglob("*"))
    with pytest.raises(RecordingError, match="has ended"):
        add_mark(folder, microseconds(9.0), "too late")
    assert sorted(folder.rglob("*")) == files

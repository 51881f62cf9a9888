"""The process that reads the recording for the screen: what it says of growing, ended, killed and broken ones."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from sanpath.cli.sessions.child_process import environment, python
from sanpath.diagnose import diagnose
from sanpath.facts.chart_series import series
from sanpath.rulebook.site.options import Choice
from sanpath.topology.resolve import resolve
from sanpath.views.live.reading.feed import ReaderProcess
from sanpath.views.live.reading.judging import read_snapshot
from tests.support.recording import START_US
from tests.support.san import San
from tests.support.stories import published, recorded
from tests.views.live.terminal import readers_of


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published(San(tmp_path_factory.mktemp("read") / "r.sanpath")).write().folder


def reading(folder: Path, scene: Callable[[ReaderProcess], Awaitable[None]]) -> None:
    async def run() -> None:
        feed = ReaderProcess(python("sanpath.views.live.reading.reader", str(folder)), environment())
        try:
            await scene(feed)
        finally:
            await feed.close()

    asyncio.run(run())


def test_a_finished_recording_is_read_as_ended(recording: Path) -> None:
    async def scene(feed: ReaderProcess) -> None:
        found = await feed.snapshot()
        assert found.ended
        assert found.failure == ""
        assert found.diagnosis is not None
        assert found.diagnosis.verdict.kind == "bottleneck"
        assert set(found.freshness) == {"fio", "sw1", "fa1"}
        assert found.cost_seconds > 0

    reading(recording, scene)


def test_a_recording_that_is_not_there_yet_is_asked_for_again(tmp_path: Path) -> None:
    folder = tmp_path / "r.sanpath"

    async def scene(feed: ReaderProcess) -> None:
        assert "no such recording" in (await feed.snapshot()).failure
        published(San(folder)).write(ended=False)
        found = await feed.snapshot()
        assert found.diagnosis is not None
        assert not found.ended

    reading(folder, scene)


def test_a_killed_reader_is_started_again(recording: Path) -> None:
    async def scene(feed: ReaderProcess) -> None:
        assert (await feed.snapshot()).diagnosis is not None
        for process in readers_of(recording):
            os.kill(process, signal.SIGKILL)
        assert "died" in (await feed.snapshot()).failure
        assert (await feed.snapshot()).diagnosis is not None

    reading(recording, scene)


def test_closing_leaves_no_process_behind(recording: Path) -> None:
    async def scene(feed: ReaderProcess) -> None:
        under_way = asyncio.create_task(feed.snapshot())
        while not readers_of(recording):
            await asyncio.sleep(0.02)
        await feed.close()
        assert readers_of(recording) == []
        under_way.cancel()

    reading(recording, scene)


@pytest.mark.parametrize(("seconds", "gone"), [(70, False), (600, True)])
def test_a_recorder_that_was_killed_is_silent_and_its_sources_are_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, gone: bool
) -> None:
    """Four steps of 12 s, 4 s apart: the last poll is 67 s after the start."""
    folder = published(San(tmp_path / "r.sanpath")).write(ended=False).folder
    monkeypatch.setattr("time.time", lambda: START_US / 1e6 + seconds)
    found = read_snapshot(folder)
    assert found.failure == ""
    assert not found.ended
    assert found.silent == gone
    assert {name for name, source in found.freshness.items() if source.late} == (
        {"fio", "sw1", "fa1"} if gone else set()
    )


def test_a_wrong_rule_file_is_said_and_the_other_rules_judge(recording: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("id: broken\n", encoding="utf-8")
    found = read_snapshot(recording, Choice(tmp_path)).diagnosis
    assert found is not None
    assert "broken.yaml" in found.judging.refused[0]
    assert found.findings


def test_a_folder_of_rules_that_is_not_there_is_said_and_not_raised(recording: Path, tmp_path: Path) -> None:
    found = read_snapshot(recording, Choice(tmp_path / "nowhere"))
    assert found.diagnosis is None
    assert "nowhere" in found.failure


@pytest.mark.parametrize("story", ["published", "mixed", "array_not_observed"])
def test_a_look_says_what_a_diagnosis_and_the_lines_over_time_say(story: str) -> None:
    recording = recorded(story)
    seen = read_snapshot(recording.folder)
    assert seen.failure == ""
    assert seen.diagnosis == diagnose(recording)
    assert seen.series == series(recording, resolve(recording.inventory()))

"""Samples that were dropped because they are old, or not read by a view of the end: steps without them say so."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from duckdb import connect

from sanpath.diagnose import diagnose
from sanpath.diagnosis.model import Diagnosis
from sanpath.facts.samples.step_samples import step_samples
from sanpath.model import Event, Poll, Rows, Step
from sanpath.recording.format import layout
from sanpath.recording.format.compaction import DROPPED
from sanpath.recording.reading.recording import Recording
from sanpath.recording.writing.writer import Writer
from sanpath.views.live.reading.judging import LIVE_SECONDS, read_snapshot
from sanpath.views.terminal_report import render
from tests.recording.support import PORT

START_US, SECOND = 1_800_000_000_000_000, 1_000_000
STEP_SECONDS = 1000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    layout.create(tmp_path / "r.sanpath")
    return tmp_path / "r.sanpath"


def record(folder: Path, steps: int, recorded_from: int = 0) -> None:
    """Steps of 1000 s one after the other, with a port that is polled every 10 s, from some second on."""
    writer = Writer(folder, "host.1")
    ports = {"name": "s", "collector": "c", "every_seconds": 10, "tables": [PORT]}
    load = {"name": "fio", "collector": "fio", "every_seconds": 1, "tables": []}
    writer.header({"started_us": START_US, "sources": [ports, load]})
    for number in range(steps):
        for name, at in (("step-begin", 0), ("ramp-end", 100), ("step-end", STEP_SECONDS)):
            seen = START_US + (number * STEP_SECONDS + at) * SECOND
            writer.event("fio", Event(seen, name, {"step": f"s{number}", "group": str(number), "loads": "fio"}))
    for second in range(recorded_from, steps * STEP_SECONDS, 10):
        seen = START_US + second * SECOND
        writer.samples("s", Rows(PORT, ["p"], [seen], {"bytes_rx_total": [second]}))
        writer.poll(Poll("s", seen, seen, seen + 1000, "ok", rows=1))
    if recorded_from:
        before = START_US + recorded_from * SECOND
        writer.event("recorder", Event(before, DROPPED, {"before": before, "keep_seconds": 600.0}))
    writer.end({"ended_us": seen, "load_exit_code": None, "recorder_cpu_seconds": 1.0})


def valid(diagnosis: Diagnosis, step: str) -> str:
    return "; ".join(next(found.valid for found in diagnosis.steps if found.name == step))


def test_a_step_that_has_lost_its_samples_is_no_longer_recorded(folder: Path) -> None:
    record(folder, 3, recorded_from=1500)
    found = diagnose(Recording(folder))
    assert "no longer recorded: the step cannot be judged" in valid(found, "s0")
    assert "no longer recorded: the step's figures leave out its first 400 s" in valid(found, "s1")
    assert "no longer" not in valid(found, "s2")
    assert next(step for step in found.steps if step.name == "s0").verdict.kind == "cannot_tell"
    assert "samples before 2027-01-15T08:25:00.000Z: no longer recorded" in " ".join(render(found, 400).split())


def test_a_look_reads_the_last_hour_and_keeps_what_was_said_of_older_steps(folder: Path) -> None:
    record(folder, 6)
    now = read_snapshot(folder)
    assert now.diagnosis is not None, now.failure
    assert "not read again in this view: the step cannot be judged" in valid(now.diagnosis, "s0")
    assert "not read again" not in valid(now.diagnosis, "s5")
    (source,) = [source for source in now.diagnosis.sources if source.name == "s"]
    assert source.polls == LIVE_SECONDS // 10 + 1

    whole = diagnose(Recording(folder))
    then = read_snapshot(folder, previous=type(now)(now.taken, whole))
    assert then.diagnosis is not None, then.failure
    assert then.diagnosis.steps[0] == whole.steps[0]
    assert then.diagnosis.steps[5] == now.diagnosis.steps[5]


def test_a_look_at_a_short_recording_reads_all_of_it(folder: Path) -> None:
    record(folder, 3)
    seen = read_snapshot(folder)
    assert seen.diagnosis == diagnose(Recording(folder)), seen.failure


def test_of_very_many_ports_the_last_hour_is_read_too(folder: Path) -> None:
    """Their steps are computed in parts, each of which reads the recording by itself."""
    ports = [f"p{number:03d}" for number in range(300)]
    writer = Writer(folder, "host.1")
    source = {"name": "s", "collector": "c", "every_seconds": 60, "tables": [PORT]}
    writer.header({"started_us": START_US, "sources": [source]})
    for second in range(0, 7201, 60):
        seen = START_US + second * SECOND
        writer.samples("s", Rows(PORT, ports, [seen] * 300, {"bytes_rx_total": [second + n for n in range(300)]}))
        writer.poll(Poll("s", seen, seen, seen, "ok", rows=300))
    writer.flush()
    writer.close()
    step = Step("whole", START_US, START_US + 7200 * SECOND, "marks", (), None)
    with closing(connect()) as connection:
        found = step_samples(Recording(folder, 3600), connection, "switch_port", [step], {})
    assert len(found) == 300
    assert {sample.windows for sample in found} == {60}
    assert {sample.rate("bytes_rx_total") for sample in found} == {1.0}

"""A day in compressed time: few files, no more open files and memory than in the second hour, every sample once."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from sanpath.diagnose import diagnose
from sanpath.recording.format.compaction import COMPACTED_SEGMENTS, DROPPED, MERGED_SEGMENTS
from sanpath.recording.reading.recording import Recording
from sanpath.views.live.reading.judging import LIVE_SECONDS, read_snapshot
from tests.recording.long_run import ENTITIES, START_US
from tests.recording.support import ROOT, files

HOURS, FLUSH_SECONDS = 24, 60
KEPT_HOURS, KEEPING_HOURS, KEEPING_FLUSH_SECONDS = 4, 16, 40
LEVELS = 3
"""5 minutes, an hour, half a day."""

pytestmark = pytest.mark.slow


def written(folder: Path, *arguments: int) -> list[dict[str, int]]:
    """What the writer held after each hour."""
    command = [sys.executable, "-m", "tests.recording.long_run", str(folder), *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def middle(hours: list[dict[str, int]], what: str) -> float:
    """Compacting lets memory and files rise and fall."""
    return statistics.median(hour[what] for hour in hours)


def test_a_day_takes_no_more_memory_and_files_than_an_hour(tmp_path: Path) -> None:
    folder = tmp_path / "r.sanpath"
    hours = written(folder, HOURS, FLUSH_SECONDS)
    assert len(hours) == HOURS
    assert max(hour["files"] for hour in hours) < COMPACTED_SEGMENTS + LEVELS * MERGED_SEGMENTS
    assert len({hour["descriptors"] for hour in hours[1:]}) == 1
    assert middle(hours[-6:], "resident_kilobytes") < 1.25 * middle(hours[1:7], "resident_kilobytes")
    assert max(hour["resident_kilobytes"] for hour in hours) < 600_000
    assert hours[-1]["bytes"] - hours[11]["bytes"] < 1.2 * hours[11]["bytes"]

    flushes = HOURS * 3600 // FLUSH_SECONDS
    recording = Recording(folder)
    assert len(recording.polls()) == flushes
    assert [event.detail["text"] for _, event in recording.events()] == [str(hour) for hour in range(HOURS)]
    assert len(recording.inventory()) == ENTITIES
    with duckdb.connect() as connection:
        recording.view(connection, "switch_port")
        query = "SELECT count(*), count(DISTINCT (entity, seen)), min(seen), max(seen) FROM samples_switch_port"
        last_us = START_US + (flushes - 1) * FLUSH_SECONDS * 1_000_000
        assert connection.execute(query).fetchall() == [(flushes * ENTITIES,) * 2 + (START_US, last_us)]
        widest = folder / "samples/switch_port" / files(folder)[0]
        unsorted = """
            SELECT count(*) FROM (SELECT (entity, seen) < lag((entity, seen)) OVER (ORDER BY file_row_number) AS falls
                                  FROM read_parquet($file, file_row_number = true)) WHERE falls"""
        assert connection.execute(unsorted, {"file": str(widest)}).fetchall() == [(0,)]
    # The live view of the second day reads what it read in the second hour.
    seen = read_snapshot(folder)
    assert seen.diagnosis is not None, seen.failure
    (source,) = seen.diagnosis.sources
    assert source.polls == LIVE_SECONDS // FLUSH_SECONDS + 1
    assert any("not read again in this view" in gap.why for gap in seen.diagnosis.unobserved)


def test_what_is_kept_for_four_hours_takes_the_room_of_four_hours(tmp_path: Path) -> None:
    folder, kept_seconds = tmp_path / "r.sanpath", KEPT_HOURS * 3600
    hours = written(folder, KEEPING_HOURS, KEEPING_FLUSH_SECONDS, kept_seconds)
    assert max(hour["bytes"] for hour in hours[-6:]) < 1.5 * max(hour["bytes"] for hour in hours[3:6])
    assert middle(hours[-6:], "files") < 1.2 * middle(hours[4:10], "files")
    recording = Recording(folder)
    assert len([1 for _, event in recording.events() if event.name == "mark"]) == KEEPING_HOURS
    assert len(recording.inventory()) == ENTITIES
    before_us = max(int(str(event.detail["before"])) for _, event in recording.events() if event.name == DROPPED)
    with duckdb.connect() as connection:
        recording.view(connection, "switch_port")
        ((rows, first_us, last_us),) = connection.execute(
            "SELECT count(DISTINCT (entity, seen)), min(seen), max(seen) FROM samples_switch_port"
        ).fetchall()
    assert last_us - first_us >= kept_seconds * 1e6
    assert last_us - first_us < 1.5 * kept_seconds * 1e6
    assert rows == ENTITIES * ((last_us - first_us) // (KEEPING_FLUSH_SECONDS * 1_000_000) + 1)
    assert first_us >= before_us - 40 * 60 * 1_000_000
    assert any("no longer recorded" in gap.why for gap in diagnose(recording).unobserved)

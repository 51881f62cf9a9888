"""DiskSpd for Linux: what its figures say of the load."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnose import diagnose
from sanpath.plugin import SourceEntity
from sanpath.recorder.importing.importer import ImportRequest, import_file
from sanpath.recording.reading.recording import Recording
from sanpath_collectors.diskspd.reader import DiskSpdResult

RESULT = (Path(__file__).parent / "text-of-linux/result.txt").read_text()


def attributes(text: str) -> dict[str, object]:
    reader = DiskSpdResult("d")
    items = [*reader.feed(text.encode()), *reader.finish()]
    return dict(next(item for item in items if isinstance(item, SourceEntity)).attributes)


def test_littles_law_holds_for_what_comes_out(tmp_path: Path) -> None:
    """Two threads keep 16 I/Os outstanding each: 3000 reads a second of 9 ms and 1000 writes of 5 ms."""
    (tmp_path / "result.txt").write_text(RESULT)
    import_file(ImportRequest(tmp_path / "result.txt", tmp_path / "a.sanpath", host="lx1"))
    (step,) = diagnose(Recording(tmp_path / "a.sanpath")).steps
    assert (step.in_flight.configured, step.in_flight.measured) == (32, pytest.approx(32))
    assert step.directions["read"].latency_seconds.p99 == pytest.approx(0.012)


def test_a_pool_of_threads_serves_all_targets() -> None:
    """-F: each thread keeps -o I/Os outstanding at each target, and no target has threads of its own."""
    pool = RESULT.replace("\t\tthreads per file: 2\n", "")
    assert attributes(pool)["in_flight_configured"] == 32
    two_files = RESULT.replace("\ttotal threads: 2\n", "\ttotal threads: 4\n")
    assert attributes(two_files)["in_flight_configured"] == 32


def test_without_o_direct_the_file_cache_is_used() -> None:
    assert attributes(RESULT)["direct"] is True
    assert attributes(RESULT.replace("\t\tusing O_DIRECT\n", ""))["direct"] is False

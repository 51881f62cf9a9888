"""A long recording of small segments opens, and is queried and compacted, within DuckDB's 1 GB."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnose import diagnose
from sanpath.model import Poll, Rows
from sanpath.recording.format import layout
from sanpath.recording.reading.recording import Recording
from sanpath.recording.writing.writer import Writer
from tests.recording.support import PORT, files

ENTITIES = 200
START_US, EVERY_US = 1_800_000_000_000_000, 5_000_000


@pytest.mark.slow
@pytest.mark.parametrize(("flushes", "compacted"), [(900, True), (450, False)])
def test_a_long_recording_fits(
    tmp_path: Path, flushes: int, compacted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not compacted:
        monkeypatch.setattr("sanpath.recording.format.compaction.COMPACTED_SEGMENTS", flushes + 1)
    folder = tmp_path / "r.sanpath"
    Path("/proc/self/clear_refs").write_text("5")  # The peak begins anew (proc(5)): other tests had theirs before.
    before = memory_bytes("VmRSS")
    layout.create(folder)
    writer = Writer(folder, "host.1", keep_seconds=0)
    source = {"name": "s", "collector": "c", "every_seconds": 5, "tables": [PORT]}
    writer.header({"started_us": START_US, "sources": [source]})
    entities = [f"p{number}" for number in range(ENTITIES)]
    for number in range(flushes):
        seen = START_US + number * EVERY_US
        counts = [number * 1_000_003 + port for port in range(ENTITIES)]
        values = {"bytes_rx_total": counts, "errors_rx_total": [0] * ENTITIES, "link_up": [1] * ENTITIES}
        writer.samples("s", Rows(PORT, entities, [seen] * ENTITIES, values))
        writer.poll(Poll("s", seen, seen, seen + 1000, "ok", rows=ENTITIES))
        writer.flush()
    writer.end({"ended_us": seen, "load_exit_code": None, "recorder_cpu_seconds": 1.0})
    assert len(files(folder)) == (1 + 3 if compacted else flushes)  # The first hour, and 5 minutes each.
    recording = Recording(folder)
    assert len(recording.polls()) == flushes
    assert diagnose(recording).run.complete
    assert not recording.unreadable
    assert memory_bytes("VmHWM") - before < 1e9


def memory_bytes(of: str) -> int:
    """Of this process: VmRSS as it is, VmHWM the most since the peak was reset."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{of}:"))

"""A job that waits for its flush (fsync) has its I/O outstanding: N = X (R_io + R_flush)."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath.plugin import LoadStep
from sanpath_collectors.fio.tables import LOAD
from tests.support.recording import START_US, RecordingBuilder
from tests.support.stories import judged

JOBS, CYCLE_SECONDS, SECONDS = 8, 0.008, 12


def flushing(folder: Path, in_io: float, in_flush: float) -> Diagnosis:
    """Jobs that spend these shares of their time in a write and in the flush after it."""
    out = RecordingBuilder(folder)
    out.source("fio", "fio", LOAD)
    out.entity("fio", "load", "fio/a", attributes={"in_flight_configured": JOBS, "rate_limited": False})
    for at in range(SECONDS + 1):
        done = round(JOBS / CYCLE_SECONDS) * at
        values = {
            "ops_write_total": done,
            "bytes_write_total": 4096 * done,
            "latency_seconds_write_total": round(1e9 * JOBS * in_io * at),
            "ops_flush_total": done,
            "latency_seconds_flush_total": round(1e9 * JOBS * in_flush * at),
            "in_flight_configured": JOBS,
        }
        out.samples("fio", LOAD, at, {"fio/a": values})
    step = LoadStep(name="s", loads=("fio/a",), offered=JOBS)
    out.item("fio", step.event("step-begin", START_US))
    out.item("fio", step.event("step-end", START_US + 1_000_000 * SECONDS))
    return judged(out.write())


@pytest.mark.parametrize("in_flush", [0.0, 0.2, 0.8, 0.99])
def test_a_closed_loop_has_as_many_outstanding_as_it_is_configured_for(tmp_path: Path, in_flush: float) -> None:
    found = flushing(tmp_path, 1 - in_flush, in_flush)
    assert "less-in-flight-than-configured" not in {each.rule for each in found.findings if each.outcome == "hit"}
    ((point,),) = (curve.points for curve in found.verdict.curves)
    assert point.in_flight == pytest.approx(JOBS, rel=0.01)


@pytest.mark.parametrize("in_flush", [0.0, 0.2, 0.4])
def test_work_between_the_ios_is_told_whatever_part_of_them_are_flushes(tmp_path: Path, in_flush: float) -> None:
    found = flushing(tmp_path, 0.5 - in_flush, in_flush)
    (finding,) = (each for each in found.findings if each.rule == "less-in-flight-than-configured")
    assert finding.evidence["filled_ratio"] == pytest.approx(0.5, rel=0.02)

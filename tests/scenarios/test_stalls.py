"""A load whose outstanding I/Os stand still for a while: what this costs is told, however its windows lie."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sanpath.diagnosis.model import Diagnosis
from sanpath.facts.samples.cumulative import Numbers
from sanpath.facts.samples.slow_windows import STALLS_MATTER, Stalls, stalls, whole_windows
from sanpath_collectors.fio.tables import LOAD
from tests.support.recording import RecordingBuilder
from tests.support.stories import judged

SECONDS = 40.0


def counted(
    moments: Sequence[float], stalled: Sequence[tuple[float, float]], depth: int, latency: float
) -> tuple[Numbers, Numbers]:
    """I/Os that completed until each moment and what they waited, of a load that always has `depth` outstanding; none
    completes in the times that are `stalled`."""
    runs = np.arange(1, int(SECONDS * depth / latency)) * latency / depth
    completed = runs.copy()
    for begin, end in stalled:
        completed = np.where(completed > begin, completed + end - begin, completed)
    begun = np.concatenate((np.zeros(depth), completed[:-depth]))
    until = np.searchsorted(completed, moments, side="right")
    waited = np.concatenate(([0.0], np.cumsum(completed - begun)))
    return until.astype(float), waited[until]


def stalls_of(moments: Sequence[float], done: Numbers, waited: Numbers, depth: float | None) -> Stalls | None:
    limits = np.array(moments)
    left = whole_windows(limits, waited, depth)
    seconds = np.diff(limits[left])
    return stalls(np.diff(done[left]) / seconds, np.diff(waited[left]) / seconds, seconds, np.diff(left) > 1)


def loss(found: Stalls | None) -> float:
    return found.lost_ratio if found is not None else 0.0


def each(every: float, length: float, first: float) -> list[tuple[float, float]]:
    return [(begin, begin + length) for begin in np.arange(first, SECONDS - length, every)]


@pytest.mark.parametrize("counted_ratio", [1.0, 0.9, 0.7, 0.1])
def test_jobs_that_were_not_counted_join_no_windows(counted_ratio: float) -> None:
    """More are in flight in the mean than the configured ones."""
    limits = np.arange(41.0)
    assert len(whole_windows(limits, 32 * limits, 32 * counted_ratio)) == len(limits)


@settings(max_examples=60, deadline=None)
@given(
    every=st.floats(8.0, 13.0),
    length=st.floats(2.0, 4.0),
    first=st.floats(1.0, 6.0),
    depth=st.sampled_from([1, 4, 8, 32]),
    phase=st.floats(0.0, 0.9),
)
@example(every=8.90821, length=2.0, first=3.0, depth=1, phase=0.0)
@example(every=8.0, length=2.0, first=1.34197, depth=1, phase=0.5)
def test_what_stalls_cost_is_half_of_their_share_of_time_or_more(
    every: float, length: float, first: float, depth: int, phase: float
) -> None:
    """Wherever the windows begin. One in which a stall begins may be left out: it is in doubt by the clocks."""
    moments = np.arange(phase, SECONDS + 0.5, 1.0).tolist()
    stalled = each(every, length, first)
    found = stalls_of(moments, *counted(moments, stalled, depth, 0.005), depth)
    assert found is not None
    share = sum(end - begin for begin, end in stalled) / SECONDS
    assert share / 2 <= found.lost_ratio <= share + 0.05
    assert found.ops_otherwise == pytest.approx(depth / 0.005, rel=0.2)


@settings(max_examples=60, deadline=None)
@given(missed=st.sets(st.integers(1, 38), max_size=25), depth=st.sampled_from([1, 8, 32]))
def test_polls_that_are_missing_are_no_stall(missed: set[int], depth: int) -> None:
    moments = [float(at) for at in range(41) if at not in missed]
    assert loss(stalls_of(moments, *counted(moments, [], depth, 0.005), depth)) < STALLS_MATTER


@settings(max_examples=60, deadline=None)
@given(late=st.sets(st.integers(1, 38), max_size=25), depth=st.sampled_from([1, 8, 32]))
def test_a_source_that_reports_later_is_no_stall(late: set[int], depth: int) -> None:
    """Its counters stand still, and then have all that was done."""
    moments = [float(at) for at in range(41)]
    done, waited = counted(moments, [], depth, 0.005)
    for at in sorted(late):
        done[at], waited[at] = done[at - 1], waited[at - 1]
    assert loss(stalls_of(moments, done, waited, depth)) < STALLS_MATTER


@settings(max_examples=60, deadline=None)
@given(every=st.floats(3.0, 12.0), length=st.floats(1.0, 3.0), depth=st.sampled_from([1, 8, 32]))
def test_a_load_that_pauses_does_not_stand_still(every: float, length: float, depth: int) -> None:
    """While it thinks it has no I/O outstanding, so that none waits."""
    moments = [float(at) for at in range(41)]
    done, _ = counted(moments, each(every, length, 2.0), depth, 0.005)
    assert loss(stalls_of(moments, done, done * 0.005, depth)) < STALLS_MATTER


def test_where_the_outstanding_ios_are_not_known_nothing_is_joined() -> None:
    moments = [float(at) for at in range(41)]
    assert stalls_of(moments, *counted(moments, each(9.0, 3.0, 2.0), 8, 0.005), None) is None


def diagnosis_of(folder: Path, stalled: Sequence[tuple[float, float]]) -> Diagnosis:
    out = RecordingBuilder(folder)
    out.source("fio", "fio", LOAD)
    out.entity("fio", "load", "job")
    out.event("fio", 0.0, "step-begin", step="s", group=0, loads="job", offered=8)
    out.event("fio", SECONDS, "step-end", step="s", group=0)
    moments = np.arange(0.0, SECONDS + 0.5, 1.0).tolist()
    for at, done, waited in zip(moments, *counted(moments, stalled, 8, 0.005), strict=True):
        values = {"ops_read_total": int(done), "latency_seconds_read_total": int(1e9 * waited)}
        out.samples("fio", LOAD, at, {"job": values})
    return judged(out.write())


def test_stalls_are_told_with_their_cost_and_no_test_is_proposed_that_all_causes_pass(tmp_path: Path) -> None:
    steady, stalled = (
        diagnosis_of(tmp_path / name, at) for name, at in (("steady", []), ("stalled", each(9.0, 4.0, 3.5)))
    )
    assert "16 outstanding I/Os" in (steady.summary.action or "")
    assert "stalls" not in (steady.summary.consequence or "")
    assert "outstanding I/Os" not in (stalled.summary.action or "")
    assert "the stalls cost 4" in (stalled.summary.consequence or "")
    assert "1,6" in (stalled.summary.consequence or "")
    (few,), (fewer,) = (
        [s.probability for s in found.verdict.suspects if s.verdict == "concurrency_limited"] or [0.0]
        for found in (steady, stalled)
    )
    assert fewer < few

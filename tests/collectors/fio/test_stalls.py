"""A job that waits for its I/Os now and then: its throughput is what fio counts in its run time, waits included.

fio reads the run times of its jobs when a status is due, and prints it once each job has answered, with the counters
of that moment; a job that waits for an I/O answers after it.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sanpath.diagnose import judge_recording
from sanpath.facts.table import FactRow
from sanpath_collectors.fio.load_reader import FioLoad
from sanpath_collectors.fio.tables import LOAD, LUN
from tests.collectors.fio.printed import SECOND, START, direction, document, job
from tests.support.recording import RecordingBuilder

RAMP, LENGTH, RATE = 2.0, 10.0, 1000.0
OPTIONS = {"global options": {"ramp_time": "2", "ioengine": "libaio", "iodepth": "8"}}


@dataclass
class Job:
    """A job that waits in some periods: (begin, end) in seconds since its start, one after the other."""

    name: str
    waits: list[tuple[float, float]]

    @classmethod
    def drawn(cls, name: str, draw: random.Random) -> Job:
        waits, now = [], 0.0
        while (begin := now + draw.uniform(0.3, 5)) < RAMP + LENGTH:
            now = begin + draw.uniform(0.2, 3.5)
            waits.append((begin, now))
        return cls(name, waits)

    @property
    def limits(self) -> tuple[float, float]:
        """When its ramp and when the job itself ends: with an I/O."""
        return self.answers(RAMP), self.answers(RAMP + LENGTH)

    def answers(self, now: float) -> float:
        """When the job answers that is asked now."""
        return next((end for begin, end in self.waits if begin <= now < end), now)

    def counted(self, begin: float, end: float) -> int:
        """I/Os that it completes between these times."""
        ended = self.limits[1]
        begin, end = min(begin, ended), min(end, ended)
        waited = sum(max(0.0, min(end, until) - max(begin, since)) for since, until in self.waits)
        return round(RATE * (end - begin - waited))

    def entry(self, due: float, printed: float) -> dict[str, Any]:
        """What fio prints of it: its run time when the status was due, and its counters."""
        ramp_end, end = self.limits
        if printed <= ramp_end:
            read = direction(self.counted(0, printed), round(1000 * due), ramp=True)
        else:
            runtime_ms = round(1000 * max(0.0, min(due, end) - ramp_end))
            read = direction(self.counted(ramp_end, printed), runtime_ms)
        return job(self.name, 0, 0) | {"read": read}


def statuses(jobs: Sequence[Job]) -> Iterator[tuple[float, bytes]]:
    """Yield (time, document) of each status: once a second, and twice at the end."""
    end, due = max(each.limits[1] for each in jobs), 1.0
    while due < end:
        printed = max(each.answers(due) for each in jobs)
        yield printed, document(printed, *(each.entry(due, printed) for each in jobs), **OPTIONS)
        due = max(due + 1, printed)
    for at in (end + 0.3, end + 0.31):
        yield at, document(at, *(each.entry(at, at) for each in jobs), **OPTIONS)


def judged(documents: Iterable[tuple[float, float, bytes]], folder: Path) -> FactRow:
    """The load that was read from documents: (time that fio prints, time when it was seen, document)."""
    reader, recording, seen = FioLoad(), RecordingBuilder(folder / "recording"), START
    recording.source("fio", "fio", LOAD, LUN)
    for _, seen_at, text in documents:
        seen = max(seen + 1, START + round(SECOND * seen_at))
        for item in reader.feed(text, seen):
            recording.item("fio", item)
    for item in reader.finish(seen + SECOND):
        recording.item("fio", item)
    facts, _ = judge_recording(recording.write())
    (load,) = facts.tables["load"].select()
    return load


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("number", [1, 2])
def test_waits_count_wherever_they_lie(number: int, seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    jobs = [Job.drawn(name, draw) for name in "ab"[:number]]
    load = judged(((at, at + draw.uniform(0.1, 0.7), text) for at, text in statuses(jobs)), tmp_path)
    ramp_end, end = (max(each.limits[edge] for each in jobs) for edge in (0, 1))
    # At the edge of another job a job tells nothing: of two jobs, a wait there counts by chance.
    expected = sum(each.counted(ramp_end, end) for each in jobs) / (end - ramp_end)
    assert load["ops_per_second"] == pytest.approx(expected, rel=0.05 if number == 1 else 0.3)


def even(at: int, *, latencies: bool = True) -> dict[str, Any]:
    """A job that does 300 I/Os a second in its ramp of 2 s, then 100."""
    in_ramp = at <= RAMP
    read = direction(300 * at if in_ramp else 100 * (at - 2), 1000 * (at if in_ramp else at - 2), ramp=in_ramp)
    return job("a", 0, 0) | {"read": read if latencies else {**read, "lat_ns": direction(0)["lat_ns"]}}


def test_a_job_without_latencies_is_read(tmp_path: Path) -> None:
    options = {"global options": {**OPTIONS["global options"], "disable_lat": "1"}}
    printed = ((at, at + 0.1, document(at, even(at, latencies=False), **options)) for at in range(1, 13))
    assert judged(printed, tmp_path)["ops_per_second"] == pytest.approx(100, rel=0.05)


@pytest.mark.parametrize("error", [5, 0])
def test_a_job_that_ends_in_its_ramp_ends_none_of_another(error: int, tmp_path: Path) -> None:
    ended = job("b", 0, 0) | {"read": direction(1, 5, ramp=True), "error": error}
    printed = ((at, at + 0.1, document(at, even(at), ended, **OPTIONS)) for at in range(1, 13))
    assert judged(printed, tmp_path)["ops_per_second"] == pytest.approx(100, rel=0.05)


@pytest.mark.parametrize("seconds", [30, -30])
def test_a_clock_that_is_set_moves_no_throughput_by_much(seconds: int, tmp_path: Path) -> None:
    times = [(at, at + (seconds if at > 6 else 0)) for at in range(1, 13)]
    printed = ((dated, at + 0.1, document(dated, even(at), **OPTIONS)) for at, dated in times)
    assert judged(printed, tmp_path)["ops_per_second"] == pytest.approx(100, rel=0.35)

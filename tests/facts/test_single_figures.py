"""Loads that report one figure for all of their run, several of one source at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from sanpath.facts.compute import compute
from sanpath.facts.samples.sample_arrays import SampleReader
from sanpath_collectors.fio.tables import LOAD
from tests.support.recording import RecordingBuilder

LIMITS = ((0.0, 60.0), (1.0, 59.0), (2.0, 60.0), (0.0, 57.0))
"""When a run began and ended: the same as the first, inside it, or across an edge of it."""


def runs(folder: Path, limits: Sequence[tuple[float, float]], rates: Sequence[int]) -> RecordingBuilder:
    """A source with a run for each pair of limits, which does so many reads a second."""
    out = RecordingBuilder(folder)
    out.source("fio", "fio", LOAD)
    out.entity("fio", "load", "fio")
    for number, ((began, ended), rate) in enumerate(zip(limits, rates, strict=True)):
        name = f"fio/{number}"
        out.entity("fio", "load", name)
        out.link("fio", "member_of", ("load", name), ("load", "fio"))
        marks = {"step": "x", "group": number, "loads": name, "offered": 8}
        out.event("fio", began, "step-begin", **marks, summary=True)
        out.event("fio", ended, "step-end", **marks)
        done = rate * (ended - began)
        figures = {"ops_read_total": done, "bytes_read_total": 4096 * done, "latency_seconds_read_total": 1e6 * done}
        for at, share in ((began, 0), (ended, 1)):
            out.samples("fio", LOAD, at, {name: {metric: round(share * of) for metric, of in figures.items()}})
    return out


@pytest.mark.parametrize("second", LIMITS)
@pytest.mark.parametrize("third", [None, LIMITS[1]])
def test_what_runs_of_one_source_do_at_the_same_time_is_the_sum_of_their_figures(
    tmp_path: Path, second: tuple[float, float], third: tuple[float, float] | None
) -> None:
    limits = [LIMITS[0], second, *([] if third is None else [third])]
    for number, (order, rates) in enumerate(product((limits, limits[::-1]), ((1000, 3000, 500), (400, 400, 400)))):
        recording = runs(tmp_path / str(number), order, rates[: len(order)]).write()
        (whole,) = [load for load in compute(recording).loads if len(load.jobs) == len(order)]
        assert whole.ops_per_second == pytest.approx(sum(rates[: len(order)]), rel=1e-3)


def test_the_samples_of_many_results_are_read_a_few_times_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test may have the result of a process for each of its devices."""
    read: list[str] = []
    original = SampleReader.read

    def counted(self: SampleReader, *words: Any) -> Any:
        read.append("")
        return original(self, *words)

    monkeypatch.setattr(SampleReader, "read", counted)
    counts = []
    for results in (3, 12):
        out = RecordingBuilder(tmp_path / str(results))
        for name in (f"fio-{number}" for number in range(results)):
            out.source(name, "fio", LOAD)
            out.entity(name, "load", name)
            out.event(name, 0.0, "step-begin", step="x", loads=name, offered=8, summary=True)
            out.event(name, 60.0, "step-end", step="x", loads=name, offered=8)
            for at in (0, 60):
                out.samples(
                    name, LOAD, at, {name: {"ops_read_total": 100 * at, "latency_seconds_read_total": 9 * at}}
                )
        before = len(read)
        (whole,) = compute(out.write()).loads
        assert whole.ops_per_second == pytest.approx(100 * results)
        counts.append((len(read) - before) / results)
    assert counts[1] <= 1.5 * counts[0]

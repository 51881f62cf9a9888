"""Loads that report one figure for all of their run, several of one source at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest

from sanpath.facts.compute import compute
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

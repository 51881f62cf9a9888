"""A load whose throughput goes up and down: sources that see other parts of a step do not contradict each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnose import judge_recording
from sanpath.facts.facts import Facts
from sanpath.model import Column, Table
from sanpath_collectors.fio.tables import LOAD
from tests.support.recording import RecordingBuilder

VOLUME = Table(
    "volume",
    (Column("ops_read_total", 64), Column("bytes_read_total", 64), Column("latency_seconds_read_total", 64, 1e-6)),
)
UNEVEN = (80, 260, 120, 300, 140, 240, 280, 130, 270, 220, 150, 60)
EVEN = (170, 190) * 6
"""I/Os in each second of a step."""
BLOCK = 65536


def facts_of(folder: Path, rates: tuple[int, ...], foreign: float) -> Facts:
    """`rates`: of the load. Its volume is polled every two seconds, so that it leaves out the step's first second and
    its last; it serves so many more I/Os, as a ratio."""
    out = RecordingBuilder(folder)
    out.source("fio", "fio", LOAD)
    out.source("srv", "linux_target", VOLUME)
    out.entity("fio", "load", "job")
    out.entity("srv", "volume", "vol1", "vol1")
    out.entity("srv", "array", "srv", "srv")
    out.link("srv", "member_of", (("volume", "vol1"), ("array", "srv")))
    out.link("config", "targets", (("load", "job"), ("volume", "srv/vol1")))
    out.event("fio", 0.0, "step-begin", step="s", group=0, loads="job", offered=8)
    out.event("fio", float(len(rates)), "step-end", step="s", group=0)
    for second in range(len(rates) + 1):
        done = sum(rates[:second])
        counted = {"ops_read_total": done, "bytes_read_total": BLOCK * done}
        out.samples("fio", LOAD, second, {"job": counted | {"latency_seconds_read_total": 40_000_000 * done}})
        if second % 2:
            served = round(done * (1 + foreign))
            values = {"ops_read_total": served, "bytes_read_total": BLOCK * served}
            out.samples("srv", VOLUME, second, {"vol1": values | {"latency_seconds_read_total": 700 * served}})
    return judge_recording(out.write(), None)[0]


@pytest.mark.parametrize(
    ("rates", "foreign", "is_shared"), [(UNEVEN, 0.0, False), (EVEN, 0.0, False), (EVEN, 0.2, True)]
)
def test_a_volume_that_saw_the_busier_part_of_a_step_is_not_shared(
    tmp_path: Path, rates: tuple[int, ...], foreign: float, is_shared: bool
) -> None:
    """Seconds 1 to 11 of the uneven load have 12 % more I/Os than the whole step."""
    facts = facts_of(tmp_path / "a.sanpath", rates, foreign)
    (row,) = facts.tables["volume"].select()
    assert row["shared"] == is_shared
    (pair,) = facts.tables["path_pair"].select()
    assert bool(pair["foreign_ratio"]) == is_shared

"""A load whose throughput goes up and down: sources that see other parts of a step do not contradict each other, and
what holds the load back for a while is not hidden in the mean."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from math import exp
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanpath.diagnose import diagnose, judge_recording
from sanpath.diagnosis.model import Verdict
from sanpath.facts.compute import compute
from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.model import Column, Scalar, Table
from sanpath.verdict.evidence.variation import slowdown_weight
from sanpath_collectors.fio.tables import LOAD
from tests.support.recording import RecordingBuilder
from tests.support.san import Flow, San

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


def paced(folder: Path, *seconds: tuple[int, int], **attributes: Scalar) -> Verdict:
    """A load that may keep 32 I/Os outstanding and waits on purpose. `seconds`: I/Os that complete in a second, and
    how many of 32 are outstanding."""
    out = RecordingBuilder(folder)
    out.source("fio", "fio", LOAD)
    out.entity("fio", "load", "job", attributes={"rate_limited": True, **attributes})
    out.event("fio", 0.0, "step-begin", step="s", group=0, loads="job", offered=32, rate_limited=True)
    out.event("fio", float(len(seconds)), "step-end", step="s", group=0)
    for second in range(len(seconds) + 1):
        done, held = (sum(each[which] for each in seconds[:second]) for which in (0, 1))
        counted = {"ops_read_total": done, "bytes_read_total": BLOCK * done}
        out.samples("fio", LOAD, second, {"job": counted | {"latency_seconds_read_total": 1_000_000_000 * held}})
    return diagnose(out.write()).verdict


def test_a_load_that_is_held_back_for_a_while_asks_for_more(tmp_path: Path) -> None:
    """Half of the time it reaches 5,000 a second with 3 outstanding, then 3,300 with all 32: 4,150 with 17.5."""
    assert paced(tmp_path / "even.sanpath", *[(4150, 17)] * 40).kind == "demand_limited"
    held_back = paced(tmp_path / "held.sanpath", *[(5000, 3)] * 20, *[(3300, 32)] * 20)
    assert held_back.kind != "demand_limited"
    known_rate = paced(tmp_path / "rate.sanpath", *[(5000, 3), (3300, 32)] * 20, requested_ops_per_second=5000.0)
    assert known_rate.kind != "demand_limited"


def closed_loop(folder: Path, rates: Sequence[int], held: Sequence[int] = (16,) * 40) -> Verdict:
    """A load without a rate. In each second so many complete, and so many are outstanding."""
    out = RecordingBuilder(folder)
    out.source("fio", "fio", LOAD)
    out.entity("fio", "load", "job", attributes={"rate_limited": False})
    out.event("fio", 0.0, "step-begin", step="s", group=0, loads="job", offered=16, rate_limited=False)
    out.event("fio", float(len(rates)), "step-end", step="s", group=0)
    for second in range(len(rates) + 1):
        done = sum(rates[:second])
        counted = {"ops_read_total": done, "bytes_read_total": BLOCK * done}
        latency = {"latency_seconds_read_total": 1_000_000_000 * sum(held[:second])}
        out.samples("fio", LOAD, second, {"job": counted | latency})
    return diagnose(out.write()).verdict


def too_few(verdict: Verdict) -> float:
    return sum(s.probability for s in verdict.suspects if s.verdict == "concurrency_limited")


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), noise=st.floats(0, 0.1), mean=st.integers(1000, 50_000))
def test_what_only_lacks_ios_takes_as_long_at_any_time(seed: int, noise: float, mean: int) -> None:
    """Something slows 16 I/Os down to a third for half of the time: that is no want of more of them. Even noise of a
    tenth is no such change."""
    chance = random.Random(seed)
    rates = [round(mean * exp(chance.gauss(0, noise))) for _ in range(40)]
    slowed = [rate // 3 if second >= 20 else rate for second, rate in enumerate(rates)]
    with tempfile.TemporaryDirectory() as folder:
        even = closed_loop(Path(folder, "even.sanpath"), rates)
        assert not any("take longer" in words for suspect in even.suspects for words in suspect.against)
        assert too_few(closed_loop(Path(folder, "slowed.sanpath"), slowed)) < 0.7 * too_few(even)


def test_fewer_ios_that_take_longer_are_other_ios(tmp_path: Path) -> None:
    """A job of 12 whose I/Os take 1 ms ends, and one of 4 goes on whose I/Os take 4."""
    verdict = closed_loop(tmp_path / "ends.sanpath", [13_000] * 20 + [1_000] * 20, [16] * 20 + [4] * 20)
    assert not any("take longer" in words for suspect in verdict.suspects for words in suspect.against)


def test_what_a_load_does_before_its_step_counts_is_known(tmp_path: Path) -> None:
    """The first 3 of 30 seconds are left out, as a ramp that nothing marks."""
    san = San(tmp_path / "r.sanpath")
    san.step("s", 8, read=Flow(2000, 0.004), seconds=30)
    (load,) = compute(san.write()).loads
    assert load.beginning is not None
    assert load.beginning.windows >= 2
    assert load.beginning.latency_seconds == pytest.approx(0.004, rel=0.01)


@pytest.mark.parametrize(
    ("outstanding", "latency", "windows", "is_slower"),
    [(32.0, 0.0006, 8, True), (32.0, 0.004, 8, False), (8.0, 0.0006, 8, False), (32.0, 0.0006, 1, False)],
    ids=["a cache had room", "as long", "fewer outstanding", "a single window"],
)
def test_ios_that_took_less_time_at_first_are_no_sign_of_too_few(
    outstanding: float, latency: float, windows: int, is_slower: bool
) -> None:
    """Now 32 writes are outstanding, and each takes 4 ms."""
    load = LoadFacts((), "s", "write", 20, 8000.0, 8000 * 4096.0, 0.004, 32.0, 32.0, None)
    rate = outstanding / latency
    before = replace(
        load,
        windows=windows,
        ops_per_second=rate,
        bytes_per_second=rate * 4096,
        latency_seconds=latency,
        in_flight_measured=outstanding,
    )
    weight, words = slowdown_weight(replace(load, beginning=before))
    assert (weight < -1) is is_slower
    assert ("than when the load began" in words) is is_slower

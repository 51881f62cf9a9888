"""Steps that a load did not mark, found in what it did."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from sanpath.facts.load.host_loads import busy_period
from sanpath.facts.samples.counters import Rates
from sanpath.facts.samples.cumulative import cumulative_work
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.facts.time.unmarked_steps import split_steady
from sanpath.model import Step

SECOND = 1_000_000


def load(*levels: tuple[int, float, float], noise: float = 0.0) -> tuple[Step, list[StepSamples]]:
    """(seconds, operations a second, in flight) one after the other, a window a second, with some noise."""
    rng = random.Random(7)
    sample = StepSamples("fio", "job", "whole run")
    sample.rates = {"ops_read_total": [], "latency_seconds_read_total": []}
    for seconds, operations, in_flight in levels:
        for _ in range(seconds):
            sample.ended_us.append((len(sample.ended_us) + 1) * SECOND)
            sample.seconds.append(1.0)
            sample.rates["ops_read_total"].append(operations * rng.gauss(1, noise))
            sample.rates["latency_seconds_read_total"].append(in_flight * rng.gauss(1, noise))
    return Step("whole run", 0, len(sample.ended_us) * SECOND, "whole run", (), None), [sample]


def limits(steps: Sequence[Step]) -> list[tuple[float, float]]:
    return [(step.start / SECOND, step.end / SECOND) for step in steps]


@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_pauses_are_boundaries_where_throughput_is_the_same_in_every_step(noise: float) -> None:
    pause = (10, 0.0, 0.0)
    result = load((5, 0, 0), (40, 6250, 16), pause, (40, 6250, 128), pause, (40, 6250, 512), (5, 0, 0), noise=noise)
    steps = split_steady(*result)
    assert [(s.name, s.origin) for s in steps] == [("part 1", "found"), ("part 2", "found"), ("part 3", "found")]
    # The first tenth is left out as a ramp, and the windows beside a pause, which may hold a part of it.
    for (start, end), begin in zip(limits(steps), (5, 55, 105), strict=True):
        assert begin + 1 <= start <= begin + 6
        assert begin + 38 <= end <= begin + 40


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_a_saturated_test_without_pauses_is_cut_where_latency_jumps(noise: float) -> None:
    steps = split_steady(*load((60, 6250, 16), (60, 6250, 32), (60, 6250, 128), noise=noise))
    assert len(steps) == 3
    assert [end for _, end in limits(steps)] == [pytest.approx(at, abs=2.01) for at in (60, 120, 180)]
    assert [start for start, _ in limits(steps)] == [pytest.approx(at + 6, abs=2.01) for at in (0, 60, 120)]


def test_throughput_that_doubles_with_what_is_in_flight_is_a_boundary() -> None:
    assert len(split_steady(*load((60, 2000, 1), (60, 4000, 2), noise=0.03))) == 2


def test_one_load_is_one_step() -> None:
    step, samples = load((120, 6250, 128), noise=0.1)
    assert split_steady(step, samples) == [step]


def test_idle_time_around_one_load_is_left_out() -> None:
    (step,) = split_steady(*load((30, 0, 0), (60, 6250, 128), (30, 0, 0)))
    assert step.name == "whole run"
    assert 31 <= step.start / SECOND <= 38
    assert 88 <= step.end / SECOND <= 90


@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_a_load_whose_ios_take_ever_so_long_does_not_pause(noise: float) -> None:
    """The burst credits of a volume are used up: 3,000 I/Os a second, then 200, and 16 outstanding all the time."""
    steps = split_steady(*load((60, 3000, 16), (60, 200, 16), noise=noise))
    assert [end for _, end in limits(steps)] == [pytest.approx(at, abs=2.01) for at in (60, 120)]


def test_a_drift_is_no_boundary() -> None:
    """A write cache that fills: a fifth less throughput over five minutes."""
    step, samples = load(*((1, 6250 * (1 - n / 1500), 32.0) for n in range(300)), noise=0.02)
    assert split_steady(step, samples) == [step]


def test_a_burst_every_few_seconds_is_no_boundary() -> None:
    step, samples = load(*((1, 8000.0 if n % 3 else 2000.0, 32.0) for n in range(90)))
    assert split_steady(step, samples) == [step]


@pytest.mark.parametrize("seconds", [0, 1, 3])
def test_too_little_to_tell_is_left_as_it_is(seconds: int) -> None:
    step, samples = load((seconds, 100, 1))
    assert split_steady(step, samples) == [step]


def test_merged_discarded_and_flushed_ios_are_none_of_the_work() -> None:
    rates = {"read": 100.0, "write": 50.0, "merged_read": 7.0, "merged_write": 7.0, "discard": 7.0, "flush": 7.0}
    counted: Rates = {f"ops_{name}_total": [rate, rate] for name, rate in rates.items()}
    sample = StepSamples("host", "sda", "s", seconds=[1.0, 1.0], ended_us=[SECOND, 2 * SECOND], rates=counted)
    work = cumulative_work([sample], "ops")
    assert work is not None
    assert work.until[-1] == 300


@pytest.mark.parametrize(
    ("held", "name", "seconds"),
    [(0.0, "busy part", 3), (12.0, "whole run", 10)],
    ids=["idle", "hangs"],
)
def test_a_period_of_a_log_says_what_it_leaves_out_and_a_hang_is_in_it(held: float, name: str, seconds: int) -> None:
    """A disk does I/O for 3 s of 10 s. Then it is idle, or the I/Os of another disk hang."""
    ended_us = [number * SECOND for number in range(1, 11)]
    disks = [
        StepSamples(
            "h",
            disk,
            "whole run",
            seconds=[1.0] * 10,
            ended_us=ended_us,
            rates={"ops_write_total": [0.0] * 10, **rates},
        )
        for disk, rates in (
            ("sda", {"ops_read_total": [900.0] * 3 + [7.0] * 7}),
            ("sdb", {"ops_read_total": [1.0] * 10, "in_flight_seconds_total": [0.0] * 3 + [held] * 7}),
        )
    ]
    period = busy_period(Step("whole run", 0, 10 * SECOND, "whole run", (), None), disks[0], disks)
    assert (period.name, period.seconds) == (name, seconds)
    assert ("3 s of 10 s" in period.left_out and "did 7 IOPS" in period.left_out) == (not held)

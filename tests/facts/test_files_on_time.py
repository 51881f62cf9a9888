"""A file whose own times are right stays where it is, however unevenly its device worked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanpath.facts.samples.clock_offsets import ClockOffset
from sanpath.facts.samples.cumulative import Work
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.facts.time.load_edges import edge_offsets, offset

STEP_SECONDS, BEGINS = 8.0, (0.0, 10.0, 20.0, 30.0)
TOKENS = (
    [9.0, 9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
    *([3.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0] for _ in range(3)),
)
"""I/Os of each second of four steps: a volume saves what it may do in bursts while a test pauses."""
EVEN = tuple([sum(step) / len(step)] * len(step) for step in TOKENS)


def load() -> Work:
    """One figure for each step, as fio's final result has."""
    limits, until = [], [0.0]
    for begin, seconds in zip(BEGINS, TOKENS, strict=True):
        limits += [begin, begin + STEP_SECONDS]
        until += [until[-1] + sum(seconds)] * 2
    return Work(np.array(limits), np.array(until[:-1]))


def device(late: float, steps: tuple[list[float], ...] = TOKENS) -> Work:
    """A window each second; the first after a pause contains the pause, as where a cache has no news."""
    moments, until = [-3.0], [0.0]
    for begin, seconds in zip(BEGINS, steps, strict=True):
        moments.append(begin)
        until.append(until[-1])
        for second, done in enumerate(seconds, 1):
            moments.append(begin + second)
            until.append(until[-1] + done)
    limits = np.array([-2.0, *(begin + second for begin in BEGINS for second in range(1, 10))])
    return Work(limits + late, np.interp(limits, moments, until))


def test_a_burst_at_the_begin_of_steps_moves_no_file_into_another_step() -> None:
    found = offset(load(), device(0.0))
    assert isinstance(found, ClockOffset)
    assert found.seconds == 0


@pytest.mark.parametrize("late", [-100.0, -13.0, 12.0, 300.0])
def test_a_file_that_is_late_is_moved(late: float) -> None:
    found = offset(load(), device(late, EVEN))
    assert isinstance(found, ClockOffset)
    assert found.seconds == pytest.approx(late, abs=1.0)


def counted(
    source: str, seconds: list[float], ops: list[float], block_bytes: list[float], begin: float = 0.0
) -> StepSamples:
    """Windows one after another from `begin` on, of reads of these sizes."""
    ends = np.cumsum(seconds) + begin
    rates = {"ops_read_total": ops, "bytes_read_total": [x * b for x, b in zip(ops, block_bytes, strict=True)]}
    return StepSamples(source, source, "all", list(seconds), [round(1e6 * end) for end in ends], dict(rates))


def clock_of(load: StepSamples, *devices: StepSamples, ports: Sequence[StepSamples] = (), target: str = "") -> object:
    samples = {"load": [load], "lun": devices, "hba": ports}
    targets = {("io", "lun", target)}
    offsets, unplaced = edge_offsets(["io"], lambda kind: samples[kind], list(samples), targets)
    return offsets.get("io", unplaced)


def test_a_fall_within_one_run_is_no_edge_of_the_load() -> None:
    """A burst ends after 130 of 240 s, of which fio reports the mean. iostat ran 10 s before and after it, too."""
    device = [0.0] * 10 + [3000.0] * 130 + [300.0] * 110 + [0.0] * 10
    found = clock_of(
        counted("fio", [240.0], [sum(device) / 240], [4096.0]),
        counted("io", [1.0] * 260, device, [4096.0] * 260, -10.0),
    )
    assert isinstance(found, ClockOffset)
    assert found.seconds == 0


@pytest.mark.parametrize("late", [0.0, 30.0])
def test_ios_are_compared_with_ios_and_bytes_with_bytes(late: float) -> None:
    """Larger blocks, fewer of them: 4 KiB at 60,000 a second are 246 MB/s, 64 KiB at 12,500 are 819 MB/s."""
    ops = [60_000.0] * 20 + [0.0] * 5 + [50_000.0] * 20 + [0.0] * 5 + [12_500.0] * 30
    sizes = [4096.0] * 25 + [16_384.0] * 25 + [65_536.0] * 30
    idle = [0.0] * 12
    found = clock_of(
        counted("fio", [1.0] * 80, ops, sizes),
        counted("io", [1.0] * 104, idle + ops + idle, [4096.0] * 12 + sizes + [4096.0] * 12, late - 12),
    )
    assert isinstance(found, ClockOffset)
    assert found.seconds == pytest.approx(late, abs=0.5)


def test_rounded_lengths_of_windows_leave_no_gaps_between_them() -> None:
    """A clock of whole microseconds, and lengths that are not."""
    ops = [0.0] * 10 + [5000.0] * 40 + [0.0] * 7 + [9000.0] * 25 + [0.0] * 10
    device = counted("io", [1.0000004] * 92, ops, [8192.0] * 92)
    device.ended_us = [end + number % 2 for number, end in enumerate(device.ended_us)]
    found = clock_of(counted("diskspd", [1.0] * 92, ops, [8192.0] * 92), device)
    assert isinstance(found, ClockOffset)
    assert abs(found.seconds) < 1


RAMP, STEPS = 3, [(11, 2.77e6), (11, 6.55e6), (11, 6.56e6)]
"""Seconds before each step in which the device works and the load is not counted, and the bytes a second of each."""


def steps_and_device(late: float) -> tuple[StepSamples, StepSamples]:
    """What fio reports of three steps, and a device each second; its clock is ahead by `late`."""
    length = sum(RAMP + seconds for seconds, _ in STEPS)
    of_device = [rate for seconds, rate in STEPS for _ in range(RAMP + seconds)]
    load = counted("fio", [], [], [])
    begin = 0
    for seconds, rate in STEPS:
        load.seconds.append(float(seconds))
        load.ended_us.append(round(1e6 * (begin + RAMP + seconds)))
        load.rates["bytes_read_total"].append(rate)
        begin += RAMP + seconds
    del load.rates["ops_read_total"]
    device = replace(counted("io", [1.0] * length, of_device, [1.0] * length, late), entity="sdb")
    return load, device


@settings(max_examples=25, deadline=None)
@given(moved=st.floats(1, 1e5), second=st.integers(38, 41), late=st.sampled_from([0.0, 40.0]))
def test_a_port_that_moves_next_to_nothing_dates_no_file(moved: float, second: int, late: float) -> None:
    """297 bytes beside 316 MB, at the end of the file: what is found with the port is what is found without it."""
    load, device = steps_and_device(late)
    port = [0.0] * 42
    port[second] = moved
    other_port = replace(counted("io", [1.0] * 42, port, [1.0] * 42), entity="eth0")
    assert clock_of(load, device, ports=[other_port]) == clock_of(load, device)


def test_a_file_that_counts_far_less_than_the_load_is_told_as_such() -> None:
    load, _ = steps_and_device(0.0)
    port = [0.0] * 30 + [297.0] + [0.0] * 11
    found = clock_of(load, ports=[counted("io", [1.0] * 42, port, [1.0] * 42)])
    assert "far less than the load" in str(found)


@settings(max_examples=25, deadline=None)
@given(begin=st.integers(0, 60), seconds=st.integers(5, 20), ratio=st.floats(0.5, 50))
def test_work_of_others_does_not_move_what_the_load_names(begin: int, seconds: int, ratio: float) -> None:
    ops = [0.0] * 12 + [5000.0] * 20 + [0.0] * 5 + [9000.0] * 30 + [0.0] * 13
    other = [ratio * 7000 * (begin <= at < begin + seconds) for at in range(len(ops))]
    sizes = [4096.0] * len(ops)
    load, device = (counted(source, [1.0] * len(ops), ops, sizes) for source in ("fio", "io"))
    other_device = counted("io", [1.0] * len(ops), other, sizes)
    found = clock_of(load, replace(device, entity="sdb"), replace(other_device, entity="sdc"), target="sdb")
    assert isinstance(found, ClockOffset)
    assert abs(found.seconds) <= max(0.5, found.uncertainty_seconds)

"""A file whose own times are right stays where it is, however unevenly its device worked."""

from __future__ import annotations

import numpy as np
import pytest

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


def clock_of(load: StepSamples, device: StepSamples) -> object:
    samples = {"load": [load], "lun": [device]}
    offsets, unplaced = edge_offsets(["io"], lambda kind: samples[kind], list(samples))
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

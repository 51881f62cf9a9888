"""What holds a load for a part of a step only does not hide in the mean of the step."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanpath.diagnosis.model import Diagnosis
from sanpath.facts.samples.slow_windows import slow_windows
from tests.support.san import ARRAY_PORT, HOST_PORT, KIB, AtArray, Flow, San
from tests.support.stories import judged

LINK = "link:esx7/vmhba2--sw1/fc1/7"
FULL = 425e6 * 0.98
BLOCK = 64 * KIB
FREE = 4000.0, 4000 * BLOCK * 1.02
"""I/Os of the load a second, and bytes a second at the port of its host."""
BEHIND_OTHERS = 1000.0, FULL
A_LITTLE_SLOWER = 3500.0, FULL


def diagnosis_of(folder: Path, periods: Sequence[tuple[float, float, float]], switch_every: float = 1.0) -> Diagnosis:
    """Of a load with 8 outstanding I/Os whose 4 Gb/s port another virtual machine uses as well. `periods`: seconds,
    I/Os of the load a second, bytes a second at the port. The array takes 1.8 ms for each of its I/Os."""
    san = San(folder / "a.sanpath", one_step=True, switch_every=switch_every)
    for number, (seconds, ops, counted) in enumerate(periods):
        ports = {HOST_PORT.name: (counted, 0.0), ARRAY_PORT.name: (ops * BLOCK * 1.02, 0.0)}
        array = {"read": AtArray(0.0018, san=8 / ops - 0.0018)}
        flow = Flow(ops, 8 / ops)
        san.step(f"s{number}", 8, read=flow, ports=ports, disk={"read": flow}, array=array, seconds=seconds)
    return judged(san.write())


def alternating(
    lengths: Sequence[float], other: tuple[float, float] = BEHIND_OTHERS
) -> list[tuple[float, float, float]]:
    return [(seconds, *(other if number % 2 else FREE)) for number, seconds in enumerate(lengths)]


@pytest.mark.parametrize(
    "lengths", [(30.0, 30.0), (10.0,) * 6, (40.0, 20.0), (45.0, 15.0)], ids=["half", "bursts", "third", "quarter"]
)
def test_a_link_that_is_full_for_a_part_of_a_step_is_named(tmp_path: Path, lengths: Sequence[float]) -> None:
    found = diagnosis_of(tmp_path, alternating(lengths))
    assert (found.verdict.kind, found.verdict.grade) == ("bottleneck", "B")
    (bottleneck,) = found.verdict.bottlenecks
    assert bottleneck.entity == LINK
    assert bottleneck.time_ratio == pytest.approx(sum(lengths[1::2]) / sum(lengths), abs=0.06)
    assert f"{100 * bottleneck.time_ratio:.0f} % of the time" in found.summary.verdict


def test_what_relief_of_a_part_of_the_time_brings_is_not_promised(tmp_path: Path) -> None:
    """A faster port gives the load in the slow half what it has in the other, and no more."""
    found = diagnosis_of(tmp_path, alternating((30.0, 30.0)))
    assert found.verdict.next is None
    waits = 30 * (8 - 1000 * 0.002) / (60 * 8)
    assert found.verdict.bottlenecks[0].explains == pytest.approx(waits, rel=0.15)


def test_a_link_that_is_full_all_of_the_time_is_so_without_a_share_of_it(tmp_path: Path) -> None:
    found = diagnosis_of(tmp_path, [(60.0, *BEHIND_OTHERS)])
    assert (found.verdict.grade, found.verdict.bottlenecks[0].time_ratio) == ("A", None)


def test_a_link_that_hardly_slows_a_load_for_a_while_does_not_limit_it(tmp_path: Path) -> None:
    found = diagnosis_of(tmp_path, alternating((45.0, 15.0), A_LITTLE_SLOWER))
    assert found.verdict.kind == "concurrency_limited"


def test_slow_periods_in_which_a_source_was_not_read_are_not_judged_alone(tmp_path: Path) -> None:
    found = diagnosis_of(tmp_path, alternating((45.0, 15.0)), switch_every=20.0)
    assert all(bottleneck.time_ratio is None for bottleneck in found.verdict.bottlenecks)


def test_slow_windows_are_those_of_one_level() -> None:
    """A limit of 500 I/Os a second for a third of the time, and for another one I/Os take a fifth longer."""
    in_flight, seconds = np.full(60, 16.0), np.ones(60)
    operations = np.array([33_000.0] * 20 + [500.0] * 20 + [27_000.0] * 20)
    found = slow_windows(operations, in_flight, seconds)
    assert found is not None
    assert set(operations[found.is_slow]) == {500.0}
    assert found.time_ratio == pytest.approx(1 / 3)


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), noise=st.floats(0, 0.3), windows=st.integers(8, 300), depth=st.floats(1, 512))
def test_a_load_whose_latency_scatters_has_no_slow_periods(
    seed: int, noise: float, windows: int, depth: float
) -> None:
    chance = random.Random(seed)
    in_flight = np.full(windows, depth)
    operations = np.array([1000 * chance.lognormvariate(0, noise) for _ in range(windows)])
    found = slow_windows(operations, in_flight, np.ones(windows))
    assert found is not None
    assert found.latency_ratio < 0.2


@settings(max_examples=60)
@given(rates=st.lists(st.floats(10, 1e5), min_size=8, max_size=60), unit=st.sampled_from([2.0**-10, 64.0]))
def test_slow_windows_do_not_depend_on_units(rates: Sequence[float], unit: float) -> None:
    operations, in_flight, seconds = np.array(rates), np.full(len(rates), 8.0), np.ones(len(rates))
    in_seconds, in_units = (
        slow_windows(operations, in_flight, seconds),
        slow_windows(operations / unit, in_flight, seconds * unit),
    )
    assert in_seconds is not None
    assert in_units is not None
    assert in_seconds.is_slow.tolist() == in_units.is_slow.tolist()
    assert in_seconds.latency_ratio == pytest.approx(in_units.latency_ratio)
    assert 0 <= in_seconds.latency_ratio < 1

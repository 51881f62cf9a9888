"""The highest load under a latency objective is found by few steps, and met twice."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanpath.errors import UsageError
from sanpath.probe.objective import Highest, Latency, next_in_flight, parse_objective

TWO_MS = parse_objective("p99<=2ms")


def search(latency_seconds: Callable[[int], float], most: int = 256, share: int = 1) -> tuple[list[Latency], Highest]:
    steps: list[Latency] = []
    while isinstance(number := next_in_flight(steps, TWO_MS, most, share), int):
        steps.append(Latency(number, latency_seconds(number)))
        assert len(steps) < 20
    return steps, number


@given(st.floats(1e-5, 4e-3), st.floats(1e-7, 1e-3), st.integers(8, 1024), st.integers(1, 4))
def test_of_any_growing_latency(least: float, growth: float, most: int, share: int) -> None:
    def latency_seconds(number: int) -> float:
        return least + growth * number

    steps, result = search(latency_seconds, most, share)
    if result.in_flight is None:
        assert latency_seconds(share) > TWO_MS.seconds
        return
    assert latency_seconds(result.in_flight) <= TWO_MS.seconds
    assert [step.in_flight for step in steps].count(result.in_flight) == 2
    beyond = max(result.in_flight + share, 1.2 * result.in_flight)
    assert beyond > most // share * share or latency_seconds(round(beyond) + share) > TWO_MS.seconds
    assert len(steps) <= 14


def test_a_load_that_misses_it_when_repeated_is_not_the_highest() -> None:
    measured: list[int] = []

    def latency_seconds(number: int) -> float:
        measured.append(number)
        return 3e-3 if number > 16 or (number == 16 and measured.count(16) > 1) else 1e-3

    _, result = search(latency_seconds)
    assert result.in_flight is not None
    assert result.in_flight < 16


@pytest.mark.parametrize("text", ["", "p99", "p98<=2ms", "p99<=2", "p99<=0ms", "p99<=2 minutes", "p99<=1.2.3ms"])
def test_no_objective(text: str) -> None:
    with pytest.raises(UsageError, match="--objective"):
        parse_objective(text)


def test_units() -> None:
    assert parse_objective("mean < 250us").seconds == pytest.approx(250e-6)
    assert parse_objective(" max<=1s ").statistic == "max"


@pytest.mark.parametrize(("slow_above", "is_missed_above"), [(100, True), (1000, False)])
def test_the_end_of_the_budget_is_no_limit_of_the_storage(slow_above: int, is_missed_above: bool) -> None:
    _, result = search(lambda number: 3e-3 if number > slow_above else 1e-3)
    assert result.is_missed_above == is_missed_above
    assert result.in_flight == 256 or is_missed_above

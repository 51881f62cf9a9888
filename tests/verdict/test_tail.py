"""A few slow I/Os that hold most of the latency speak for I/Os that were lost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sanpath.facts.load.loads import LoadFacts
from sanpath.verdict.evidence.tail import tail_weight


def load(mean: float, p95: float | None, p99: float | None) -> LoadFacts:
    shares = tuple((1 - part, 1 - part * p / mean) for part, p in ((0.95, p95), (0.99, p99)) if p is not None)
    return LoadFacts(("load:fio",), "s", "read", 9, 1e3, 4e6, mean, None, 1e3 * mean, None, tail_shares=shares)


@pytest.mark.parametrize(
    ("mean", "p95", "p99"),
    [(0.001, 0.001, 0.001), (0.001, 0.003, 0.0046), (0.001, None, 0.0009), (0.001, None, None)],
    ids=["constant", "exponential", "nearly constant", "not known"],
)
def test_a_latency_that_all_ios_have_says_nothing(mean: float, p95: float | None, p99: float | None) -> None:
    assert tail_weight(load(mean, p95, p99))[0] == 0


def test_the_less_the_other_ios_take_the_more_it_speaks_for_lost_ones() -> None:
    """Of 1.42 ms in the mean 99 of 100 I/Os take 0.69 ms at most: the slowest hundredth takes half of the time."""
    by_p99 = [tail_weight(load(0.00142, None, p99))[0] for p99 in (0.0012, 0.001, 0.00069, 0.0002)]
    assert by_p99 == sorted(by_p99)
    weight, words = tail_weight(load(0.00142, None, 0.00069))
    assert 2 < weight <= 3
    assert words == "the slowest 1.0 % of the I/Os take 51.9 % of the time"


def test_lost_ios_may_be_more_than_one_of_a_hundred() -> None:
    assert tail_weight(load(0.01, 0.002, 0.3))[0] == 3


def test_slow_writes_matter_less_the_longer_the_flushes_after_them_take() -> None:
    """1,000 writes a second: so many flushes in flight are as many milliseconds for each write."""
    writes = replace(load(0.001, None, 0.0001), direction="write")
    weights = [tail_weight(replace(writes, flushes_in_flight=flushes))[0] for flushes in (0.0, 1.0, 3.0, 20.0)]
    assert weights[0] == 3
    assert weights == sorted(weights, reverse=True)
    assert weights[-1] == 0


def test_what_takes_less_than_any_time_out_was_not_lost() -> None:
    """A cache answers 96 of 100 I/Os, and media the others in 9 ms. A lost segment takes 0.2 s at the least."""
    tail = load(0.0006, 0.00027, 0.0095)
    assert tail_weight(replace(tail, slowest_seconds=0.3))[0] == 3
    assert tail_weight(replace(tail, slowest_seconds=0.012))[0] < 0.05
    weights = [
        tail_weight(replace(tail, slowest_seconds=slowest))[0] for slowest in (0.01, 0.05, 0.1, 0.15, 0.2, 1.0)
    ]
    assert weights == sorted(weights)

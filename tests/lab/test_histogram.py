from __future__ import annotations

from itertools import pairwise

import pytest

from sanpath_lab.physics.histogram import LatencyHistogram, bucket_of, middle_of


@pytest.mark.parametrize("ns", [0, 1, 63, 64, 127, 128, 1_000, 348_000, 5_086_111, 127_134_117, 3_000_000_000])
def test_a_bucket_is_never_further_than_1_6_percent_from_its_values(ns: int) -> None:
    assert abs(middle_of(bucket_of(ns)) - ns) <= ns / 64


def test_buckets_follow_one_another_without_gap() -> None:
    buckets = [bucket_of(ns) for ns in range(5_000)]
    assert all(b - a in (0, 1) for a, b in pairwise(buckets))


def test_mean_and_extremes_are_exact() -> None:
    histogram = LatencyHistogram()
    for seconds in (0.002, 0.004, 0.009):
        histogram.add(seconds)
    assert (histogram.min_seconds, histogram.max_seconds) == (0.002, 0.009)
    assert histogram.sum_seconds / histogram.count == pytest.approx(0.005)
    assert [count for _, count in histogram.by_latency()] == [1, 1, 1]

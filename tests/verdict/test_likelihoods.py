"""Laws of the likelihood ratios, over all values."""

from __future__ import annotations

from itertools import pairwise

import pytest

from sanpath.verdict.evidence.likelihoods import full_queue_weight, limit_weight


@pytest.mark.parametrize("error", [0.01, 0.015, 0.025, 0.05])
def test_a_mean_beyond_its_limit_speaks_ever_less_for_it_and_falls_off_no_cliff(error: float) -> None:
    """A token bucket lets a limit pass in the mean of a step; at twice the limit, the limit is wrong."""
    weights = [limit_weight(1 + part * error / 4, error) for part in range(80)]
    assert weights == sorted(weights, reverse=True)
    steps = [before - after for before, after in pairwise(weights)]
    assert max(steps) < 1
    assert limit_weight(1 + 4 * error, error) > 3
    assert limit_weight(2.0, error) < 0


@pytest.mark.parametrize("depth", [16, 32, 60, 64, 128, 256])
def test_the_depth_that_the_load_was_given_is_not_that_of_a_queue(depth: int) -> None:
    """All of its I/Os are below the queue, so that it holds none back, whether or not they are a power of two."""
    assert full_queue_weight(depth, depth) <= 0


@pytest.mark.parametrize("depth", [32, 64])
def test_a_usual_depth_below_many_that_wait_is_that_of_a_queue(depth: int) -> None:
    assert full_queue_weight(depth, 4 * depth) > 2 > full_queue_weight(depth, 1.02 * depth)
    by_waiting = [full_queue_weight(depth, depth * (1 + part / 100)) for part in range(20)]
    assert by_waiting == sorted(by_waiting)


def test_a_full_queue_holds_a_whole_number_of_ios() -> None:
    """1.3 are neither one nor two; 1.9 may be two, of which a tenth passes between the clocks. Of 20.5, half an I/O
    is less than any clock's error."""
    assert full_queue_weight(1.3) < full_queue_weight(1.9) - 2
    assert full_queue_weight(2.5) < min(full_queue_weight(2.0), full_queue_weight(3.0))
    assert abs(full_queue_weight(20.5) - full_queue_weight(21.0)) < 0.1

"""Who of several peers is slow for its load, by the arithmetic alone: what must not matter, and how often it errs."""

from __future__ import annotations

import numpy as np
import pytest

from sanpath.facts.peers.excess_latency import Floats, PeerComparison, compare_peers

WINDOWS = 15


def draw(seed: int, peers: int, noise: float = 0.2, unequal: float = 0.05) -> tuple[Floats, Floats]:
    """Mean times and rates of peers under one law. Each differs from the others by chance, for good (`unequal`) and
    in every window (`noise`); all together become slower and faster."""
    random = np.random.default_rng(seed)
    rates = 1000 * np.exp(random.normal(0, 0.05, (peers, 1)) + random.normal(0, 0.05, (peers, WINDOWS)))
    together = random.normal(0, 0.3, WINDOWS)
    own = random.normal(0, unequal, (peers, 1)) + random.normal(0, noise, (peers, WINDOWS))
    return 0.004 * (rates / 1000) * np.exp(together + own), rates


def is_slow(comparison: PeerComparison | None) -> bool:
    """The condition of the rule slower-than-peers, but for its absolute limit."""
    return (
        comparison is not None
        and comparison.peers >= 2
        and comparison.windows >= 5
        and comparison.ratio >= 2
        and comparison.scatters >= 3.5
        and comparison.slow_windows >= 0.75 * comparison.windows
    )


def slow_ones(seconds: Floats, *loads: Floats) -> list[int]:
    comparisons = compare_peers(seconds, loads)
    if sum(comparison is not None and comparison.is_mostly_slow for comparison in comparisons) > 0.34 * len(
        comparisons
    ):
        return []
    return [index for index, comparison in enumerate(comparisons) if is_slow(comparison)]


@pytest.mark.slow
def test_among_equal_peers_none_is_slow() -> None:
    """1,000 draws of 3 to 12 peers whose windows differ by a fifth, and by two fifths in every other draw."""
    accused = [
        seed
        for seed in range(1000)
        if slow_ones(*draw(seed, (3, 4, 5, 6, 8, 12)[seed % 6], noise=0.4 if seed % 2 else 0.2))
    ]
    assert accused == []


@pytest.mark.parametrize(("peers", "found_at_least"), [(4, 95), (12, 98)])
def test_one_that_takes_four_times_as_long_is_found_and_no_other(peers: int, found_at_least: int) -> None:
    """It is missed where it has more to do than all others but one: nobody can be compared with it then."""
    found = 0
    for seed in range(100):
        seconds, rates = draw(seed, peers)
        seconds[seed % peers] *= 4
        accused = slow_ones(seconds, rates)
        assert accused in ([], [seed % peers])
        found += bool(accused)
    assert found >= found_at_least


def test_the_unit_of_time_does_not_matter() -> None:
    seconds, rates = draw(1, 6)
    seconds[2] *= 4
    for before, after in zip(
        compare_peers(seconds, [rates]), compare_peers(1000 * seconds, [3 * rates]), strict=True
    ):
        assert before is not None
        assert after is not None
        assert after.ratio == pytest.approx(before.ratio)
        assert after.scatters == pytest.approx(before.scatters)
        assert after.seconds == pytest.approx(1000 * before.seconds)
        assert (after.windows, after.slow_windows, after.peers) == (before.windows, before.slow_windows, before.peers)


def test_the_order_of_the_peers_does_not_matter() -> None:
    seconds, rates = draw(2, 7)
    seconds[3] *= 4
    order = np.random.default_rng(0).permutation(7)
    shuffled = compare_peers(seconds[order], [rates[order]])
    for place, index in enumerate(order):
        assert repr(shuffled[place]) == repr(compare_peers(seconds, [rates])[index])


@pytest.mark.parametrize("more", [1.05, 1.3, 2, 5])
@pytest.mark.parametrize("law", [lambda load: 1 + load, lambda load: 1 / (1 - load), lambda load: 1 + 20 * load**4])
def test_one_with_more_to_do_is_slower_by_the_common_law_and_not_accused(more: float, law: object) -> None:
    assert callable(law)
    for seed in range(20):
        _, rates = draw(seed, 6)
        rates = rates / 1000 * 0.18
        rates[1] *= more
        noise = np.random.default_rng(seed).normal(0, 0.05, rates.shape)
        assert slow_ones(0.004 * law(np.minimum(rates, 0.97)) * np.exp(noise), rates) == []


def test_larger_ios_take_longer_and_are_not_compared_with_smaller_ones() -> None:
    seconds, rates = draw(3, 5)
    size = np.full(rates.shape, 4096.0)
    size[0], seconds[0] = 65536, 6 * seconds[0]
    assert slow_ones(seconds, rates) == [0]
    assert slow_ones(seconds, rates, rates * size, size) == []


def test_one_with_less_to_do_that_takes_longer_is_slow() -> None:
    """In a closed loop the slow one gets fewer I/Os done."""
    seconds, rates = draw(4, 6)
    seconds[5], rates[5] = 4 * seconds[5], rates[5] / 4
    assert slow_ones(seconds, rates) == [5]


def test_one_that_does_hardly_anything_is_not_compared() -> None:
    seconds, rates = draw(5, 6)
    seconds[5], rates[5] = 4 * seconds[5], rates[5] / 50
    assert compare_peers(seconds, [rates])[5] is None


def test_a_few_slow_windows_do_not_last() -> None:
    """The first three, as when something warms up, or one far off."""
    seconds, rates = draw(6, 6)
    seconds[0, :3] *= 8
    seconds[1, 7] *= 1000
    assert slow_ones(seconds, rates) == []


def test_where_all_are_equally_slow_none_is() -> None:
    seconds, rates = draw(7, 6)
    assert slow_ones(100 * seconds, rates) == []


def test_two_kinds_differ_and_are_not_slow() -> None:
    """Half of them ten times as slow."""
    seconds, rates = draw(8, 8)
    seconds[4:] *= 10
    assert slow_ones(seconds, rates) == []


def test_of_two_the_other_is_the_only_measure() -> None:
    seconds, rates = draw(9, 2)
    rates[0] = rates[1]
    seconds[0] *= 4
    slower, faster = compare_peers(seconds, [rates])
    assert slower is not None
    assert faster is not None
    assert slower.peers == 1
    assert slower.ratio == pytest.approx(1 / faster.ratio)


def test_what_is_not_known_is_left_out() -> None:
    seconds, rates = draw(10, 5)
    seconds[0] *= 4
    seconds[0, ::2] = np.nan
    seconds[1] = np.nan
    first, second, *_ = compare_peers(seconds, [rates])
    assert first is not None
    assert (first.windows <= WINDOWS // 2, first.peers, second) == (True, 3, None)
    assert compare_peers(seconds[:1], [rates[:1]]) == [None]
    assert compare_peers(np.full((3, 4), np.nan), [np.ones((3, 4))]) == [None] * 3

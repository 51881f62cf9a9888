"""Lost TCP segments: how much they speak for loss as the limit."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from sanpath.verdict.hypotheses.retries import _loss_weight, _timeout_evidence

SHARES = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)


def weights(bytes_per_second: float) -> list[float]:
    """Log-odds by the share of segments lost, of a load whose connections nobody reads."""
    table = cast(Any, SimpleNamespace(load=SimpleNamespace(bytes_per_second=bytes_per_second)))
    return [_loss_weight(table, share, {}) for share in SHARES]


@pytest.mark.parametrize("bytes_per_second", [1e7, 1e8, 1.2e9, 1e10])
def test_a_larger_share_speaks_more_for_loss_however_fast_the_load_is(bytes_per_second: float) -> None:
    assert weights(bytes_per_second) == sorted(weights(bytes_per_second))


def test_a_few_lost_segments_of_a_fast_load_are_those_of_any_network() -> None:
    """At 1.2 GB/s 1e-7 are 16 in 20 s: it is not these that make the I/Os wait."""
    few, *_, many = weights(1.2e9)
    assert few <= 0
    assert many > 1.5


def stalls(share: float, bytes_per_second: float, waited_ratio: float) -> float:
    """Log-odds against loss of a load of which an I/O waits so much of its time between host and array."""
    load = SimpleNamespace(bytes_per_second=bytes_per_second, latency_seconds=1.0)
    segment = SimpleNamespace(queue=None, independent_wait=(0.0, waited_ratio, 1.0))
    table = SimpleNamespace(load=load, segments=[segment], gaps=frozenset({0}))
    return sum(evidence.weight for evidence in _timeout_evidence(cast(Any, table), share))


@pytest.mark.parametrize("bytes_per_second", [1e7, 1e8, 1.2e9, 1e10])
def test_segments_lost_more_often_explain_more_of_the_time(bytes_per_second: float) -> None:
    by_share = [stalls(share, bytes_per_second, 0.8) for share in SHARES]
    assert by_share == sorted(by_share)


def test_a_segment_lost_now_and_then_does_not_hold_up_a_load_for_most_of_its_time() -> None:
    """At 1.2 GB/s 1e-7 are one in 12 s, each of which TCP sends again within a third of a second."""
    assert stalls(1e-7, 1.2e9, 0.8) < -5
    assert stalls(1e-7, 1.2e9, 0.02) == 0
    assert stalls(1e-5, 1.2e9, 0.8) == 0

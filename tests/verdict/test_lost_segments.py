"""Lost TCP segments: how much they speak for loss as the limit."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from sanpath.verdict.hypotheses.retries import _for_loss

SHARES = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)


def weights(bytes_per_second: float) -> list[float]:
    """Log-odds by the share of segments lost, of a load whose connections nobody reads."""
    table = cast(Any, SimpleNamespace(load=SimpleNamespace(bytes_per_second=bytes_per_second)))
    return [_for_loss(table, share, {}) for share in SHARES]


@pytest.mark.parametrize("bytes_per_second", [1e7, 1e8, 1.2e9, 1e10])
def test_a_larger_share_speaks_more_for_loss_however_fast_the_load_is(bytes_per_second: float) -> None:
    assert weights(bytes_per_second) == sorted(weights(bytes_per_second))


def test_a_few_lost_segments_of_a_fast_load_are_those_of_any_network() -> None:
    """At 1.2 GB/s 1e-7 are 16 in 20 s: it is not these that make the I/Os wait."""
    few, *_, many = weights(1.2e9)
    assert few <= 0
    assert many > 1.5

"""TCP connections that lose segments and wait for time-outs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.scenarios.test_tcp_connections import LOSS, plateau


@pytest.mark.parametrize(("lost", "limits"), [(0.002, True), (1e-5, False)])
def test_time_outs_make_a_connection_move_less_than_its_loss_and_its_round_trips_allow(
    tmp_path: Path, lost: float, limits: bool
) -> None:
    """A connection that loses 0.2 % has 1.22 x 1448 / sqrt(0.002) = 40 kB under way. In round trips of 0.05 ms that
    would be 790 MB/s, four times what it moves: but 3 MB are sent and not acknowledged, as what was lost is sent
    again after a time-out, which no measured round trip contains. With 0.001 % lost, loss does not hold them."""
    tcp = replace(LOSS, round_trip=0.05e-3, smallest=0.05e-3, lost=lost, waiting=0.0, recovering=0.95)
    verdict = plateau(tmp_path / "a", tcp).verdict
    assert ([each.kind for each in verdict.bottlenecks] == ["retries"]) is limits

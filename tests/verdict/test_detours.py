"""What the latencies of paths say of a detour between two controllers."""

from __future__ import annotations

from itertools import permutations

import pytest

from sanpath.facts.table import FactRow
from sanpath.verdict.hypotheses.path_policy import _detour_evidence


def lun(share: float, ratio: float | None) -> FactRow:
    """A LUN with this share of its I/Os on a detour, over which an I/O takes so many times as long."""
    return {"non_optimised_share": share, "detour_ratio": ratio}


@pytest.mark.parametrize("ratio", [1.0, 2.0, 5.0])
@pytest.mark.parametrize(
    "others",
    [[lun(0.001, 5.0)], [lun(0.0, 5.0)], [lun(0.09, 1.0)], [lun(0.3, 5.0), lun(0.2, 1.0)], [lun(0.5, None)]],
    ids=["hardly any", "none", "negligible", "less", "not timed"],
)
def test_the_lun_with_most_ios_on_a_detour_decides(ratio: float, others: list[FactRow]) -> None:
    alone = list(_detour_evidence([lun(0.5, ratio)]))
    assert len(alone) == 1
    assert (alone[0].weight > 0) == (ratio > 1)
    for rows in permutations([lun(0.5, ratio), *others]):
        assert list(_detour_evidence(rows)) == alone


def test_detours_of_hardly_any_ios_say_nothing() -> None:
    assert not list(_detour_evidence([lun(0.05, 5.0), lun(0.0, 1.0)]))

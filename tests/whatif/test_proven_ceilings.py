"""Which element was proven full, and at what rate."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from sanpath.whatif.change import UNCHANGED
from sanpath.whatif.proven_ceilings import _proven


def judgement(ops_per_second: float, kind: str, entity: str) -> Any:
    load = SimpleNamespace(ops_per_second=ops_per_second, entity="load:fio")
    return SimpleNamespace(
        load=load, kind="bottleneck", bottlenecks=(SimpleNamespace(entity=entity, kind=kind, coincident=()),)
    )


@pytest.mark.parametrize(("elsewhere", "proven"), [(330.0, []), (360.0, ["array:fa1"]), (500.0, ["array:fa1"])])
def test_storage_that_was_full_below_what_this_step_reached_is_not_its_ceiling(
    elsewhere: float, proven: list[str]
) -> None:
    """A link limits this step to 364. With two outstanding I/Os the array was named, rightly or not."""
    judged = [judgement(364.0, "link", "link:a--b"), judgement(elsewhere, "array", "array:fa1")]
    assert [ceiling.entity for ceiling in _proven(cast(Any, judged), UNCHANGED, set())] == proven


def test_what_limits_the_step_itself_is_full_whatever_others_reached() -> None:
    """A write cache that has filled: an earlier step did more."""
    judged = [judgement(4000.0, "array", "array:fa1"), judgement(10_000.0, "link", "link:a--b")]
    (ceiling,) = _proven(cast(Any, judged), UNCHANGED, set())
    assert ceiling.ops_per_second == (4000.0, 4000.0)

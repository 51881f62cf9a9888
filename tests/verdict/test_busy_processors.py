"""Whether processors are busy in proportion to the I/Os of the load."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from sanpath.verdict.evidence.processors import follows_load


@pytest.mark.parametrize(("at_less", "follows"), [(0.25, True), (0.3, True), (0.9, False), (None, False)])
def test_a_step_that_nobody_read_shows_no_proportion(at_less: float | None, follows: bool) -> None:
    """A quarter of the I/Os, beside full processors."""
    now: dict[str, Any] = {"entity": "host:h1", "step": "q64", "direction": "read", "cpu_ratio": 1.0}
    before = [] if at_less is None else [{**now, "step": "q4", "cpu_ratio": at_less}]
    less, more = (SimpleNamespace(step=step, ops_per_second=ops) for step, ops in (("q4", 1000.0), ("q64", 4000.0)))
    host = SimpleNamespace(select=lambda **_: [*before, now])
    table = SimpleNamespace(load=more, same_io=(less,), facts=SimpleNamespace(tables={"host": host}))
    assert follows_load(cast(Any, table), now, "cpu_ratio") == follows

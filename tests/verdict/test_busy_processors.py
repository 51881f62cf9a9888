"""Whether processors are busy in proportion to the I/Os of the load."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from sanpath.verdict.evidence.processors import as_busy_with_fewer, follows_load


@pytest.mark.parametrize(("at_less", "follows"), [(0.25, True), (0.3, True), (0.9, False), (None, False)])
def test_a_step_that_nobody_read_shows_no_proportion(at_less: float | None, follows: bool) -> None:
    """A quarter of the I/Os, beside full processors."""
    now: dict[str, Any] = {"entity": "host:h1", "step": "q64", "direction": "read", "cpu_ratio": 1.0}
    before = [] if at_less is None else [{**now, "step": "q4", "cpu_ratio": at_less}]
    less, more = (SimpleNamespace(step=step, ops_per_second=ops) for step, ops in (("q4", 1000.0), ("q64", 4000.0)))
    host = SimpleNamespace(select=lambda **_: [*before, now])
    table = SimpleNamespace(load=more, same_io=(less,), facts=SimpleNamespace(tables={"host": host}))
    assert follows_load(cast(Any, table), now, "cpu_ratio") == follows


@pytest.mark.parametrize(
    ("entity", "others", "polls"),
    [("array:a1", 0.0, True), ("array:a1", 9000.0, False), ("volume:a1/v1", 0.0, False)],
)
def test_processors_that_others_may_fill_are_not_said_to_poll(entity: str, others: float, polls: bool) -> None:
    """A quarter of the test's I/Os, beside so many others in both steps, and full processors in both."""
    rates = {"q4": 1000.0, "q64": 4000.0}
    loads = [SimpleNamespace(step=s, ops_per_second=ops, in_flight_measured=ops) for s, ops in rates.items()]
    rows = [
        {"entity": entity, "step": step, "direction": direction, "controller_busy_ratio": 0.99, "ops_per_second": ops}
        for step, rate in rates.items()
        for direction, ops in (("read", rate), ("write", others))
    ]
    tables = {entity.partition(":")[0]: SimpleNamespace(select=lambda **_: rows)}
    table = SimpleNamespace(load=loads[1], same_io=(loads[0],), facts=SimpleNamespace(tables=tables))
    assert (as_busy_with_fewer(cast(Any, table), cast(Any, rows[2]), "controller_busy_ratio") is not None) == polls

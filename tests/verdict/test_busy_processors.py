"""Whether processors are busy in proportion to the I/Os of the load, and whether they are busy anyway."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sanpath.facts.storage.idle_arrays import IdleArray
from sanpath.facts.table import FactTable
from sanpath.verdict.places.processors import background_busy_ratio, follows_load, is_background_busy

LOADS = [
    SimpleNamespace(step=step, ops_per_second=ops, in_flight_measured=ops)
    for step, ops in (("q4", 1000.0), ("q64", 4000.0))
]
"""The second step has four times the I/Os of the first one."""


def asked(
    question: Any, table: str, rows: list[dict[str, Any]], machine: str, idle: Mapping[str, IdleArray] | None = None
) -> Any:
    """The answer about the second step. `table`: that of `rows`, which are the machine's, beside a busy neighbour's;
    there is no other table. `idle`: arrays before the load began."""
    entity = "array:a1" if machine.startswith("volume:") else machine
    own = [{**row, "entity": entity} for row in rows]
    neighbour = [{**row, "entity": "array:a2", "busy": 1.0} for row in rows]
    tables = {table: FactTable((*neighbour, *own))}
    topology = SimpleNamespace(related=lambda *_: ["array:a1"] if machine.startswith("volume:") else [])
    facts = SimpleNamespace(tables=tables, topology=topology, idle_arrays=idle or {})
    return question(cast(Any, facts), LOADS[1], LOADS[:1], machine, "busy")


@pytest.mark.parametrize(("at_less", "follows"), [(0.25, True), (0.3, True), (0.9, False), (None, False)])
def test_a_step_that_nobody_read_shows_no_proportion(at_less: float | None, follows: bool) -> None:
    now: dict[str, Any] = {"step": "q64", "direction": "read", "busy": 1.0}
    before = [] if at_less is None else [{**now, "step": "q4", "busy": at_less}]
    assert asked(follows_load, "host", [*before, now], "host:h1") == follows


@pytest.mark.parametrize("machine", ["host:h1", "vm:db1"])
def test_a_guest_whose_own_processors_are_read_is_a_row_of_the_hosts(machine: str) -> None:
    rows = [{"step": load.step, "direction": "read", "busy": 0.99} for load in LOADS]
    assert asked(is_background_busy, "host", rows, machine)


@pytest.mark.parametrize("machine", ["array:a1", "volume:a1/v1"])
@pytest.mark.parametrize(("others", "bytes_of_each"), [(0.0, 0), (9000.0, 8192), (200.0, 1 << 20)])
def test_processors_that_others_may_fill_are_not_said_to_poll(
    machine: str, others: float, bytes_of_each: int
) -> None:
    """So many I/Os of others in both steps, and full processors in both. The test's have 8 KiB each."""
    rows = [
        {
            "step": load.step,
            "direction": direction,
            "busy": 0.99,
            "ops_per_second": ops,
            "bytes_per_second": ops * size,
        }
        for load in LOADS
        for direction, ops, size in (("read", load.ops_per_second, 8192), ("write", others, bytes_of_each))
    ]
    assert asked(is_background_busy, "array", rows, machine) == (others == 0)


@pytest.mark.parametrize(("at_less", "at_more", "polls"), [(0.98, 1.0, True), (0.9, 1.0, False), (0.5, 0.5, True)])
def test_processors_that_are_full_with_fewer_ios_do_not_limit_more(
    at_less: float, at_more: float, polls: bool
) -> None:
    rows = [
        {"step": load.step, "direction": "read", "busy": busy}
        for load, busy in zip(LOADS, (at_less, at_more), strict=True)
    ]
    assert asked(is_background_busy, "host", rows, "host:h1") == polls


def test_how_far_processors_work_for_others_grows_with_how_busy_they_are_beside_fewer_ios() -> None:
    def anyway(at_less: float) -> float:
        busy = zip(LOADS, (at_less, 0.99), strict=True)
        rows = [{"step": load.step, "direction": "read", "busy": use} for load, use in busy]
        return float(asked(background_busy_ratio, "host", rows, "host:h1")[0])

    shares = [anyway(percent / 100) for percent in range(20, 100, 2)]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert shares[-1] == 1
    assert all(later - earlier < 0.15 for earlier, later in pairwise(shares)), "a reading on one side decides nothing"


@pytest.mark.parametrize("machine", ["array:a1", "volume:a1/v1"])
@pytest.mark.parametrize(
    ("busy", "loaded", "ops", "polls"),
    [
        (0.99, 0.0, 0.0, True),
        (0.5, 0.0, 0.0, False),
        (None, 0.0, 0.0, False),
        (0.99, 0.0, 3500.0, False),
        (0.99, 0.3, 1200.0, True),
        (0.99, 0.3, 3500.0, False),
        (0.3, 0.3, 1200.0, False),
        (0.79, 0.3, 1200.0, False),
    ],
    ids=[
        "it polls",
        "it does not",
        "not read",
        "other hosts fill it",
        "busy all the time, of which the load runs in three tenths",
        "other hosts fill it then",
        "busy for the load alone",
        "busy for 0.7 of the time without the load",
    ],
)
def test_controllers_that_are_as_busy_without_the_load_poll(
    machine: str, busy: float | None, loaded: float, ops: float, polls: bool
) -> None:
    """Both steps do the same: the array is full in both. `ops`: I/Os of all hosts a second while no load runs, but
    for the share `loaded` of the time."""
    rows = [
        {
            "step": "q64",
            "direction": "read",
            "busy": 0.99,
            "ops_per_second": 4000.0,
            "bytes_per_second": 4000.0 * 8192,
        }
    ]
    idle = {
        "array:a1": IdleArray({"busy": busy}, ops, ops * 8192, loaded),
        "array:a2": IdleArray({"busy": 1.0}, 0.0, 0.0),
    }
    assert asked(is_background_busy, "array", rows, machine, idle) == polls

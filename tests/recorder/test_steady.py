"""When a step may end: throughput of each window near the others, and long enough."""

from __future__ import annotations

from collections.abc import Sequence

from sanpath.model import Column, Rows, Table
from sanpath.recorder.loads.steady_state import Steadiness

LOAD = Table("load", (Column("ops_read_total", 64), Column("ops_write_total", 64)), plane="load")
SECOND = 1_000_000


def rows(load: str, at: float, reads: int, writes: int | None = 0, device_at: float | None = None) -> Rows:
    times = None if device_at is None else [round(device_at * SECOND)]
    values: dict[str, Sequence[int | float | None]] = {"ops_read_total": [reads], "ops_write_total": [writes]}
    return Rows(LOAD, [load], [round(at * SECOND)], values, times)


def fed(rates: Sequence[int], windows: int = 3, spread: float = 0.05, at_least: float = 0) -> Steadiness:
    """A load with these operations in each second."""
    found = Steadiness(windows, spread, at_least)
    found.begin(["fio/a"])
    for second in range(len(rates) + 1):
        found.add(rows("fio/a", second, sum(rates[:second])))
    return found


def test_as_many_windows_as_asked_for_have_to_be_near_each_other() -> None:
    assert not fed([100, 100]).reached
    assert fed([100, 100, 100]).reached
    assert not fed([100, 100, 110]).reached
    assert fed([500, 100, 102, 98]).reached


def test_spread_is_highest_minus_lowest_over_the_mean() -> None:
    assert fed([90, 100, 110]).spread == 0.2
    assert fed([90, 100]).spread is None


def test_a_load_without_io_is_not_steady() -> None:
    assert fed([0, 0, 0]).spread is None
    assert not fed([0, 0, 0]).reached


def test_it_lasts_at_least_as_long_as_asked() -> None:
    assert not fed([100] * 9, at_least=10).reached
    assert fed([100] * 10, at_least=10).reached


def test_what_was_before_the_begin_does_not_count() -> None:
    found = Steadiness(2, 0.05, 0)
    for second in range(4):
        found.add(rows("fio/a", second, 100 * second))
    assert found.spread is None
    found.begin(["fio/a"])
    for second in range(3):
        found.add(rows("fio/a", 4 + second, 100 * second))
    assert found.reached


def test_loads_of_a_step_are_summed_up() -> None:
    found = Steadiness(2, 0.05, 0)
    found.begin(["h1/fio", "h2/fio"])
    for second, (one, two) in enumerate([(0, 0), (60, 40), (100, 100)]):
        found.add(rows("h1/fio", second, one))
        assert not found.reached
        found.add(rows("h2/fio", second, two))
    assert found.spread == 0.0
    assert found.reached


def test_reads_and_writes_count_together_by_the_clock_of_the_load() -> None:
    found = Steadiness(2, 0.05, 0)
    found.begin(["fio/a"])
    for number, late in enumerate([0.0, 0.4, 0.0]):
        found.add(rows("fio/a", number + late, 70 * number, 30 * number, device_at=number))
    assert found.spread == 0.0
    untold = Steadiness(2, 0.05, 0)
    untold.begin(["fio/a"])
    untold.add(rows("fio/a", 0, 0, None))
    untold.add(rows("fio/a", 1, 50, None))
    untold.add(rows("fio/a", 2, 100, None))
    assert untold.reached

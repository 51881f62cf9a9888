"""No step of a probe leaves its budget of time, bytes, rate, I/Os in flight and steps, whatever the storage does."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanpath.probe.budget import Spent, rate_limit, rate_options, refusal_reason, step_seconds, unmeasured_bytes
from sanpath.probe.experiment_steps import Order, in_flight_order, possible_orders, start_order
from sanpath.probe.plan import ProbePlan
from sanpath.sweep import commands
from tests.probe.plans import plan

KIB = 1024


@st.composite
def plans(draw: st.DrawFn) -> ProbePlan:
    in_flight = draw(st.integers(1, 64)) * 4
    return plan(
        load={
            "block_bytes": draw(st.sampled_from((4 * KIB, 64 * KIB, 1024 * KIB))),
            "in_flight": in_flight,
            "threads": draw(st.sampled_from((1, 2, 4))),
            "read_ratio": draw(st.sampled_from((0.0, 0.3, 1.0))),
        },
        seconds=draw(st.floats(1, 30)),
        warmup_seconds=draw(st.floats(0, 10)),
        pause_seconds=draw(st.floats(0, 5)),
        budget={
            "seconds": draw(st.floats(60, 600)),
            "bytes": draw(st.none() | st.integers(KIB**2, KIB**4)),
            "bytes_per_second": draw(st.none() | st.integers(KIB, 8 * KIB**3)),
            "in_flight": draw(st.integers(in_flight, 1024)),
            "steps": draw(st.integers(1, 12)),
        },
    )


@pytest.mark.slow
@settings(max_examples=1000)
@given(plans(), st.data())
def test_no_step_is_outside_its_budget(drawn: ProbePlan, data: st.DataObject) -> None:
    """The storage moves as much as it likes, in the warm-up as well; only the limit of the rate holds it."""
    budget, orders, spent = drawn.budget, [start_order(drawn), *possible_orders(drawn)], Spent()
    moved = elapsed = unmeasured = measured = 0.0
    while True:
        order = data.draw(st.sampled_from(orders))
        if data.draw(st.booleans()):
            order = in_flight_order(drawn, data.draw(st.integers(1, 2000)), "knee", "", seconds=3 * drawn.seconds)
        if refusal_reason(drawn, spent, order):
            break
        limit = rate_limit(drawn, spent, order)
        load_seconds = drawn.seconds if order.seconds is None else order.seconds
        rates = [data.draw(st.floats(0, 20 * KIB**3)) for _ in range(2)]
        warmup_rate, rate = (0.0 if order.is_pause else rate if limit is None else min(rate, limit) for rate in rates)
        moved += warmup_rate * drawn.warmup_seconds + rate * load_seconds
        elapsed += step_seconds(drawn, order)
        unmeasured += unmeasured_bytes(drawn, limit)
        measured += rate * load_seconds
        assert order.step.in_flight <= budget.in_flight
        if not order.is_pause:
            assert budget.bytes_per_second is None or (limit is not None and limit <= budget.bytes_per_second)
        best = max(spent.bytes_per_second, rate)
        spent = Spent(elapsed, measured + unmeasured, spent.steps + 1, best)
    assert spent.steps <= budget.steps
    assert elapsed <= budget.seconds
    assert budget.bytes is None or moved <= budget.bytes * (1 + 1e-9)


@settings(max_examples=50)
@given(plans(), st.integers(10_000, 10**9))
def test_fio_is_held_at_the_limit_over_all_its_processes(drawn: ProbePlan, limit: int) -> None:
    order = start_order(drawn)
    options = rate_options(drawn, order, limit)
    sweep = drawn.sweep_plan(allow_writes=True).model_copy(update={"fio": options})
    words = commands.fio(sweep, order.step)
    rates = [int(rate) for word in words if word.startswith("--rate=") for rate in word[7:].split(",")]
    processes = order.step.threads * (order.step.targets if drawn.target.uri else 1)
    used = [
        rate for rate, share in zip(rates, (order.step.read_ratio, 1 - order.step.read_ratio), strict=True) if share
    ]
    assert limit - 2 * processes <= sum(used) * processes <= limit + 2 * processes


def test_what_a_budget_refuses_is_said() -> None:
    small = plan(budget={"steps": 1, "bytes": "1g"})
    order = start_order(small)
    assert refusal_reason(small, Spent(), order) == ""
    assert refusal_reason(small, Spent(steps=1), order) == "the budget of 1 step is used"
    assert "1,073,741,824 bytes" in refusal_reason(small, Spent(bytes=2**30), order)
    held = Spent(bytes=0.9 * 2**30, bytes_per_second=1e9)
    assert "bytes is used" in refusal_reason(small, held, order), "a step at a tenth of the throughput tells nothing"
    slow = plan(budget={"bytes_per_second": "4k"})
    assert refusal_reason(slow, Spent(), start_order(slow)) == "the rate is below the minimum, 65,536 bytes a second"


def test_the_least_rate_of_diskspd_is_its_unit_in_every_thread() -> None:
    """Below it, DiskSpd would have no limit at all."""
    slow = plan(engine="diskspd", load={"in_flight": 64, "threads": 64, "block_bytes": "4k"}, hosts=["local"])
    slow = slow.model_copy(update={"budget": slow.budget.model_copy(update={"bytes_per_second": 100_000})})
    assert "below the minimum, 128,000 bytes a second" in refusal_reason(slow, Spent(), start_order(slow))


def test_without_writes_fio_itself_refuses_them() -> None:
    reading = plan()
    for order in (start_order(reading), *possible_orders(reading)):
        words: tuple[str, ...] = commands.fio(reading.sweep_plan(), order.step)
        assert "--readonly" in words, shlex.join(words)
        assert not any("write" in word for word in words)


def names(orders: list[Order]) -> list[str]:
    return [order.experiment for order in orders]


def test_each_experiment_changes_what_it_is_called_after() -> None:
    mixed = plan(load={"block_bytes": "64k", "in_flight": 16, "read_ratio": 0.7})
    orders = {order.experiment: order for order in possible_orders(mixed)}
    start = mixed.start
    assert orders["more_in_flight"].step.in_flight == 32
    assert orders["fewer_in_flight"].step.in_flight == 8
    assert (orders["one_in_flight"].step.in_flight, orders["one_in_flight"].step.threads) == (1, 1)
    assert orders["smaller_blocks"].step.block_bytes == 32 * KIB
    assert orders["more_jobs"].step.threads == 2
    assert orders["more_jobs"].step.in_flight == start.in_flight
    assert orders["cached_range"].step.working_set_bytes == 64 * KIB**2
    assert orders["one_direction"].step.read_ratio == 1.0
    assert orders["writes_only"].step.read_ratio == 0.0
    assert orders["one_target"].step.targets == 1
    assert orders["other_host"].host == "db2"
    assert "one_path" not in orders, "no path is named"
    alone = plan(hosts=["local"], target={"filename": "/dev/sdb"}, load={"in_flight": 1, "block_bytes": 512})
    assert names(list(possible_orders(alone))) == ["more_in_flight", "cached_range", "pause"]

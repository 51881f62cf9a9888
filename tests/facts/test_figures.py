"""Figures that people entered are compared with each other, with what follows from them, and with the loads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from sanpath.facts.figures.comparison import figure_comparisons, figure_rows
from sanpath.facts.figures.measured import Measurements
from sanpath.facts.figures.model import FigureComparison, FigureValue, amount, disagreement
from sanpath.facts.load.loads import LoadFacts
from sanpath.model import Event, SourceEntity, SourceLink, Step
from sanpath.topology.resolve import resolve
from sanpath.topology.topology import Topology
from sanpath_collectors.figures.parse import parse_figure

LOAD = "load:a"
STEP = Step("s", 0, 60_000_000, "marks", (), 32)


def link(text: str) -> tuple[str, int, SourceLink]:
    first, relation, second = text.split()
    ends = [tuple(end.split(":", 1)) for end in (first, second)]
    return "config", 0, SourceLink(relation, (ends[0][0], ends[0][1]), (ends[1][0], ends[1][1]), text)


def topology() -> Topology:
    links = ("load:a runs_on host:h", "hba:h/p0 attached_to host:h", "load:a targets volume:x/v")
    storage = [
        ("config", 0, SourceEntity(kind, name, name, {"name": (name,)}))
        for kind, name in (("array", "x"), ("volume", "x/v"))
    ]
    return resolve([*storage, *map(link, links), link("volume:x/v member_of array:x")])


def load(direction: Any, operations: float, size: float = 65_536.0, latency_seconds: float = 0.01) -> LoadFacts:
    in_flight = operations * latency_seconds
    return LoadFacts((LOAD,), "s", direction, 1, operations, operations * size, latency_seconds, 32, in_flight, None)


READS, WRITES = load("read", 6250.0), load("write", 100.0)


def compared(*entries: Mapping[str, Any], histograms: Any = None) -> list[FigureComparison]:
    events = []
    for entry in entries:
        parsed = parse_figure({"source": "text", **entry})
        events.append(("figures", Event(0, "figure", {name: getattr(parsed, name) for name in parsed.__slots__})))
    shares = {("s", "cluster_node:n1"): 0.75}
    measurements = Measurements(topology(), [STEP], [], [READS, WRITES], histograms or {}, shares)
    return figure_comparisons(events, measurements)


def only(*entries: Mapping[str, Any]) -> FigureComparison:
    (comparison,) = compared(*entries)
    return comparison


def test_two_sources_of_one_quantity_contradict_each_other_beyond_their_rounding() -> None:
    sheet = {"entity": "media:m", "quantity": "ceiling"}
    comparison = only({**sheet, "value": "200 kIOPS"}, {**sheet, "value": "1,200 kIOPS"})
    assert comparison.ratio == pytest.approx(6, rel=0.06)
    close = only({**sheet, "value": "2,400 IOPS"}, {**sheet, "value": "2,360-2,420 IOPS"})
    assert close.ratio == 1


def test_megabits_for_megabytes_are_recognised_whichever_megabyte_it_is() -> None:
    rate = {"entity": "load:b", "quantity": "throughput"}
    for other in ("390 MB/s", "390 MiB/s"):
        (row,) = figure_rows(compared({**rate, "value": "390 Mbit/s"}, {**rate, "value": other}))
        assert row["bits_for_bytes"] is True
    (row,) = figure_rows(compared({**rate, "value": "390 MB/s"}, {**rate, "value": "200 MB/s"}))
    assert row["bits_for_bytes"] is False


def test_bits_are_recognised_beside_a_third_figure_that_lies_further_apart() -> None:
    rate = {"entity": "load:b", "quantity": "throughput"}
    figures = [{**rate, "value": value, "source": value} for value in ("390 Mbit/s", "900 MB/s", "390 MB/s")]
    (row,) = figure_rows(compared(*figures))
    assert row["bits_for_bytes"] is True
    assert "390 Mbit/s" in str(row["in_bits"])
    assert "390 MB/s" in str(row["in_bytes"])
    assert "900 MB/s" in str(row["higher"])


def test_a_share_of_local_reads_is_compared_with_the_counters_of_its_node_alone() -> None:
    share = {"quantity": "local_read_share", "value": "50 %"}
    node, other = compared({**share, "entity": "cluster_node:n1"}, {**share, "entity": "cluster_node:n2"})
    assert node.values[-1].low == pytest.approx(0.75)
    assert node.ratio == pytest.approx(1.5, rel=0.05)
    assert other.ratio is None


def test_stages_of_a_reduction_are_multiplied() -> None:
    array = {"entity": "array:x"}
    stages = [{**array, "quantity": "reduction_stage", "value": share} for share in ("5 %", "16 %", "47 %")]
    comparison = only({**array, "quantity": "reduction", "value": "2.4:1"}, *stages)
    assert comparison.values[1].low == pytest.approx(1 / (0.95 * 0.84 * 0.53))
    assert comparison.ratio == 1


def test_copies_leave_a_share_of_the_raw_capacity() -> None:
    array = {"entity": "array:x"}
    comparison = only(
        {**array, "quantity": "usable_capacity", "value": "22.4 TB"},
        {**array, "quantity": "capacity", "value": "89.6 TB"},
        {**array, "quantity": "copies", "value": 3},
    )
    assert comparison.values[1].low == pytest.approx(89.6e12 / 3)
    assert comparison.ratio == pytest.approx(4 / 3, rel=0.01)


def test_a_timed_task_is_a_share_of_what_the_load_tests_moved() -> None:
    comparison = only(
        {"entity": "load:clone", "quantity": "transfer", "value": "9 GB", "duration": "37-39 s", "direction": "read"}
    )
    assert (comparison.values[0].low, comparison.values[0].high) == (pytest.approx(9e9 / 39), pytest.approx(9e9 / 37))
    assert comparison.used_ratio == pytest.approx(9e9 / 37 / (6250 * 65_536))
    assert comparison.is_timed_task


def test_what_crossed_the_wire_is_a_share_of_what_the_task_moved() -> None:
    clone = {"entity": "load:clone", "quantity": "transfer", "value": "9 GB", "duration": "37-39 s"}
    crossed = {"entity": "load:clone", "quantity": "crossed", "value": "90 MB"}
    by_quantity = {comparison.quantity: comparison for comparison in compared(clone, crossed)}
    assert by_quantity["crossed"].used_ratio == pytest.approx(0.01)
    assert by_quantity["crossed"].ratio is None, "less over the wire is no contradiction"
    assert only(crossed).used_ratio is None


def test_a_ceiling_is_held_against_what_crossed_it() -> None:
    array, adapter, unrelated = compared(
        {"entity": "array:x", "quantity": "ceiling", "value": "5,000 IOPS"},
        {"entity": "hba:h/p0", "quantity": "ceiling", "value": "4 x 500 MB/s", "direction": "read"},
        {"entity": "array:y", "quantity": "ceiling", "value": "5,000 IOPS"},
    )
    assert array.used_ratio == pytest.approx(6350 / 5000)
    assert array.ratio is None
    assert adapter.used_ratio == pytest.approx(6250 * 65_536 / 2e9)
    assert unrelated.used_ratio is None


def test_drives_behind_a_cache_see_misses_and_every_copy_of_a_write() -> None:
    array = {"entity": "array:x"}
    comparison = only(
        {**array, "quantity": "drive_ceiling", "value": "40 x 80 IOPS"},
        {**array, "quantity": "miss_ratio", "value": "30 %"},
        {**array, "quantity": "copies", "value": 2},
    )
    assert comparison.used_ratio == pytest.approx((0.3 * 6250 + 2 * 100) / 3200)


def test_a_price_gives_the_cost_of_a_gigabyte_and_of_an_operation_within_a_latency() -> None:
    array = {"entity": "array:x"}
    capacity = {**array, "quantity": "usable_capacity", "value": "10 TB"}
    price = {**array, "quantity": "price", "value": "12,700 USD"}
    limit = {**array, "quantity": "latency_limit", "value": "20 ms"}
    costs = {c.quantity: c.values[0].low for c in compared(capacity, price, limit) if c.quantity.startswith("cost")}
    assert costs == {"cost_per_gigabyte": pytest.approx(1.27), "cost_per_operation": pytest.approx(2.0)}
    too_slow = compared(capacity, price, {**limit, "value": "5 ms"})
    assert "cost_per_operation" not in {comparison.quantity for comparison in too_slow}
    each_byte = compared(capacity, {**price, "value": "1.27 USD/GB"})
    (whole,) = (c.values[0] for c in each_byte if c.quantity == "price" and c.unit == "USD")
    assert whole.low == pytest.approx(1.27 * 10_000)
    assert [c.values[0].low for c in each_byte if c.quantity == "cost_per_operation"] == [pytest.approx(2.0)]


def test_bytes_and_operations_of_one_step_give_the_size_of_an_operation() -> None:
    rate = {"entity": "load:b", "quantity": "throughput"}
    (size,) = [
        c
        for c in compared({**rate, "value": "320 MiB/s"}, {**rate, "value": "18,000 IOPS"})
        if c.quantity == "io_size"
    ]
    assert size.values[0].low == pytest.approx(320 * 2**20 / 18_000)


def test_a_zero_is_no_figure_to_compare_with() -> None:
    zero = FigureValue(0.0, 0.0, "", "stated")
    assert disagreement([zero, FigureValue(1.0, 1.0, "", "stated")]) is None


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [("bytes", 8.96e13, "89.6 TB"), ("bytes", 0.0, "0 B"), ("ops_per_second", 125_000.0, "125,000 IOPS")],
)
def test_amounts_are_in_the_units_that_people_use(unit: str, value: float, text: str) -> None:
    assert amount(unit, FigureValue(value, value, "", "stated")) == text

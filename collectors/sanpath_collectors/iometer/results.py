"""Converts tests of Iometer to entities, samples and steps. Each target has one figure for the whole test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sanpath.model import DIRECTIONS, Scalar
from sanpath.plugin import INTEGER_LIMIT, Item, LoadStep, Rows, common_value, complete_sum, histogram, warning
from sanpath_collectors.iometer.inventory import Inventory, load_attributes, local_id, total_area_bytes
from sanpath_collectors.iometer.leaves import Leaf, find_leaves
from sanpath_collectors.iometer.parse import Test
from sanpath_collectors.iometer.specification import Specification
from sanpath_collectors.iometer.tables import LOAD

_TOLERANCE_RATIO = 0.02
"""Largest ratio by which a sum and its parts may differ because of rounding."""
_GAP_US = 1
"""Gap between two tests, so that the last sample of one test is not the first of the next."""
_NS_PER_MS = 1_000_000


class Tests:
    """Converts tests to items, one after the other. `count`: number of tests so far."""

    __test__ = False  # pytest would collect it as a test

    def __init__(self, load: str) -> None:
        self._load = load
        self._inventory = Inventory(load)
        self._end_us: int | None = None
        self.count = 0

    def items(self, test: Test) -> Iterator[Item]:
        """Yield the items of one test."""
        self.count += 1
        leaves = [leaf for leaf in find_leaves(test.rows, test.specifications) if leaf.seconds]
        seconds = max((leaf.seconds for leaf in leaves), default=0.0)
        test = self._place_after_previous(test, seconds)
        if not leaves:
            yield self._warning(test, "no-io", "no target has completed an I/O: it yields no step")
            return
        ids = [local_id(self._load, *leaf.path) for leaf in leaves]
        step = self._create_step(leaves, ids)
        for load, leaf in zip(ids, leaves, strict=True):
            yield from self._inventory.update(load, _leaf_attributes(leaf, test))
        if ids != [self._load]:
            yield from self._inventory.update(self._load, _combined_attributes(leaves, step, test))
        yield step.event("step-begin", test.end_us - round(seconds * 1e6))
        yield _rows(ids, leaves, test.end_us, at_end=False)
        yield _rows(ids, leaves, test.end_us, at_end=True)
        yield from self._histogram(test)
        yield from self._warnings(test, leaves)
        yield step.event("step-end", test.end_us)

    def _place_after_previous(self, test: Test, seconds: float) -> Test:
        """Return the test with an end time at which it does not overlap with the previous test.

        The file contains the end time and the duration, which overlap because Iometer stops the clock of a run later
        than that of its I/Os. If the clock was set back, the time is not changed.
        """
        last_us, self._end_us = self._end_us, test.end_us
        if last_us is None or test.end_us <= last_us:
            return test
        self._end_us = max(test.end_us, last_us + _GAP_US + round(seconds * 1e6))
        return replace(test, end_us=self._end_us)

    def _create_step(self, leaves: Sequence[Leaf], ids: Sequence[str]) -> LoadStep:
        offered = complete_sum(leaf.in_flight for leaf in leaves)
        done = {leaf.specification or Specification("") for leaf in leaves}
        name = " + ".join(sorted(s.name for s in done if s.name)) or "test"
        return LoadStep(
            name=name if offered is None else f"{name}, {offered} outstanding",
            loads=tuple(ids),
            offered=offered,
            block_bytes=common_value(s.block_bytes for s in done),
            rate_limited=any(s.is_limited for s in done),
            random_ratio=common_value(s.random_ratio for s in done),
            read_ratio=common_value(s.read_ratio for s in done),
            align_bytes=common_value(s.align_bytes for s in done),
            group=self.count,
            summary=True,
        )

    def _histogram(self, test: Test) -> Iterator[Item]:
        """Yield the histogram of all targets. The bins in a target's row are those of its worker (ManagerList.cpp,
        Worker.cpp), so only the row ALL is used."""
        total_row = next((row for row in test.rows if row.kind == "ALL"), None)
        if total_row is None:
            return
        busy = [direction for direction in DIRECTIONS if total_row.figures[direction].ops]
        total = sum(number for _, number in total_row.bins)
        if len(busy) == 1 and total:
            buckets = [(upper, number / total) for upper, number in total_row.bins]
            yield histogram(test.end_us, self._load, busy[0], buckets)

    def _warnings(self, test: Test, leaves: Sequence[Leaf]) -> Iterator[Item]:
        total_row = next((row for row in test.rows if row.kind == "ALL"), leaves[0].row)
        errors = sum(leaf.row.errors for leaf in leaves)
        if errors:
            worst_leaf = max(leaves, key=lambda leaf: leaf.row.errors)
            location = f", {worst_leaf.row.errors:,} of them at {'/'.join(worst_leaf.path) or 'all'}"
            yield self._warning(test, "errors-counted", f"Iometer counted {errors:,} I/Os that failed{location}")
        if any(leaf.in_flight is None for leaf in leaves):
            text = "the queue depth is -1 (rows below differ, or do not give it): outstanding I/Os are not known"
            yield self._warning(test, "queue-depth-unknown", text)
        total = sum(leaf.row.ops_per_second for leaf in leaves)
        if (
            total_row.kind == "ALL"
            and abs(total - total_row.ops_per_second) > _TOLERANCE_RATIO * total_row.ops_per_second
        ):
            text = f"its rows add up to {total:.6g} I/Os a second, the row ALL says {total_row.ops_per_second:.6g}"
            yield self._warning(test, "sums-differ", text)
        if any(row.kind == "NETWORK" for row in test.rows):
            yield self._warning(test, "network-left-out", "its network targets are left out: they are not storage")

    def _warning(self, test: Test, code: str, text: str) -> Item:
        return warning(test.end_us, code, f"test {self.count}: {text}")


def _leaf_attributes(leaf: Leaf, test: Test) -> dict[str, Scalar]:
    row = leaf.row
    threads = 1 if row.kind in ("DISK", "WORKER") else None
    return load_attributes(
        leaf.specification,
        version=test.version,
        in_flight=leaf.in_flight,
        threads=threads,
        files=leaf.targets,
        working_set_bytes=total_area_bytes([row.sectors] * (leaf.targets or 1)),
    )


def _combined_attributes(leaves: Sequence[Leaf], step: LoadStep, test: Test) -> dict[str, Scalar]:
    workers = {leaf.path[:2] for leaf in leaves}
    # Workers of one manager may share a target.
    targets = {(leaf.path[0], leaf.path[-1]): leaf.row.sectors for leaf in leaves if leaf.row.kind == "DISK"}
    return load_attributes(
        common_value(leaf.specification for leaf in leaves),
        version=test.version,
        in_flight=step.offered,
        threads=len(workers) if all(len(worker) == 2 for worker in workers) else None,
        files=len(targets) or None,
        working_set_bytes=total_area_bytes(targets.values()),
    ) | {"rate_limited": step.rate_limited}


def _rows(ids: Sequence[str], leaves: Sequence[Leaf], end_us: int, *, at_end: bool) -> Rows:
    """Zeros at the beginning of each leaf, or its totals at the end of the test."""
    samples = [_totals(leaf) if at_end else _zeros() for leaf in leaves]
    for leaf, sample in zip(leaves, samples, strict=True):
        sample["in_flight_configured"] = leaf.in_flight
    return Rows(
        LOAD,
        list(ids),
        [end_us if at_end else end_us - round(leaf.seconds * 1e6) for leaf in leaves],
        {column.metric: [sample.get(column.metric) for sample in samples] for column in LOAD.columns},
    )


def _zeros() -> dict[str, int | None]:
    return {column.metric: 0 for column in LOAD.columns if column.bits}


def _totals(leaf: Leaf) -> dict[str, int | None]:
    values: dict[str, int | None] = {"ops_failed_total": leaf.row.errors}
    for direction in DIRECTIONS:
        figures = leaf.row.figures[direction]
        values[f"ops_{direction}_total"] = figures.ops
        values[f"bytes_{direction}_total"] = figures.bytes
        # Not Total Raw Response Time: in a target's row, it is the sum over its worker's targets.
        values[f"latency_seconds_{direction}_total"] = _to_ns(figures.mean_ms, figures.ops) if figures.ops else 0
        values[f"latency_seconds_max_{direction}"] = _to_ns(figures.max_ms, 1)
    return values


def _to_ns(milliseconds: float | None, count: int) -> int | None:
    if milliseconds is None:
        return None
    total = milliseconds * count * _NS_PER_MS
    return round(total) if total < INTEGER_LIMIT else None

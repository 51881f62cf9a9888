"""Converts updates of a running test to entities, samples and steps: one figure for each target and update."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from sanpath.model import DIRECTIONS
from sanpath.plugin import INTEGER_LIMIT, Item, LoadStep, Rows, Totals, complete_sum, warning
from sanpath_collectors.iometer.inventory import Inventory, load_attributes, local_id, total_area_bytes
from sanpath_collectors.iometer.parse import Update
from sanpath_collectors.iometer.rows import Row
from sanpath_collectors.iometer.specification import Specification
from sanpath_collectors.iometer.tables import LOAD

_UPDATE_GAP_US = 500_000
"""Rows of one update are written within this time. Updates are at least a second apart."""
_NS_PER_MS = 1_000_000


@dataclass(slots=True)
class _Target:
    """The totals of one target since the beginning of the test. `in_flight`: its queue depth; None: unknown."""

    in_flight: int | None
    totals: Totals = field(default_factory=Totals)
    max_ns: dict[str, int | None] = field(default_factory=dict)
    errors: int = 0

    def add(self, row: Row) -> None:
        """Add the figures of one update."""
        self.errors += row.errors
        for direction in DIRECTIONS:
            figures = row.figures[direction]
            seconds = None if figures.mean_ms is None else figures.mean_ms / 1000
            self.totals.add(direction, figures.ops, figures.bytes, seconds)
            if figures.max_ms is not None:
                metric = f"latency_seconds_max_{direction}"
                self.max_ns[metric] = max(self.max_ns.get(metric) or 0, round(figures.max_ms * _NS_PER_MS))

    def sample(self, load: str, seen_us: int) -> Rows:
        """The current values of the target's counters. Values too large for a counter, from damaged rows, are
        None."""
        totals = {**self.totals.values, **self.max_ns, "ops_failed_total": self.errors}
        values = {**totals, "in_flight_configured": self.in_flight}
        fits = {metric: value for metric, value in values.items() if value is not None and value < INTEGER_LIMIT}
        return Rows(LOAD, [load], [seen_us], {column.metric: [fits.get(column.metric)] for column in LOAD.columns})


@dataclass(slots=True)
class _Running:
    """The running test of the updates.

    `updates`: number of updates. `name_counts`: name → number of its rows in the last update. `begin_emitted`:
    whether the step-begin event was yielded.
    """

    number: int
    version: str | None
    specification: Specification | None
    begin_us: int
    last_us: int
    errors: int = 0
    updates: int = 0
    begin_emitted: bool = False
    name_counts: Counter[str] = field(default_factory=Counter)
    targets: dict[str, _Target] = field(default_factory=dict)

    @property
    def step(self) -> LoadStep:
        """The load step of the test. It is complete after the first update, which contains all targets."""
        offered = complete_sum(target.in_flight for target in self.targets.values())
        done = self.specification or Specification("test")
        return LoadStep(
            name=done.name if offered is None else f"{done.name}, {offered} outstanding",
            loads=tuple(self.targets),
            offered=offered,
            block_bytes=done.block_bytes,
            rate_limited=done.is_limited,
            group=self.number,
            random_ratio=done.random_ratio,
            read_ratio=done.read_ratio,
            align_bytes=done.align_bytes,
        )


class Updates:
    """Converts updates to items, one after the other. `count`: number of tests so far.

    A row contains neither the name of its target nor of its manager. Rows of one update with the same name are
    numbered by their order, which does not change: "Worker 1", "Worker 1#2".
    """

    def __init__(self, load: str) -> None:
        self._load = load
        self._inventory = Inventory(load)
        self._running: _Running | None = None
        self._ended_us: int | None = None
        self.count = 0

    def items(self, update: Update) -> Iterator[Item]:
        """Yield the items of one row."""
        row, seen_us = update.row, update.row.stamp_us
        # Rows with an access specification contain the means of the whole test, at its end.
        if row.kind != "WORKER" or row.specification or seen_us is None:
            return
        interval_us = round(min(row.seconds or row.run_seconds or 0.0, 86_400.0) * 1e6)
        test = self._running
        if test is None:
            self.count += 1
            specification = next(iter(update.specifications.values())) if len(update.specifications) == 1 else None
            begin_us = seen_us - interval_us
            if self._ended_us is not None and self._ended_us < seen_us:
                begin_us = max(begin_us, self._ended_us + 1)  # Intervals and time stamps come from different clocks.
            test = self._running = _Running(self.count, update.version, specification, begin_us, seen_us)
        if not test.updates or seen_us - test.last_us > _UPDATE_GAP_US:
            test.updates += 1
            test.name_counts.clear()
            if test.updates > 1:
                yield from self._begin_step(test)
        test.last_us = max(test.last_us, seen_us)
        test.errors += row.errors
        yield from self._target_items(test, row, seen_us, interval_us)

    def end(self) -> Iterator[Item]:
        """Yield the items that end the running test."""
        test, self._running = self._running, None
        if test is None:
            return
        self._ended_us = test.last_us
        yield from self._begin_step(test)
        if test.errors:
            text = f"test {test.number}: Iometer counted {test.errors:,} I/Os that failed"
            yield warning(test.last_us, "errors-counted", text)
        yield test.step.event("step-end", test.last_us)

    def _target_items(self, test: _Running, row: Row, seen_us: int, interval_us: int) -> Iterator[Item]:
        name = row.name or "worker"
        test.name_counts[name] += 1
        load = local_id(self._load, name if test.name_counts[name] == 1 else f"{name}#{test.name_counts[name]}")
        target = test.targets.get(load)
        if target is None:
            target = test.targets[load] = _Target(row.queue_depth)
            attributes = load_attributes(
                test.specification,
                version=test.version,
                in_flight=row.queue_depth,
                threads=1,
                files=1,
                working_set_bytes=total_area_bytes([row.sectors]),
            )
            yield from self._inventory.update(load, attributes)
            yield target.sample(load, max(test.begin_us, seen_us - interval_us))
        target.add(row)
        yield target.sample(load, seen_us)

    def _begin_step(self, test: _Running) -> Iterator[Item]:
        if test.begin_emitted:
            return
        test.begin_emitted = True
        step = test.step
        attributes = load_attributes(
            test.specification, version=test.version, in_flight=step.offered, threads=None, files=len(test.targets)
        )
        yield from self._inventory.update(self._load, attributes)
        yield step.event("step-begin", test.begin_us)

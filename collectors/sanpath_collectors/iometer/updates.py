"""Updates of a running test → things, samples and steps: one figure a target and update."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from sanpath.model import DIRECTIONS
from sanpath.plugin import Item, LoadStep, Rows, Totals, warning
from sanpath_collectors.iometer.inventory import Inventory, area_bytes, local_id, profile
from sanpath_collectors.iometer.numbers import COUNTER_END
from sanpath_collectors.iometer.parse import Update
from sanpath_collectors.iometer.rows import Row
from sanpath_collectors.iometer.specification import Specification
from sanpath_collectors.iometer.tables import LOAD

_APART_US = 500_000
"""Rows of one update are written right after another; updates are at least a second apart."""
_NS_PER_MS = 1_000_000


@dataclass(slots=True)
class _Target:
    """What one target has done since the test began. `in_flight`: its queue depth, None: not told."""

    in_flight: int | None
    totals: Totals = field(default_factory=Totals)
    max_ns: dict[str, int | None] = field(default_factory=dict)

    def add(self, row: Row) -> None:
        """One update."""
        for direction in DIRECTIONS:
            told = row.figures[direction]
            seconds = None if told.mean_ms is None else told.mean_ms / 1000
            self.totals.add(direction, told.ops, told.bytes, seconds)
            if told.max_ms is not None:
                metric = f"latency_seconds_max_{direction}"
                self.max_ns[metric] = max(self.max_ns.get(metric) or 0, round(told.max_ms * _NS_PER_MS))

    def sample(self, load: str, seen: int) -> Rows:
        """What counters in it would read now; None: more than a counter holds, of a damaged row."""
        values = {**self.totals.values, **self.max_ns, "in_flight_configured": self.in_flight}
        fits = {metric: value for metric, value in values.items() if value is not None and value < COUNTER_END}
        return Rows(LOAD, [load], [seen], {column.metric: [fits.get(column.metric)] for column in LOAD.columns})


@dataclass(slots=True)
class _Running:
    """The test that the updates are of. `updates`: how many there were; `named`: rows in the latest one."""

    number: int
    version: str | None
    specification: Specification | None
    begin_us: int
    last_us: int
    errors: int = 0
    updates: int = 0
    announced: bool = False
    named: Counter[str] = field(default_factory=Counter)
    targets: dict[str, _Target] = field(default_factory=dict)

    @property
    def step(self) -> LoadStep:
        """The step it is, as far as its targets are known: all of them report in the first update."""
        depths = [target.in_flight for target in self.targets.values()]
        told = [depth for depth in depths if depth is not None]
        offered = sum(told) if len(told) == len(depths) else None
        what = self.specification.name if self.specification else "test"
        return LoadStep(
            name=what if offered is None else f"{what}, {offered} in flight",
            loads=tuple(self.targets),
            offered=offered,
            block_bytes=self.specification.block_bytes if self.specification else None,
            rate_limited=self.specification is not None and self.specification.is_limited,
            group=self.number,
        )


class Updates:
    """Turns one update after the other into items.

    A row names neither its target nor its manager. Rows of one name within one update are told apart by their order,
    which stays the same: "Worker 1", "Worker 1#2".
    """

    def __init__(self, load: str) -> None:
        self._load = load
        self._inventory = Inventory(load)
        self._running: _Running | None = None
        self.count = 0

    def items(self, update: Update) -> Iterator[Item]:
        """What one row yields."""
        row, seen = update.row, update.row.stamp_us
        # At the end of a test come the means of all of it; only they tell an access specification.
        if row.kind != "WORKER" or row.specification or seen is None:
            return
        interval_us = round(min(row.seconds or row.run_seconds or 0.0, 86_400.0) * 1e6)
        test = self._running
        if test is None:
            self.count += 1
            only = next(iter(update.specifications.values())) if len(update.specifications) == 1 else None
            test = self._running = _Running(self.count, update.version, only, seen - interval_us, seen)
        if not test.updates or seen - test.last_us > _APART_US:
            test.updates += 1
            test.named.clear()
            if test.updates > 1:
                yield from self._announce(test)
        test.last_us = max(test.last_us, seen)
        test.errors += row.errors
        yield from self._target(test, row, seen, interval_us)

    def end(self) -> Iterator[Item]:
        """The test has ended, or nothing more is known of it."""
        test, self._running = self._running, None
        if test is None:
            return
        yield from self._announce(test)
        if test.errors:
            text = f"test {test.number}: Iometer counted {test.errors:,} I/Os that failed"
            yield warning(test.last_us, "errors-counted", text)
        yield test.step.event("step-end", test.last_us)

    def _target(self, test: _Running, row: Row, seen: int, interval_us: int) -> Iterator[Item]:
        name = row.name or "worker"
        test.named[name] += 1
        load = local_id(self._load, name if test.named[name] == 1 else f"{name}#{test.named[name]}")
        target = test.targets.get(load)
        if target is None:
            target = test.targets[load] = _Target(row.queue_depth)
            told = profile(
                test.specification,
                version=test.version,
                in_flight=row.queue_depth,
                threads=1,
                files=1,
                working_set_bytes=area_bytes([row.sectors]),
            )
            yield from self._inventory.tell(load, told)
            yield target.sample(load, max(test.begin_us, seen - interval_us))
        target.add(row)
        yield target.sample(load, seen)

    def _announce(self, test: _Running) -> Iterator[Item]:
        if test.announced:
            return
        test.announced = True
        step = test.step
        whole = profile(
            test.specification, version=test.version, in_flight=step.offered, threads=None, files=len(test.targets)
        )
        yield from self._inventory.tell(self._load, whole)
        yield step.event("step-begin", test.begin_us)

"""The matrix of the published test of Storage Spaces Direct: 400 combinations of DiskSpd on four nodes in lock-step.

The nodes are simulated, and so is their time. What a node prints is read as that of a real one is.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from sanpath import registry
from sanpath.model import Event, Rows
from sanpath.plugin import Item
from sanpath.recorder.loads.sweep import SweepRun
from sanpath.recorder.request import SweepRequest
from sanpath.sweep.matrix import SweepStep, steps
from sanpath.sweep.plan import Plan
from sanpath.sweep.progress import progress
from tests.support import simulated_diskspd

NODES = ("node1", "node2", "node3", "node4")
MATRIX = {
    "block_bytes": ["4k", "8k", "64k", "256k"],
    "read_ratio": [1, 0.9, 0.7, 0.5, 0],
    "threads": [1, 2, 4, 8],
    "in_flight": [8, 16, 32, 64, 128],
}


class Cluster:
    """The runner: it keeps what is recorded. Its clock stands still but for the seconds of a step."""

    def __init__(self) -> None:
        self.time_us = 1_800_000_000_000_000
        self.recorded: list[tuple[str, Item]] = []

    def now_us(self) -> int:
        return self.time_us

    def take(self, source: str, _seen_us: int, item: Item) -> None:
        self.recorded.append((source, item))

    async def flush(self) -> None:
        return None

    async def run(self, argv: Sequence[str], _stop: asyncio.Event, **options: Any) -> tuple[int, bool]:
        """Run a command on all nodes from the same moment on."""
        self.time_us += 9_000_000
        reader = registry.load_reader(argv, "diskspd")
        assert reader is not None
        for node in NODES:
            load = reader[1](f"{node}/diskspd")
            wrapped = reader[1].wrap(argv)
            output = simulated_diskspd.result(wrapped.argv, node).encode()
            for item in (*load.feed(output, self.time_us), *load.finish(self.time_us)):
                self.take(load.load, self.time_us, options["item_filter"](item))
        return 0, False


def plan(**changes: Any) -> Plan:
    values = {"engine": "diskspd", "target": {"filename": "test.dat"}, "allow_writes": True, "hosts": NODES}
    return Plan.model_validate(values | {"pause_seconds": 0, "seconds": 4, "matrix": MATRIX} | changes)


def swept(made: Plan, done: Sequence[str] = ()) -> Cluster:
    cluster = Cluster()
    request = SweepRequest(plan=made, file="plan.yaml", done=tuple(done))
    sweep: Any = SweepRun(request, cluster, cluster, cluster, asyncio.Event())  # type: ignore[arg-type] # simulated
    assert asyncio.run(sweep.run()) == 0
    return cluster


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return swept(plan())


def test_every_combination_runs_once_on_every_node(cluster: Cluster) -> None:
    begins = [(source, item) for source, item in cluster.recorded if is_event(item, "step-begin")]
    assert len(begins) == 400 * len(NODES)
    by_step: dict[object, list[str]] = {}
    for source, item in begins:
        assert isinstance(item, Event)
        by_step.setdefault(item.detail["step"], []).append(source)
    assert list(by_step) == [step.name for step in steps(plan())]
    for loads in by_step.values():
        assert loads == [f"{node}/diskspd" for node in NODES]


def test_the_figures_of_a_step_are_those_of_its_combination(cluster: Cluster) -> None:
    by_name = {step.name: step for step in steps(plan())}
    totals: Counter[tuple[str, str]] = Counter()
    step: SweepStep | None = None
    for source, item in cluster.recorded:
        if isinstance(item, Event) and item.name == "step-begin":
            step = by_name[str(item.detail["step"])]
            assert item.detail["offered"] == step.in_flight
        elif isinstance(item, Rows) and step is not None:
            totals[step.name, source] = sum(int(item.values[f"ops_{d}_total"][-1] or 0) for d in ("read", "write"))
    for (name, _), operations in totals.items():
        expected = simulated_diskspd.operations_per_second(by_name[name].in_flight, by_name[name].block_bytes)
        assert operations / 4 == pytest.approx(expected, rel=1e-3), name
    assert len(totals) == 400 * len(NODES)


def test_a_sweep_that_was_cut_runs_the_remaining_combinations(cluster: Cluster) -> None:
    events = [(source, item) for source, item in cluster.recorded if isinstance(item, Event)]
    ends = [number for number, (_, event) in enumerate(events) if event.name == "sweep-step"]
    now = progress(events[: ends[389] + 1], plan().digest)
    assert len(now.done) == 390
    resumed = [item for _, item in swept(plan(), tuple(now.done)).recorded]
    keys = [item.detail["key"] for item in resumed if isinstance(item, Event) and item.name == "sweep-step"]
    assert keys == [f"step-{number}" for number in range(391, 401)]


def is_event(item: Item, name: str) -> bool:
    return isinstance(item, Event) and item.name == name

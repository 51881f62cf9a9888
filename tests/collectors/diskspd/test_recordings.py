"""Results of real runs: throughput times latency has to come to the I/Os that DiskSpd was told to keep in flight."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest

from sanpath import registry
from sanpath.model import DIRECTIONS, Event, Rows, SourceEntity
from sanpath.plugin import Item, ResultReader

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / os.environ.get("SANPATH_RECORDINGS", "../shared/recordings") / "diskspd"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no recorded results in {FOLDER}")

# Of those named v2.2.0 most threads were taken out by hand; of the two below even the total row was changed.
WHOLE = (
    "vc_DiskSpdExample-ReadWrite.txt",
    "vc_DiskSpdExample-WriteOnly.txt",
    "vc_DiskSpdExample-WriteOnly-v2.2.0-MultiSocketSingleGroup.txt",
    "vc_Write8k.txt",
    "vc_Results_DiskSpd.xml",
)
CHANGED = (
    "vc_DiskSpdExample-WriteOnly-v2.2.0.txt",
    "vc_DiskSpdExample-WriteOnly-v2.2.0-MultiNumaMultiGroup.txt",
)


def read(name: str) -> tuple[ResultReader, list[Item]]:
    content = (FOLDER / name).read_bytes()
    found = registry.result_reader(content[: 1 << 16], name)
    assert found is not None
    assert found[0].name == "diskspd"
    reader = found[1]("test")
    return reader, [*reader.feed(content), *reader.finish()]


def events(items: list[Item], name: str) -> list[Event]:
    return [item for item in items if isinstance(item, Event) and item.name == name]


@pytest.mark.parametrize("name", WHOLE)
def test_littles_law(name: str) -> None:
    reader, items = read(name)
    samples = [item for item in items if isinstance(item, Rows) and item.table.kind == "load"]
    first, last = samples[0], samples[-1]
    seconds = (last.seen[0] - first.seen[0]) / 1e6
    waited = sum(
        (last.values[f"latency_seconds_{d}_total"][row] or 0) - (first.values[f"latency_seconds_{d}_total"][row] or 0)
        for d in DIRECTIONS
        for row in range(len(last.entity))
    )
    (begin,) = events(items, "step-begin")
    assert waited / 1e9 / seconds == pytest.approx(begin.detail["offered"], rel=0.02)
    assert reader.clock == "utc"
    assert begin.detail["loads"] == ",".join(last.entity)


@pytest.mark.parametrize("name", CHANGED)
def test_a_changed_result_is_doubted(name: str) -> None:
    _, items = read(name)
    assert "threads-differ" in {event.detail["code"] for event in events(items, "data-warning")}


def test_a_series_of_seconds() -> None:
    _, items = read("vc_Results_DiskSpd.xml")
    samples = [item for item in items if isinstance(item, Rows) and item.table.kind == "load"]
    assert len(samples) == 121
    assert {after.seen[0] - before.seen[0] for before, after in pairwise(samples)} == {1_000_000}
    assert samples[-1].values["latency_seconds_p99_read"] == [21_897_000]
    assert not events(items, "step-begin")[0].detail.get("summary")


def test_each_disk_is_a_load_of_its_own() -> None:
    _, items = read("vc_Write8k.txt")
    attributes = {item.local_id: item.attributes for item in items if isinstance(item, SourceEntity)}
    assert attributes["test"]["in_flight_configured"] == 5 * 22 * 23
    assert attributes["test/F:\\diskspd-test.dat"]["in_flight_configured"] == 22 * 23
    (end,) = (
        item
        for item in items
        if isinstance(item, Rows) and item.table.kind == "load" and item.seen[0] == events(items, "step-end")[0].seen
    )
    slow = end.entity.index("test/F:\\diskspd-test.dat")
    assert end.values["latency_seconds_p50_write"][slow] == 377_425_000

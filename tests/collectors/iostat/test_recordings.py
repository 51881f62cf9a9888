"""What iostat wrote on real hosts: throughput times latency has to come to the queue that it tells itself."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest

from sanpath import registry
from sanpath.model import DIRECTIONS, Rows
from sanpath.plugin import Item

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / os.environ.get("SANPATH_RECORDINGS", "../shared/recordings") / "iostat"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no recorded output in {FOLDER}")

WAITED = [f"latency_seconds_{kind}_total" for kind in (*DIRECTIONS, "discard", "flush")]
INTERVALS = {
    "jc_centos77_iostat-mx.out": 1,
    "jc_centos77_iostat-x.out": 1,
    "jc_ubuntu1804_iostat-mx.out": 1,
    "jc_ubuntu1804_iostat-x.out": 1,
    "x_de_DE.txt": 1,
    "x_json_1s_3.json": 2,
    "x_json_de_DE.json": 1,
    "x_json_killed_truncated.json": 2,
    "x_json_sigint.json": 2,
    "xtm_iso_vda.txt": 2,
}


def read(name: str) -> list[Item]:
    content = (FOLDER / name).read_bytes()
    found = registry.result_reader(content[: 1 << 16], name)
    assert found is not None
    assert found[0].name == "iostat"
    reader = found[1]("host")
    return [*reader.feed(content), *reader.finish()]


def devices(name: str) -> list[Rows]:
    return [item for item in read(name) if isinstance(item, Rows) and item.table.kind == "lun"]


@pytest.mark.parametrize(("name", "intervals"), INTERVALS.items())
def test_littles_law(name: str, intervals: int) -> None:
    samples = devices(name)
    assert len(samples) == intervals + 1
    for before, after in pairwise(samples):
        for row in range(len(after.entity)):
            grown = {
                metric: (after.values[metric][row] or 0) - (before.values[metric][row] or 0)
                for metric in after.values
            }
            seconds = (after.seen[row] - before.seen[row]) / 1e6
            in_flight = sum(grown.get(metric, 0) for metric in WAITED) / 1e9 / seconds
            queue = grown["in_flight_seconds_total"] / 1e9 / seconds
            # The queue is written to two digits.
            assert in_flight == pytest.approx(queue, rel=0.1, abs=0.005)


def test_the_locale_makes_no_difference_in_json_and_little_in_text() -> None:
    (text,) = devices("x_de_DE.txt")[-1:]
    assert text.values["ops_read_total"] == [34567]
    assert text.values["bytes_read_total"] == [276416 * 1024]
    (json,) = devices("x_json_de_DE.json")[-1:]
    assert json.values["ops_read_total"] == [44917]

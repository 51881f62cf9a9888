"""Controllers beside their peers, and queue and recovery of clusters that have counters, worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.facts.compute import compute
from sanpath.facts.facts import Facts
from sanpath.model import Column, Table
from sanpath_collectors.ceph.tables import ARRAY, CLUSTER, OSD
from tests.support.recording import Number, RecordingBuilder

LOAD = Table("load", tuple(Column(f"{n}_read_total", 64) for n in ("ops", "latency_seconds", "bytes")))
MS = 1_000_000
"""A millisecond in the unit of the tables, nanoseconds."""
LAST, CALM = 40, 20


def compute_facts(folder: Path, milliseconds: dict[str, tuple[float, float]], writes: dict[str, int]) -> Facts:
    """Two steps of 20 s. `milliseconds`: OSD → time of a read in the first and in the second step; `writes`: OSD →
    writes of 30 ms in a second."""
    out = RecordingBuilder(folder)
    out.source("fio", "fio", LOAD)
    out.source("c1", "ceph", ARRAY, OSD, CLUSTER)
    out.configure_link("load:fio runs_on host:h1")
    out.entity("fio", "load", "fio", ids={"name": ("fio",)})
    for kind in ("array", "cluster_node"):
        out.entity("c1", kind, "c1", ids={"name": ("c1",)})
    for osd in milliseconds:
        out.entity("c1", "controller", osd)
        out.link("c1", "member_of", (("controller", osd), ("array", "c1")))
    for name, begin, end in (("calm", 0, CALM), ("busy", CALM, LAST)):
        out.event("fio", begin + 0.1, "step-begin", step=name)
        out.event("fio", end - 0.1, "step-end", step=name)
    for at in range(LAST + 1):
        out.poll("fio", at)
        out.poll("c1", at)
        out.samples("fio", LOAD, at, {"fio": {"ops_read_total": 100 * at, "latency_seconds_read_total": 100 * at}})
        rows: dict[str, dict[str, Number]] = {}
        for osd, (calm, busy) in milliseconds.items():
            spent = 50 * (min(at, CALM) * calm + max(0, at - CALM) * busy)
            rows[osd] = {"ops_read_total": 50 * at, "latency_seconds_read_total": round(spent * MS)}
            done = writes.get(osd, 0) * at
            rows[osd] |= {"ops_write_total": done, "latency_seconds_write_total": done * 30 * MS}
        out.samples("c1", OSD, at, rows)
        sums = {"ops_read_total": 150 * at, "bytes_read_total": 150 * 4096 * at}
        sums |= {"latency_seconds_read_total": 150 * at * 2 * MS, "queue_seconds_read_total": 150 * at * 6 * MS}
        out.samples("c1", ARRAY, at, {"c1": sums})
        out.samples("c1", CLUSTER, at, {"c1": {"resync_bytes_read_total": 5_000_000 * at}})
    return compute(out.write())


def test_an_osd_that_is_slow_in_every_step_stands_out(tmp_path: Path) -> None:
    """10 ms beside 2 and 2 in the first step, 40 beside 2 and 6 in the second: at least 5 times its peers."""
    table = compute_facts(tmp_path, {"osd.0": (2, 2), "osd.1": (10, 40), "osd.2": (2, 6)}, {}).tables["controller"]
    (slow,) = table.select(entity="controller:c1/osd.1")
    assert (slow["peer_ratio"], slow["operation_seconds"], slow["peer_seconds"]) == pytest.approx((5, 0.01, 0.002))
    (peer,) = table.select(entity="controller:c1/osd.0")
    assert peer["peer_ratio"] == pytest.approx(2 / 23)  # beside 6 and 40 ms


def test_one_that_is_slower_near_its_limit_only_does_not(tmp_path: Path) -> None:
    table = compute_facts(tmp_path, {"osd.0": (2, 5), "osd.1": (2, 50)}, {}).tables["controller"]
    assert [row["peer_ratio"] for row in table.select(entity="controller:c1/osd.1")] == pytest.approx([1])


def test_without_peers_or_with_a_handful_of_operations_nothing_is_compared(tmp_path: Path) -> None:
    (alone,) = compute_facts(tmp_path / "alone", {"osd.0": (2, 5)}, {"osd.0": 5}).tables["controller"]
    assert (alone["peer_ratio"], alone["operation_seconds"]) == (None, None)
    few = compute_facts(tmp_path / "few", {"osd.0": (2, 2), "osd.1": (2, 2)}, {"osd.1": 1}).tables["controller"]
    assert [row["peer_ratio"] for row in few] == pytest.approx([1, 1])  # by their reads alone


def test_counters_give_the_queue_of_an_array_and_what_recovery_reads(tmp_path: Path) -> None:
    facts = compute_facts(tmp_path, {"osd.0": (2, 2), "osd.1": (2, 2)}, {})
    row = next(iter(facts.tables["array"]))
    assert (row["service_seconds"], row["queue_seconds"], row["queue_ratio"]) == pytest.approx((0.002, 0.006, 3))
    node = next(iter(facts.tables["cluster_node"]))
    assert node["resync_bytes_per_second"] == pytest.approx(5_000_000)

"""Facts of hyper-converged clusters, worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.facts.compute import compute
from sanpath.facts.facts import Facts
from sanpath.model import Column, Table
from tests.support.recording import RecordingBuilder

LOAD = Table("load", tuple(Column(f"{n}_read_total", 64) for n in ("ops", "latency_seconds", "bytes")))
SMB_DIRECT = ("sent", "received", "rdma_read", "rdma_written")
NODE = Table(
    "cluster_node",
    (
        *(Column(f"{n}_{where}_read_total", 64) for n in ("ops", "latency_seconds") for where in ("local", "remote")),
        *(Column(f"bytes_remote_{direction}_total", 64) for direction in ("read", "write")),
        *(Column(f"smb_direct_bytes_{way}_total", 64) for way in SMB_DIRECT),
        Column("resync_bytes_per_second_read"),
    ),
)
MEDIA = Table(
    "media",
    (
        *(Column(f"cache_{what}_ops_read_total", 64) for what in ("hit", "miss")),
        *(Column(name) for name in ("read_cache_hit_ratio", "write_buffer_free_ratio", "congestion", "in_flight")),
    ),
)


@pytest.fixture
def facts(tmp_path: Path) -> Facts:
    out = RecordingBuilder(tmp_path)
    out.source("fio", "fio", LOAD)
    out.source("s2d", "perfmon", NODE, MEDIA)
    out.source("vsan", "vsphere", MEDIA)
    out.configure_link("load:fio runs_on host:n1")
    out.entity("fio", "load", "fio", ids={"name": ("fio",)})
    out.entity("s2d", "cluster_node", "n1", ids={"name": ("n1",)})
    out.entity("s2d", "media", "n1/hybrid disk 3", ids={"name": ("n1/hybrid disk 3",)})
    for entity in ("disk-group 1", "capacity-disk 1"):
        about = {"type": entity.partition(" ")[0]}
        out.entity("vsan", "media", entity, ids={"name": (entity,)}, attributes=about)
    for at in range(12):
        out.poll("fio", at)
        done = {"ops_read_total": 300 * at, "latency_seconds_read_total": 300 * at, "bytes_read_total": 4000 * at}
        out.samples("fio", LOAD, at, {"fio": done})
        node = {"ops_local_read_total": 225 * at, "ops_remote_read_total": 75 * at}
        node |= {"latency_seconds_local_read_total": 450 * at, "latency_seconds_remote_read_total": 300 * at}
        node |= {"bytes_remote_read_total": 3000 * at, "bytes_remote_write_total": 1000 * at}
        node |= {f"smb_direct_bytes_{way}_total": 500 * at for way in SMB_DIRECT}
        out.samples("s2d", NODE, at, {"n1": {**node, "resync_bytes_per_second_read": 1000}})
        out.samples(
            "s2d",
            MEDIA,
            at,
            {"n1/hybrid disk 3": {"cache_hit_ops_read_total": 80 * at, "cache_miss_ops_read_total": 20 * at}},
        )
        result = {"read_cache_hit_ratio": 0.95, "write_buffer_free_ratio": 0.4, "congestion": 12}
        out.samples("vsan", MEDIA, at, {"disk-group 1": result, "capacity-disk 1": {"in_flight": 3}})
    return compute(out.write())


def test_reads_of_a_node_from_its_own_disks_and_from_others(facts: Facts) -> None:
    (row,) = facts.tables["cluster_node"]
    assert row["local_read_share"] == pytest.approx(0.75)
    assert row["local_read_seconds"] == pytest.approx(2)
    assert row["remote_read_seconds"] == pytest.approx(4)
    assert row["remote_bytes_per_second"] == pytest.approx(4000)
    assert row["rdma_bytes_per_second"] == pytest.approx(2000), "four counters of 500"
    assert row["resync_ratio"] == pytest.approx(0.25), "1,000 of 4,000 bytes a second"


def test_what_caches_answer(facts: Facts) -> None:
    (hybrid,) = facts.tables["media"].select(type="storage-spaces")
    (group,) = facts.tables["media"].select(type="disk-group")
    assert hybrid["read_cache_hit_ratio"] == pytest.approx(0.8)
    assert group["read_cache_hit_ratio"] == pytest.approx(0.95)
    assert group["write_buffer_free_ratio"] == pytest.approx(0.4)
    assert group["congestion"] == pytest.approx(12)


def test_media_without_a_cache_have_no_row(facts: Facts) -> None:
    assert facts.tables["media"].select(type="capacity-disk") == []

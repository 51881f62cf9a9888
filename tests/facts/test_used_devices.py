"""Where a load names no target, its devices are those that hold its part of the operations or outstanding I/Os."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sanpath.facts.compute import compute
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.storage.load_volumes import busy_luns
from sanpath.facts.table import FactRow, FactTable
from sanpath.model import Column, SourceEntity, SourceLink, Table
from sanpath.topology.resolve import resolve
from sanpath.topology.vm_moves import Report
from tests.support.recording import RecordingBuilder

LOAD = Table("load", tuple(Column(f"{n}_read_total", 64) for n in ("ops", "latency_seconds", "bytes")))
LUN = Table("lun", (Column("ops_read_total", 64), Column("latency_seconds_read_total", 64)))
SECONDS = 12


@dataclass(frozen=True, slots=True)
class Host:
    """`outstanding`, `ops`: of the load, I/Os in the mean and a second. `luns`: device → the same of the device, of
    all that use it. `target`: the device that the job names."""

    outstanding: int
    ops: int
    luns: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    target: str = ""


def used(folder: Path, hosts: Mapping[str, Host], parts: Collection[str] = ()) -> set[str]:
    """Return the devices of the load, which has a job on each host. `parts`: the parts of dm-0."""
    out = RecordingBuilder(folder)
    for name, host in hosts.items():
        source, job = f"{name}/fio", f"{name}/fio/job"
        out.source(source, "fio", LOAD)
        out.source(name, "linux_host", LUN)
        out.entity(source, "load", source, ids={"name": (source,)})
        out.entity(source, "load", job, ids={"name": (job,)})
        out.link(source, "member_of", (("load", job), ("load", source)))
        out.configure_link(f"load:{source} runs_on host:{name}")
        out.entity(name, "host", name, ids={"name": (name,)}, attributes={"os": "Linux 6.1"})
        for lun in host.luns:
            out.entity(name, "lun", lun, f"{name}/{lun}", {"device": (lun,)}, {"queue_depth": 32})
            out.link(name, "attached_to", (("lun", lun), ("host", name)))
            if lun in parts:
                out.link(name, "member_of", (("lun", lun), ("lun", "dm-0")))
        if host.target:
            out.configure_link(f"load:{job} targets lun:{name}/{host.target}")
        for at in range(SECONDS):
            of_load = {"ops_read_total": host.ops * at, "latency_seconds_read_total": host.outstanding * at}
            rows = {
                lun: {"ops_read_total": ops * at, "latency_seconds_read_total": outstanding * at}
                for lun, (outstanding, ops) in host.luns.items()
            }
            out.poll(source, at)
            out.samples(source, LOAD, at, {job: of_load | {"bytes_read_total": 4096 * host.ops * at}})
            out.poll(name, at)
            out.samples(name, LUN, at, rows)
    facts = compute(out.write())
    assert facts.loads
    return {str(row["entity"]).removeprefix("lun:") for row in facts.tables["device"]}


def test_a_lun_that_limits_its_host_is_the_load_s_with_few_operations(tmp_path: Path) -> None:
    slow, fast = Host(64, 245, {"dm-0": (64, 245)}), Host(64, 7886, {"dm-0": (64, 7886)})
    assert used(tmp_path, {"db1": slow, "db2": fast}) == {"db1/dm-0", "db2/dm-0"}


def test_a_slow_lun_is_the_load_s_beside_a_fast_one_of_the_same_host(tmp_path: Path) -> None:
    host = Host(64, 8000, {"sdb": (32, 7600), "sdc": (32, 400), "sda": (1, 30)})
    assert used(tmp_path, {"db1": host}) == {"db1/sdb", "db1/sdc"}


@pytest.mark.parametrize("outstanding", [1, 20, 64])
def test_the_only_lun_of_one_host_of_many_is_the_load_s(tmp_path: Path, outstanding: int) -> None:
    """The device counts what it has itself: the rest waits above it."""
    hosts = {f"db{n}": Host(64, 500, {"sdb": (outstanding, 500)}) for n in range(10)}
    assert used(tmp_path, hosts) == {f"db{n}/sdb" for n in range(10)}


@pytest.mark.parametrize(
    "others",
    [
        pytest.param((1, 30), id="few I/Os"),
        pytest.param((16, 300), id="as many outstanding"),
        pytest.param((200, 1500), id="more outstanding"),
    ],
)
@pytest.mark.parametrize("at_device", [16, 8])
def test_a_disk_of_other_software_is_not_the_load_s(tmp_path: Path, others: tuple[int, int], at_device: int) -> None:
    """Half of the load's I/Os may wait above its device, which does all of its operations."""
    host = Host(16, 10_000, {"sda": others, "sdb": (at_device, 10_000)})
    assert used(tmp_path, {"db1": host}) == {"db1/sdb"}


def test_a_disk_of_other_software_is_not_that_of_a_load_whose_device_is_unknown(tmp_path: Path) -> None:
    """The load may read a file of a server."""
    assert not used(tmp_path, {"db1": Host(16, 10_000, {"sda": (8, 1500)})})


def test_the_parts_of_a_volume_leave_room_for_another_lun(tmp_path: Path) -> None:
    """The I/Os of the parts are those of the volume: they count once."""
    host = Host(64, 8000, {"dm-0": (32, 7600), "sdb": (16, 3800), "sdc": (16, 3800), "sdd": (32, 400)})
    found = used(tmp_path, {"db1": host}, parts=("sdb", "sdc"))
    assert found == {"db1/dm-0", "db1/sdb", "db1/sdc", "db1/sdd"}


def test_what_the_jobs_name_are_the_targets_of_the_load(tmp_path: Path) -> None:
    """A neighbour does as much on another device."""
    slow = Host(64, 245, {"sdb": (64, 245), "sdc": (64, 8000)}, target="sdb")
    fast = Host(64, 7886, {"sdb": (64, 7886)}, target="sdb")
    assert used(tmp_path, {"db1": slow, "db2": fast}) == {"db1/sdb", "db2/sdb"}


def link(relation: str, first: tuple[str, str], second: tuple[str, str]) -> Report:
    return "config", 0, SourceLink(relation, first, second, "test")


def test_a_lun_of_few_operations_is_the_busiest_of_its_own_load_and_an_idle_one_is_not() -> None:
    reports: list[Report] = []
    luns = {"db1": {"a": (245.0, 0.008), "boot": (5.0, 0.001)}, "db2": {"b": (7886.0, 0.001), "c": (500.0, 0.016)}}
    rows: list[FactRow] = []
    for host, of_host in luns.items():
        reports += [
            ("config", 0, SourceEntity("host", host, host, {"name": (host,)})),
            ("config", 0, SourceEntity("load", f"{host}/fio", f"{host}/fio", {"name": (f"{host}/fio",)})),
            link("runs_on", ("load", f"{host}/fio"), ("host", host)),
        ]
        for name, (ops, seconds) in of_host.items():
            reports += [
                ("config", 0, SourceEntity("lun", f"{host}/{name}", f"{host}/{name}", {"device": (name,)})),
                ("config", 0, SourceEntity("volume", f"x/{name}", f"x/{name}", {"name": (f"x/{name}",)})),
                link("attached_to", ("lun", f"{host}/{name}"), ("host", host)),
                link("backed_by", ("lun", f"{host}/{name}"), ("volume", f"x/{name}")),
            ]
            about: FactRow = {"entity": f"volume:x/{name}", "step": "s", "direction": "read", "windows": 10}
            rows.append({**about, "ops_per_second": ops, "bytes_per_second": 4096 * ops, "array_seconds": seconds})
    topology = resolve(reports)
    ops = sum(each for of_host in luns.values() for each, _ in of_host.values())
    roots = ("load:db1/fio", "load:db2/fio")
    load = LoadFacts(roots, "s", "read", 10, ops, 4096 * ops, 128 / ops, 128, 128, None)
    tables = {"volume": FactTable(tuple(rows)), "array": FactTable(())}
    assert busy_luns(topology, load, tables) == ["lun:db1/a", "lun:db2/b", "lun:db2/c"]

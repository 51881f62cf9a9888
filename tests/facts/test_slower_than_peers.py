"""OSDs, paths, drives and nodes of which one is slow for its load: what a report says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from sanpath.diagnose import diagnose
from sanpath.model import Column, Scalar, Table
from sanpath.recording.reading.recording import Recording
from sanpath.rulebook.model import Finding
from sanpath_collectors.ceph.tables import ARRAY, OSD
from sanpath_collectors.linux_host.tables import LUN
from tests.support.recording import RecordingBuilder

LOAD = Table("load", tuple(Column(f"{n}_write_total", 64) for n in ("ops", "latency_seconds", "bytes")))
NODE = Table("cluster_node", tuple(map(Column, ("ops_per_second_read", "latency_seconds_mean_read"))), "average")
SECONDS = 16
RATE = 500
"""Writes a second of each peer."""
RULES = ("slower-than-peers", "unequal-pair", "controller-slower-than-peers")

Times = Mapping[str, float | Sequence[float]]
"""Peer → milliseconds of a write, in every second or second by second."""


def found_in(recording: Recording) -> list[Finding]:
    return [f for f in diagnose(recording).findings if f.rule in RULES and f.outcome == "hit"]


def begin(folder: Path) -> RecordingBuilder:
    out = RecordingBuilder(folder)
    out.source("fio", "fio", LOAD)
    out.entity("fio", "load", "fio", ids={"name": ("fio",)})
    out.configure_link("load:fio runs_on host:db1")
    for at in range(SECONDS):
        out.poll("fio", at)
        out.samples("fio", LOAD, at, {"fio": {f"{c.metric}": 4000 * at for c in LOAD.columns}})
    return out


def counters(times: Times, at: int, per_second: float, rates: Mapping[str, float]) -> dict[str, dict[str, int]]:
    """Writes and their time, in counts of `per_second` to a second, up to a moment."""
    rows = {}
    for peer, milliseconds in times.items():
        of_second = [milliseconds] * SECONDS if isinstance(milliseconds, int | float) else milliseconds
        rate = rates.get(peer, RATE)
        spent = sum(rate * of_second[second] / 1000 for second in range(at))
        rows[peer] = {
            "ops_write_total": round(rate * at),
            "latency_seconds_write_total": round(spent * per_second),
        }
    return rows


def ceph(folder: Path, times: Times, rates: Mapping[str, float] | None = None) -> list[Finding]:
    out = begin(folder)
    out.source("c1", "ceph", ARRAY, OSD)
    out.entity("c1", "array", "c1", ids={"name": ("c1",)})
    for osd in times:
        out.entity("c1", "controller", osd)
        out.link("c1", "member_of", (("controller", osd), ("array", "c1")))
    for at in range(SECONDS):
        out.poll("c1", at)
        out.samples("c1", OSD, at, counters(times, at, 1e9, rates or {}))
    return found_in(out.write())


def linux(
    folder: Path, times: Times, paths: bool, models: Sequence[str] = (), rates: Mapping[str, float] | None = None
) -> list[Finding]:
    """Drives under an md device, or paths of a multipath map."""
    out = begin(folder)
    out.source("db1", "linux_host", LUN)
    out.entity("db1", "host", "db1", ids={"name": ("db1",)}, attributes={"os": "Linux 6.1"})
    about: dict[str, Scalar] = {"map": "mpatha", "paths": len(times)} if paths else {"kind": "md"}
    out.entity("db1", "lun", "dm-0", "db1/dm-0", ids={"device": ("dm-0",)}, attributes=about)
    out.link("db1", "attached_to", (("lun", "dm-0"), ("host", "db1")))
    out.link("fio", "targets", (("load", "fio"), ("lun", "db1/dm-0")))
    for index, device in enumerate(times):
        model: dict[str, Scalar] = {} if paths else {"model": models[index] if models else "M1"}
        out.entity("db1", "lun", device, f"db1/{device}", ids={"device": (device,)}, attributes=model)
        out.link("db1", "attached_to", (("lun", device), ("host", "db1")))
        out.link("db1", "member_of", (("lun", device), ("lun", "dm-0")))
        if paths:
            out.entity("db1", "path", device, attributes={"device": device, "state": "active", "usable": True})
            out.link("db1", "member_of", (("path", device), ("lun", "dm-0")))
    for at in range(SECONDS):
        out.poll("db1", at)
        out.samples("db1", LUN, at, counters(times, at, 1e3, rates or {}))
    return found_in(out.write())


def test_one_of_twelve_osds_is_named_with_its_figures(tmp_path: Path) -> None:
    slow = [4.1] + [38.0] * (SECONDS - 1)
    times: Times = {f"osd.{n}": slow if n == 7 else 4.1 for n in range(12)}
    (finding,) = ceph(tmp_path, times)
    assert (finding.rule, finding.entity, finding.direction) == ("slower-than-peers", "controller:c1/osd.7", "write")
    assert "osd.7 takes 38 ms for a write; the median of its 11 peers" in finding.summary
    assert "is 4.1 ms" in finding.summary
    assert "slow in 14 of 15 windows" in finding.summary
    assert {fix.platform for fix in finding.fix} == {"Ceph", "any"}
    TypeAdapter(Finding).dump_json(finding, warnings="error")


@pytest.mark.parametrize(
    ("times", "rates"),
    [
        pytest.param({f"osd.{n}": 40 for n in range(6)}, {}, id="all equally slow"),
        pytest.param({f"osd.{n}": 30 if n == 3 else 4 for n in range(6)}, {"osd.3": 3}, id="hardly any writes"),
        pytest.param(
            {f"osd.{n}": [4.0] * 8 + [900.0] + [4.0] * 7 if n == 3 else 4 for n in range(6)}, {}, id="one window"
        ),
        pytest.param({f"osd.{n}": 10 if n == 3 else 4 for n in range(6)}, {"osd.3": 1200}, id="2.4 times the load"),
        pytest.param({f"osd.{n}": 40 if n % 2 else 4 for n in range(8)}, {}, id="two kinds"),
    ],
)
def test_osds_that_are_not_accused(tmp_path: Path, times: Times, rates: Mapping[str, float]) -> None:
    assert [f for f in ceph(tmp_path, times, rates) if f.rule != "controller-slower-than-peers"] == []


def test_of_two_osds_the_rule_without_windows_judges(tmp_path: Path) -> None:
    assert [f.rule for f in ceph(tmp_path, {"osd.0": 4, "osd.1": 40})] == ["controller-slower-than-peers"]


def test_one_of_four_paths_is_named(tmp_path: Path) -> None:
    (finding,) = linux(tmp_path, {"sda": 1.5, "sdb": 1.5, "sdc": 9, "sdd": 1.6}, paths=True)
    assert (finding.rule, finding.entity) == ("slower-than-peers", "path:db1/sdc")
    assert "9 ms for a write; the median of its 3 peers" in finding.summary
    assert any("multipathd fail path sdc" in fix.commands for fix in finding.fix)


def test_of_two_paths_it_is_only_said_that_they_differ(tmp_path: Path) -> None:
    (finding,) = linux(tmp_path, {"sda": 1.5, "sdb": 9}, paths=True)
    assert (finding.rule, finding.role, finding.entity) == ("unequal-pair", "information", "path:db1/sdb")


def test_a_path_that_gets_fewer_ios_because_it_is_slow_is_named(tmp_path: Path) -> None:
    """service-time sends it a fourth of what the others get."""
    (finding,) = linux(tmp_path, {"sda": 1.5, "sdb": 1.5, "sdc": 6}, paths=True, rates={"sdc": RATE / 4})
    assert finding.entity == "path:db1/sdc"


def test_drives_of_one_model_are_compared_and_others_are_not(tmp_path: Path) -> None:
    times: Times = {"sda": 1, "sdb": 1, "sdc": 1, "sdd": 8}
    (finding,) = linux(tmp_path / "same", times, paths=False)
    assert (finding.rule, finding.entity) == ("slower-than-peers", "lun:db1/sdd")
    assert linux(tmp_path / "other", times, paths=False, models=("M1", "M1", "M1", "M2")) == []


def test_averages_are_compared_step_by_step(tmp_path: Path) -> None:
    """Nodes whose averages stand for each step: four nodes, six steps, one of them slow in all."""
    out = RecordingBuilder(tmp_path)
    out.source("fio", "fio", LOAD)
    out.source("vc", "vsphere", NODE, every=2.0)
    out.entity("fio", "load", "fio", ids={"name": ("fio",)})
    nodes = [f"esx{n}" for n in range(4)]
    for node in nodes:
        out.entity("vc", "cluster_node", node, ids={"name": (node,)})
    for step in range(6):
        out.event("fio", 10 * step + 0.1, "step-begin", step=f"s{step}")
        out.event("fio", 10 * step + 9.9, "step-end", step=f"s{step}")
    for at in range(61):
        out.poll("fio", at)
        out.samples("fio", LOAD, at, {"fio": {f"{c.metric}": 4000 * at for c in LOAD.columns}})
    for at in range(2, 60, 2):
        out.poll("vc", at)
        rows = {
            node: {"ops_per_second_read": 900, "latency_seconds_mean_read": 0.02 if node == "esx2" else 0.002}
            for node in nodes
        }
        out.samples("vc", NODE, at, rows, covers=2.0)
    (finding,) = found_in(out.write())
    assert (finding.rule, finding.entity, finding.steps) == ("slower-than-peers", "cluster_node:esx2", ("whole run",))
    assert "slow in 6 of 6 windows" in finding.summary

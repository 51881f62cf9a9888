"""Tests on drives of the host itself, whatever is stacked on them: which drive is named, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from sanpath_collectors.linux_host.tables import LUN
from tests.scenarios.test_control_groups import grouped, reads
from tests.support.recording import Number, RecordingBuilder
from tests.support.san import KIB, Flow, San
from tests.support.stories import judged

PARTS = {"nvme0n1": 1.0, "nvme1n1": 1.0}
FLAT = {16: 20_000, 64: 20_000}
"""I/Os in flight → I/Os a second; all of them are at the device: 16 / 20,000 = 0.8 ms and 3.2 ms."""


def test_the_report_of_a_saturated_drive_says_what_to_do_first(tmp_path: Path) -> None:
    found = reads(grouped(tmp_path, {}, local=True), FLAT, None)
    assert found.summary.verdict == "Drive sda on db7 is saturated (reads)"
    assert found.summary.action == "Test a LUN of the array instead, if the array was meant"
    (finding,) = [f for f in found.findings if f.rule == "local-drive-limits" and f.outcome == "hit"]
    assert (finding.role, finding.entity) == ("cause", "lun:db7/sda")
    actions = [step.action for step in found.plan if step.purpose == "limit"]
    assert "Put the data on more drives, or on faster ones" in actions


def test_below_md_and_lvm_the_drives_are_named(tmp_path: Path) -> None:
    """Each of the two does half of the reads."""
    found = reads(grouped(tmp_path, {}, parts=PARTS, local_parts=frozenset(PARTS)), FLAT, None)
    (drive,) = found.verdict.bottlenecks
    assert (drive.kind, drive.entity, drive.coincident) == ("drive", "lun:db7/nvme0n1", ("lun:db7/nvme1n1",))
    assert found.summary.verdict == "Drive nvme0n1 on db7 and 1 other are saturated (reads)"
    assert {f.entity for f in found.findings if f.rule == "local-drive-limits" and f.role == "cause"} == {
        "lun:db7/nvme0n1",
        "lun:db7/nvme1n1",
    }


def test_one_part_that_may_be_a_volume_leaves_it_open(tmp_path: Path) -> None:
    found = reads(grouped(tmp_path, {}, parts=PARTS, local_parts=frozenset({"nvme0n1"})), FLAT, None)
    assert [b.kind for b in found.verdict.bottlenecks if b.kind == "drive"] == []


def test_a_load_of_files_is_on_the_drive_that_carries_its_bytes(tmp_path: Path) -> None:
    """fio names no device, and the host has another one, of which nothing is known."""
    (drive,) = reads(grouped(tmp_path, {}, local=True, idle="sdz"), FLAT, None).verdict.bottlenecks
    assert (drive.kind, drive.entity) == ("drive", "lun:db7/sda")


@pytest.mark.parametrize("local", [None, False])
def test_of_a_device_that_may_be_a_volume_nothing_is_advised(tmp_path: Path, local: bool | None) -> None:
    found = reads(grouped(tmp_path, {}, local=local), FLAT, None)
    assert "local-drive-limits" not in {f.rule for f in found.findings}


def test_a_drive_with_room_is_no_cause(tmp_path: Path) -> None:
    """Throughput grows with the outstanding I/Os: 0.8 ms whatever their number."""
    found = reads(grouped(tmp_path, {}, local=True), {16: 20_000, 64: 80_000}, None)
    assert "cause" not in {f.role for f in found.findings if f.rule == "local-drive-limits"}


@pytest.mark.parametrize(("local", "is_risk"), [(True, False), (None, True)])
def test_the_only_way_to_a_drive_of_the_host_is_no_single_path(
    tmp_path: Path, local: bool | None, is_risk: bool
) -> None:
    found = reads(grouped(tmp_path, {}, local=local, paths=1), FLAT, None)
    assert ("single-path" in {f.rule for f in found.findings if f.outcome == "hit"}) is is_risk


class Drives(San):
    """fio on drives of db7, each with as many reads as the others. `used`: step → how many of the drives it uses."""

    used: Mapping[str, int] = {}

    def _configuration(self, out: RecordingBuilder) -> None:
        out.configure_link("load:fio runs_on host:db7")
        out.source("db7", "linux_host", LUN)
        out.entity("db7", "host", "db7", ids={"name": ("db7",)}, attributes={"os": "Linux 6.1"})
        names = [f"nvme{number}n1" for number in range(max(self.used.values()))]
        for name in names:
            out.entity("db7", "lun", name, f"db7/{name}", {"device": (name,)}, {"local": True, "model": "M1"})
            out.link("db7", "attached_to", (("lun", name), ("host", "db7")))
            out.configure_link(f"load:fio targets lun:db7/{name}")
        for at in range(int(self.steps[-1].end) + 2):
            out.poll("db7", at)
            out.samples("db7", LUN, at, {name: self._counted(at, number) for number, name in enumerate(names)})

    def _counted(self, at: float, number: int) -> dict[str, Number]:
        values = {"ops_read_total": 0.0, "bytes_read_total": 0.0, "latency_seconds_read_total": 0.0}
        for step in self.steps:
            reads, drives = step.flows["read"], self.used[step.name]
            done = reads.ops / drives * max(0.0, min(at, step.end) - step.begin) if number < drives else 0.0
            values["ops_read_total"] += done
            values["bytes_read_total"] += done * step.block / 512
            values["latency_seconds_read_total"] += done * reads.latency * 1e3
        return {name: round(value) for name, value in values.items()}


@pytest.mark.parametrize("together", [40_000.0, 80_000.0], ids=["held back together", "each as fast as alone"])
def test_drives_that_did_more_alone_are_limited_by_what_they_share(tmp_path: Path, together: float) -> None:
    """16 reads outstanding on each drive. One does 20,000 a second alone; four of them do 10,000 each, or as many."""
    san = Drives(tmp_path / "r.sanpath", ports=[], leave_out={"switch", "array", "disk"})
    san.used = {"one": 1, "four": 4}
    for step, drives, ops in (("one", 1, 20_000.0), ("four", 4, together)):
        in_flight = 16 * drives
        san.step(step, in_flight, block=8 * KIB, read=Flow(ops, in_flight / ops))
    verdict = judged(san.write()).verdict
    shared = [s.probability for s in verdict.suspects if s.place and s.place.endswith("share")]
    of_drives = sum(s.probability for s in verdict.suspects if s.kind == "drive")
    assert (sum(shared) > 0.5 > of_drives) is (together < 80_000)
    assert (of_drives > sum(shared)) is (together >= 80_000)

"""A thin pool, a mirror or a file system of the load's own host moves more bytes than the load: they are its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from sanpath.diagnose import judge_recording
from sanpath.facts.compute import compute
from sanpath.facts.table import number
from sanpath.whatif.what_if import what_if
from sanpath_collectors.linux_host.tables import LUN
from tests.support.recording import RecordingBuilder
from tests.support.san import AtArray, Flow, San
from tests.support.stories import COUNTED, NOTHING, X, judged

HOST_LINK = "link:esx7/vmhba2--sw1/fc1/7"


@dataclass(slots=True)
class Layered(San):
    """fio runs on the host esx7 itself, on its thin volume dm-2, which is on its map dm-0. `of_map`: bytes that the
    map moves for each byte of the load."""

    of_map: float = 1.0

    def _configuration(self, out: RecordingBuilder) -> None:
        out.configure_link("load:fio runs_on host:esx7")
        out.configure_link("load:fio targets lun:esx7/dm-2")
        out.source("esx7", "linux_host", LUN)
        out.entity("esx7", "host", "esx7", ids={"name": ("esx7",)}, attributes={"os": "Linux 6.1"})
        for name in ("dm-0", "dm-2"):
            out.entity("esx7", "lun", name, f"esx7/{name}", {"device": (name,)})
            out.link("esx7", "attached_to", (("lun", name), ("host", "esx7")))
        out.link("esx7", "member_of", (("lun", "dm-0"), ("lun", "dm-2")))
        for port in self.ports:
            if port.host:
                out.entity("config", "hba", f"{port.host}/{port.device}", ids={"wwpn": (port.wwpn,)})
                out.configure_link(f"hba:{port.host}/{port.device} attached_to host:{port.host}")
        for at in range(int(self.steps[-1].end) + 2):
            done = sum(s.flows["write"].ops * max(0.0, min(at, s.end) - s.begin) for s in self.steps)
            counted = {name: times * done for name, times in (("dm-0", self.of_map), ("dm-2", 1.0))}
            block = self.steps[0].block / 512
            rows = {
                name: {
                    "ops_write_total": round(ops),
                    "bytes_write_total": round(ops * block),
                    "latency_seconds_write_total": round(done * 5),
                }
                for name, ops in counted.items()
            }
            out.poll("esx7", at)
            out.samples("esx7", LUN, at, rows)  # type: ignore[arg-type]


def layered(folder: Path, of_map: float) -> Layered:
    """The link is full with writes, of which an eighth are the load's bytes."""
    san = Layered(folder / "r.sanpath", leave_out={"disk"}, of_map=of_map)
    ops = X / 8
    for n in (32, 128):
        ports = {"fc1/7": (NOTHING, COUNTED), "fc1/1": (NOTHING, COUNTED)}
        san.step(f"t{n}", n, write=Flow(ops, n / ops), ports=ports, array={"write": AtArray(0.00035)})
    return san


def test_what_the_devices_of_the_host_move_for_the_load_is_not_other_hosts(tmp_path: Path) -> None:
    """A pool that writes 64 KiB for each 8: eight times the load's bytes fill the link."""
    recording = layered(tmp_path, 8.0).write()
    row = compute(recording).tables["link"].select(entity=HOST_LINK, direction="write")[-1]
    assert number(row, "foreign_ratio") < 0.05
    assert number(row, "moved_ratio") == pytest.approx(8, rel=0.05)
    found = judged(recording)
    (bottleneck,) = found.verdict.bottlenecks
    assert bottleneck.entity == HOST_LINK
    assert any("8.0 bytes for each byte that it writes" in words for words in bottleneck.because)
    assert "noisy-neighbour" not in {f.rule for f in found.findings if f.outcome == "hit"}
    assert "Other hosts" not in (found.summary.consequence or "")


def test_a_link_of_twice_the_speed_lets_twice_as_much_of_the_load_through(tmp_path: Path) -> None:
    faster = [f"switch_port:sw1/{port}.speed=8GFC" for port in ("fc1/7", "fc1/1")]
    step = what_if(*judge_recording(layered(tmp_path, 8.0).write()), faster, relieve=False).steps[-1]
    assert step.likely_ops_per_second == pytest.approx((X / 4, X / 4), rel=0.05)


def test_bytes_that_the_devices_of_the_host_do_not_move_are_others(tmp_path: Path) -> None:
    recording = layered(tmp_path, 1.0).write()
    row = compute(recording).tables["link"].select(entity=HOST_LINK, direction="write")[-1]
    assert number(row, "foreign_ratio") == pytest.approx(7 / 8, rel=0.05)

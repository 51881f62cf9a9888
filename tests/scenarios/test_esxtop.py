"""What esxtop tells of a host reaches the verdict as what a vCenter tells: it names no LUN below a virtual disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath_collectors.esxtop.tables import LUN, VDISK
from tests.support.recording import Number, RecordingBuilder
from tests.support.san import ARRAY_PORT, HOST_PORT, KIB, NAA, AtArray, Flow, San
from tests.support.stories import NOTHING, fast, judged

OTHER = "naa.624a93706c1b16ce1c034d1c00013919"
R0 = 0.0065
"""An I/O below the host's queue: with 32 of them there, 32 / 6.5 ms = 4,923 IOPS."""


@dataclass(slots=True)
class Esxtop(San):
    """The synthetic test on a virtual disk of esx7. `twins`: another LUN of the host carries as much. `times`: I/Os
    of the LUN for one of the disk: others use it as well, virtual machines of the host if `others_on_lun`. `below`:
    seconds of an I/O below the LUN's queue. `slots`: those of the LUN, and those in use; None: not reported."""

    twins: bool = False
    times: int = 1
    others_on_lun: bool = True
    below: float = R0
    slots: tuple[int, int] | None = None

    def _configuration(self, out: RecordingBuilder) -> None:
        San._configuration(self, out)
        out.source("top", "esxtop", LUN, VDISK)
        out.entity("top", "host", "esx7", ids={"name": ("esx7",)}, attributes={"os": "VMware ESXi"})
        for naa in (NAA, OTHER):
            out.entity("top", "lun", f"esx7/{naa}", ids={"naa": (naa,), "device": (naa,)})
            out.link("top", "attached_to", (("lun", f"esx7/{naa}"), ("host", "esx7")))
        out.entity("top", "vm", "sqlvm1", ids={"name": ("sqlvm1",)})
        out.link("top", "runs_on", (("vm", "sqlvm1"), ("host", "esx7")))
        out.entity("top", "vdisk", "sqlvm1/scsi0:1", ids={"name": ("sqlvm1/scsi0:1",)})
        out.link("top", "attached_to", (("vdisk", "sqlvm1/scsi0:1"), ("vm", "sqlvm1")))
        if self.times > 1 and self.others_on_lun:
            out.entity("top", "vm", "web1", ids={"name": ("web1",)})
            out.link("top", "runs_on", (("vm", "web1"), ("host", "esx7")))
            out.entity("top", "vdisk", "web1/scsi0:1", ids={"name": ("web1/scsi0:1",)})
            out.link("top", "attached_to", (("vdisk", "web1/scsi0:1"), ("vm", "web1")))
        for at in range(int(self.steps[-1].end) + 2):
            out.poll("top", at)
            self._sample(out, at)

    def _sample(self, out: RecordingBuilder, at: int) -> None:
        busy = [(s, s.flows["read"], max(0.0, min(at, s.end) - s.begin)) for s in self.steps]
        done = round(sum(flow.ops * seconds for _, flow, seconds in busy))
        moved: dict[str, Number] = {"ops_read_total": done, "bytes_read_total": round(done * self.steps[0].block)}
        now = next((s.flows["read"] for s in self.steps if s.begin < at <= s.end), None)
        below: dict[str, Number] = {name: self.times * value for name, value in moved.items()}
        below["latency_seconds_read_total"] = round(self.times * done * self.below * 1e9)
        if now is not None:
            guest = now.latency - 0.0002
            below |= {"device_seconds_mean_read": self.below, "kernel_seconds_mean_read": guest - self.below}
            below |= {"guest_seconds_mean_read": guest}
            below |= {} if self.slots is None else dict(zip(("queue_depth", "in_flight"), self.slots, strict=True))
        out.samples("top", LUN, at, {f"esx7/{NAA}": below, **({f"esx7/{OTHER}": below} if self.twins else {})})
        waited = round(sum(f.ops * seconds * (f.latency - 0.0002) * 1e9 for _, f, seconds in busy))
        disks = {"sqlvm1/scsi0:1": {**moved, "latency_seconds_read_total": waited}}
        if self.times > 1 and self.others_on_lun:
            of_others = {name: (self.times - 1) * value for name, value in disks["sqlvm1/scsi0:1"].items()}
            disks |= {"web1/scsi0:1": of_others}
        out.samples("top", VDISK, at, disks)


def host_queue(folder: Path, twins: bool = False) -> Diagnosis:
    """16 KiB on 32GFC with 8 and 128 in flight: of 26 ms 19.5 pass in the kernel."""
    ports = [fast(p, 32) for p in (HOST_PORT, ARRAY_PORT)]
    san = Esxtop(folder, ports=ports, leave_out={"disk"}, twins=twins, guest_queue_depth=254)
    for n in (8, 128):
        ops = min(n, 32) / R0
        counted = (ops * 8 * 2076, NOTHING)
        san.step(
            f"t{n}",
            n,
            block=16 * KIB,
            read=Flow(ops, n / ops + (0.0003 if n == 8 else 0.0)),
            ports={HOST_PORT.name: counted, ARRAY_PORT.name: counted},
            array={"read": AtArray(R0 - 0.0001, san=0.00005)},
        )
    return judged(san.write())


def test_the_queue_that_esxtop_shows_is_what_limits(tmp_path: Path) -> None:
    found = host_queue(tmp_path)
    (limit,) = found.verdict.bottlenecks
    assert (limit.entity, limit.layer, limit.wait_at) == (f"lun:esx7/{NAA}", "host", f"lun:esx7/{NAA}")
    assert limit.ceiling_ops_per_second == pytest.approx(4923, rel=0.01)
    (budget,) = [b for b in found.latency_budget if b.step == "t128"]
    (kernel,) = [part for part in budget.parts if part.plane == "kernel"]
    assert sum(kernel.seconds) / 2 == pytest.approx(0.0195 - 0.0002, rel=0.01)


def test_two_luns_that_carry_as_much_tell_nothing_of_the_disk(tmp_path: Path) -> None:
    found = host_queue(tmp_path, twins=True)
    assert not any(found.verdict.bottlenecks), found.verdict.headline
    assert not [part for b in found.latency_budget for part in b.parts if part.plane == "kernel"]


def one_step(folder: Path, latency: float, ops: float, *, load: bool = True, **esxtop: Any) -> Diagnosis:
    """A test of half a minute, of which only esxtop is read, and fio if `load`."""
    unread = {"disk", "switch", "array", *(() if load else ("load",))}
    san = Esxtop(folder / "r.sanpath", ports=[], leave_out=unread, guest_queue_depth=None, **esxtop)
    san.step("s", latency * ops, block=8 * KIB, read=Flow(ops, latency), seconds=30)
    return judged(san.write())


def test_the_queue_of_a_lun_that_others_fill_is_named(tmp_path: Path) -> None:
    """The test keeps 8 of 192 I/Os outstanding, on the only LUN of the host that is busy; 64 are below its queue."""
    found = one_step(tmp_path, 0.005, 1600.0, times=24, below=64 / 24 / 1600, slots=(64, 64))
    assert found.verdict.suspects[0].entity == f"lun:esx7/{NAA}"
    assert found.verdict.suspects[0].probability > 0.6
    assert "64 slots" in found.summary.verdict


def test_a_lun_that_moves_more_than_the_virtual_disks_need_not_carry_them(tmp_path: Path) -> None:
    """They may lie on a file system of a network, and the LUN may belong to something else."""
    found = one_step(tmp_path, 0.005, 1600.0, times=24, others_on_lun=False, below=64 / 24 / 1600, slots=(64, 64))
    assert not found.verdict.bottlenecks
    assert f"lun:esx7/{NAA}" not in {s.entity for s in found.verdict.suspects}


def test_without_a_generator_an_io_takes_as_long_as_guests_see(tmp_path: Path) -> None:
    found = one_step(tmp_path, 0.0066, 40_000.0, load=False, below=0.0016, slots=(64, 64))
    (step,) = found.steps
    assert step.directions["read"].latency_seconds.mean == pytest.approx(0.0064, rel=0.02)
    assert found.verdict.suspects[0].entity == f"lun:esx7/{NAA}"
    assert all(part.seconds[1] >= 0 for budget in found.latency_budget for part in budget.parts)


def test_ios_that_wait_above_a_lun_with_free_slots_wait_for_something_else(tmp_path: Path) -> None:
    """An I/O waits 9 ms in the kernel, and 20 of 64 slots of the LUN are in use: a limit of the virtual disk, or a
    scheduler, holds it."""
    found = one_step(tmp_path, 0.0102, 20_000.0, below=0.001, slots=(64, 20))
    first = found.verdict.suspects[0]
    assert (first.kind, first.entity) == ("io_stack", "host:esx7")
    assert not found.verdict.bottlenecks or found.verdict.bottlenecks[0].entity == "host:esx7"

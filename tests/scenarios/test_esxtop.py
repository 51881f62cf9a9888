"""What esxtop tells of a host reaches the verdict as what a vCenter tells: it names no LUN below a virtual disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

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
    """The synthetic test on a virtual disk of esx7. `twins`: another LUN of the host carries as much."""

    twins: bool = False

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
        for at in range(int(self.steps[-1].end) + 2):
            out.poll("top", at)
            self._sample(out, at)

    def _sample(self, out: RecordingBuilder, at: int) -> None:
        busy = [(s, s.flows["read"], max(0.0, min(at, s.end) - s.begin)) for s in self.steps]
        done = round(sum(flow.ops * seconds for _, flow, seconds in busy))
        moved: dict[str, Number] = {"ops_read_total": done, "bytes_read_total": round(done * self.steps[0].block)}
        now = next((s.flows["read"] for s in self.steps if s.begin < at <= s.end), None)
        below = dict(moved)
        below["latency_seconds_read_total"] = round(done * R0 * 1e9)
        if now is not None:
            below |= {"device_seconds_mean_read": R0, "kernel_seconds_mean_read": now.latency - 0.0002 - R0}
        out.samples("top", LUN, at, {f"esx7/{NAA}": below, **({f"esx7/{OTHER}": below} if self.twins else {})})
        waited = round(sum(f.ops * seconds * (f.latency - 0.0002) * 1e9 for _, f, seconds in busy))
        out.samples("top", VDISK, at, {"sqlvm1/scsi0:1": {**moved, "latency_seconds_read_total": waited}})


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

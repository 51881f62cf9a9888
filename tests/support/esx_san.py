"""The synthetic test with what a vCenter tells of the host: the LUN with its policy, two paths, virtual disks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sanpath.model import Column, Scalar, Table
from sanpath.recording.reading.recording import Recording
from tests.support.recording import Number, RecordingBuilder
from tests.support.san import ARRAY_PORT, HOST_PORT, NAA, Flow, San
from tests.support.stories import COUNTED, NOTHING, SECOND_HBA, SECOND_TARGET, X

LUN = Table(
    "lun",
    (
        *(Column(name) for name in ("in_flight", "queue_depth", "queued", "sioc_active_ratio")),
        *(Column(f"{part}_seconds_mean") for part in ("device", "kernel", "queue")),
        Column("aborts_total", 64),
        Column("resets_total", 64),
    ),
)
PATH = Table("path", (Column("path_usable"), Column("ops_read_total", 64)))
VDISK = Table("vdisk", (Column("ops_read_total", 64), Column("in_flight_read"), Column("in_flight_write")))
HOST = Table("host", (Column("cpu_busy_ratio"), Column("cpu_busiest_core_ratio")))
HBA = Table("hba", (Column("in_flight"), Column("queue_depth"), Column("queued"), Column("bytes_read_total", 64)))

DEVICE = f"lun:esx7/{NAA}"
FIRST, SECOND = "esx7/vmhba2:C0:T0:L1", "esx7/vmhba3:C0:T1:L1"
ENDS = {FIRST: (HOST_PORT, ARRAY_PORT), SECOND: (SECOND_HBA, SECOND_TARGET)}


@dataclass(slots=True)
class EsxSan(San):
    """Two ports of host and array each.

    `lun`: attributes of the LUN on esx7; `states`: of the paths; `speeds`: of the initiator ports, bits a second;
    `hba`: their other attributes;
    `lost_at`: seconds from which on the second path is dead; `flaps_every`: seconds after which it comes back, and
    dies again; `shares`: of the I/Os on each path, None: not counted.
    `counted`: kind → gauges that are the same all the time, and counters by what they grow in
    a second. `core_in`: step → how busy the busiest core of the host is in it, where `counted` says otherwise.
    `vdisks`: virtual disk → attributes. `swapped_at`: seconds at which the two paths changed to `states`; each
    was in that of the other before.
    """

    lun: Mapping[str, Scalar] = field(default_factory=dict)
    states: Sequence[str] = ("active", "active")
    speeds: Sequence[float] = ()
    hba: Mapping[str, Scalar] = field(default_factory=dict)
    lost_at: float | None = None
    flaps_every: float | None = None
    shares: Sequence[float] | None = (1.0, 0.0)
    counted: Mapping[str, Mapping[str, Number]] = field(default_factory=dict)
    core_in: Mapping[str, float] = field(default_factory=dict)
    vdisks: Mapping[str, Mapping[str, Scalar]] = field(default_factory=dict)
    swapped_at: float | None = None

    def _configuration(self, out: RecordingBuilder) -> None:
        San._configuration(self, out)
        out.source("vc", "vsphere", LUN, PATH, VDISK, HOST, HBA)
        out.entity("vc", "host", "esx7", ids={"name": ("esx7",)}, attributes={"os": "VMware ESXi 7.0.3 build-1"})
        lun = ("lun", f"esx7/{NAA}")
        out.entity("vc", *lun, ids={"naa": (NAA,), "device": (NAA,)}, attributes=self.lun)
        out.link("vc", "attached_to", (lun, ("host", "esx7")))
        for number, (path, (hba, target)) in enumerate(ENDS.items()):
            speed = {"speed_bits_per_second": self.speeds[number]} if self.speeds else {}
            end = ("hba", f"esx7/{hba.device}")
            out.entity(
                "vc", *end, ids={"wwpn": (hba.wwpn,)}, attributes={"technology": "fibre_channel", **speed, **self.hba}
            )
            state = "dead" if number and self.lost_at is not None else self.states[number]
            out.entity("vc", "path", path, attributes={"state": state, "usable": state.startswith("active")})
            out.link("vc", "member_of", (("path", path), lun))
            out.link("vc", "attached_to", (("path", path), end))
            out.link("vc", "targets", (("path", path), ("wwpn", target.wwpn)))
        for disk, about in self.vdisks.items():
            out.entity("vc", "vdisk", disk, ids={"name": (disk,)}, attributes=about)
            out.link("vc", "attached_to", (("vdisk", disk), ("vm", "sqlvm1")))
            out.link("vc", "backed_by", (("vdisk", disk), lun))
        self._host_samples(out)

    def _host_samples(self, out: RecordingBuilder) -> None:
        last = (self.steps[-1].end if self.steps else 30.0) + 2.0
        for path, before, after in zip(ENDS, reversed(self.states), self.states, strict=True):
            if self.swapped_at is not None:
                out.event("vc", self.swapped_at, "path-state", **{"path": path, "from": before, "to": after})
        operations = {step.name: sum(flow.ops for flow in step.flows.values()) for step in self.steps}
        for at in range(int(last)):
            out.poll("vc", at)
            done = sum(operations[s.name] * max(0.0, min(at, s.end) - s.begin) for s in self.steps)
            paths: dict[str, dict[str, Number]] = {}
            for number, path in enumerate(ENDS):
                dead_for = -1.0 if number == 0 or self.lost_at is None else at - self.lost_at
                dead = dead_for >= 0 and (self.flaps_every is None or dead_for // self.flaps_every % 2 == 0)
                paths[path] = {"path_usable": int(self.states[number].startswith("active") and not dead)}
                if self.shares is not None:
                    paths[path]["ops_read_total"] = round(done * self.shares[number])
            out.samples("vc", PATH, at, paths)
            for disk in self.vdisks:
                moved = {"ops_read_total": round(done / len(self.vdisks)), **self.counted.get("vdisk", {})}
                out.samples("vc", VDISK, at, {disk: moved})
            for table, entity in ((LUN, f"esx7/{NAA}"), (HOST, "esx7"), (HBA, "esx7/vmhba2")):
                if result := self.counted.get(table.kind):
                    values = {
                        name: at * (value or 0) if name.endswith("_total") else value
                        for name, value in result.items()
                    }
                    busy = [
                        self.core_in[s.name] for s in self.steps if s.begin <= at <= s.end and s.name in self.core_in
                    ]
                    if table is HOST and busy:
                        values["cpu_busiest_core_ratio"] = busy[0]
                    out.samples("vc", table, at, {entity: values})


def over_first_path(
    folder: Path, busy: float = 1.0, in_flight: tuple[int, ...] = (16, 128), **more: Any
) -> Recording:
    """64 KiB reads over the first of two 4GFC paths, which carries `busy` of what the published test does."""
    san = EsxSan(folder, ports=[HOST_PORT, ARRAY_PORT, SECOND_HBA, SECOND_TARGET], **more)
    ports = {port.name: (busy * COUNTED, NOTHING) for port in (HOST_PORT, ARRAY_PORT)}
    ports |= {port.name: (0.0, 0.0) for port in (SECOND_HBA, SECOND_TARGET)}
    for n in in_flight:
        san.step(f"t{n}", n, read=Flow(busy * X, n / (busy * X)), ports=ports)
    return san.write()

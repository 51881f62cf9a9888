"""A SAN whose test runs on a virtual disk of an ESXi host, with the times and queues that vCenter reports."""

from __future__ import annotations

from dataclasses import dataclass, field

from sanpath.model import DIRECTIONS, Column, Scalar, Table
from tests.support.recording import Number, RecordingBuilder
from tests.support.san import HOST_PORT, NAA, San

LUN = Table(
    "lun",
    (
        Column("ops_read_total", 64),
        Column("bytes_read_total", 64),
        Column("device_seconds_mean_read", scale=1e-3, resolution=1e-3),
        Column("kernel_seconds_mean_read", scale=1e-3, resolution=1e-3),
        Column("queue_seconds_mean", scale=1e-3, resolution=1e-3),
        Column("queue_depth"),
        Column("sioc_queue_depth"),
    ),
    plane="device",
)
HBA = Table("hba", (Column("in_flight"), Column("queue_depth"), Column("queued")))
VDISK = Table(
    "vdisk",
    tuple(
        Column(f"{counter}_{direction}_total", 64, scale)
        for direction in DIRECTIONS
        for counter, scale in (("ops", 1.0), ("latency_seconds", 1e-9))
    ),
    plane="vscsi",
)


@dataclass(slots=True)
class EsxQueue(San):
    """The synthetic test on a virtual disk of esx7. `milliseconds`: step → DAVG and KAVG of its LUN;
    `at_vdisk`: step → latency of its virtual disk in seconds; `depth`: of the LUN's queue, None: not told; `others`:
    step → I/Os of other virtual machines on the LUN for one of the test; `lun`: attributes of the LUN; `neighbour`:
    another virtual machine has a disk on it; `sioc`: step → what Storage I/O Control leaves of its slots; `qavg`:
    step → QAVG in milliseconds; `controller`: type of the virtual disk's SCSI controller, None: not told; `adapter`:
    step → outstanding and queued I/Os of the initiator port, which has 16 slots."""

    milliseconds: dict[str, tuple[int, int]] = field(default_factory=dict)
    at_vdisk: dict[str, float] = field(default_factory=dict)
    depth: int | None = 32
    others: dict[str, float] = field(default_factory=dict)
    lun: dict[str, Scalar] = field(default_factory=dict)
    neighbour: bool = False
    sioc: dict[str, int] = field(default_factory=dict)
    qavg: dict[str, int] = field(default_factory=dict)
    controller: str | None = None
    adapter: dict[str, tuple[int, int]] = field(default_factory=dict)

    def _configuration(self, out: RecordingBuilder) -> None:
        San._configuration(self, out)
        out.source("vc", "vsphere", LUN, VDISK, HBA)
        lun, disk = ("lun", f"esx7/{NAA}"), ("vdisk", "sqlvm1/Hard disk 2")
        out.entity("vc", "host", "esx7", ids={"name": ("esx7",)}, attributes={"os": "VMware ESXi 7.0.3 build-1"})
        out.entity("vc", *lun, ids={"naa": (NAA,)}, attributes=self.lun)
        out.link("vc", "attached_to", (lun, ("host", "esx7")))
        if self.adapter:
            out.entity("vc", "hba", f"esx7/{HOST_PORT.device}", ids={"wwpn": (HOST_PORT.wwpn,)})
        controller: dict[str, Scalar] = {} if self.controller is None else {"controller_type": self.controller}
        out.entity("vc", *disk, ids={"name": (disk[1],)}, attributes=controller)
        out.link("vc", "attached_to", (disk, ("vm", "sqlvm1")))
        out.link("vc", "backed_by", (disk, lun))
        if self.neighbour:
            vm, its_disk = ("vm", "web1"), ("vdisk", "web1/Hard disk 1")
            out.entity("vc", *vm, ids={"name": ("web1",)})
            out.entity("vc", *its_disk, ids={"name": (its_disk[1],)})
            out.link("vc", "runs_on", (vm, ("host", "esx7")))
            out.link("vc", "attached_to", (its_disk, vm))
            out.link("vc", "backed_by", (its_disk, lun))
        for at in range(int(self.steps[-1].end) + 2):
            out.poll("vc", at)
            busy = [(s, s.flows["read"], max(0.0, min(at, s.end) - s.begin)) for s in self.steps]
            size = self.steps[0].block
            at_lun = round(sum(flow.ops * seconds * (1 + self.others.get(s.name, 0.0)) for s, flow, seconds in busy))
            result: dict[str, Number] = {"ops_read_total": at_lun, "bytes_read_total": round(at_lun * size)}
            now = next((step.name for step in self.steps if step.begin <= at <= step.end), None)
            if now in self.milliseconds:
                davg, kavg = self.milliseconds[now]
                result |= {"device_seconds_mean_read": davg, "kernel_seconds_mean_read": kavg}
            if self.depth is not None:
                result["queue_depth"] = self.depth
            if now in self.qavg:
                result["queue_seconds_mean"] = self.qavg[now]
            if now in self.sioc:
                result["sioc_queue_depth"] = self.sioc[now]
            out.samples("vc", LUN, at, {f"esx7/{NAA}": result})
            if now in self.adapter:
                outstanding, queued = self.adapter[now]
                values = {"in_flight": outstanding, "queue_depth": 16, "queued": queued}
                out.samples("vc", HBA, at, {f"esx7/{HOST_PORT.device}": values})
            if self.at_vdisk:
                out.samples("vc", VDISK, at, {disk[1]: self._at_vdisk(at)})

    def _at_vdisk(self, at: float) -> dict[str, Number]:
        """What the virtual disk has counted until then."""
        counted: dict[str, Number] = {}
        for direction in DIRECTIONS:
            done = [
                (step.name, step.flows[direction].ops * max(0.0, min(at, step.end) - step.begin))
                for step in self.steps
                if direction in step.flows
            ]
            counted[f"ops_{direction}_total"] = round(sum(ops for _, ops in done))
            waited = sum(ops * self.at_vdisk[name] * 1e9 for name, ops in done)
            counted[f"latency_seconds_{direction}_total"] = round(waited)
        return counted

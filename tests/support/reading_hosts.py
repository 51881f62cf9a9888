"""A test with reads of several hosts, each with its own fio and block device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from sanpath.diagnosis.model import Diagnosis
from sanpath.model import Scalar
from sanpath.recording.reading.recording import Recording
from sanpath_collectors.fio.tables import LOAD
from sanpath_collectors.linux_host.tables import CGROUP, LUN
from tests.support.recording import RecordingBuilder
from tests.support.san import KIB, Flow, San
from tests.support.stories import judged

SERVICE = 6e-4


@dataclass(frozen=True, slots=True)
class Reads:
    """What a host reads: `outstanding` I/Os of fio, of `configured` (None: of as many), of which `at_device` are at
    its only block device at a time, for `seconds` each. `has_rate`: fio was given a rate. `depth`: slots of the
    device, None: not reported. `is_read`: whether a source reads it. `kind`: what it is. `machine`: the host on which
    it runs, "": one of its own. `plane`: where the host's clock of the device starts. `limit`: reads a second that
    the control group of its fio may do on the device, None: it is in no group that is read."""

    outstanding: int
    at_device: float
    seconds: float = SERVICE
    depth: int | None = 254
    is_read: bool = True
    kind: str = "disk"
    configured: int | None = None
    has_rate: bool = False
    machine: str = ""
    plane: str = "guest_block"
    limit: float | None = None

    @property
    def ops(self) -> float:
        """Reads a second (Little's law)."""
        return self.at_device / self.seconds


@dataclass(slots=True)
class OnHosts(San):
    """Each host runs a fio of its own. `hosts`: host → what it reads. `ops_limit`: what the array gives a host, reads
    a second; None: any number."""

    hosts: Mapping[str, Reads] = field(default_factory=dict)
    ops_limit: float | None = None

    def _configuration(self, out: RecordingBuilder) -> None:
        for host, reads in self.hosts.items():
            table = replace(LUN, plane=reads.plane)
            out.source(f"{host}/os", "linux_host", table, *([CGROUP] if reads.limit is not None else []))
            machine, device = reads.machine or host, f"{host}-sda" if reads.machine else "sda"
            about_host: dict[str, Scalar] = {"os": "Linux 6.1", "qos_ops_per_second": self.ops_limit}
            out.entity(f"{host}/os", "host", machine, ids={"name": (machine,)}, attributes=about_host)
            about: dict[str, Scalar] = {"kind": reads.kind, "queue_depth": reads.depth}
            out.entity(f"{host}/os", "lun", device, f"{machine}/{device}", {"device": (device,)}, about)
            out.link(f"{host}/os", "attached_to", (("lun", device), ("host", machine)))
            group = f"/load.slice {device}"
            if reads.limit is not None:
                about = {"path": "/load.slice"}
                out.entity(f"{host}/os", "cgroup", group, f"{machine}/load.slice on {device}", {}, about)
                out.link(f"{host}/os", "attached_to", (("cgroup", group), ("host", machine)))
                out.link(f"{host}/os", "targets", (("cgroup", group), ("lun", device)))
            for at in range(int(self.steps[-1].end) + 2) if reads.is_read else ():
                out.poll(f"{host}/os", at)
                done = self._done(reads, at)
                sda = {"ops_read_total": done, "bytes_read_total": 8 * done, "in_flight": round(reads.at_device)}
                sda |= {"latency_seconds_read_total": round(1e3 * done * reads.seconds)}
                out.samples(f"{host}/os", table, at, {device: sda})
                if reads.limit is not None:
                    passed = {"ops_read_total": done, "bytes_read_total": round(done * self.steps[0].block)}
                    passed |= {"limit_ops_per_second_read": round(reads.limit)}
                    out.samples(f"{host}/os", CGROUP, at, {group: passed})

    def _load(self, out: RecordingBuilder, last: float) -> None:
        (step,) = self.steps
        for host, reads in self.hosts.items():
            source, job = f"{host}/fio", f"{host}/fio/{step.name}"
            out.source(source, "fio", LOAD)
            out.entity(source, "load", source, ids={"name": (source,)})
            out.entity(source, "load", job, ids={"name": (job,)})
            out.link(source, "member_of", (("load", job), ("load", source)))
            machine, device = reads.machine or host, f"{host}-sda" if reads.machine else "sda"
            out.link(source, "runs_on", (("load", source), ("host", machine)))
            out.configure_link(f"load:{source} targets lun:{machine}/{device}")
            mark: dict[str, Scalar] = {"step": step.name, "loads": job, "block_bytes": step.block}
            mark |= {"offered": reads.configured or reads.outstanding, "rate_limited": reads.has_rate}
            out.event(source, step.begin, "step-begin", **mark)
            out.event(source, step.end, "step-end", **mark)
            for at in range(int(last) + 1):
                out.poll(source, at)
                done = self._done(reads, at)
                counters = {"ops_read_total": done, "bytes_read_total": round(done * step.block)}
                counters |= {"latency_seconds_read_total": round(1e9 * done * reads.outstanding / reads.ops)}
                out.samples(source, LOAD, at, {job: counters})

    def _done(self, reads: Reads, at: float) -> int:
        """I/Os that are done."""
        (step,) = self.steps
        return round(reads.ops * max(0.0, min(at, step.end) - step.begin))


def reads_on_hosts(folder: Path, ops_limit: float | None = None, **hosts: Reads) -> Diagnosis:
    """A test of 30 seconds. `ops_limit`: of each host."""
    return judged(recorded_reads(folder, ops_limit, **hosts))


def recorded_reads(folder: Path, ops_limit: float | None = None, **hosts: Reads) -> Recording:
    """Its recording."""
    unread = {"switch", "array", "disk"}
    san = OnHosts(folder / "r.sanpath", ports=[], leave_out=unread, hosts=hosts, ops_limit=ops_limit)
    ops, outstanding = sum(r.ops for r in hosts.values()), sum(r.outstanding for r in hosts.values())
    san.step("s", outstanding, block=4 * KIB, read=Flow(ops, outstanding / ops), seconds=30)
    return san.write()

"""Virtual machines on QEMU: limits, throttle groups, iothreads and what lies below, each with its arithmetic.

The load runs on the only disk of db1 that it uses, virtio0; scsi1 is another one of the same machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis, Finding
from sanpath.model import Scalar
from sanpath.topology.paths import hosts_of
from sanpath.topology.resolve import resolve
from sanpath_collectors.linux_host.tables import LUN
from sanpath_collectors.qemu.tables import VDISK
from tests.support.recording import Number, RecordingBuilder
from tests.support.san import KIB, Flow, San
from tests.support.stories import judged

DISK, OTHER, GROUP = "db1/virtio0", "db1/scsi1", "db1/group:shared"
HOST_DEVICE = "kvm1/dm-1"


@dataclass(slots=True)
class Qemu(San):
    """A virtual machine on kvm1. `disk`: attributes of the disk under test; `group`: of the group of both disks.

    `at_disk`: step → latency of an I/O by QEMU's clock, by default that of the load; `busy`: share of a core that the
    disk's thread uses, `waiting`: share of the time that it waits for one; `other_thread`: of the other disk;
    `others`: I/Os a second of the other disk; `below`: step → latency at the host's device.
    `guest_serial`: of the guest's own block device that fio names, "": fio names none. `guest_slots`: of its queue,
    which are read with its clock, 0: neither is read.
    """

    disk: Mapping[str, Scalar] = field(default_factory=dict)
    group: Mapping[str, Scalar] | None = None
    at_disk: Mapping[str, float] = field(default_factory=dict)
    busy: float | None = None
    waiting: float = 0.0
    other_thread: str = "iothread1"
    others: float = 0.0
    below: Mapping[str, float] = field(default_factory=dict)
    guest_serial: str = ""
    guest_slots: int = 0

    def _configuration(self, out: RecordingBuilder) -> None:
        out.configure_link("load:fio runs_on vm:db1")
        out.source("kvm1", "qemu", VDISK)
        out.source("host", "linux_host", LUN)
        out.entity("kvm1", "host", "kvm1", ids={"name": ("kvm1",)}, attributes={"os": "Linux 6.1"})
        out.entity("kvm1", "vm", "db1", ids={"name": ("db1",)}, attributes={"hypervisor": "QEMU"})
        out.link("kvm1", "runs_on", (("vm", "db1"), ("host", "kvm1")))
        for name, attributes in ((DISK, self.disk), (OTHER, {"io_thread": self.other_thread})):
            end = ("vdisk", name)
            about = {"controller_type": "virtio_blk", "cache": "none", "io_thread": "iothread1", **attributes}
            out.entity("kvm1", *end, ids={"name": (name,)}, attributes=about)
            out.link("kvm1", "attached_to", (end, ("vm", "db1")))
            out.link("kvm1", "backed_by", (end, ("lun", HOST_DEVICE)))
            if self.group is not None:
                out.link("kvm1", "member_of", (end, ("vdisk", GROUP)))
        if self.group is not None:
            out.entity(
                "kvm1", "vdisk", GROUP, ids={"name": (GROUP,)}, attributes={"kind": "throttle group", **self.group}
            )
        if self.guest_serial:
            out.source("guest", "linux_host", LUN)
            device = ("lun", "vda")
            about = {"serial": self.guest_serial, "queue_depth": self.guest_slots or None}
            out.entity("guest", *device, "db1/vda", {"device": ("vda",)}, about)
            out.entity("fio", "load", "fio", ids={"name": ("fio",)})
            out.entity("fio", *device, ids={"device": ("vda",)})
            out.link("fio", "targets", (("load", "fio"), device), "fio disk_util")
            out.entity("guest", "host", "db1", attributes={"os": "Linux 6.12"})
            out.link("guest", "attached_to", (device, ("host", "db1")))
        if self.below:
            out.entity("host", "lun", "dm-1", HOST_DEVICE, {"device": ("dm-1",)})
            out.link("host", "attached_to", (("lun", "dm-1"), ("host", "kvm1")))
        for at in range(int(self.steps[-1].end) + 2):
            out.poll("kvm1", at)
            tested = self._counters(at)
            aside: dict[str, Number] = {"ops_read_total": round(at * self.others), "bytes_read_total": 0}
            out.samples("kvm1", VDISK, at, {DISK: tested, OTHER: aside})
            if self.below:
                out.poll("host", at)
                out.samples("host", LUN, at, {"dm-1": self._device(at, self.below)})
            if self.guest_slots:
                out.poll("guest", at)
                admitted = {
                    step.name: min(step.in_flight, self.guest_slots) / step.flows["read"].ops for step in self.steps
                }
                out.samples("guest", LUN, at, {"vda": self._device(at, admitted)})

    def _done(self, at: float) -> list[tuple[str, Flow, float, float]]:
        """Step, its flow, I/Os done so far, bytes of each."""
        return [
            (step.name, flow, flow.ops * max(0.0, min(at, step.end) - step.begin), step.block)
            for step in self.steps
            for flow in step.flows.values()
        ]

    def _counters(self, at: float) -> dict[str, Number]:
        done = self._done(at)
        values: dict[str, Number] = {
            "ops_read_total": round(sum(ops for *_, ops, _ in done)),
            "bytes_read_total": round(sum(ops * size for *_, ops, size in done)),
            "latency_seconds_read_total": round(
                sum(ops * self.at_disk.get(name, flow.latency) * 1e9 for name, flow, ops, _ in done)
            ),
        }
        if self.busy is not None:
            seconds = {"busy": at * self.busy, "wait": at * self.waiting}
            values |= {f"io_thread_{name}_seconds_total": round(s * 1e9) for name, s in seconds.items()}
        return values

    def _device(self, at: float, latency_seconds: Mapping[str, float]) -> dict[str, Number]:
        done = self._done(at)
        return {
            "ops_read_total": round(sum(ops for *_, ops, _ in done)),
            "bytes_read_total": round(sum(ops * size for *_, ops, size in done) / 512),
            "latency_seconds_read_total": round(sum(ops * latency_seconds[name] * 1e3 for name, _, ops, _ in done)),
        }


def reads(san: Qemu, throughput: Mapping[int, float], block: float = 4 * KIB) -> Diagnosis:
    """Steps of reads, I/Os in flight → I/Os a second; by Little's law an I/O takes N / X."""
    for n, ops in throughput.items():
        san.step(f"t{n}", n, read=Flow(ops, n / ops), block=block)
    return judged(san.write())


def qemu(folder: Path, **more: object) -> Qemu:
    return Qemu(folder, ports=[], leave_out={"switch", "array", "disk"}, **more)  # type: ignore[arg-type]


def findings(found: Diagnosis, rule: str) -> list[Finding]:
    return [finding for finding in found.findings if finding.rule == rule and finding.outcome == "hit"]


CAPPED: Mapping[str, tuple[Mapping[str, Scalar], float, float, str]] = {
    # 500 IOPS of 4 KiB under a limit of 500.
    "operations": ({"limit_ops_per_second": 500}, 500, 4 * KIB, "500 IOPS"),
    # 160 x 64 KiB = 10.5 MB/s, the limit of reads alone.
    "bytes of reads": ({"limit_bytes_per_second_read": 10485760}, 160, 64 * KIB, "10.5 MB/s of reads"),
    # 250 I/Os of 64 KiB count as four each where 16 KiB are one.
    "large I/Os": ({"limit_ops_per_second": 1000, "limit_operation_bytes": 16384}, 250, 64 * KIB, "1,000 IOPS"),
    # 1,000 I/Os of 64 KiB count as one each, or they would exceed a limit that counts four.
    "large I/Os that count as one": (
        {"limit_ops_per_second": 1000, "limit_operation_bytes": 16384},
        1000,
        64 * KIB,
        "1,000 IOPS",
    ),
    # Above its sustained 500 the disk may do 2,000 for some seconds.
    "a burst": (
        {"limit_ops_per_second": 500, "limit_burst_ops_per_second": 2000, "limit_burst_seconds_ops_per_second": 60},
        1990,
        4 * KIB,
        "2,000 IOPS in a burst",
    ),
}


@pytest.mark.parametrize("case", CAPPED)
def test_a_limit_of_the_disk_is_named_with_its_kind(tmp_path: Path, case: str) -> None:
    limits, ops, block, words = CAPPED[case]
    found = reads(qemu(tmp_path, disk=limits), {16: ops, 64: ops}, block)
    (bottleneck,) = found.verdict.bottlenecks
    assert (found.verdict.kind, bottleneck.entity) == ("configured_cap", f"vdisk:{DISK}")
    assert words in bottleneck.because[0]
    assert [finding.entity for finding in findings(found, "vdisk-iops-limit")] == [f"vdisk:{DISK}"]
    assert bool(findings(found, "vdisk-burst-measured")) == (case == "a burst")


def test_a_limit_of_writes_does_not_hold_reads_back(tmp_path: Path) -> None:
    """500 reads a second in every step: something holds them, and it is not the limit of 500 writes."""
    found = reads(qemu(tmp_path, disk={"limit_ops_per_second_write": 500}), {16: 500, 64: 500})
    assert found.verdict.kind != "configured_cap"


def test_a_limit_that_is_far_away_is_not_accused(tmp_path: Path) -> None:
    """1 and 4 in flight on 2 ms bring 500 and 2,000 IOPS of 20,000."""
    found = reads(qemu(tmp_path, disk={"limit_ops_per_second": 20_000}), {1: 500, 4: 2000})
    assert (found.verdict.kind, found.verdict.bottlenecks) == ("concurrency_limited", ())
    assert not findings(found, "vdisk-iops-limit")


def test_a_group_that_another_disk_uses_up_is_named_with_the_other_disks_share(tmp_path: Path) -> None:
    """The group has 600; the other disk takes 300 of them, and 300 are left. The guest's serial number tells which of
    the two is the test's."""
    san = qemu(
        tmp_path,
        disk={"serial": "DATA1"},
        group={"limit_ops_per_second": 600},
        others=300,
        guest_serial="DATA1",
    )
    found = reads(san, {16: 300, 64: 300})
    (bottleneck,) = found.verdict.bottlenecks
    assert (found.verdict.kind, bottleneck.entity) == ("configured_cap", f"vdisk:{GROUP}")
    assert "600 IOPS for 2 disks together" in bottleneck.because[0]
    assert "50.0 %" in bottleneck.because[1]
    (finding,) = findings(found, "throttle-group-shared")
    assert finding.entity == f"vdisk:{GROUP}"


def test_a_guest_that_is_read_as_a_host_is_its_machine(tmp_path: Path) -> None:
    san = qemu(tmp_path, disk={"serial": "DATA1"}, guest_serial="DATA1")
    san.step("t1", 1, read=Flow(500, 0.002), block=4 * KIB)
    topology = resolve(san.write().inventory())
    assert topology.known_as["guest", "host", "db1"] == "vm:db1"
    assert "host:db1" not in topology.entities
    assert topology.related("lun:db1/vda", "attached_to") == ["vm:db1"]
    assert topology.related("lun:db1/vda", "backed_by") == [f"vdisk:{DISK}"]
    assert hosts_of(topology, "load:fio") == ["host:kvm1"]


@pytest.mark.parametrize(
    ("busy", "waiting", "other_thread", "words"),
    [
        (0.99, 0.0, "iothread1", f"it serves vdisk:{DISK} and 1 other disk"),
        (0.99, 0.0, "iothread2", f"it serves vdisk:{DISK}"),
        (0.7, 0.29, "iothread2", "uses 70.0 % of a core and waits for one for 29.0 % of the time"),
    ],
)
def test_a_thread_without_polling_that_fills_its_core_limits(
    tmp_path: Path, busy: float, waiting: float, other_thread: str, words: str
) -> None:
    """60,000 IOPS whatever is in flight. QEMU's own clock, which starts at the thread, sees 0.1 ms of 0.5 and 2.1."""
    disk = {"io_thread_poll_max_ns": 0, "io_threads": 1}
    at_disk = {"t32": 0.0001, "t128": 0.0001}
    san = qemu(tmp_path, disk=disk, busy=busy, waiting=waiting, other_thread=other_thread, at_disk=at_disk)
    found = reads(san, {32: 60_000, 128: 60_000})
    (bottleneck,) = found.verdict.bottlenecks
    assert (found.verdict.kind, bottleneck.kind) == ("bottleneck", "io_thread")
    assert (bottleneck.entity, bottleneck.layer) == ("vm:db1", "host")
    assert f"iothread1 of db1 uses {busy:.1%}".replace("%", " % of a core") in bottleneck.because[0]
    assert [because for because in bottleneck.because if because.endswith(words)]
    assert findings(found, "io-thread-busy")


def test_a_thread_accounts_for_the_full_queue_of_the_guest_above_it(tmp_path: Path) -> None:
    """As above, with 256 in flight as well, of which the guest's queue admits 128."""
    disk = {"io_thread_poll_max_ns": 0, "io_threads": 1, "serial": "DATA1"}
    at_disk = {f"t{n}": 0.0001 for n in (32, 128, 256)}
    san = qemu(tmp_path, disk=disk, busy=0.99, at_disk=at_disk, guest_serial="DATA1", guest_slots=128)
    verdict = reads(san, {32: 60_000, 128: 60_000, 256: 60_000}).verdict
    assert [bottleneck.kind for bottleneck in verdict.bottlenecks] == ["io_thread"]
    assert verdict.grade in "AB"


def test_a_thread_that_only_polls_is_not_accused(tmp_path: Path) -> None:
    """It spins for 32.8 µs at most, and I/Os come every 12.5 µs; twice as many in flight bring twice as much."""
    disk = {"io_thread_poll_max_ns": 32768, "io_threads": 1}
    found = reads(qemu(tmp_path, disk=disk, busy=0.99), {4: 40_000, 8: 80_000})
    assert found.verdict.kind == "concurrency_limited"


def test_that_a_thread_polls_neither_accuses_nor_clears_it(tmp_path: Path) -> None:
    disk = {"io_thread_poll_max_ns": 32768, "io_threads": 1}
    found = reads(qemu(tmp_path, disk=disk, busy=0.99), {4: 40_000, 8: 40_000})
    (thread,) = (suspect for suspect in found.verdict.suspects if suspect.kind == "io_thread")
    assert (found.verdict.kind, thread.against) == ("cannot_tell", ())


def test_what_waits_at_the_host_s_device_is_not_booked_to_the_virtual_disk(tmp_path: Path) -> None:
    """4,000 IOPS in every step: 4 and 16 ms, and all but 0.1 ms of them pass at the hypervisor's device."""
    san = qemu(
        tmp_path,
        disk={"limit_ops_per_second": 20_000, "io_thread_poll_max_ns": 0},
        busy=0.1,
        below={"t16": 0.0039, "t64": 0.0159},
    )
    found = reads(san, {16: 4000, 64: 4000})
    assert found.verdict.kind not in ("configured_cap", "concurrency_limited")
    assert not [b for b in found.verdict.bottlenecks if b.entity.startswith(("vdisk:", "vm:"))]
    (budget,) = [b for b in found.latency_budget if b.step == "t64"]
    seconds = {part.entity: part.seconds[0] for part in budget.parts}
    assert seconds[f"lun:{HOST_DEVICE}"] == pytest.approx(0.0001, rel=0.01)
    assert budget.unexplained_seconds[0] == pytest.approx(0.0159, rel=0.01)

"""A case of the kernel lab: a SAN, its load and the correct verdict, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from real_lab.cases import Load as RandomLoad


@dataclass(frozen=True, slots=True)
class Fabric:
    """A bridge with a port to the host and a port to the target.

    `host`, `target`: rate limits of these ports in megabits per second; None: no limit. `host` limits reads, `target`
    writes. `emulation`: arguments of `tc netem` at the target's port, such as "delay 5ms".
    """

    host: int | None = None
    target: int | None = None
    emulation: str = ""


@dataclass(frozen=True, slots=True)
class Load(RandomLoad):
    """fio's steps on one volume. `rate_iops`: requested I/Os a second; None: no limit."""

    step_seconds: int = 10
    rate_iops: int | None = None

    @property
    def seconds(self) -> int:
        """Duration of all steps."""
        return len(self.queue_depths) * (self.ramp_seconds + self.step_seconds + self.gap_seconds)


@dataclass(frozen=True, slots=True)
class Truth:
    """The correct verdict: `kinds` that are correct, and substrings of names of the elements that it may name."""

    kinds: tuple[str, ...]
    elements: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Disk:
    """The virtual disk of a guest that is the host itself, without a SAN: virtio-blk on a backing of QEMU.

    `backing`: "null-co", "nbd" (null-co in another process, qemu-storage-daemon), "luks" (an encrypted file) or
    "file" (on a file system of this machine). `latency_ms`: completion time of null-co. `limits`: of its throttle
    group, such as "x-iops-total=300". `device`: options of virtio-blk-pci. `iothread`: whether it has one, which does
    not poll. `shared`: whether a second disk is in its throttle group.
    """

    backing: str = "null-co"
    latency_ms: int = 2
    limits: str = ""
    device: str = ""
    iothread: bool = False
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """A SAN to build and its load.

    `media`: settings of null_blk. `policy`: path selector of dm-multipath, or iopolicy of NVMe. `path_states`: what
    the target reports of its port in each fabric, in the words of ANA; empty: optimized. `connect`: settings of
    open-iscsi, or options of `nvme connect`. `host_before`, `host_after`, `target_before`, `target_after`: shell
    commands. `disk`: the virtual disk under test, with the transport "kvm"; None: there is a SAN.
    `neighbour`: options of the fio of a second host on the same volume; empty: there is none. `repair`: fields of the
    case in which the labelled place is relieved, `change`: the same in the words of `sanpath whatif --set`, where it
    has any.
    """

    name: str
    truth: Truth
    transport: str = "iscsi"
    fabrics: tuple[Fabric, ...] = (Fabric(), Fabric())
    media: tuple[str, ...] = ("completion_nsec=300000",)
    policy: str = ""
    group: str = "multibus"
    connect: str = ""
    cmdsn_depth: int = 64
    mtu: int = 1500
    load: Load = field(default_factory=Load)
    host_before: str = ""
    host_after: str = ""
    target_before: str = ""
    target_after: str = ""
    unread: frozenset[str] = frozenset()
    path_states: tuple[str, ...] = ()
    disk: Disk | None = None
    neighbour: tuple[str, ...] = ()
    repair: Mapping[str, Any] = field(default_factory=dict)
    change: tuple[str, ...] = ()

    @property
    def repaired(self) -> Case:
        """The case with the labelled place relieved, and the last step of its load."""
        load = replace(self.load, queue_depths=self.load.queue_depths[-1:])
        return replace(self, **{"load": load, **self.repair, "name": f"{self.name}-repaired"})

    @property
    def one_machine(self) -> bool:
        """Whether host and target are one machine: the ports of nvme-fcloop exist within one kernel alone."""
        return self.transport == "nvme-fc"

    @property
    def load_host(self) -> str:
        """The name of the machine on which fio runs."""
        return "host1" if self.disk is None else "vm1"

    def recording_in(self, folder: Path) -> Path:
        """Where its recording is below a folder of cases."""
        return folder / self.name / f"{self.name}.sanpath"


ARRAY = ("array:", "volume:", "array_port:")
"""Elements that are correct to name where the array limits."""

DEPTH = "for d in /sys/block/sd*/device/queue_depth; do echo {} >$d; done"
"""Sets the queue depth of every SCSI path."""

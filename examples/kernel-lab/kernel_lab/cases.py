"""The cases of the kernel lab, as data, with their correct verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from real_lab.cases import Load as RandomLoad

GUEST_SIDES = ("host", "target")


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
class Case:
    """A SAN to build and its load.

    `media`: settings of null_blk. `policy`: path selector of dm-multipath, or iopolicy of NVMe. `connect`: settings
    of open-iscsi, or options of `nvme connect`. `host_after`, `target_before`, `target_after`: shell commands.
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
    host_after: str = ""
    target_before: str = ""
    target_after: str = ""
    unread: frozenset[str] = frozenset()


def _bottleneck(*elements: str) -> Truth:
    return Truth(("bottleneck",), elements)


_SLOW = Fabric(host=100)
_SLOW_WRITES = Fabric(target=100)
_ROUND_ROBIN = {"iscsi": "round-robin 0", "nvme": "round-robin"}
_DISTANT = Fabric(emulation="delay 10ms")
_LOSSY = Fabric(emulation="loss 3%")
_LESS_LOSSY = Fabric(emulation="loss 1%")
_LARGE = Load(queue_depths=(4, 16), block_bytes=64 << 10)
_SWITCHES = frozenset({"sw-a", "sw-b"})
_FEW = Load(queue_depths=(1, 2, 4), block_bytes=8 << 10)
_SMALL = Load(block_bytes=8 << 10)
_MEDIA_5_MS = ("completion_nsec=5000000",)
_FOUR_AT_A_TIME = ("completion_nsec=5000000", "hw_queue_depth=4", "submit_queues=1")
ARRAY = ("array:", "volume:", "array_port:")
_SLOW_OR_BUSY = Truth(("bottleneck", "generator_limited"), ("link:", "path_policy"))
"""Once the queue of the slow path is full, further I/Os saturate the emulated processor."""
_UNREAD_LINK = Truth(("bottleneck", "cannot_tell"), ("link:", "hba:host1/eth1"))
_LEFT = Truth(("bottleneck", "cannot_tell"), ARRAY)
"""The array is not read: naming it is correct, and so is "cannot tell"."""


def _both(name: str, truth: Truth, **settings: Any) -> Iterator[Case]:
    """Yield the case over iSCSI with dm-multipath, and over NVMe/TCP with native multipathing."""
    for transport in ("iscsi", "nvme"):
        yield Case(f"{transport}-{name}", truth, transport, **{"policy": _ROUND_ROBIN[transport], **settings})


CASES = {
    case.name: case
    for case in (
        *_both("both-ports", _bottleneck("link:"), fabrics=(_SLOW, _SLOW)),
        *_both("one-port", _bottleneck("link:"), fabrics=(_SLOW,)),
        *_both("one-port-writes", _bottleneck("link:"), fabrics=(_SLOW_WRITES,), load=Load(write_percent=100)),
        *_both("one-port-mixed", _bottleneck("link:"), fabrics=(_SLOW,), load=Load(write_percent=30)),
        *_both("unequal-paths", _SLOW_OR_BUSY, fabrics=(_SLOW, Fabric())),
        *_both("slow-media", _bottleneck(*ARRAY), media=_FOUR_AT_A_TIME, load=_SMALL),
        *_both(
            "slow-media-mixed",
            _bottleneck(*ARRAY),
            media=_FOUR_AT_A_TIME,
            load=Load(block_bytes=8 << 10, write_percent=30),
        ),
        *_both("target-cap", _bottleneck(*ARRAY), media=("completion_nsec=300000", "mbps=10"), load=_SMALL),
        *_both("too-little", Truth(("concurrency_limited",)), media=_MEDIA_5_MS, load=_FEW),
        *_both("distance", Truth(("concurrency_limited",)), fabrics=(_DISTANT, _DISTANT), load=_FEW),
        *_both(
            "demand",
            Truth(("demand_limited", "healthy")),
            load=Load(queue_depths=(16,), block_bytes=8 << 10, rate_iops=100),
        ),
        *_both("array-unread", _LEFT, media=_FOUR_AT_A_TIME, load=_SMALL, unread=frozenset({"array1"})),
        *_both(
            "switch-unread",
            _UNREAD_LINK,
            fabrics=(_SLOW,),
            unread=_SWITCHES,
        ),
        Case(
            "nvme-numa-one-port", _bottleneck("link:", "path_policy"), "nvme", fabrics=(_SLOW, _SLOW), policy="numa"
        ),
        Case(
            "iscsi-lun-depth",
            _bottleneck("lun:"),
            policy="round-robin 0",
            media=_MEDIA_5_MS,
            host_after="for d in /sys/block/sd*/device/queue_depth; do echo 4 >$d; done",
            load=_SMALL,
        ),
        Case(
            "nvme-queue-size",
            Truth(("bottleneck", "generator_limited"), ("lun:",)),
            "nvme",
            policy="round-robin",
            media=_MEDIA_5_MS,
            connect="--nr-io-queues=1 --queue-size=16",
            load=Load(block_bytes=8 << 10, queue_depths=(8, 64, 128)),
        ),
        Case(
            "iscsi-session-window",
            _bottleneck("lun:", "hba:"),
            policy="round-robin 0",
            media=_MEDIA_5_MS,
            cmdsn_depth=4,
            load=_SMALL,
        ),
        Case("iscsi-service-time", _bottleneck("link:"), policy="service-time 0", fabrics=(_SLOW, _SLOW)),
        Case(
            "iscsi-path-offline",
            _bottleneck("link:"),
            policy="round-robin 0",
            fabrics=(_SLOW, _SLOW),
            host_after="echo offline >/sys/block/sdb/device/state; sleep 5",
        ),
        *_both("loss", _bottleneck("link:"), fabrics=(_LOSSY,), load=_LARGE),
        *_both("loss-both", _bottleneck("link:"), fabrics=(_LESS_LOSSY, _LESS_LOSSY), load=_LARGE),
        *_both("loss-switch-unread", _UNREAD_LINK, fabrics=(_LOSSY,), load=_LARGE, unread=_SWITCHES),
        *_both("host-unread", _bottleneck("link:"), fabrics=(_SLOW, _SLOW), unread=frozenset({"host1"})),
        *_both("only-load-read", Truth(("cannot_tell",)), fabrics=(_SLOW,), unread=_SWITCHES | {"host1", "array1"}),
        *_both("small-packets", _bottleneck("link:"), fabrics=(_SLOW,), mtu=900),
        Case("iscsi-queue-length", _bottleneck("link:"), policy="queue-length 0", fabrics=(_SLOW, _SLOW)),
        Case(
            "iscsi-few-requests",
            _bottleneck("lun:"),
            policy="round-robin 0",
            media=_MEDIA_5_MS,
            host_after="for q in /sys/block/sd*/queue; do echo none >$q/scheduler; echo 4 >$q/nr_requests; done",
            load=_SMALL,
        ),
        Case(
            "nvme-host-cpu",
            Truth(("generator_limited",)),
            "nvme",
            fabrics=(Fabric(),),
            load=Load(block_bytes=4 << 10),
        ),
    )
}

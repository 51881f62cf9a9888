"""The named cases of a virtual machine: what limits its virtio disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kernel_lab.cases import Case, Disk, Load, Truth

_DISK, _GROUP = "vdisk:vm1/data", "vdisk:vm1/group:tier1"
_CAPPED = Truth(("configured_cap",), (_DISK,))
_TOO_LITTLE = Truth(("concurrency_limited",))
_QUEUE = Truth(("bottleneck",), (_DISK, "lun:vm1/vdc"))
"""The virtio queue is one of the virtual disk, and that of the guest's block device."""
_THREAD = Truth(("bottleneck",), ("vm:vm1",))
_BELOW = Truth(("bottleneck", "cannot_tell"), ("array:", "volume:", "media:", "lun:kvm1/"))
"""What limits is below the virtual disk, where nothing is read: naming it is correct, and so is "cannot tell"."""
_FEW = (1, 2, 4)
_OTHER_LOAD = (
    "fio --name=other --filename=/dev/vdd --ioengine=libaio --direct=1 --time_based --runtime=3600"
    " --rw=randread --bs=4k --iodepth=8 >/dev/null &"
)
"""Another load of the same guest, on the second disk."""


def _kvm(
    name: str,
    truth: Truth,
    disk: Disk,
    repair: Mapping[str, Any],
    *,
    depths: tuple[int, ...] = (2, 16, 64),
    block_bytes: int = 4 << 10,
    write_percent: int = 0,
    rate_iops: int | None = None,
    **settings: Any,
) -> Case:
    """A case. `repair`: fields of the disk, or of the load, in which the labelled place is relieved; empty: none."""
    load = Load(depths, block_bytes, write_percent=write_percent, step_seconds=8, rate_iops=rate_iops)
    of_load = {key: value for key, value in repair.items() if hasattr(load, key)}
    repaired: dict[str, Any] = {}
    if of_load:
        repaired = {"load": replace(load, **{"queue_depths": depths[-1:], **of_load})}
    elif repair:
        repaired = {"disk": replace(disk, **repair)}
    return Case(f"kvm-{name}", truth, "kvm", (), disk=disk, load=load, repair=repaired, **settings)


CASES = {
    case.name: case
    for case in (
        _kvm(
            "iops-limit",
            _CAPPED,
            Disk(limits="x-iops-total=300"),
            {"limits": "x-iops-total=600"},
            change=(f"{_DISK}.limit_ops_per_second=600",),
        ),
        _kvm(
            "write-limit",
            _CAPPED,
            Disk(limits="x-bps-write=8388608"),
            {"limits": "x-bps-write=16777216"},
            block_bytes=64 << 10,
            write_percent=100,
        ),
        _kvm(
            "read-limit-mixed",
            _CAPPED,
            Disk(limits="x-iops-read=200"),
            {"limits": "x-iops-read=400"},
            write_percent=30,
        ),
        _kvm(
            "large-ios",
            _CAPPED,
            Disk(limits="x-iops-total=400,x-iops-size=16384"),
            {"limits": "x-iops-total=800,x-iops-size=16384"},
            block_bytes=64 << 10,
        ),
        _kvm(
            "burst",
            _CAPPED,
            Disk(limits="x-iops-total=100,x-iops-total-max=400,x-iops-total-max-length=60"),
            {"limits": "x-iops-total=100,x-iops-total-max=800,x-iops-total-max-length=60"},
        ),
        _kvm(
            "group",
            Truth(("configured_cap",), (_GROUP,)),
            Disk(limits="x-iops-total=400", shared=True),
            {"limits": "x-iops-total=800"},
            host_after=_OTHER_LOAD,
        ),
        _kvm(
            "group-idle-member",
            Truth(("configured_cap",), (_GROUP,)),
            Disk(limits="x-iops-total=400", shared=True),
            {"limits": "x-iops-total=800"},
        ),
        _kvm("too-little", _TOO_LITTLE, Disk(latency_ms=20), {"queue_depths": (8,)}, depths=_FEW),
        _kvm(
            "distant-limit",
            _TOO_LITTLE,
            Disk(latency_ms=20, limits="x-iops-total=20000"),
            {"queue_depths": (8,)},
            depths=_FEW,
        ),
        _kvm("slow-backing", _BELOW, Disk(backing="nbd", latency_ms=20), {"backing": "null-co"}, depths=(4, 32, 64)),
        _kvm(
            "queue-size",
            _QUEUE,
            Disk(latency_ms=20, device="num-queues=1,queue-size=16"),
            {"device": "num-queues=1,queue-size=32"},
            depths=(8, 64, 128),
        ),
        _kvm(
            "iothread",
            _THREAD,
            Disk(backing="luks", iothread=True),
            {"backing": "null-co"},
            block_bytes=64 << 10,
        ),
        _kvm("main-loop", _THREAD, Disk(backing="luks"), {"backing": "null-co"}, block_bytes=64 << 10),
        _kvm("guest-cpu", Truth(("generator_limited",)), Disk(latency_ms=0), {}, depths=(16, 64)),
        _kvm(
            "demand", Truth(("demand_limited", "healthy")), Disk(), {"rate_iops": None}, depths=(16,), rate_iops=100
        ),
        _kvm(
            "guest-unread",
            _CAPPED,
            Disk(limits="x-iops-total=300"),
            {"limits": "x-iops-total=600"},
            unread=frozenset({"vm1"}),
            change=(f"{_DISK}.limit_ops_per_second=600",),
        ),
        _kvm(
            "qemu-unread",
            Truth(("cannot_tell",)),
            Disk(limits="x-iops-total=300"),
            {"limits": "x-iops-total=600"},
            unread=frozenset({"qemu"}),
        ),
        _kvm(
            "host-device",
            _CAPPED,
            Disk(backing="file", limits="x-iops-total=300"),
            {"limits": "x-iops-total=600"},
            change=(f"{_DISK}.limit_ops_per_second=600",),
        ),
    )
}

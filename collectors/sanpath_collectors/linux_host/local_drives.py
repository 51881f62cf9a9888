"""Block devices that are the host's own drives, with no array and no network behind them. No I/O.

A drive counts as local only if that is certain. A hypervisor may present a file, a volume of an array or of a cloud
as a drive, under any name; an adapter may present a network volume as an NVMe drive.
"""

from __future__ import annotations

import re

from sanpath_collectors.linux_host.paths import nvme_head
from sanpath_collectors.linux_host.snapshot import Snapshot

_PROCESSOR = "/sys/devices/system/cpu/modalias"
FILES = (_PROCESSOR,)
NAMES = (
    "/sys/class/ata_port/*/device/host*",
    "/sys/class/sas_host/host*",
    "/sys/block/sd*/device/enclosure_device:*",
)
_HYPERVISOR = "009F"
"""Number of the x86 feature by which a guest detects its hypervisor: bit 31 of ECX of CPUID leaf 1, which AMD and
Intel leave to hypervisors (Linux, arch/x86/include/asm/cpufeatures.h, X86_FEATURE_HYPERVISOR: 4 * 32 + 31)."""
_INSTANCE_STORE = re.compile(
    r"Amazon EC2 NVMe Instance Storage|nvme_card\d{0,3}|Microsoft NVMe Direct Disk( v\d)?", re.IGNORECASE
)
"""Models of local drives in a cloud's machines (Amazon EC2, "Instance store volumes"; Google Compute Engine, "About
Local SSD disks"; Azure, "Temporary NVMe disks")."""
_REMOTE_MODELS = re.compile(
    r"elastic block|nvme_card-pd|NVMe Accelerator|BlueField|SNAP|QEMU|VBOX|VMware|virtual|msft", re.IGNORECASE
)
"""Parts of models that only look like drives, also on machines without a hypervisor: volumes of Amazon EBS, Google
Persistent Disk and Azure, NVMe SNAP of NVIDIA BlueField; and disks of a hypervisor that hides itself."""


def is_local(host: Snapshot, device: str) -> bool | None:
    """Whether a block device is certainly a drive of this host: True, or None if that is not certain."""
    model = host.text(f"/sys/block/{device}/device/model")
    if device.startswith("nvme"):
        if _transports(host, device) != {"pcie"}:
            return None
        if _INSTANCE_STORE.fullmatch(model):
            return True
    elif not _is_attached_drive(host, device):
        return None
    return True if model and _is_physical(host) and not _REMOTE_MODELS.search(model) else None


def _is_physical(host: Snapshot) -> bool:
    """Whether the processor shows that there is no hypervisor. False: there is one, or this is unknown."""
    processor, _, features = host.text(_PROCESSOR).partition(":feature:")
    return processor.startswith("cpu:type:x86") and "," in features and _HYPERVISOR not in features.split(",")


def _transports(host: Snapshot, device: str) -> set[str]:
    """The transports of an NVMe device: its own, or those of its paths."""
    paths = [path for path in host.children("/sys/block") if nvme_head(path) == device]
    return {host.text(f"/sys/block/{path}/device/transport") for path in paths or [device]}


def _is_attached_drive(host: Snapshot, device: str) -> bool:
    """Whether a SCSI device is an ATA drive at a port of the host, or a drive at its SAS adapter.

    An array may also be at a SAS adapter, but it is not an ATA drive, and no enclosure reports a slot for it. An
    iSCSI target may export an ATA drive, but not through such an adapter.
    """
    folder = f"/sys/block/{device}/device"
    scsi_host = "host" + next(iter(host.children(f"{folder}/scsi_device")), "").partition(":")[0]
    ata_ports = host.children("/sys/class/ata_port")
    if any(host.has(f"/sys/class/ata_port/{port}/device/{scsi_host}") for port in ata_ports):
        return True
    if not host.has(f"/sys/class/sas_host/{scsi_host}"):
        return False
    in_slot = any(name.startswith("enclosure_device:") for name in host.children(folder))
    return in_slot or host.text(f"{folder}/vendor") == "ATA"

"""Which drives count as local: only those that are so for certain. Models are as Linux shows them."""

from __future__ import annotations

import pytest

from sanpath_collectors.linux_host.local_drives import is_local
from sanpath_collectors.linux_host.snapshot import Snapshot

PHYSICAL = "cpu:type:x86,ven0000fam0006mod008F:feature:,0000,0081,009A,009C\n"
GUEST = "cpu:type:x86,ven0002fam0019mod0001:feature:,0000,0081,009E,009F\n"
ARM = "cpu:type:aarch64:feature:,0000,0001,009A\n"
SAMSUNG = "SAMSUNG MZQL2960HCJR-00A07"


def nvme(model: str, transport: str = "pcie", processor: str = PHYSICAL) -> bool | None:
    device = "/sys/block/nvme0n1/device"
    files = {f"{device}/model": model, f"{device}/transport": transport}
    return is_local(_host(files, processor), "nvme0n1")


def scsi(vendor: str, model: str, *names: str, processor: str = PHYSICAL) -> bool | None:
    """A device at SCSI host 4; `names`: other files and folders that exist."""
    device = "/sys/block/sda/device"
    files = {f"{device}/vendor": vendor, f"{device}/model": model}
    return is_local(_host(files, processor, f"{device}/scsi_device/4:0:0:0", *names), "sda")


def _host(files: dict[str, str], processor: str, *names: str) -> Snapshot:
    files = {**files, "/sys/devices/system/cpu/modalias": processor}
    return Snapshot({path: text.encode() for path, text in files.items()}, names)


AHCI = "/sys/class/ata_port/ata5/device/host4"
SAS = "/sys/class/sas_host/host4"
SLOT = "/sys/block/sda/device/enclosure_device:Slot 07"


def test_a_drive_on_pcie_of_a_machine_without_a_hypervisor_is_local() -> None:
    assert nvme(SAMSUNG) is True


@pytest.mark.parametrize("processor", [GUEST, ARM, "", "cpu:type:x86,ven0002fam0019mod0001:feature:"])
def test_where_a_hypervisor_may_stand_behind_it_nothing_is_known(processor: str) -> None:
    assert nvme(SAMSUNG, processor=processor) is None
    assert scsi("ATA", "Micron_5300_MTFD", AHCI, processor=processor) is None


@pytest.mark.parametrize(
    "model", ["Amazon EC2 NVMe Instance Storage", "nvme_card", "nvme_card3", "Microsoft NVMe Direct Disk v2"]
)
def test_a_drive_in_a_clouds_machine_is_local_to_the_instance(model: str) -> None:
    assert nvme(model, processor=GUEST) is True


@pytest.mark.parametrize(
    "model",
    [
        "Amazon Elastic Block Store",
        "nvme_card-pd",
        "MSFT NVMe Accelerator v1.0",
        "QEMU NVMe Ctrl",
        "VMware Virtual NVMe Disk",
        "ORCL-VBOX-NVME-VER12",
        "NVIDIA BlueField NVMe SNAP Controller",
        "",
    ],
)
@pytest.mark.parametrize("processor", [GUEST, PHYSICAL], ids=["guest", "bare metal, or hidden hypervisor"])
def test_a_volume_on_a_network_that_looks_like_a_drive_on_pcie_is_not_local(model: str, processor: str) -> None:
    assert nvme(model, processor=processor) is None


@pytest.mark.parametrize("transport", ["tcp", "rdma", "fc", "loop", ""])
def test_a_namespace_that_is_reached_over_a_network_is_not_local(transport: str) -> None:
    assert nvme(SAMSUNG, transport) is None


def test_a_drive_with_two_ports_is_known_by_its_hidden_path() -> None:
    block = "/sys/block/nvme0"
    files = {f"{block}n1/device/model": SAMSUNG, f"{block}c0n1/device/transport": "pcie"}
    assert is_local(_host(files, PHYSICAL), "nvme0n1") is True
    assert is_local(_host({**files, f"{block}c1n1/device/transport": "tcp"}, PHYSICAL), "nvme0n1") is None


@pytest.mark.parametrize(
    ("vendor", "names", "local"),
    [
        ("ATA", (AHCI,), True),
        ("ATA", (SAS,), True),
        ("SEAGATE", (SAS, SLOT), True),
        ("DELL", (SAS,), None),
        ("ATA", (), None),
        ("ATA", ("/sys/class/iscsi_host/host4",), None),
        ("ATA", ("/sys/class/ata_port/ata5/device/host3",), None),
    ],
    ids=["AHCI", "ATA behind SAS", "SAS drive", "SAS array", "unknown bus", "iSCSI pass-through", "other port"],
)
def test_a_scsi_disk_is_local_at_an_ata_port_or_as_a_drive_at_a_sas_adapter(
    vendor: str, names: tuple[str, ...], local: bool | None
) -> None:
    assert scsi(vendor, "MD38xx", *names) is local


@pytest.mark.parametrize("model", ["QEMU HARDDISK", "VBOX HARDDISK", "VMware Virtual SATA Hard Drive", "Virtual HD"])
def test_the_disk_of_a_hypervisor_that_hides_itself_is_not_local(model: str) -> None:
    assert scsi("ATA", model, AHCI) is None


def test_a_device_that_is_made_of_others_does_not_speak_for_them() -> None:
    assert is_local(_host({}, PHYSICAL), "md0") is None
    assert is_local(_host({}, PHYSICAL), "dm-0") is None

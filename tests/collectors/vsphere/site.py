"""A site for tests: the host esx7 with two ports, two LUNs and four paths to each, and the machine sqlvm1 on it."""

from __future__ import annotations

from typing import Any

from pyVmomi import vim

from sanpath_collectors.vsphere.tables import GROUPS
from tests.collectors.vsphere.vcenter import Vcenter, csv

NAA = "naa.624a93706c1b16ce1c034d1c00013918"
RAW = "naa.624a93706c1b16ce1c034d1c00013919"
INITIATORS = ("21000024ff4a8e04", "21000024ff4a8e05")
TARGETS = ("524a937000000001", "524a937000000002")
COUNTERS = {
    name: 100 + number
    for number, name in enumerate(
        dict.fromkeys(
            counter
            for group in GROUPS.values()
            for use in group.uses
            for counter in (use.counter, use.times)
            if counter
        )
    )
}


def site() -> Vcenter:
    """The vCenter of it, without samples."""
    vcenter = Vcenter(counters=dict(COUNTERS))
    host = vim.HostSystem("host-1", None)
    vcenter.objects = {
        ("HostSystem", "host-1"): host_properties("esx7.example.com", [NAA, RAW], INITIATORS),
        ("Datastore", "datastore-1"): {
            "name": "DS1",
            "info": vim.host.VmfsDatastoreInfo(
                name="DS1",
                url="ds:///vmfs/volumes/5f00-aa/",
                freeSpace=0,
                maxFileSize=0,
                vmfs=vmfs("5f00-aa", NAA),
            ),
            "summary.type": "VMFS",
            "iormConfiguration": vim.StorageResourceManager.IORMConfigInfo(enabled=True, congestionThreshold=30),
        },
        ("VirtualMachine", "vm-1"): {
            "name": "sqlvm1",
            "runtime.host": host,
            "runtime.powerState": "poweredOn",
            "summary.config.template": False,
            "config.hardware.device": hardware(),
        },
    }
    return vcenter


def vmfs(uuid: str, *devices: str) -> Any:
    """A file system on LUNs."""
    extents = [vim.host.ScsiDisk.Partition(diskName=device, partition=1) for device in devices]
    return vim.host.VmfsVolume(
        type="VMFS",
        name="DS1",
        capacity=1 << 40,
        blockSizeMb=1,
        maxBlocks=1,
        majorVersion=6,
        version="6.82",
        uuid=uuid,
        extent=extents,
        vmfsUpgradable=False,
    )


def host_properties(name: str, devices: list[str], initiators: tuple[str, ...]) -> dict[str, Any]:
    """Properties of a host that sees these LUNs over its Fibre Channel ports."""
    adapters = [fibre_channel(f"vmhba{number}", wwpn) for number, wwpn in enumerate(initiators, start=2)]
    return {
        "name": name,
        "runtime.connectionState": "connected",
        "runtime.inMaintenanceMode": False,
        "config.storageDevice.hostBusAdapter": adapters,
        "config.storageDevice.scsiLun": [lun(device) for device in devices],
        "config.storageDevice.multipathInfo": multipath(devices, adapters),
        "config.option": [vim.option.OptionValue(key="Disk.SchedNumReqOutstanding", value=32)],
    }


def fibre_channel(device: str, wwpn: str) -> Any:
    """An adapter of 8 Gb/s."""
    return vim.host.FibreChannelHba(
        key=f"key-{device}",
        device=device,
        bus=59,
        status="online",
        model="ISP2532",
        driver="qlnativefc",
        portWorldWideName=signed(wwpn),
        nodeWorldWideName=signed("20" + wwpn[2:]),
        portType="fabric",
        speed=8,
    )


def signed(wwn: str) -> int:
    """A world-wide name as the API gives it."""
    value = int(wwn, 16)
    return value - (1 << 64) if value >= 1 << 63 else value


def lun(device: str) -> Any:
    """A disk of an array."""
    return vim.host.ScsiDisk(
        deviceName=f"/vmfs/devices/disks/{device}",
        deviceType="disk",
        key=f"key-{device}",
        uuid=f"0200000000{device.removeprefix('naa.')}",
        canonicalName=device,
        lunType="disk",
        vendor="PURE    ",
        model="FlashArray      ",
        queueDepth=64,
        operationalState=["ok"],
        capacity=vim.host.DiskDimensions.Lba(blockSize=512, block=1 << 31),
        devicePath=f"/vmfs/devices/disks/{device}",
        ssd=True,
        localDisk=False,
    )


def multipath(devices: list[str], adapters: list[Any], policy: str = "VMW_PSP_RR", **states: str) -> Any:
    """Every LUN over every adapter to every target port. `states`: path, as vmhba2_C0_T0_L1 → its state."""
    units = []
    for number, device in enumerate(devices, start=1):
        ways = []
        for adapter in adapters:
            for target, wwpn in enumerate(TARGETS):
                name = f"{adapter.device}:C0:T{target}:L{number}"
                state = states.get(name.replace(":", "_"), "active")
                ways.append(
                    vim.host.MultipathInfo.Path(
                        key=f"key-vim.host.MultipathInfo.Path-{name}",
                        name=name,
                        pathState=state,
                        state=state,
                        isWorkingPath=state == "active",
                        adapter=adapter.key,
                        lun=f"unit-{device}",
                        transport=vim.host.FibreChannelTargetTransport(
                            portWorldWideName=signed(wwpn), nodeWorldWideName=signed(wwpn)
                        ),
                    )
                )
        units.append(
            vim.host.MultipathInfo.LogicalUnit(
                key=f"unit-{device}",
                id=device,
                lun=f"key-{device}",
                path=ways,
                policy=vim.host.MultipathInfo.LogicalUnitPolicy(policy=policy),
                storageArrayTypePolicy=vim.host.MultipathInfo.LogicalUnitStorageArrayTypePolicy(
                    policy="VMW_SATP_ALUA"
                ),
            )
        )
    return vim.host.MultipathInfo(lun=units)


def hardware() -> list[Any]:
    """A disk on the datastore behind PVSCSI, a raw device behind LSI Logic, and one on NVMe."""
    device = vim.vm.device
    lsi = device.VirtualLsiLogicController(key=1000, busNumber=0, sharedBus="noSharing")
    pvscsi = device.ParaVirtualSCSIController(key=1001, busNumber=1, sharedBus="noSharing")
    nvme = device.VirtualNVMEController(key=31000, busNumber=0)
    flat = device.VirtualDisk.FlatVer2BackingInfo(
        fileName="[DS1] sqlvm1/data.vmdk",
        diskMode="persistent",
        thinProvisioned=False,
        datastore=vim.Datastore("datastore-1", None),
    )
    raw = device.VirtualDisk.RawDiskMappingVer1BackingInfo(
        fileName="[DS1] sqlvm1/raw.vmdk",
        lunUuid=f"0200000000{RAW.removeprefix('naa.')}",
        compatibilityMode="physicalMode",
        diskMode="persistent",
    )
    limit = vim.StorageResourceManager.IOAllocationInfo(limit=5000)
    return [
        lsi,
        pvscsi,
        nvme,
        device.VirtualDisk(key=2016, backing=flat, controllerKey=1001, unitNumber=0, capacityInKB=1 << 20),
        device.VirtualDisk(key=2000, backing=raw, controllerKey=1000, unitNumber=1, capacityInKB=1 << 20),
        device.VirtualDisk(
            key=2032,
            backing=flat,
            controllerKey=31000,
            unitNumber=2,
            capacityInKB=1 << 20,
            storageIOAllocation=limit,
        ),
    ]


def measured(vcenter: Vcenter, offsets: list[int], **values: list[object]) -> None:
    """Samples of the LUN, its first path, its first port, the processors and the first disk, at these seconds.

    `values`: disk_deviceLatency=[4, 5] and the like; a counter that is not given reads 0.
    """
    blank: list[object] = [0] * len(offsets)
    path = f"fc.20{INITIATORS[0][2:]}:{INITIATORS[0]}-fc.{TARGETS[0]}:{TARGETS[0]}-{NAA}"
    instances = {
        "disk": NAA,
        "datastore": "5f00-aa",
        "storageAdapter": "vmhba2",
        "storagePath": path,
        "cpu": "",
        "virtualDisk": "scsi1:0",
    }
    series: dict[tuple[str, str], str] = {}
    for name in vcenter.counters:
        group, called, _ = name.split(".")
        series[name, instances[group]] = csv(*values.get(f"{group}_{called}", blank))
    hosts = {key: result for key, result in series.items() if not key[0].startswith("virtualDisk")}
    vcenter.samples["host-1"] = (offsets, hosts)
    vcenter.samples["vm-1"] = (offsets, {key: result for key, result in series.items() if key not in hosts})

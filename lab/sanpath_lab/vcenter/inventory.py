"""Inventory of the simulated vCenter: the host under test, its LUN and paths, the machine and the datastore."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sanpath_lab.scenario import FcPort, IoPath, PathPolicy, Scenario, Vcenter, VirtualController
from sanpath_lab.simulation import Simulation
from sanpath_lab.vcenter.types import vim

HOST, MACHINE, DATASTORE = "host-1", "vm-1", "datastore-1"
"""Ids of the managed objects."""
VMFS_UUID = "5f00a1b2-0c0d0e0f-1011-121314151617"
VIRTUAL_DISK = "scsi0:0"
"""Name of the machine's disk in counters: bus and unit."""

POLICIES: Mapping[PathPolicy, str] = {"round_robin": "VMW_PSP_RR", "most_recently_used": "VMW_PSP_MRU"}
ARRAY_TYPES = {"active/active": "VMW_SATP_ALUA", "active/passive": "VMW_SATP_DEFAULT_AP"}
"""Access of an array → the plug-in that an ESXi host claims it with."""
_SOLD_AS = {"active/active": ("PURE    ", "FlashArray      "), "active/passive": ("LAB     ", "Two Controllers ")}
"""Access of an array → vendor and product of SCSI inquiry."""
_CONTROLLER_KEY, _DISK_KEY = 1000, 2000
_CONTROLLERS: Mapping[VirtualController, Any] = {
    "lsi_logic": vim.vm.device.VirtualLsiLogicController,
    "pvscsi": vim.vm.device.ParaVirtualSCSIController,
}

Properties = dict[str, Any]


def objects(simulation: Simulation, vcenter: Vcenter) -> dict[tuple[str, str], Properties]:
    """(type, id) → property path → value."""
    scenario = simulation.scenario
    return {
        ("HostSystem", HOST): _host(simulation),
        ("VirtualMachine", MACHINE): {
            "name": scenario.load.virtual_machine,
            "runtime.host": vim.HostSystem(HOST, None),
            "runtime.powerState": "poweredOn",
            "summary.config.template": False,
            "config.hardware.device": _hardware(scenario, vcenter),
        },
        ("Datastore", DATASTORE): {
            "name": vcenter.datastore,
            "info": vim.host.VmfsDatastoreInfo(
                name=vcenter.datastore,
                url=f"ds:///vmfs/volumes/{VMFS_UUID}/",
                freeSpace=0,
                maxFileSize=0,
                vmfs=_file_system(scenario, vcenter),
            ),
            "summary.type": "VMFS",
            "iormConfiguration": vim.StorageResourceManager.IORMConfigInfo(enabled=False, congestionThreshold=30),
        },
    }


def path_name(scenario: Scenario, path: IoPath) -> str:
    """vmhba2:C0:T1:L1: targets are numbered as the adapter has found them."""
    targets = [candidate.target for candidate in scenario.paths if candidate.hba == path.hba]
    return f"{path.hba}:C0:T{targets.index(path.target)}:L{scenario.volume.lun}"


def long_path_name(scenario: Scenario, path: IoPath) -> str:
    """Return the name of a path in counters: node and port of both ends, and the LUN."""
    initiator, target = _ends(scenario, path)
    initiator_wwpn, target_wwpn = (wwpn.replace(":", "") for wwpn in (initiator.wwpn, target.wwpn))
    return f"fc.{_node(initiator)}:{initiator_wwpn}-fc.{target_wwpn}:{target_wwpn}-{scenario.volume.naa}"


def _host(simulation: Simulation) -> Properties:
    scenario = simulation.scenario
    host = scenario.host
    return {
        "name": f"{host.name}.example.com",
        "runtime.connectionState": "connected",
        "runtime.inMaintenanceMode": False,
        "summary.config.product": about("VMware ESXi", "vmnix-x86", "embeddedEsx", "HostAgent"),
        "config.storageDevice.hostBusAdapter": [_adapter(simulation, hba) for hba in host.hbas],
        "config.storageDevice.scsiLun": [_lun(scenario)],
        "config.storageDevice.multipathInfo": vim.host.MultipathInfo(lun=[_multipath(scenario)]),
        "config.option": [vim.option.OptionValue(key="Disk.SchedNumReqOutstanding", value=host.lun_queue_depth)],
    }


def about(name: str, operating_system: str, line: str, api: str) -> Any:
    """What a product says of itself. `line`: its product line; `api`: the kind of its API."""
    return vim.AboutInfo(
        name=name,
        fullName=f"{name} 8.0.3 (simulated)",
        vendor="VMware, Inc.",
        version="8.0.3",
        build="1",
        osType=operating_system,
        productLineId=line,
        apiType=api,
        apiVersion="8.0.3.0",
    )


def _adapter(simulation: Simulation, hba: FcPort) -> Any:
    return vim.host.FibreChannelHba(
        key=f"key-{hba.name}",
        device=hba.name,
        bus=59,
        status="online",
        model="QLE2692",
        driver="qlnativefc",
        portWorldWideName=_signed(hba.wwpn.replace(":", "")),
        nodeWorldWideName=_signed(_node(hba)),
        portType="fabric",
        speed=simulation.fabric.cables[hba.switch_port].gigabit,
    )


def _lun(scenario: Scenario) -> Any:
    naa = scenario.volume.naa
    vendor, model = _SOLD_AS[scenario.array.access]
    return vim.host.ScsiDisk(
        deviceName=f"/vmfs/devices/disks/{naa}",
        deviceType="disk",
        key=f"key-{naa}",
        uuid=f"0200000000{naa.removeprefix('naa.')}",
        canonicalName=naa,
        lunType="disk",
        vendor=vendor,
        model=model,
        queueDepth=scenario.host.lun_queue_depth,
        operationalState=["ok"],
        capacity=vim.host.DiskDimensions.Lba(blockSize=512, block=scenario.volume.provisioned_bytes // 512),
        devicePath=f"/vmfs/devices/disks/{naa}",
        ssd=True,
        localDisk=False,
    )


def _multipath(scenario: Scenario) -> Any:
    naa, policy = scenario.volume.naa, scenario.host.path_policy
    plug_ins = vim.host.MultipathInfo
    return plug_ins.LogicalUnit(
        key=f"unit-{naa}",
        id=naa,
        lun=f"key-{naa}",
        path=[_path(scenario, path) for path in scenario.paths],
        policy=plug_ins.LogicalUnitPolicy(policy=POLICIES[policy]),
        storageArrayTypePolicy=plug_ins.LogicalUnitStorageArrayTypePolicy(policy=ARRAY_TYPES[scenario.array.access]),
    )


def _path(scenario: Scenario, path: IoPath) -> Any:
    _, target = _ends(scenario, path)
    name, wwpn = path_name(scenario, path), _signed(target.wwpn.replace(":", ""))
    single_path = scenario.host.path_policy == "most_recently_used"
    works = path in (scenario.active_paths[:1] if single_path else scenario.active_paths)
    return vim.host.MultipathInfo.Path(
        key=f"key-vim.host.MultipathInfo.Path-{name}",
        name=name,
        pathState=path.state,
        state=path.state,
        isWorkingPath=works,
        adapter=f"key-{path.hba}",
        lun=f"unit-{scenario.volume.naa}",
        transport=vim.host.FibreChannelTargetTransport(portWorldWideName=wwpn, nodeWorldWideName=wwpn),
    )


def _file_system(scenario: Scenario, vcenter: Vcenter) -> Any:
    return vim.host.VmfsVolume(
        type="VMFS",
        name=vcenter.datastore,
        capacity=scenario.volume.provisioned_bytes,
        blockSizeMb=1,
        maxBlocks=1,
        majorVersion=6,
        version="6.82",
        uuid=VMFS_UUID,
        extent=[vim.host.ScsiDisk.Partition(diskName=scenario.volume.naa, partition=1)],
        vmfsUpgradable=False,
    )


def _hardware(scenario: Scenario, vcenter: Vcenter) -> list[Any]:
    device = vim.vm.device
    backing = device.VirtualDisk.FlatVer2BackingInfo(
        fileName=f"[{vcenter.datastore}] {scenario.load.virtual_machine}/data.vmdk",
        diskMode="persistent",
        thinProvisioned=False,
        datastore=vim.Datastore(DATASTORE, None),
    )
    controller = _CONTROLLERS[scenario.guest_disk.controller]
    return [
        controller(key=_CONTROLLER_KEY, busNumber=0, sharedBus="noSharing"),
        device.VirtualDisk(
            key=_DISK_KEY,
            backing=backing,
            controllerKey=_CONTROLLER_KEY,
            unitNumber=0,
            capacityInKB=scenario.volume.provisioned_bytes // 1024,
        ),
    ]


def _ends(scenario: Scenario, path: IoPath) -> tuple[FcPort, FcPort]:
    initiators = {hba.name: hba for hba in scenario.host.hbas}
    targets = {port.name: port for port in scenario.array.ports}
    return initiators[path.hba], targets[path.target]


def _node(initiator: FcPort) -> str:
    return "20" + initiator.wwpn.replace(":", "")[2:]


def _signed(wwn: str) -> int:
    """A world-wide name as the API gives it: a signed 64-bit number."""
    value = int(wwn, 16)
    return value - (1 << 64) if value >= 1 << 63 else value

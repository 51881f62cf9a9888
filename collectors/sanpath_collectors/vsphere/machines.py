"""Virtual machines and their disks, down to the LUNs that hold them. Pure: plain data in, things out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sanpath.model import Scalar
from sanpath.plugin import SourceEntity, SourceLink
from sanpath_collectors.vsphere.adapters import without_empty
from sanpath_collectors.vsphere.plain import TYPE, Record

CONTROLLERS: Mapping[str, tuple[str, str]] = {
    "ParaVirtualSCSIController": ("pvscsi", "scsi"),
    "VirtualLsiLogicController": ("lsi_logic", "scsi"),
    "VirtualLsiLogicSASController": ("lsi_logic_sas", "scsi"),
    "VirtualBusLogicController": ("bus_logic", "scsi"),
    "VirtualNVMEController": ("nvme", "nvme"),
    "VirtualAHCIController": ("ahci", "sata"),
    "VirtualIDEController": ("ide", "ide"),
}
"""Type of a virtual controller → what it emulates, and how counters call its disks."""

_RDM = {"physicalMode": "physical", "virtualMode": "virtual"}


@dataclass(frozen=True, slots=True)
class Datastore:
    """Where disks of virtual machines lie. `devices`: the LUNs below, of a VMFS; `kind`: VMFS, NFS, vsan, VVOL…

    `ids`: what counters may call it. `sioc`, `threshold_seconds`: whether Storage I/O Control is on, and the latency
    from which it throttles. None: not told.
    """

    name: str
    kind: str
    devices: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    sioc: bool | None = None
    threshold_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Below:
    """What disks of the virtual machines on one host can lie on. `datastores`: by managed object id; `devices`: all
    LUNs of the host; `by_uuid`: SCSI unique id → LUN, for raw device mappings."""

    host: str
    datastores: Mapping[str, Datastore]
    devices: frozenset[str]
    by_uuid: Mapping[str, str]


def datastore(moid: str, values: Mapping[str, object]) -> Datastore:
    """A datastore of the properties `name`, `info`, `summary.type` and `iormConfiguration`."""
    info, control = values.get("info"), values.get("iormConfiguration")
    vmfs = info.get("vmfs") if isinstance(info, dict) else None
    vmfs = vmfs if isinstance(vmfs, dict) else {}
    url = str(info.get("url", "")) if isinstance(info, dict) else ""
    control = control if isinstance(control, dict) else {}
    threshold = control.get("congestionThreshold")
    devices = (extent.get("diskName") for extent in vmfs.get("extent", ()))
    ids = (vmfs.get("uuid"), url.rstrip("/").rpartition("/")[2], moid)
    return Datastore(
        str(values.get("name") or moid),
        str(values.get("summary.type") or vmfs.get("type") or ""),
        tuple(str(device) for device in devices if device),
        tuple(str(one) for one in ids if one),
        control.get("enabled"),
        threshold / 1000 if isinstance(threshold, int) else None,
    )


def items(vm: str, devices: list[Record], below: Below) -> Iterator[SourceEntity | SourceLink]:
    """A virtual machine, its disks and what they lie on."""
    controllers = {device.get("key"): device for device in devices if device.get(TYPE) in CONTROLLERS}
    emulated = ", ".join(" ".join(_called(controller)) for controller in controllers.values())
    yield SourceEntity("vm", vm, vm, {"name": (vm,)}, without_empty({"controllers": emulated}))
    yield SourceLink("runs_on", ("vm", vm), ("host", below.host), "runtime.host")
    for device in devices:
        if device.get(TYPE) == "VirtualDisk":
            yield from _disk(vm, device, controllers.get(device.get("controllerKey"), {}), below)


def _disk(vm: str, disk: Record, controller: Record, below: Below) -> Iterator[SourceEntity | SourceLink]:
    bus, emulated = _called(controller) if controller else (None, None)
    entity = f"{vm}/{bus}:{disk.get('unitNumber')}" if bus else f"{vm}/disk{disk.get('key')}"
    backing = disk.get("backing") or {}
    store = below.datastores.get(str(backing.get("datastore")))
    allocation = disk.get("storageIOAllocation") or {}
    limit = allocation.get("limit")
    attributes: dict[str, Scalar] = {
        "controller_type": emulated,
        "controller": bus,
        "size_bytes": disk.get("capacityInBytes") or (disk.get("capacityInKB") or 0) * 1024 or None,
        "file": backing.get("fileName"),
        "datastore": store.name if store else None,
        "datastore_type": store.kind if store else None,
        "raw_device_mapping": _RDM.get(str(backing.get("compatibilityMode"))),
        "thin": backing.get("thinProvisioned"),
        "limit_ops_per_second": limit if isinstance(limit, int) and limit > 0 else None,
    }
    yield SourceEntity("vdisk", entity, entity, {"name": (entity,)}, without_empty(attributes))
    yield SourceLink("attached_to", ("vdisk", entity), ("vm", vm), "virtual hardware")
    for device, evidence in _devices(backing, store, below):
        yield SourceLink("backed_by", ("vdisk", entity), ("lun", f"{below.host}/{device}"), evidence)


def _called(controller: Record) -> tuple[str, str]:
    """What a controller is called, and what it emulates: scsi1, pvscsi."""
    emulated, prefix = CONTROLLERS[str(controller[TYPE])]
    return f"{prefix}{controller.get('busNumber')}", emulated


def _devices(backing: Record, store: Datastore | None, below: Below) -> Iterator[tuple[str, str]]:
    if uuid := backing.get("lunUuid"):
        if device := below.by_uuid.get(str(uuid)):
            yield device, "raw device mapping"
    elif store is not None:
        for number, device in enumerate(store.devices, start=1):
            if device in below.devices:
                extent = f", extent {number} of {len(store.devices)}" if len(store.devices) > 1 else ""
                yield device, f"VMFS {store.name}{extent}"

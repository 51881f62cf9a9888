"""Virtual machines, their disks, and the LUNs below them. Pure: plain data in, entities and links out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sanpath.model import Scalar
from sanpath.plugin import SourceEntity, SourceLink, json_object
from sanpath_collectors.vsphere.connection.plain import TYPE, Record
from sanpath_collectors.vsphere.properties.adapters import without_empty

CONTROLLERS: Mapping[str, tuple[str, str]] = {
    "ParaVirtualSCSIController": ("pvscsi", "scsi"),
    "VirtualLsiLogicController": ("lsi_logic", "scsi"),
    "VirtualLsiLogicSASController": ("lsi_logic_sas", "scsi"),
    "VirtualBusLogicController": ("bus_logic", "scsi"),
    "VirtualNVMEController": ("nvme", "nvme"),
    "VirtualAHCIController": ("ahci", "sata"),
    "VirtualIDEController": ("ide", "ide"),
}
"""Type of a virtual controller → the emulated controller, and the prefix of its disks in counters."""

_LIMIT_UNIT = 32 * 1024
"""A limit of I/Os a second counts larger ones as several of this size: vSphere API, StorageIOAllocationInfo, and
yellow-bricks.com 2013/09, on the scheduler of vSphere 5.5."""
_RDM = {"physicalMode": "physical", "virtualMode": "virtual"}


@dataclass(frozen=True, slots=True)
class Datastore:
    """A datastore, which contains disks of virtual machines. None: not reported.

    `kind`: VMFS, NFS, vsan, VVOL and so on. `devices`: the LUNs below a VMFS. `ids`: possible names in counters.
    `sioc`: whether Storage I/O Control is on. `threshold_seconds`: latency above which it throttles.
    """

    name: str
    kind: str
    devices: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    sioc: bool | None = None
    threshold_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class HostStorage:
    """The storage on which the disks of the virtual machines on one host can be.

    `datastores`: by managed object id; `devices`: all LUNs of the host; `by_uuid`: SCSI unique id → LUN, for raw
    device mappings.
    """

    host: str
    datastores: Mapping[str, Datastore]
    devices: frozenset[str]
    by_uuid: Mapping[str, str]


def datastore(moid: str, values: Mapping[str, object]) -> Datastore:
    """Return a datastore from the properties `name`, `info`, `summary.type` and `iormConfiguration`."""
    info, control = json_object(values.get("info")), json_object(values.get("iormConfiguration"))
    vmfs, url = json_object(info.get("vmfs")), str(info.get("url", ""))
    threshold = control.get("congestionThreshold")
    devices = (extent.get("diskName") for extent in vmfs.get("extent", ()))
    ids = (vmfs.get("uuid"), url.rstrip("/").rpartition("/")[2], moid)
    return Datastore(
        str(values.get("name") or moid),
        str(values.get("summary.type") or vmfs.get("type") or ""),
        tuple(str(device) for device in devices if device),
        tuple(str(value) for value in ids if value),
        control.get("enabled"),
        threshold / 1000 if isinstance(threshold, int) else None,
    )


def items(vm: str, devices: list[Record], storage: HostStorage) -> Iterator[SourceEntity | SourceLink]:
    """Yield a virtual machine, its disks and the storage below them."""
    controllers = {device.get("key"): device for device in devices if device.get(TYPE) in CONTROLLERS}
    emulated = ", ".join(" ".join(_name_and_type(controller)) for controller in controllers.values())
    yield SourceEntity("vm", vm, vm, {"name": (vm,)}, without_empty({"controllers": emulated}))
    yield SourceLink("runs_on", ("vm", vm), ("host", storage.host), "runtime.host")
    for device in devices:
        if device.get(TYPE) == "VirtualDisk":
            yield from _disk(vm, device, controllers.get(device.get("controllerKey"), {}), storage)


def _disk(vm: str, disk: Record, controller: Record, storage: HostStorage) -> Iterator[SourceEntity | SourceLink]:
    bus, emulated = _name_and_type(controller) if controller else (None, None)
    entity = f"{vm}/{bus}:{disk.get('unitNumber')}" if bus else f"{vm}/disk{disk.get('key')}"
    backing = disk.get("backing") or {}
    store = storage.datastores.get(str(backing.get("datastore")))
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
        "limit_operation_bytes": _LIMIT_UNIT if isinstance(limit, int) and limit > 0 else None,
    }
    yield SourceEntity("vdisk", entity, entity, {"name": (entity,)}, without_empty(attributes))
    yield SourceLink("attached_to", ("vdisk", entity), ("vm", vm), "virtual hardware")
    for device, evidence in _luns(backing, store, storage):
        yield SourceLink("backed_by", ("vdisk", entity), ("lun", f"{storage.host}/{device}"), evidence)


def _name_and_type(controller: Record) -> tuple[str, str]:
    """Return the name of a controller, and the emulated type: scsi1, pvscsi."""
    emulated, prefix = CONTROLLERS[str(controller[TYPE])]
    return f"{prefix}{controller.get('busNumber')}", emulated


def _luns(backing: Record, store: Datastore | None, storage: HostStorage) -> Iterator[tuple[str, str]]:
    """Yield the LUNs below a disk, each with the evidence."""
    if uuid := backing.get("lunUuid"):
        if device := storage.by_uuid.get(str(uuid)):
            yield device, "raw device mapping"
    elif store is not None:
        for number, device in enumerate(store.devices, start=1):
            if device in storage.devices:
                extent = f", extent {number} of {len(store.devices)}" if len(store.devices) > 1 else ""
                yield device, f"VMFS {store.name}{extent}"

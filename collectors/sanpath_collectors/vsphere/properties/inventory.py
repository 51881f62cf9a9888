"""Conversion of a vCenter's or host's properties to entities, links and their names in counters. Pure."""

from __future__ import annotations

import ipaddress
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sanpath.model import Scalar
from sanpath.plugin import CollectorError, Failure, SourceEntity, SourceLink, json_object
from sanpath_collectors.vsphere.connection.plain import Record
from sanpath_collectors.vsphere.connection.session import ManagedObject
from sanpath_collectors.vsphere.properties import adapters, machines, paths
from sanpath_collectors.vsphere.properties.adapters import without_empty
from sanpath_collectors.vsphere.properties.machines import Datastore, HostStorage
from sanpath_collectors.vsphere.properties.paths import HostPath

EVERYTHING: Mapping[str, Sequence[str]] = {
    "HostSystem": ("name", "runtime.connectionState", "runtime.inMaintenanceMode"),
    "VirtualMachine": ("name", "runtime.host", "runtime.powerState", "summary.config.template"),
    "Datastore": ("name", "info", "summary.type", "iormConfiguration"),
}
"""Properties that are read of all objects, in order to select from them."""
STORAGE = (
    "config.storageDevice.hostBusAdapter",
    "config.storageDevice.scsiLun",
    "config.storageDevice.multipathInfo",
    "summary.config.product",
    "summary.hardware",
    "config.vsanHostConfig.clusterInfo",
    "config.storageDevice.nvmeTopology",
    "hardware.systemInfo.qualifiedName",
)
"""Properties that are read of the selected hosts."""
DEVICES = "config.hardware.device"
"""The property that is read of the selected virtual machines."""

NO_HOST = "this account sees no host: grant it the role Read-only at the root, with propagation to its children"

_STORAGE = "config.storageDevice."


@dataclass(slots=True)
class EsxHost:
    """A host. `state`: "connected", or the reason why the host cannot be read or trusted.

    `nvme`: key of an adapter → its record in the NVMe topology. `nqn`: the NVMe name of the host; None: it has none,
    or is older than 7.0.3.
    """

    moid: str
    name: str
    state: str
    adapters: dict[str, Record] = field(default_factory=dict)
    luns: list[Record] = field(default_factory=list)
    units: dict[str, Record] = field(default_factory=dict)
    paths: list[HostPath] = field(default_factory=list)
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    vsan_node: str = ""
    nvme: Mapping[str, Record] = field(default_factory=dict)
    nqn: str | None = None
    _local_ids: dict[tuple[str, str], str | None] = field(default_factory=dict)
    _aliases: dict[str, str] = field(default_factory=dict)
    _datastores: dict[str, str] = field(default_factory=dict)

    def local_id(self, group: str, instance: str) -> str | None:
        """Return the local id of the entity with this instance name in a group of counters; None: unknown."""
        key = (group, instance)
        if key not in self._local_ids:
            self._local_ids[key] = self._find(group, instance)
        return self._local_ids[key]

    def set_counter_names(self, datastores: Iterable[Datastore]) -> None:
        """Store the names of LUNs and paths in counters. A datastore on several LUNs represents none of them."""
        self._aliases = {alias: path.name for path in self.paths for alias in path.aliases}
        self._datastores = {name: ds.devices[0] for ds in datastores if len(ds.devices) == 1 for name in ds.ids}
        names = [str(adapter["device"]) for adapter in self.adapters.values()]
        self._local_ids = {("storageAdapter", name): f"{self.name}/{name}" for name in names}
        self._local_ids |= {("disk", device): f"{self.name}/{device}" for device in self.devices}

    @property
    def storage_is_unread(self) -> bool:
        """Whether its storage has not been read yet, because the host was not connected."""
        return not self.adapters and not self.missing

    @property
    def devices(self) -> frozenset[str]:
        """The names of its LUNs."""
        return frozenset(device for lun in self.luns if (device := paths.canonical(lun)))

    @property
    def wwns(self) -> Mapping[str, tuple[str, ...]]:
        """The port names of the host, by which fabric and arrays identify it."""
        names: dict[str, list[str]] = defaultdict(list)
        for adapter in self.adapters.values():
            for key, values in adapters.join_keys(adapter).items():
                names[key] += values
        if self.nqn is not None:
            names["nqn"] = [self.nqn]
        return {key: tuple(values) for key, values in names.items()}

    def _find(self, group: str, instance: str) -> str | None:
        match group:
            case "cpu":
                return self.name if not instance else None
            case "storagePath":
                name = paths.find(instance, self._aliases)
            case "datastore":
                device = self._datastores.get(instance)
                name = device if device in self.devices else None
            case _:
                name = None
        return None if name is None else f"{self.name}/{name}"


@dataclass(slots=True)
class Machine:
    """A virtual machine. `host`: id of its host; `devices`: its virtual hardware."""

    name: str
    host: str
    devices: list[Record] = field(default_factory=list)

    def local_id(self, group: str, instance: str) -> str | None:
        """Return the local id of the disk with this instance name in counters; None for the sum of all disks."""
        return f"{self.name}/{instance}" if group == "virtualDisk" and ":" in instance else None


@dataclass(slots=True)
class Inventory:
    """The hosts and virtual machines that are read, and the datastores, by their managed object ids."""

    hosts: dict[str, EsxHost]
    machines: dict[str, Machine]
    datastores: dict[str, Datastore]

    @property
    def vsan_nodes(self) -> Mapping[str, str]:
        """Id of a vSAN node → name of the host."""
        return {host.vsan_node: host.name for host in self.hosts.values() if host.vsan_node}

    def require(self, requested_names: Collection[str] | None) -> None:
        """Raise CollectorError if there is no host. `requested_names`: the configured hosts; None: all."""
        if not self.hosts and requested_names is not None:
            message = f"host {' or '.join(requested_names)} not found, or this account may not see it"
            raise CollectorError(Failure.MISCONFIGURED, message)
        if not self.hosts:
            raise CollectorError(Failure.REFUSED, NO_HOST)

    def connected(self) -> list[str]:
        """Return the ids of the hosts that a vCenter can read."""
        return [moid for moid, host in self.hosts.items() if host.state in ("connected", "maintenance")]

    def add_storage(self, hosts: Iterable[ManagedObject]) -> None:
        """Add the storage properties of hosts (`STORAGE`)."""
        for properties in hosts:
            if (host := self.hosts.get(properties.moid)) is not None:
                _fill(host, properties)
                host.set_counter_names(self.datastores.values())

    def add_devices(self, vms: Iterable[ManagedObject]) -> None:
        """Add the hardware of virtual machines (`DEVICES`)."""
        for vm in vms:
            if (machine := self.machines.get(vm.moid)) is not None:
                machine.devices = vm.records(DEVICES)

    def storage_of(self, host: EsxHost) -> HostStorage:
        """Return the storage on which the disks of a host's virtual machines can be."""
        by_uuid = {
            str(lun["uuid"]): device for lun in host.luns if lun.get("uuid") and (device := paths.canonical(lun))
        }
        return HostStorage(host.name, self.datastores, host.devices, by_uuid)

    def items(self) -> Iterator[SourceEntity | SourceLink]:
        """Yield all entities and links."""
        for host in self.hosts.values():
            yield from self.host_items(host)
        for machine in self.machines.values():
            yield from self.machine_items(machine)

    def machine_items(self, machine: Machine) -> Iterator[SourceEntity | SourceLink]:
        """Yield a virtual machine, its disks and the storage below them."""
        if (host := self.hosts.get(machine.host)) is not None:
            yield from machines.items(machine.name, machine.devices, self.storage_of(host))

    def host_items(self, host: EsxHost) -> Iterator[SourceEntity | SourceLink]:
        """Yield a host, its adapters, its LUNs and the paths to them."""
        ids = {"name": (host.name,), **host.wwns}
        yield SourceEntity(
            "host", host.name, host.name, ids, without_empty({"connection_state": host.state, **host.settings})
        )
        for record in host.adapters.values():
            entity = adapters.adapter(host.name, record, host.nqn, host.nvme.get(str(record.get("key")), {}))
            yield entity
            yield SourceLink("attached_to", ("hba", entity.local_id), ("host", host.name), "hostBusAdapter")
        for lun in host.luns:
            if (device := paths.canonical(lun)) is not None:
                host_paths = [path for path in host.paths if path.device == device]
                unit = host.units.get(str(lun.get("key")), {})
                entity = paths.lun(host.name, lun, unit, host_paths, self._stores_on(device))
                yield entity
                yield SourceLink("attached_to", ("lun", entity.local_id), ("host", host.name), "scsiLun")
        for path in host.paths:
            yield from paths.path_items(host.name, path)

    def _stores_on(self, device: str) -> Mapping[str, Scalar]:
        """Return the attributes of a LUN that come from its datastores."""
        stores = [store for store in self.datastores.values() if device in store.devices]
        return {
            "datastore": ", ".join(store.name for store in stores),
            "sioc": next((store.sioc for store in stores if store.sioc is not None), None),
            "sioc_threshold_seconds": next((store.threshold_seconds for store in stores), None),
        }


def select_inventory(
    objects: Sequence[ManagedObject], hosts: Collection[str] | None, vms: Collection[str] | None, default_name: str
) -> Inventory:
    """Select the hosts and running virtual machines to read from all objects (`EVERYTHING`).

    `hosts`, `vms`: names, short or in full; None: all. `default_name`: name of a host called "localhost".
    """
    objects_by_kind: dict[str, list[ManagedObject]] = defaultdict(list)
    for item in objects:
        objects_by_kind[item.kind].append(item)
    names = short_names([host.text("name") for host in objects_by_kind["HostSystem"]])
    names = {name: default_name if short == "localhost" else short for name, short in names.items()}
    esx_hosts = {
        host.moid: EsxHost(host.moid, names[host.text("name")], host_state(host.values))
        for host in objects_by_kind["HostSystem"]
        if hosts is None or {host.text("name"), names[host.text("name")]} & set(hosts)
    }
    running = [
        vm
        for vm in objects_by_kind["VirtualMachine"]
        if _runs(vm, esx_hosts) and (vms is None or vm.text("name") in vms)
    ]
    name_counts = Counter(vm.text("name") for vm in running)
    labels = {
        vm.moid: vm.text("name") if name_counts[vm.text("name")] == 1 else f"{vm.text('name')} ({vm.moid})"
        for vm in running
    }
    return Inventory(
        esx_hosts,
        {vm.moid: Machine(labels[vm.moid], vm.text("runtime.host")) for vm in running},
        {store.moid: machines.datastore(store.moid, store.values) for store in objects_by_kind["Datastore"]},
    )


def host_state(values: Mapping[str, Any]) -> str:
    """Return the state of a host: "maintenance" when it is connected and in that mode.

    >>> host_state({"runtime.connectionState": "connected", "runtime.inMaintenanceMode": True})
    'maintenance'
    """
    state = str(values.get("runtime.connectionState") or "unknown")
    return "maintenance" if state == "connected" and values.get("runtime.inMaintenanceMode") is True else state


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Return the short name of each host, without its domain unless two hosts would have the same name.

    >>> short_names(["esx7.example.com", "10.0.0.7"])
    {'esx7.example.com': 'esx7', '10.0.0.7': '10.0.0.7'}
    """
    short = {name: name if _is_address(name) else name.partition(".")[0] for name in names}
    name_counts = Counter(short.values())
    return {name: label if name_counts[label] == 1 else name for name, label in short.items()}


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _runs(vm: ManagedObject, hosts: Collection[str]) -> bool:
    return (
        vm.text("runtime.powerState") == "poweredOn"
        and vm.text("runtime.host") in hosts
        and vm.values.get("summary.config.template") is not True
    )


def _fill(host: EsxHost, properties: ManagedObject) -> None:
    multipath = json_object(properties.values.get(f"{_STORAGE}multipathInfo"))
    host.adapters = adapters.index_by_key(properties.records(f"{_STORAGE}hostBusAdapter"))
    host.luns = properties.records(f"{_STORAGE}scsiLun")
    host.units = {str(unit.get("lun")): unit for unit in multipath.get("lun", ())}
    host.paths = paths.paths(multipath, host.luns, host.adapters)
    host.missing = properties.missing
    product, hardware, vsan = (json_object(properties.values.get(name)) for name in STORAGE[3:6])
    host.nqn = adapters.host_nqn(properties.records("hardware.systemInfo.qualifiedName"))
    host.nvme = adapters.index_by_adapter(json_object(properties.values.get(f"{_STORAGE}nvmeTopology")))
    host.vsan_node = str(vsan.get("nodeUuid", ""))
    host.settings = {
        "os": product.get("fullName"),
        "os_version": product.get("version"),
        "os_build": product.get("build"),
        "vendor": hardware.get("vendor"),
        "model": hardware.get("model"),
        "cores": hardware.get("numCpuCores"),
        "threads": hardware.get("numCpuThreads"),
        "memory_bytes": hardware.get("memorySize"),
    }

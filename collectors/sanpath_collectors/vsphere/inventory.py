"""What a vCenter or host tells of itself → things, links, and what counters call them. Pure: plain data in."""

from __future__ import annotations

import ipaddress
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sanpath.model import Scalar
from sanpath.plugin import CollectorError, Failure, SourceEntity, SourceLink
from sanpath_collectors.vsphere import adapters, machines, paths
from sanpath_collectors.vsphere.adapters import told
from sanpath_collectors.vsphere.machines import Below, Datastore
from sanpath_collectors.vsphere.paths import HostPath
from sanpath_collectors.vsphere.plain import Record
from sanpath_collectors.vsphere.session import Found

EVERYTHING: Mapping[str, Sequence[str]] = {
    "HostSystem": ("name", "runtime.connectionState", "runtime.inMaintenanceMode"),
    "VirtualMachine": ("name", "runtime.host", "runtime.powerState", "summary.config.template"),
    "Datastore": ("name", "info", "summary.type", "iormConfiguration"),
}
"""What is asked of everything there is, to choose from."""
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
"""What is asked of the hosts that were chosen."""
DEVICES = "config.hardware.device"
"""What is asked of the virtual machines that were chosen."""

NO_HOST = "no host is seen: grant the role Read-only at the root, with propagation to its children"

_STORAGE = "config.storageDevice."


@dataclass(slots=True)
class EsxHost:
    """A host. `state`: what it is called when it can not be read, or not trusted; "connected" otherwise. `nvme`: key
    of an adapter → what NVMe says of it; `nqn`: the NVMe name of the host, None: it has none, or is older than 7.0.3.
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
    _known: dict[tuple[str, str], str | None] = field(default_factory=dict)
    _aliases: dict[str, str] = field(default_factory=dict)
    _datastores: dict[str, str] = field(default_factory=dict)

    def local_id(self, group: str, instance: str) -> str | None:
        """The thing that counters of a group call so; None: it is not known."""
        key = (group, instance)
        if key not in self._known:
            self._known[key] = self._find(group, instance)
        return self._known[key]

    def learn(self, datastores: Iterable[Datastore]) -> None:
        """What counters may call the LUNs and paths. A datastore on several LUNs is none of them."""
        self._aliases = {alias: way.name for way in self.paths for alias in way.aliases}
        self._datastores = {one: ds.devices[0] for ds in datastores if len(ds.devices) == 1 for one in ds.ids}
        names = [str(one["device"]) for one in self.adapters.values()]
        self._known = {("storageAdapter", name): f"{self.name}/{name}" for name in names}
        self._known |= {("disk", device): f"{self.name}/{device}" for device in self.devices}

    @property
    def unread(self) -> bool:
        """Whether its storage has not been told yet: it was away."""
        return not self.adapters and not self.missing

    @property
    def devices(self) -> frozenset[str]:
        """Its LUNs."""
        return frozenset(device for lun in self.luns if (device := paths.canonical(lun)))

    @property
    def wwns(self) -> Mapping[str, tuple[str, ...]]:
        """What fabric and arrays know the host by: the names of its ports."""
        found: dict[str, list[str]] = defaultdict(list)
        for one in self.adapters.values():
            for key, values in adapters.keys(one).items():
                found[key] += values
        if self.nqn is not None:
            found["nqn"] = [self.nqn]
        return {key: tuple(values) for key, values in found.items()}

    def _find(self, group: str, instance: str) -> str | None:
        match group:
            case "cpu":
                return self.name if not instance else None
            case "storagePath":
                found = paths.find(instance, self._aliases)
            case "datastore":
                found = self._datastores.get(instance)
                found = found if found in self.devices else None
            case _:
                found = None
        return None if found is None else f"{self.name}/{found}"


@dataclass(slots=True)
class Machine:
    """A virtual machine. `host`: id of the one it runs on; `devices`: its virtual hardware."""

    moid: str
    name: str
    host: str
    devices: list[Record] = field(default_factory=list)

    def local_id(self, group: str, instance: str) -> str | None:
        """Its disk that counters call so; the sum of all disks is none."""
        return f"{self.name}/{instance}" if group == "virtualDisk" and ":" in instance else None


@dataclass(slots=True)
class Inventory:
    """The hosts and virtual machines that are read, and the datastores, by their managed object ids."""

    hosts: dict[str, EsxHost]
    machines: dict[str, Machine]
    datastores: dict[str, Datastore]

    @property
    def vsan_nodes(self) -> Mapping[str, str]:
        """Id of a node of vSAN → the host that it is."""
        return {host.vsan_node: host.name for host in self.hosts.values() if host.vsan_node}

    def require(self, named: Collection[str] | None) -> None:
        """Raise CollectorError when there is no host. `named`: those that were asked for; None: all."""
        if not self.hosts and named is not None:
            message = f"there is no host {' or '.join(named)}, or this account does not see it"
            raise CollectorError(Failure.MISCONFIGURED, message)
        if not self.hosts:
            raise CollectorError(Failure.REFUSED, NO_HOST)

    def connected(self) -> list[str]:
        """Ids of the hosts that a vCenter can read."""
        return [moid for moid, host in self.hosts.items() if host.state in ("connected", "maintenance")]

    def add_storage(self, found: Iterable[Found]) -> None:
        """What hosts told of their storage (`STORAGE`)."""
        for one in found:
            if one.moid in self.hosts:
                _fill(self.hosts[one.moid], one)
                self.hosts[one.moid].learn(self.datastores.values())

    def add_devices(self, found: Iterable[Found]) -> None:
        """What virtual machines told of their hardware (`DEVICES`)."""
        for one in found:
            if one.moid in self.machines:
                self.machines[one.moid].devices = one.records(DEVICES)

    def below(self, host: EsxHost) -> Below:
        """What the disks of its virtual machines can lie on."""
        by_uuid = {
            str(lun["uuid"]): device for lun in host.luns if lun.get("uuid") and (device := paths.canonical(lun))
        }
        return Below(host.name, self.datastores, host.devices, by_uuid)

    def items(self) -> Iterator[SourceEntity | SourceLink]:
        """Everything, and how it hangs together."""
        for host in self.hosts.values():
            yield from self.of_host(host)
        for machine in self.machines.values():
            yield from self.of_machine(machine)

    def of_machine(self, machine: Machine) -> Iterator[SourceEntity | SourceLink]:
        """A virtual machine, its disks and what they lie on."""
        if (owner := self.hosts.get(machine.host)) is not None:
            yield from machines.items(machine.name, machine.devices, self.below(owner))

    def of_host(self, host: EsxHost) -> Iterator[SourceEntity | SourceLink]:
        """A host, its adapters, its LUNs and the paths to them."""
        ids = {"name": (host.name,), **host.wwns}
        yield SourceEntity("host", host.name, host.name, ids, told({"connection_state": host.state, **host.settings}))
        for one in host.adapters.values():
            thing = adapters.adapter(host.name, one, host.nqn, host.nvme.get(str(one.get("key")), {}))
            yield thing
            yield SourceLink("attached_to", ("hba", thing.local_id), ("host", host.name), "hostBusAdapter")
        for lun in host.luns:
            if (device := paths.canonical(lun)) is not None:
                ways = [way for way in host.paths if way.device == device]
                unit = host.units.get(str(lun.get("key")), {})
                thing = paths.lun(host.name, lun, unit, ways, self._on(device))
                yield thing
                yield SourceLink("attached_to", ("lun", thing.local_id), ("host", host.name), "scsiLun")
        for way in host.paths:
            yield from paths.path_items(host.name, way)

    def _on(self, device: str) -> Mapping[str, Scalar]:
        """The datastores on a LUN."""
        here = [store for store in self.datastores.values() if device in store.devices]
        return {
            "datastore": ", ".join(store.name for store in here),
            "sioc": next((store.sioc for store in here if store.sioc is not None), None),
            "sioc_threshold_seconds": next((store.threshold_seconds for store in here), None),
        }


def chosen(
    found: Sequence[Found], hosts: Collection[str] | None, vms: Collection[str] | None, called: str
) -> Inventory:
    """The hosts and running virtual machines to read, of everything there is (`EVERYTHING`).

    `hosts`, `vms`: names, short or in full; None: all. `called`: what people call a host that has no name of its own.
    """
    of: dict[str, list[Found]] = defaultdict(list)
    for one in found:
        of[one.kind].append(one)
    names = short_names([host.text("name") for host in of["HostSystem"]])
    names = {name: called if short == "localhost" else short for name, short in names.items()}
    own = {
        one.moid: EsxHost(one.moid, names[one.text("name")], host_state(one.values))
        for one in of["HostSystem"]
        if hosts is None or {one.text("name"), names[one.text("name")]} & set(hosts)
    }
    running = [one for one in of["VirtualMachine"] if _runs(one, own) and (vms is None or one.text("name") in vms)]
    many = Counter(one.text("name") for one in running)
    labels = {
        one.moid: one.text("name") if many[one.text("name")] == 1 else f"{one.text('name')} ({one.moid})"
        for one in running
    }
    return Inventory(
        own,
        {one.moid: Machine(one.moid, labels[one.moid], one.text("runtime.host")) for one in running},
        {one.moid: machines.datastore(one.moid, one.values) for one in of["Datastore"]},
    )


def host_state(values: Mapping[str, Any]) -> str:
    """What a host's state is called: maintenance when it is connected and in that mode.

    >>> host_state({"runtime.connectionState": "connected", "runtime.inMaintenanceMode": True})
    'maintenance'
    """
    state = str(values.get("runtime.connectionState") or "unknown")
    return "maintenance" if state == "connected" and values.get("runtime.inMaintenanceMode") is True else state


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Name → what people call the host: without its domain, unless two would have the same name then.

    >>> short_names(["esx7.example.com", "10.0.0.7"])
    {'esx7.example.com': 'esx7', '10.0.0.7': '10.0.0.7'}
    """
    short = {name: name if _is_address(name) else name.partition(".")[0] for name in names}
    many = Counter(short.values())
    return {name: called if many[called] == 1 else name for name, called in short.items()}


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _runs(vm: Found, hosts: Collection[str]) -> bool:
    return (
        vm.text("runtime.powerState") == "poweredOn"
        and vm.text("runtime.host") in hosts
        and vm.values.get("summary.config.template") is not True
    )


def _fill(host: EsxHost, said: Found) -> None:
    multipath = said.values.get(f"{_STORAGE}multipathInfo")
    multipath = multipath if isinstance(multipath, dict) else {}
    host.adapters = adapters.by_key(said.records(f"{_STORAGE}hostBusAdapter"))
    host.luns = said.records(f"{_STORAGE}scsiLun")
    host.units = {str(unit.get("lun")): unit for unit in multipath.get("lun", ())}
    host.paths = paths.paths(multipath, host.luns, host.adapters)
    host.missing = said.missing
    product, hardware, vsan = (_record(said, name) for name in STORAGE[3:6])
    host.nqn = adapters.host_nqn(said.records("hardware.systemInfo.qualifiedName"))
    host.nvme = adapters.by_adapter(_record(said, f"{_STORAGE}nvmeTopology"))
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


def _record(said: Found, name: str) -> Record:
    value = said.values.get(name)
    return value if isinstance(value, dict) else {}

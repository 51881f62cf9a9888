"""One machine in a log of Windows' counters: disks, processors, network interfaces and cluster storage."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from sanpath.plugin import SourceEntity, SourceLink, Table
from sanpath_collectors.perfmon import objects, tables
from sanpath_collectors.perfmon.plan import Counters, Instances, MetricSource, Plan

_BUSY = "% processor time"
_VIRTUAL_INTERFACE = re.compile(r"isatap|teredo|6to4|loopback|multiplexor|hyper-v virtual|^_total$", re.IGNORECASE)
"""Names of interfaces that are not ports: tunnels, and teams and virtual switches that use ports."""
_Item = SourceEntity | SourceLink


class Machine:
    """Adds the entities and series of one machine to a plan. `objects_by_name`: object → its instances."""

    def __init__(self, plan: Plan, name: str, objects_by_name: Mapping[str, Instances]) -> None:
        self._plan, self._name, self._objects = plan, name, objects_by_name

    def add(self) -> list[str]:
        """Add everything to the plan. Returns the missing counters that a diagnosis needs."""
        host = SourceEntity("host", self._name, self._name, {"name": (self._name,)}, {"os": "Windows"})
        self._plan.items.append((host,))
        self._add_processors()
        self._add_network()
        volumes, disks = self._add_cluster(), self._add_disks()
        if volumes and not disks:  # A cluster node is judged by its volumes.
            return []
        metrics = {
            use.metric for use in objects.DISK for names in disks.values() if set(use.counters) <= names.keys()
        }
        return [name for metric, name in objects.REQUIRED_COUNTERS.items() if metric not in metrics]

    def _add_disks(self) -> dict[str, Counters]:
        for object_name, is_total in (
            ("physicaldisk", False),
            ("logicaldisk", False),
            ("physicaldisk", True),
            ("logicaldisk", True),
        ):
            if instances := self._instances(object_name, is_total):
                break
        else:
            return {}
        if object_name == "logicaldisk":
            self._warn(
                "logical-disks",
                "no PhysicalDisk counters: LogicalDisk is used instead, which counts above the volume manager",
            )
        if is_total:
            self._warn("only-total", "only the sum of all disks (_Total): they are shown as one")
        disks: dict[str, Counters] = {}
        for instance, counters in instances.items():
            disks.setdefault(f"{self._name}/{_parse_disk_name(instance, is_total)[0]}", counters)
        self._plan.items.append(self._disk_items(instances, is_total, disks))
        self._plan.add_series(tables.DISK, objects.DISK, disks)
        return disks

    def _disk_items(self, instances: Instances, is_total: bool, disks: Mapping[str, Counters]) -> Iterator[_Item]:
        for instance, counters in instances.items():
            device, drives = _parse_disk_name(instance, is_total)
            entity = f"{self._name}/{device}"
            if disks[entity] is counters:  # A disk may have several instances with different drives.
                attributes = {"drives": drives} if drives else {}
                yield SourceEntity("lun", entity, entity, {"device": (device,)}, attributes)
                yield self._link("attached_to", "lun", entity, instance)

    def _add_processors(self) -> None:
        host_counters: Counters = dict(self._objects.get("system", {}).get("", {}))
        for object_name in ("processor information", "processor"):
            cores = self._instances(object_name).values()
            totals = self._instances(object_name, is_total=True)
            # Each NUMA node also has its own total, such as "0,_Total".
            total = next((counters for name, counters in totals.items() if name.casefold() == "_total"), {})
            core_loads = [counters[_BUSY] for counters in cores if _BUSY in counters]
            interrupts = [counters["interrupts/sec"] for counters in cores if "interrupts/sec" in counters]
            host_counters |= self._plan.add_cores(core_loads, total.get(_BUSY))
            if "interrupts/sec" in total:
                host_counters["interrupts/sec"] = total["interrupts/sec"]
            elif interrupts:
                host_counters["interrupts/sec"] = self._plan.add_derived(sum, interrupts)
            if "busy" in host_counters:
                break
        self._plan.add_series(tables.HOST, objects.HOST, {self._name: host_counters})

    def _add_network(self) -> None:
        interfaces = {
            f"{self._name}/{name}": counters
            for name, counters in self._instances("network interface").items()
            if not _VIRTUAL_INTERFACE.search(name)
        }
        self._plan.items.append(item for entity in interfaces for item in self._interface_items(entity))
        self._plan.add_series(tables.HBA, objects.NETWORK, interfaces)

    def _interface_items(self, entity: str) -> Iterator[_Item]:
        yield SourceEntity("hba", entity, entity, {"name": (entity,)}, {"technology": "ethernet"})
        yield self._link("attached_to", "hba", entity, "Network Interface")

    def _add_cluster(self) -> bool:
        instances = self._instances("cluster csvfs")
        volumes = {f"{self._name}/CSV {name}": counters for name, counters in instances.items()}
        self._plan.items.append(item for name in instances for item in self._volume_items(name))
        self._plan.add_series(tables.CLUSTER_VOLUME, objects.CLUSTER_VOLUME, volumes)
        node = SourceEntity("cluster_node", self._name, self._name, {"name": (self._name,)})
        node_counters: Counters = {}
        for object_name in ("cluster disk counters", "smb direct connection"):
            for counters in self._instances(object_name, is_total=True).values():
                node_counters |= counters
        media = [
            ("hybrid disk", "cluster storage hybrid disks", objects.HYBRID_DISK),
            ("cache store", "cluster storage cache stores", objects.CACHE_STORE),
        ]
        if any(self._instances(object_name) for _, object_name, _ in media) or node_counters:
            self._plan.items.append((node,))
        self._plan.add_series(tables.CLUSTER_NODE, objects.CLUSTER_NODE, {self._name: node_counters})
        for label, object_name, uses in media:
            self._add_devices("media", label, self._instances(object_name), tables.MEDIA, uses)
        self._add_devices("hba", "RDMA", self._instances("rdma activity"), tables.HBA, objects.RDMA)
        return bool(volumes)

    def _volume_items(self, name: str) -> Iterator[_Item]:
        entity = f"{self._name}/CSV {name}"
        yield SourceEntity("lun", entity, entity, {"device": (f"CSV {name}",)})
        yield self._link("attached_to", "lun", entity, f"CSVFS {name}")

    def _add_devices(
        self, kind: str, label: str, instances: Instances, table: Table, uses: Sequence[MetricSource]
    ) -> None:
        entities = {f"{self._name}/{label} {instance}": counters for instance, counters in instances.items()}
        self._plan.items.append(item for entity in entities for item in self._device_items(kind, label, entity))
        self._plan.add_series(table, uses, entities)

    def _device_items(self, kind: str, label: str, entity: str) -> Iterator[_Item]:
        yield SourceEntity(kind, entity, entity, {"name": (entity,)})
        yield self._link("attached_to" if kind == "hba" else "member_of", kind, entity, label)

    def _instances(self, object_name: str, is_total: bool = False) -> Instances:
        """Return the instances of an object: single ones, or totals of others (`is_total`)."""
        instances = self._objects.get(object_name, {})
        return {name: counters for name, counters in instances.items() if ("_total" in name.casefold()) == is_total}

    def _link(self, relation: str, kind: str, entity: str, evidence: str) -> SourceLink:
        parent_kind = "cluster_node" if kind == "media" else "host"
        return SourceLink(relation, (kind, entity), (parent_kind, self._name), evidence)

    def _warn(self, code: str, text: str) -> None:
        self._plan.warnings.append((code, f"{self._name}: {text}"))


def _parse_disk_name(instance: str, is_total: bool) -> tuple[str, str]:
    """Return name and drives of a disk: "0 C: D:" is disk 0 with two drives. A LogicalDisk has the name of its
    drive."""
    if is_total:
        return "all disks", ""
    name = re.sub(r"\b[a-z]:", lambda drive: drive[0].upper(), instance.strip())
    match = re.fullmatch(r"(\d{1,6})(?:\s+(.*))?", name)
    return (f"PhysicalDisk{int(match[1])}", match[2] or "") if match else (name, "")

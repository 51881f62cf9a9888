"""One machine in a log of Windows' counters: its disks, its processors, its part in a cluster."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sanpath.plugin import SourceEntity, SourceLink, Table
from sanpath_collectors.perfmon import objects, tables
from sanpath_collectors.perfmon.plan import Counters, Instances, Plan, Use

_BUSY = "% processor time"


class Machine:
    """Adds to a plan what is known of one machine. `found`: object → what there is of it."""

    def __init__(self, plan: Plan, name: str, found: Mapping[str, Instances]) -> None:
        self._plan, self._name, self._found = plan, name, found

    def add(self) -> list[str]:
        """Plan all of it. Returns which counters are missing for a diagnosis."""
        self._plan.items.append(
            SourceEntity("host", self._name, self._name, {"name": (self._name,)}, {"os": "Windows"})
        )
        self._processors()
        volumes, disks = self._cluster(), self._disks()
        told = {use.metric for use in objects.DISK for of in disks.values() if set(use.counters) <= of.keys()}
        # A node of a cluster is judged by its volumes.
        return (
            [] if volumes and not disks else [name for metric, name in objects.NEEDED.items() if metric not in told]
        )

    def _disks(self) -> dict[str, Counters]:
        for object_name, of_all in (
            ("physicaldisk", False),
            ("logicaldisk", False),
            ("physicaldisk", True),
            ("logicaldisk", True),
        ):
            if instances := self._instances(object_name, of_all):
                break
        else:
            return {}
        if object_name == "logicaldisk":
            self._warn("logical-disks", "no PhysicalDisk: LogicalDisk stands for it, above the volume manager")
        if of_all:
            self._warn("only-total", "only the sum of all disks (_Total): they are shown as one")
        disks: dict[str, Counters] = {}
        for instance, counters in instances.items():
            device, drives = ("all disks", "") if of_all else _device(instance)
            entity = f"{self._name}/{device}"
            if entity not in disks:
                disks[entity] = counters
                told = {"drives": drives} if drives else {}
                self._add(SourceEntity("lun", entity, entity, {"device": (device,)}, told), instance, "attached_to")
        self._plan.tell(tables.DISK, objects.DISK, disks)
        return disks

    def _processors(self) -> None:
        told: Counters = dict(self._found.get("system", {}).get("", {}))
        for object_name in ("processor information", "processor"):
            cores = self._instances(object_name).values()
            total = next(iter(self._instances(object_name, of_all=True).values()), {})
            each = [counters[_BUSY] for counters in cores if _BUSY in counters]
            interrupts = [counters["interrupts/sec"] for counters in cores if "interrupts/sec" in counters]
            told |= self._plan.cores(each, total.get(_BUSY))
            if "interrupts/sec" in total:
                told["interrupts/sec"] = total["interrupts/sec"]
            elif interrupts:
                told["interrupts/sec"] = self._plan.derived(sum, interrupts)
            if "busy" in told:
                break
        self._plan.tell(tables.HOST, objects.HOST, {self._name: told})

    def _cluster(self) -> bool:
        volumes = {f"{self._name}/CSV {name}": (name, of) for name, of in self._instances("cluster csvfs").items()}
        for entity, (name, _) in volumes.items():
            self._add(
                SourceEntity("lun", entity, entity, {"device": (f"CSV {name}",)}), f"CSVFS {name}", "attached_to"
            )
        self._plan.tell(tables.CLUSTER_VOLUME, objects.CLUSTER_VOLUME, {e: of for e, (_, of) in volumes.items()})
        node = SourceEntity("cluster_node", self._name, self._name, {"name": (self._name,)})
        parts: Counters = {}
        for object_name in ("cluster disk counters", "smb direct connection"):
            for counters in self._instances(object_name, of_all=True).values():
                parts |= counters
        media = [
            ("hybrid disk", "cluster storage hybrid disks", objects.HYBRID_DISK),
            ("cache store", "cluster storage cache stores", objects.CACHE_STORE),
        ]
        if any(self._instances(object_name) for _, object_name, _ in media) or parts:
            self._plan.items.append(node)
        self._plan.tell(tables.CLUSTER_NODE, objects.CLUSTER_NODE, {self._name: parts})
        for what, object_name, uses in media:
            self._devices("media", what, self._instances(object_name), tables.MEDIA, uses)
        self._devices("hba", "RDMA", self._instances("rdma activity"), tables.HBA, objects.RDMA)
        return bool(volumes)

    def _devices(self, kind: str, what: str, instances: Instances, table: Table, uses: Sequence[Use]) -> None:
        relation = "attached_to" if kind == "hba" else "member_of"
        entities = {f"{self._name}/{what} {instance}": counters for instance, counters in instances.items()}
        for entity in entities:
            self._add(SourceEntity(kind, entity, entity, {"name": (entity,)}), what, relation)
        self._plan.tell(table, uses, entities)

    def _instances(self, object_name: str, of_all: bool = False) -> Instances:
        """Those of an object, or those that are the sum of others: they are never added to the rest."""
        found = self._found.get(object_name, {})
        return {name: counters for name, counters in found.items() if ("_total" in name.casefold()) == of_all}

    def _add(self, thing: SourceEntity, evidence: str, relation: str) -> None:
        other = "cluster_node" if thing.kind == "media" else "host"
        self._plan.items += [thing, SourceLink(relation, (thing.kind, thing.local_id), (other, self._name), evidence)]

    def _warn(self, code: str, text: str) -> None:
        self._plan.warnings.append((code, f"{self._name}: {text}"))


def _device(instance: str) -> tuple[str, str]:
    """Name of a disk, and the drives on it: "0 C: D:" is disk 0; a LogicalDisk is called by its drive."""
    name = re.sub(r"\b[a-z]:", lambda drive: drive[0].upper(), instance.strip())
    match = re.fullmatch(r"(\d{1,6})(?:\s+(.*))?", name)
    return (f"PhysicalDisk{int(match[1])}", match[2] or "") if match else (name, "")

"""The settings of all entities that the test uses: to compare two runs, and to change settings in a what-if. They
include settings that sources report (policy, queue depth, firmware), and measured ones from the step of the verdict:
the speed of links and the depth of queues, which inventories often lack.
"""

from __future__ import annotations

from collections.abc import Iterator

from sanpath.diagnosis.model import Setting
from sanpath.facts.facts import Facts
from sanpath.facts.host.virtual_disks import QUEUES
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.storage.load_volumes import volumes_of
from sanpath.model import Scalar
from sanpath.topology.paths import Cable, cables, io_paths, luns_of, switch_of

_NO_SETTINGS = ("load", "path")
"""Kinds whose attributes differ with every test."""
_AS_SPEED = ("speed_bits_per_second",)
"""Attributes that are listed as `speed`, for the links that the test could use."""
_MEASURED = (
    ("device", "queue_depth", "queue_depth"),
    ("multipath", "policy", "path_policy"),
    ("multipath", "switch_operations", "path_switch_operations"),
    ("multipath", "usable_paths", "usable_paths"),
    ("virtual_disk", "queue_depth", "queue_depth"),
    ("virtual_disk", "limit_ops_per_second", "limit_ops_per_second"),
)


def configuration(facts: Facts, load: LoadFacts | None) -> tuple[Setting, ...]:
    """Settings of all entities that the test of `load` uses. Empty: `load` is None, because no step was judged."""
    if load is None:
        return ()
    values: dict[tuple[str, str], Scalar] = {}
    for entity in _under_test(facts, load):
        known = facts.topology.entities[entity]
        if known.kind not in _NO_SETTINGS:
            values |= {(entity, name): value for name, value in known.attributes.items() if name not in _AS_SPEED}
    for row in facts.tables["link"].select(step=load.step, direction=load.direction):
        if row["on_loaded_path"] is not False and row["speed"]:
            values[str(row["near_port"]), "speed"] = str(row["speed"])
    for table, fact, setting in _MEASURED:
        for row in facts.tables[table].select(step=load.step):
            if row[fact] is not None:
                values[str(row["entity"]), setting] = row[fact]
    settings = [(entity, name, value) for (entity, name), value in sorted(values.items()) if value is not None]
    return tuple(Setting(entity, name, value) for entity, name, value in settings)


def cables_by_port(facts: Facts, load: LoadFacts) -> dict[str, list[Cable]]:
    """Port → the cables that end there, for ports of devices and of the switches between them."""
    paths = io_paths(facts.topology, *load.roots)
    cables_by_id = {c.id: c for c in (*cables(facts.topology), *(cable for path in paths for cable in path.cables))}
    by_port: dict[str, list[Cable]] = {}
    for cable in cables_by_id.values():
        for end in (cable.switch_port, cable.device):
            by_port.setdefault(end, []).append(cable)
    return by_port


def controller_depth(controller: str) -> float | None:
    """Number of I/Os that a guest's driver sends to a disk of a virtual controller at once. None: unknown."""
    queue, _ = QUEUES.get(controller, (None, None))
    return None if queue is None else float(queue)


def _under_test(facts: Facts, load: LoadFacts) -> list[str]:
    """The machines, initiators, switch ports, switches, target ports, arrays, volumes, LUNs and virtual disks in
    use."""
    topology = facts.topology
    entities: dict[str, None] = {}
    for path in io_paths(topology, *load.roots):
        used = [end for cable in path.cables for end in (cable.switch_port, cable.device)]
        switches = [switch for port in used if (switch := switch_of(topology, port)) is not None]
        entities |= dict.fromkeys((path.host, path.hba, *used, *switches, path.array_port, path.array))
    volumes = sorted(volumes_of(topology, load, facts.tables))
    entities |= dict.fromkeys(volumes)
    entities |= dict.fromkeys(array for volume in volumes for array in topology.related(volume, "member_of", "array"))
    entities |= dict.fromkeys(machine for root in load.roots for machine in topology.related(root, "runs_on"))
    entities |= dict.fromkeys(_virtual_disks(facts, load))
    for table in ("device", "multipath", "virtual_disk", "host"):
        entities |= dict.fromkeys(str(row["entity"]) for row in facts.tables[table].select(step=load.step))
    return [entity for entity in entities if entity in topology.entities]


def _virtual_disks(facts: Facts, load: LoadFacts) -> Iterator[str]:
    """Virtual disks on the LUNs that the load addresses. Their adapter is part of the test even if no source counts
    them."""
    topology = facts.topology
    luns = {lun for root in load.roots for lun in luns_of(topology, root)}
    for root in load.roots:
        for machine in topology.related(root, "runs_on"):
            disks = topology.related(machine, "attached_to", "vdisk")
            yield from (disk for disk in disks if not luns.isdisjoint(topology.related(disk, "backed_by", "lun")))

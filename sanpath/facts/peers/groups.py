"""Finds groups of peers: OSDs of a cluster, paths to a LUN, drives of a host, nodes, disks of a pool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sanpath.facts.host.tested_machines import UnderTest, as_number, as_text
from sanpath.model import Entity, Scalar
from sanpath.topology.topology import Topology

_MODEL = ("vendor", "model", "rotational", "size_bytes", "kind")
"""Attributes in which block devices of one kind agree."""
_MAX_MEMBERS = 256
"""Largest group that is compared in full; of a larger one, only the first members are."""


@dataclass(frozen=True, slots=True)
class Group:
    """Peers of one kind. `of`: what they belong to. `members`: peer → the entity whose samples describe it."""

    kind: str
    of: str
    members: Mapping[str, str]


def groups(topology: Topology, steps: Sequence[UnderTest]) -> list[Group]:
    """Return every group with at least two members, those of one kind together."""
    devices = dict.fromkeys(lun for step in steps for lun in step.devices)
    keyed: dict[tuple[Scalar, ...], dict[str, str]] = {}
    for key, member, counted in (
        *_parts(topology, "controller", "array", ("mode", "model")),
        *_parts(topology, "cluster_node", "media", ("cache_mode",)),
        *_parts(topology, "media", "media", ("type",)),
        *_paths(topology, list(devices)),
        *_devices(topology, list(devices)),
    ):
        keyed.setdefault(key, {})[member] = counted
    return [
        Group(str(kind), str(of), dict(sorted(members.items())[:_MAX_MEMBERS]))
        for (kind, of, *_), members in keyed.items()
        if len(members) > 1
    ]


_Keyed = tuple[tuple[Scalar, ...], str, str]
"""(kind, what it belongs to, and the values in which peers agree), the peer, and the entity whose samples describe
it."""


def _parts(topology: Topology, kind: str, whole: str, attributes: Sequence[str]) -> Iterator[_Keyed]:
    """Yield the parts of a whole. Nodes and disks whose whole is not known count as parts of the same one."""
    for entity in topology.of_kind(kind):
        wholes = topology.related(entity.id, "member_of", whole)
        if kind == "media":  # A pool is not a peer of its disks; for a disk, the node may be known instead.
            wholes = wholes or topology.related(entity.id, "member_of", "cluster_node")
        of = topology.entities[wholes[0]].label if wholes else ""
        yield (kind, of, *_values(entity, attributes)), entity.id, entity.id


def _paths(topology: Topology, devices: Sequence[str]) -> Iterator[_Keyed]:
    """Yield the paths to a LUN; paths in different states or of different speeds are not peers."""
    for lun in devices:
        for path in topology.related(lun, "member_of", "path"):
            entity = topology.entities[path]
            known_as = [
                topology.known_as.get((source, "lun", str(entity.attributes.get("device"))))
                for source, _ in entity.known_as
            ]
            counted = next((device for device in known_as if device is not None), path)
            state = str(entity.attributes.get("state") or "").lower()
            ends = [*topology.related(path, "attached_to", "hba"), *topology.related(path, "targets", "array_port")]
            speeds = [as_number(topology.entities[end].attributes.get("speed_bits_per_second")) for end in ends]
            slowest = min((speed for speed in speeds if speed is not None), default=None)
            yield ("path", topology.entities[lun].label, state, slowest), path, counted


def _devices(topology: Topology, devices: Sequence[str]) -> Iterator[_Keyed]:
    """Yield the block devices of a host that the load uses: drives by their model, multipath maps by their size, and
    others that are parts of one device, which spreads its I/O over them."""
    for lun in devices:
        entity = topology.entities[lun]
        hosts = topology.related(lun, "attached_to", "host")
        if not hosts:
            continue
        if as_text(entity.attributes.get("model")) or as_number(entity.attributes.get("paths")):
            yield ("lun", topology.entities[hosts[0]].label, *_values(entity, _MODEL)), lun, lun
        elif uppers := topology.uppers(lun, "lun"):
            yield ("lun", topology.entities[uppers[0]].label), lun, lun


def _values(entity: Entity, names: Sequence[str]) -> list[Scalar]:
    return [entity.attributes.get(name) for name in names]

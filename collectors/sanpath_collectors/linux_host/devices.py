"""The block devices of a host: identifiers, settings, and how their paths are used. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sanpath.plugin import SourceEntity
from sanpath_collectors.linux_host import multipath, parse
from sanpath_collectors.linux_host.multipath import Group
from sanpath_collectors.linux_host.paths import HIDDEN_NVME, HostPath, is_map, lun_of, usable
from sanpath_collectors.linux_host.snapshot import Snapshot


def wwid(host: Snapshot, device: str) -> str:
    """The device's own identifier, "" where it has none."""
    places = (f"/sys/block/{device}/{place}" for place in ("dm/uuid", "device/wwid", "wwid"))
    return next((found for place in places if (found := host.text(place))), "")


def below(host: Snapshot, device: str, known: Collection[str]) -> list[str]:
    """Devices that a map lies on, the disk in place of its partition."""
    disks = [parse.disk_of(slave, known) for slave in host.children(f"/sys/block/{device}/slaves")]
    return [disk for disk in dict.fromkeys(disks) if disk in known]


def lun(
    host: Snapshot, owner: str, name: str, states: Mapping[HostPath, str], groups: Sequence[Group]
) -> SourceEntity:
    """A block device. `states`: its paths; `groups`: those of a multipath map, none where they are not known."""
    place = f"/sys/block/{name}"
    map_name, identifier = host.text(f"{place}/dm/name"), wwid(host, name)
    sectors, rotational = host.number(f"{place}/size"), host.number(f"{place}/queue/rotational")
    # A path has the identifier of the LUN that it leads to: as a join key it would make the two one.
    ids = {} if lun_of(host, name) != name else parse.identifiers(identifier)
    return SourceEntity(
        "lun",
        name,
        label=f"{owner}/{name}",
        ids={"device": tuple(dict.fromkeys(filter(None, (name, map_name)))), **ids},
        attributes={
            "kind": _kind(host, name),
            "map": map_name or None,
            "wwid": identifier or None,
            "serial": host.text(f"{place}/serial") or None,
            "vendor": host.text(f"{place}/device/vendor") or None,
            "model": host.text(f"{place}/device/model") or None,
            "size_bytes": None if sectors is None else sectors * 512,
            "rotational": None if rotational is None else rotational == 1,
            "scheduler": parse.scheduler(host.text(f"{place}/queue/scheduler")) or None,
            "queue_depth": _queue_depth(host, name, states, groups),
            "nr_requests": host.number(f"{place}/queue/nr_requests"),
            "max_sectors_kb": host.number(f"{place}/queue/max_sectors_kb"),
            **_use_of_paths(host, states, groups),
        },
    )


def _kind(host: Snapshot, name: str) -> str:
    if name.startswith("dm-"):
        return "multipath map" if is_map(host, name) else "other dm"
    return "nvme" if name.startswith("nvme") else "disk"


def _use_of_paths(
    host: Snapshot, states: Mapping[HostPath, str], groups: Sequence[Group]
) -> dict[str, str | int | None]:
    if not states:
        return {}
    native, policy = multipath.policy_native(groups), multipath.policy(groups)
    if iopolicy := _iopolicy(host, states.keys()):
        native, policy = iopolicy, multipath.policy_named(iopolicy)
    working = [usable(state) for state in states.values()]
    return {
        "path_policy": policy,
        "path_policy_native": native,
        "path_switch_operations": groups[0].repeat if groups else None,
        "paths": len(states),
        "paths_active": None if None in working else working.count(True),
    }


def _iopolicy(host: Snapshot, paths: Collection[HostPath]) -> str:
    """How native NVMe multipath chooses, a setting of the subsystem; "" for everything else."""
    instances = [match[2] for path in paths if (match := HIDDEN_NVME.fullmatch(path.device))]
    places = [f"/sys/class/nvme-subsystem/nvme-subsys{instance}/iopolicy" for instance in instances[:1]]
    return next((found for place in places if (found := host.text(place))), "")


def _queue_depth(host: Snapshot, name: str, states: Mapping[HostPath, str], groups: Sequence[Group]) -> int | None:
    """I/Os that the device lets go at once: a map what the paths of the group in use do together."""
    if not is_map(host, name):
        return host.number(f"/sys/block/{name}/device/queue_depth")
    used = [number for group in groups if group.state == "active" for number in group.paths]
    carrying = [path.device for path, state in states.items() if path.number in used and usable(state)]
    depths = [host.number(f"/sys/block/{path}/device/queue_depth") for path in carrying]
    known = [depth for depth in depths if depth is not None]
    return sum(known) if known and len(known) == len(depths) else None

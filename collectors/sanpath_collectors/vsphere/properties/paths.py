"""The LUNs of an ESXi host and the paths to them. Pure: plain data in, entities out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sanpath.model import Scalar
from sanpath.plugin import SourceEntity, SourceLink
from sanpath_collectors.vsphere.connection.plain import Record
from sanpath_collectors.vsphere.properties.adapters import without_empty, wwn

POLICIES: Mapping[str, str] = {
    "VMW_PSP_RR": "round_robin",
    "VMW_PSP_MRU": "most_recently_used",
    "VMW_PSP_FIXED": "fixed",
    "FIXED": "fixed",
    "LB-RR": "round_robin",
    "LB-IOPS": "round_robin",
    "LB-BYTES": "least_blocks",
    "LB-LATENCY": "service_time",
    "LB--LATENCY": "service_time",
}
"""Path selection policy of NMP or HPP, in capitals → name for all platforms.

LB-IOPS of HPP looks for the path with the fewest outstanding I/Os only after `iops` of them, 1,000 by default: until
then it stays on one path, as Round Robin does.
"""
_AFTER_IOS = ("LB-RR", "LB-IOPS")
"""Policies of HPP that change path after a number of I/Os."""

ACCESS: Mapping[str, str] = {
    "VMW_SATP_DEFAULT_AA": "active/active",
    "VMW_SATP_SYMM": "active/active",
    "VMW_SATP_ALUA": "asymmetric",
    "VMW_SATP_DEFAULT_AP": "active/passive",
    "VMW_SATP_LOCAL": "local",
}
"""Generic storage array type plug-in → type of access to the array's ports."""

_USABLE: Mapping[str, bool | None] = {"active": True, "unknown": None}
_LONG = re.compile(r"fc\.[0-9a-f]{16}:([0-9a-f]{16})-fc\.[0-9a-f]{16}:([0-9a-f]{16})-(\S+)", re.IGNORECASE)
_KEY = "key-vim.host.MultipathInfo.Path-"


@dataclass(frozen=True, slots=True)
class HostPath:
    """A path from an adapter to a target port of a LUN. None: not reported.

    `name`: vmhba2:C0:T0:L1. `device`: name of the LUN, naa.…. `adapter`: vmhba2. `target`: name of the target port;
    `target_end`: a join key of it. `working`: the policy uses the path for I/O, which may distinguish active
    optimised from active non-optimised paths. `aliases`: names of the path in counters.
    """

    name: str
    device: str
    adapter: str | None
    state: str
    working: bool | None = None
    preferred: bool = False
    target: str | None = None
    target_end: tuple[str, str] | None = None
    target_name: str | None = None
    aliases: tuple[str, ...] = ()

    def entity(self, host: str) -> SourceEntity:
        """Return the path as an entity, with its current state."""
        attributes: dict[str, Scalar] = {
            "state": self.state,
            "usable": usable(self.state),
            "working": self.working,
            "preferred": self.preferred or None,
            "lun": f"{host}/{self.device}",
            "hba": None if self.adapter is None else f"{host}/{self.adapter}",
            "target": self.target,
            "target_name": self.target_name,
        }
        return SourceEntity("path", f"{host}/{self.name}", f"{host}/{self.name}", {}, without_empty(attributes))


def usable(state: str) -> bool | None:
    """Whether a path in this state can carry I/O. None: unknown.

    >>> usable("active"), usable("standby"), usable("dead"), usable("unknown")
    (True, False, False, None)
    """
    return _USABLE.get(state, False)


def paths(multipath: Record, luns: Sequence[Record], adapters: Mapping[str, Record]) -> list[HostPath]:
    """Return all paths to the disks of a host. `adapters`: by their keys."""
    devices = {str(lun.get("key")): device for lun in luns if (device := canonical(lun))}
    host_paths: list[HostPath] = []
    for unit in multipath.get("lun", ()):
        device = devices.get(str(unit.get("lun")))
        preferred = (unit.get("policy") or {}).get("prefer")
        if device is not None:
            host_paths += [
                _path(record, device, preferred, adapters) for record in unit.get("path", ()) if record.get("name")
            ]
    return host_paths


def states(multipath: Record) -> dict[str, str]:
    """Return the state of every path by its name."""
    units = multipath.get("lun", ())
    return {
        str(record["name"]): state(record) for unit in units for record in unit.get("path", ()) if record.get("name")
    }


def state(path: Record) -> str:
    """Return the state of a path: active, standby, disabled, dead or unknown. Hosts before 4.0 have `pathState`."""
    return str(path.get("state") or path.get("pathState") or "unknown")


def canonical(lun: Record) -> str | None:
    """Return the name of a disk, which is the same on every host; None: the LUN is not a disk."""
    name = lun.get("canonicalName")
    return name if isinstance(name, str) and name and lun.get("lunType", "disk") == "disk" else None


def lun(
    host: str, record: Record, unit: Record, host_paths: Sequence[HostPath], extra: Mapping[str, Scalar]
) -> SourceEntity:
    """Return a LUN with its path policy.

    `unit`: its record of the multipath plug-in. `extra`: attributes from other sources.
    """
    device = str(record["canonicalName"])
    entity_id = f"{host}/{device}"
    policy_record = unit.get("policy") or {}
    policy, satp = policy_record.get("policy"), (unit.get("storageArrayTypePolicy") or {}).get("policy")
    working = [usable(path.state) for path in host_paths]
    capacity = record.get("capacity") or {}
    blocks, size = capacity.get("block"), capacity.get("blockSize")
    attributes: dict[str, Scalar] = {
        "vendor": _stripped(record.get("vendor")),
        "model": _stripped(record.get("model")),
        "size_bytes": blocks * size if isinstance(blocks, int) and isinstance(size, int) else None,
        "rotational": None if record.get("ssd") is None else not record["ssd"],
        "local": record.get("localDisk"),
        "queue_depth": record.get("queueDepth"),
        "operational_state": ", ".join(map(str, record.get("operationalState", ()))),
        "offload": record.get("vStorageSupport"),
        "perennially_reserved": record.get("perenniallyReserved"),
        "path_policy": POLICIES.get(str(policy).upper()),
        "path_policy_native": policy,
        "path_access": ACCESS.get(str(satp)),
        "path_access_native": satp,
        "path_switch_operations": policy_record.get("iops") if str(policy).upper() in _AFTER_IOS else None,
        "path_preferred": policy_record.get("prefer"),
        "paths": len(host_paths) or None,
        "paths_active": working.count(True) if working and None not in working else None,
        **extra,
    }
    return SourceEntity(
        "lun", entity_id, entity_id, {"device": (device,), **_identifier(device)}, without_empty(attributes)
    )


def path_items(host: str, path: HostPath) -> Iterator[SourceEntity | SourceLink]:
    """Yield a path and its links to the LUN, the adapter and the target port."""
    local_id = f"{host}/{path.name}"
    yield path.entity(host)
    yield SourceLink("member_of", ("path", local_id), ("lun", f"{host}/{path.device}"), "multipathInfo")
    if path.adapter is not None:
        yield SourceLink("attached_to", ("path", local_id), ("hba", f"{host}/{path.adapter}"), "multipathInfo")
    if path.target_end is not None:
        yield SourceLink("targets", ("path", local_id), path.target_end, "path transport")


def find(instance: str, aliases: Mapping[str, str]) -> str | None:
    """Return the path with this instance name in counters; None: no such path. `aliases`: alias → name."""
    if (name := aliases.get(instance)) is not None:
        return name
    match = _LONG.fullmatch(instance)
    return aliases.get(">".join(match.groups()).lower()) if match else None


def _path(record: Record, device: str, preferred: object, adapters: Mapping[str, Record]) -> HostPath:
    adapter = adapters.get(str(record.get("adapter")), {})
    transport = record.get("transport") or {}
    target, name = wwn(transport.get("portWorldWideName")), transport.get("iScsiName")
    target_end: tuple[str, str] | None = ("wwpn", target) if target else None
    if portal := next(iter(transport.get("address", ())), None):
        target, target_end = portal, ("ip", re.sub(r":\d+$", "", portal).strip("[]"))
    initiator, path_name = wwn(adapter.get("portWorldWideName")), str(record["name"])
    aliases = [path_name, str(record.get("key", "")).removeprefix(_KEY)]
    if initiator and target:
        aliases.append(f"{initiator}>{target}>{device}".lower())
    return HostPath(
        path_name,
        device,
        adapter.get("device"),
        state(record),
        record.get("isWorkingPath"),
        path_name == preferred,
        target,
        target_end,
        name,
        tuple(filter(None, aliases)),
    )


def _identifier(device: str) -> dict[str, tuple[str, ...]]:
    kind = device.partition(".")[0].lower()
    return {kind: (device.lower(),)} if kind in ("naa", "eui") else {}


def _stripped(value: object) -> str | None:
    return value.strip() if isinstance(value, str) else None

"""The LUNs of an ESXi host and the paths to them. Pure: plain data in, things out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sanpath.model import Scalar
from sanpath.plugin import SourceEntity, SourceLink
from sanpath_collectors.vsphere.adapters import told, wwn
from sanpath_collectors.vsphere.plain import Record

POLICIES: Mapping[str, str] = {
    "VMW_PSP_RR": "round_robin",
    "VMW_PSP_MRU": "most_recently_used",
    "VMW_PSP_FIXED": "fixed",
    "FIXED": "fixed",
    "LB-RR": "round_robin",
    "LB-IOPS": "queue_length",
    "LB-BYTES": "least_blocks",
    "LB-LATENCY": "service_time",
    "LB--LATENCY": "service_time",
}
"""A path selection policy of NMP or HPP, in capitals → what all platforms call it."""

ACCESS: Mapping[str, str] = {
    "VMW_SATP_DEFAULT_AA": "active/active",
    "VMW_SATP_SYMM": "active/active",
    "VMW_SATP_ALUA": "asymmetric",
    "VMW_SATP_DEFAULT_AP": "active/passive",
    "VMW_SATP_LOCAL": "local",
}
"""What a storage array type plug-in takes an array for, where that is general knowledge."""

_USABLE: Mapping[str, bool | None] = {"active": True, "unknown": None}
_LONG = re.compile(r"fc\.[0-9a-f]{16}:([0-9a-f]{16})-fc\.[0-9a-f]{16}:([0-9a-f]{16})-(\S+)", re.IGNORECASE)
_KEY = "key-vim.host.MultipathInfo.Path-"


@dataclass(frozen=True, slots=True)
class HostPath:
    """A way from an adapter to a target port that a LUN is reached by.

    `name`: vmhba2:C0:T0:L1; `device`: of the LUN, naa.…; `adapter`: vmhba2. `target`: what the target port is
    called; `target_end`: a join key of it. None: not told. `working`: the policy gives it I/O; of active
    paths, those of the side that is not optimised may be told by that. `aliases`: what counters may call it.
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

    def thing(self, host: str) -> SourceEntity:
        """The path as it is now."""
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
        return SourceEntity("path", f"{host}/{self.name}", f"{host}/{self.name}", {}, told(attributes))


def usable(state: str) -> bool | None:
    """Whether I/O can go over a path in this state. None: not known.

    >>> usable("active"), usable("standby"), usable("dead"), usable("unknown")
    (True, False, False, None)
    """
    return _USABLE.get(state, False)


def paths(multipath: Record, luns: Sequence[Record], adapters: Mapping[str, Record]) -> list[HostPath]:
    """All paths to the disks of a host. `adapters`: by their keys."""
    devices = {str(lun.get("key")): device for lun in luns if (device := canonical(lun))}
    found = []
    for unit in multipath.get("lun", ()):
        device = devices.get(str(unit.get("lun")))
        preferred = (unit.get("policy") or {}).get("prefer")
        if device is not None:
            found += [_path(one, device, preferred, adapters) for one in unit.get("path", ()) if one.get("name")]
    return found


def states(multipath: Record) -> dict[str, str]:
    """Name → state of every path."""
    units = multipath.get("lun", ())
    return {str(one["name"]): state(one) for unit in units for one in unit.get("path", ()) if one.get("name")}


def state(path: Record) -> str:
    """The state of a path: active, standby, disabled, dead or unknown. `pathState` is what hosts before 4.0 have."""
    return str(path.get("state") or path.get("pathState") or "unknown")


def canonical(lun: Record) -> str | None:
    """What a disk is called on every host; None: it is no disk."""
    name = lun.get("canonicalName")
    return name if isinstance(name, str) and name and lun.get("lunType", "disk") == "disk" else None


def lun(host: str, said: Record, unit: Record, ways: Sequence[HostPath], more: Mapping[str, Scalar]) -> SourceEntity:
    """A LUN with its path policy. `unit`: what the multipath plug-in says of it; `more`: what others say of it."""
    device = str(said["canonicalName"])
    entity = f"{host}/{device}"
    policy, satp = ((unit.get(part) or {}).get("policy") for part in ("policy", "storageArrayTypePolicy"))
    working = [usable(way.state) for way in ways]
    capacity = said.get("capacity") or {}
    blocks, size = capacity.get("block"), capacity.get("blockSize")
    attributes: dict[str, Scalar] = {
        "vendor": _stripped(said.get("vendor")),
        "model": _stripped(said.get("model")),
        "size_bytes": blocks * size if isinstance(blocks, int) and isinstance(size, int) else None,
        "rotational": None if said.get("ssd") is None else not said["ssd"],
        "local": said.get("localDisk"),
        "queue_depth": said.get("queueDepth"),
        "operational_state": ", ".join(map(str, said.get("operationalState", ()))),
        "offload": said.get("vStorageSupport"),
        "perennially_reserved": said.get("perenniallyReserved"),
        "path_policy": POLICIES.get(str(policy).upper()),
        "path_policy_native": policy,
        "path_access": ACCESS.get(str(satp)),
        "path_access_native": satp,
        "path_preferred": (unit.get("policy") or {}).get("prefer"),
        "paths": len(ways) or None,
        "paths_active": working.count(True) if working and None not in working else None,
        **more,
    }
    return SourceEntity("lun", entity, entity, {"device": (device,), **_identifier(device)}, told(attributes))


def path_items(host: str, way: HostPath) -> Iterator[SourceEntity | SourceLink]:
    """A path and what lies at its ends."""
    local_id = f"{host}/{way.name}"
    yield way.thing(host)
    yield SourceLink("member_of", ("path", local_id), ("lun", f"{host}/{way.device}"), "multipathInfo")
    if way.adapter is not None:
        yield SourceLink("attached_to", ("path", local_id), ("hba", f"{host}/{way.adapter}"), "multipathInfo")
    if way.target_end is not None:
        yield SourceLink("targets", ("path", local_id), way.target_end, "path transport")


def find(instance: str, known: Mapping[str, str]) -> str | None:
    """Name of the path that counters call so. `known`: alias → name. None: there is none."""
    if (name := known.get(instance)) is not None:
        return name
    match = _LONG.fullmatch(instance)
    return known.get(">".join(match.groups()).lower()) if match else None


def _path(said: Record, device: str, preferred: object, adapters: Mapping[str, Record]) -> HostPath:
    adapter = adapters.get(str(said.get("adapter")), {})
    transport = said.get("transport") or {}
    target, name = wwn(transport.get("portWorldWideName")), transport.get("iScsiName")
    end: tuple[str, str] | None = ("wwpn", target) if target else None
    if portal := next(iter(transport.get("address", ())), None):
        target, end = portal, ("ip", re.sub(r":\d+$", "", portal).strip("[]"))
    initiator, called = wwn(adapter.get("portWorldWideName")), str(said["name"])
    aliases = [called, str(said.get("key", "")).removeprefix(_KEY)]
    if initiator and target:
        aliases.append(f"{initiator}>{target}>{device}".lower())
    return HostPath(
        called,
        device,
        adapter.get("device"),
        state(said),
        said.get("isWorkingPath"),
        called == preferred,
        target,
        end,
        name,
        tuple(filter(None, aliases)),
    )


def _identifier(device: str) -> dict[str, tuple[str, ...]]:
    kind = device.partition(".")[0].lower()
    return {kind: (device.lower(),)} if kind in ("naa", "eui") else {}


def _stripped(value: object) -> str | None:
    return value.strip() if isinstance(value, str) else None

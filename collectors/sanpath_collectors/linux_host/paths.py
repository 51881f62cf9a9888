"""The paths of a host: which initiator and target port lie behind a block device, and whether it works. No I/O.

A path is a SCSI device of a Fibre Channel or iSCSI target, an NVMe namespace behind one controller, or whatever else
lies below a multipath map. Its id stays the same when the kernel gives the device another name: 7:0:0:1 is host,
channel, target and LUN.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypedDict

from sanpath_collectors.linux_host import parse
from sanpath_collectors.linux_host.snapshot import Snapshot

HIDDEN_NVME = re.compile(r"(nvme(\d+))c\d+(n\d+)")  # a path below a native NVMe multipath device
_MULTIPATH = "mpath-"  # how device-mapper identifiers of multipath maps begin
_GONE, _UNKNOWN = "gone", "unknown"
_PORTAL = ("address", "port")
_WORKS = frozenset({"running", "live"})
_USABLE = _WORKS | {"active/optimized", "active/non-optimized", "lba-dependent", "optimized", "non-optimized"}


@dataclass(frozen=True, slots=True)
class HostPath:
    """A way from an initiator port to a target port that one LUN is reached by.

    `device`: the block device of this path alone; `lun`: the one that I/O is given to; `hba`: a Fibre Channel host or
    a network interface, None: not known. `target`: what the target port is called; `target_end`: a join key of it,
    None where it has none. `target_name`: IQN or NQN; `target_state`: what the transport says of the target port.
    `number`: the device number.
    """

    id: str
    device: str
    lun: str
    protocol: str
    hba: str | None = None
    target: str | None = None
    target_end: tuple[str, str] | None = None
    target_name: str | None = None
    target_state: str | None = None
    number: str = ""

    def files(self) -> list[str]:
        """What tells of its state: the kernel, and the array about its side (ANA of NVMe, ALUA of SCSI)."""
        block = f"/sys/block/{self.device}"
        nvme = self.device.startswith("nvme")
        return [f"{block}/device/state", f"{block}/ana_state" if nvme else f"{block}/device/access_state"]

    def state(self, now: Snapshot, there: Collection[str], mapped: Mapping[str, str]) -> str:
        """What it is called: by the kernel when the device does not work, by the multipath map when that has given it
        up, else by the array. `there`: the block devices; `mapped`: device number → state in the map."""
        device, side = map(now.text, self.files())
        if device not in _WORKS:
            return device or (_UNKNOWN if self.device in there else _GONE)
        if (by_map := mapped.get(self.number, "")) in ("failed", "ghost"):
            return by_map
        return side or device


def usable(state: str) -> bool | None:
    """Whether a path in this state carries I/O. None: not known."""
    return None if state == _UNKNOWN else state in _USABLE


def is_map(host: Snapshot, device: str) -> bool:
    """Whether a device is a multipath map."""
    return host.text(f"/sys/block/{device}/dm/uuid").startswith(_MULTIPATH)


def nvme_head(device: str) -> str:
    """The device that a path of native NVMe multipath belongs to, "" for every other one.

    >>> nvme_head("nvme0c1n1"), nvme_head("nvme0n1")
    ('nvme0n1', '')
    """
    match = HIDDEN_NVME.fullmatch(device)
    return match[1] + match[3] if match else ""


def lun_of(host: Snapshot, device: str) -> str:
    """The device that I/O to this one is given to: its multipath map, or itself."""
    maps = [holder for holder in host.children(f"/sys/block/{device}/holders") if is_map(host, holder)]
    return maps[0] if maps else nvme_head(device) or device


def paths_of(
    host: Snapshot, numbers: Mapping[str, str], read: Collection[str], interfaces: Mapping[str, str]
) -> Iterator[HostPath]:
    """The paths to the devices that are `read`. `numbers`: block device → its number; `interfaces`: IP address of the
    host → network interface."""
    for device in host.children("/sys/block"):
        lun = lun_of(host, device)
        if lun not in read:
            lun = device
        if lun in read:
            bare = HostPath(device, device, lun, "other", number=numbers.get(device, ""))
            path = _nvme(host, bare, interfaces) if device.startswith("nvme") else _scsi(host, bare, interfaces)
            if path.protocol != "other" or lun != device:
                yield path


def _scsi(host: Snapshot, bare: HostPath, interfaces: Mapping[str, str]) -> HostPath:
    address = next(iter(host.children(f"/sys/block/{bare.device}/device/scsi_device")), "")
    scsi_host, target = address.partition(":")[0], address.rpartition(":")[0]
    bare = replace(bare, id=address or bare.device)
    if host.has(f"/sys/class/fc_host/host{scsi_host}"):
        remote = _remote_port(host, target)
        named = host.text(f"/sys/class/fc_transport/target{target}/port_name") or host.text(f"{remote}/port_name")
        end = _fibre_channel(parse.wwpn(named))
        return replace(
            bare,
            protocol="fcp",
            hba=f"host{scsi_host}",
            target_state=host.text(f"{remote}/port_state") or None,
            **end,
        )
    for session in host.children("/sys/class/iscsi_session"):
        if host.has(f"/sys/class/iscsi_session/{session}/device/target{target}"):
            return _iscsi(host, bare, session, interfaces)
    return bare


def _remote_port(host: Snapshot, target: str) -> str:
    """Where the remote port of a SCSI target is described, "" where it has none any longer."""
    scsi_host, channel, number = target.split(":")
    for port in host.children("/sys/class/fc_remote_ports"):
        place = f"/sys/class/fc_remote_ports/{port}"
        if port.startswith(f"rport-{scsi_host}:{channel}-") and host.text(f"{place}/scsi_target_id") == number:
            return place
    return ""


def _iscsi(host: Snapshot, bare: HostPath, session: str, interfaces: Mapping[str, str]) -> HostPath:
    # A session that was redirected has another portal than it was told to log in to.
    connection = f"/sys/class/iscsi_connection/connection{session.removeprefix('session')}:0"
    portal, port = (host.text(f"{connection}/{n}") or host.text(f"{connection}/persistent_{n}") for n in _PORTAL)
    card = f"/sys/class/iscsi_host/host{bare.id.partition(':')[0]}"
    local = host.text(f"{connection}/local_ipaddr") or host.text(f"{card}/ipaddress")
    bound = host.text(f"{card}/netdev")
    return replace(
        bare,
        protocol="iscsi",
        hba=interfaces.get(local) or (bound if host.has(f"/sys/class/net/{bound}") else None),
        target_name=host.text(f"/sys/class/iscsi_session/{session}/targetname") or None,
        target_state=host.text(f"/sys/class/iscsi_session/{session}/state") or None,
        **_ethernet(portal, port),
    )


def _nvme(host: Snapshot, bare: HostPath, interfaces: Mapping[str, str]) -> HostPath:
    controller = f"/sys/block/{bare.device}/device"
    transport = host.text(f"{controller}/transport")
    if not transport or (transport == "pcie" and not nvme_head(bare.device)):
        return bare
    written = host.text(f"{controller}/address")
    parts = parse.transport_address(written)
    known = replace(bare, protocol=f"nvme_{transport}", target_name=host.text(f"{controller}/subsysnqn") or None)
    if transport == "fc":
        initiator = parse.wwpn(parts.get("host_traddr", ""))
        return replace(known, hba=_fc_host(host, initiator), **_fibre_channel(parse.wwpn(parts.get("traddr", ""))))
    if "traddr" not in parts:
        return replace(known, target=written or None)
    local = interfaces.get(parts.get("src_addr", "")) or interfaces.get(parts.get("host_traddr", ""))
    hba = local or parts.get("host_iface")
    return replace(known, hba=hba, **_ethernet(parts["traddr"], parts.get("trsvcid", "")))


def _fc_host(host: Snapshot, wwpn: str) -> str | None:
    for name in host.children("/sys/class/fc_host"):
        if wwpn and parse.wwpn(host.text(f"/sys/class/fc_host/{name}/port_name")) == wwpn:
            return name
    return None


class _Target(TypedDict):
    target: str | None
    target_end: tuple[str, str] | None


def _fibre_channel(wwpn: str) -> _Target:
    return {"target": wwpn or None, "target_end": ("wwpn", wwpn) if wwpn else None}


def _ethernet(address: str, port: str) -> _Target:
    written = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    return {"target": written if address else None, "target_end": ("ip", address) if address else None}

"""The paths of a host: the initiator and target port of a block device, and the state of the path. No I/O.

A path is a SCSI device of a Fibre Channel or iSCSI target, an NVMe namespace of one controller, or any other device
below a multipath map. Its id does not depend on the kernel's name of the device: 7:0:0:1 is host, channel, target and
LUN.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypedDict

from sanpath_collectors.linux_host import parse
from sanpath_collectors.linux_host.snapshot import Snapshot

NVME_PATH = re.compile(r"(nvme(\d+))c\d+(n\d+)")  # a path below a native NVMe multipath device
_MULTIPATH = "mpath-"  # how device-mapper identifiers of multipath maps begin
_MISSING, _UNKNOWN = "gone", "unknown"
_PORTAL = ("address", "port")
_RUNNING_STATES = frozenset({"running", "live"})
_USABLE_STATES = _RUNNING_STATES | {
    "active/optimized",
    "active/non-optimized",
    "lba-dependent",
    "optimized",
    "non-optimized",
}


@dataclass(frozen=True, slots=True)
class HostPath:
    """A path from an initiator port to a target port, to one LUN.

    `device`: the block device of only this path; `lun`: the block device that receives the I/O; `hba`: a Fibre
    Channel host or a network interface, None: unknown. `target`: name of the target port; `target_end`: its join key,
    None: it has none. `target_name`: IQN or NQN; `target_state`: state of the target port as the transport reports
    it. `number`: the device number.
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
        """Files with its state: the kernel's, and that reported by the array (ANA of NVMe, ALUA of SCSI)."""
        block = f"/sys/block/{self.device}"
        nvme = self.device.startswith("nvme")
        return [f"{block}/device/state", f"{block}/ana_state" if nvme else f"{block}/device/access_state"]

    def state(self, snapshot: Snapshot, devices: Collection[str], state_in_map: Mapping[str, str]) -> str:
        """The state of the path.

        It is the kernel's if the device does not work, the multipath map's if the map has failed the path, and
        otherwise the array's. `devices`: all block devices; `state_in_map`: device number → state in the map.
        """
        device, array_state = map(snapshot.text, self.files())
        if device not in _RUNNING_STATES:
            return device or (_UNKNOWN if self.device in devices else _MISSING)
        if (map_state := state_in_map.get(self.number, "")) in ("failed", "ghost"):
            return map_state
        return array_state or device


def usable(state: str) -> bool | None:
    """Whether a path in this state can carry I/O. None: unknown."""
    return None if state == _UNKNOWN else state in _USABLE_STATES


def is_map(host: Snapshot, device: str) -> bool:
    """Whether a device is a multipath map."""
    return host.text(f"/sys/block/{device}/dm/uuid").startswith(_MULTIPATH)


def nvme_head(device: str) -> str:
    """The multipath device of a path of native NVMe multipath; "" for other devices.

    >>> nvme_head("nvme0c1n1"), nvme_head("nvme0n1")
    ('nvme0n1', '')
    """
    match = NVME_PATH.fullmatch(device)
    return match[1] + match[3] if match else ""


def lun_of(host: Snapshot, device: str) -> str:
    """The device that receives the I/O: the multipath map of this device, or itself."""
    maps = [holder for holder in host.children(f"/sys/block/{device}/holders") if is_map(host, holder)]
    return maps[0] if maps else nvme_head(device) or device


def paths_of(
    host: Snapshot, device_numbers: Mapping[str, str], selected: Collection[str], interfaces: Mapping[str, str]
) -> Iterator[HostPath]:
    """Yield the paths to the `selected` devices.

    `device_numbers`: block device → device number; `interfaces`: IP address of the host → network interface.
    """
    for device in host.children("/sys/block"):
        lun = lun_of(host, device)
        if lun not in selected:
            lun = device
        if lun in selected:
            device_path = HostPath(device, device, lun, "other", number=device_numbers.get(device, ""))
            complete = _nvme if device.startswith("nvme") else _scsi
            path = complete(host, device_path, interfaces)
            if path.protocol != "other" or lun != device:
                yield path


def _scsi(host: Snapshot, path: HostPath, interfaces: Mapping[str, str]) -> HostPath:
    address = next(iter(host.children(f"/sys/block/{path.device}/device/scsi_device")), "")
    scsi_host, target = address.partition(":")[0], address.rpartition(":")[0]
    path = replace(path, id=address or path.device)
    if host.has(f"/sys/class/fc_host/host{scsi_host}"):
        remote = _remote_port(host, target)
        port_name = host.text(f"/sys/class/fc_transport/target{target}/port_name") or host.text(f"{remote}/port_name")
        target_fields = _fibre_channel(parse.wwpn(port_name))
        return replace(
            path,
            protocol="fcp",
            hba=f"host{scsi_host}",
            target_state=host.text(f"{remote}/port_state") or None,
            **target_fields,
        )
    for session in host.children("/sys/class/iscsi_session"):
        if host.has(f"/sys/class/iscsi_session/{session}/device/target{target}"):
            return _iscsi(host, path, session, interfaces)
    return path


def _remote_port(host: Snapshot, target: str) -> str:
    """The folder of a SCSI target's remote port; "": it no longer exists."""
    scsi_host, channel, number = target.split(":")
    for port in host.children("/sys/class/fc_remote_ports"):
        folder = f"/sys/class/fc_remote_ports/{port}"
        if port.startswith(f"rport-{scsi_host}:{channel}-") and host.text(f"{folder}/scsi_target_id") == number:
            return folder
    return ""


def _iscsi(host: Snapshot, path: HostPath, session: str, interfaces: Mapping[str, str]) -> HostPath:
    # The portal of a redirected session differs from the configured one.
    connection = f"/sys/class/iscsi_connection/connection{session.removeprefix('session')}:0"
    portal, port = (host.text(f"{connection}/{n}") or host.text(f"{connection}/persistent_{n}") for n in _PORTAL)
    iscsi_host = f"/sys/class/iscsi_host/host{path.id.partition(':')[0]}"
    local_address = host.text(f"{connection}/local_ipaddr") or host.text(f"{iscsi_host}/ipaddress")
    interface = host.text(f"{iscsi_host}/netdev")
    return replace(
        path,
        protocol="iscsi",
        hba=interfaces.get(local_address) or (interface if host.has(f"/sys/class/net/{interface}") else None),
        target_name=host.text(f"/sys/class/iscsi_session/{session}/targetname") or None,
        target_state=host.text(f"/sys/class/iscsi_session/{session}/state") or None,
        **_ethernet(portal, port),
    )


def _nvme(host: Snapshot, path: HostPath, interfaces: Mapping[str, str]) -> HostPath:
    controller = f"/sys/block/{path.device}/device"
    transport = host.text(f"{controller}/transport")
    if not transport or (transport == "pcie" and not nvme_head(path.device)):
        return path
    address_text = host.text(f"{controller}/address")
    address_fields = parse.transport_address(address_text)
    fabric_path = replace(
        path, protocol=f"nvme_{transport}", target_name=host.text(f"{controller}/subsysnqn") or None
    )
    if transport == "fc":
        initiator = parse.wwpn(address_fields.get("host_traddr", ""))
        return replace(
            fabric_path, hba=_fc_host(host, initiator), **_fibre_channel(parse.wwpn(address_fields.get("traddr", "")))
        )
    if "traddr" not in address_fields:
        return replace(fabric_path, target=address_text or None)
    by_address = (interfaces.get(address_fields.get(key, "")) for key in ("src_addr", "host_traddr"))
    hba = next(filter(None, by_address), address_fields.get("host_iface"))
    return replace(fabric_path, hba=hba, **_ethernet(address_fields["traddr"], address_fields.get("trsvcid", "")))


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
    portal = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    return {"target": portal if address else None, "target_end": ("ip", address) if address else None}

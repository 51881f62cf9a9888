"""The volumes that a storage server presents and its target ports: LIO, nvmet and NBD in one model. No I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address

from sanpath.plugin import common_value, wwn
from sanpath_collectors.linux_host.parse import wwpn as fc_wwpn
from sanpath_collectors.linux_host.snapshot import Snapshot
from sanpath_collectors.linux_target import nbd_servers, parse

_LIO, _NVMET = "/sys/kernel/config/target", "/sys/kernel/config/nvmet"

FILES = (
    f"{_LIO}/core/*/*/udev_path",
    f"{_LIO}/core/*/*/info",
    f"{_LIO}/core/*/*/wwn/vpd_unit_serial",
    f"{_LIO}/core/*/*/wwn/company_id",
    f"{_LIO}/*/*/tpgt_*/enable",
    f"{_LIO}/iscsi/*/tpgt_*/attrib/default_cmdsn_depth",
    f"{_LIO}/iscsi/*/tpgt_*/acls/*/cmdsn_depth",
    f"{_LIO}/*/*/tpgt_*/lun/lun_*/*/wwn/vpd_unit_serial",
    f"{_NVMET}/ports/*/addr_traddr",
    f"{_NVMET}/ports/*/addr_trsvcid",
    f"{_NVMET}/ports/*/addr_trtype",
    f"{_NVMET}/subsystems/*/attr_serial",
    f"{_NVMET}/subsystems/*/namespaces/*/device_path",
    f"{_NVMET}/subsystems/*/namespaces/*/device_nguid",
    f"{_NVMET}/subsystems/*/namespaces/*/device_uuid",
    f"{_NVMET}/subsystems/*/namespaces/*/enable",
)
NAMES = (
    f"{_LIO}/iscsi/*/tpgt_*/np/*",
    f"{_LIO}/*/*/tpgt_*/acls/*",
    f"{_NVMET}/ports/*/subsystems/*",
    f"{_NVMET}/subsystems/*/allowed_hosts/*",
)
"""Paths whose existence suffices: portals, and links to volumes and clients."""


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume that hosts see as a LUN. `path`: its backing device or file, "": unknown."""

    local_id: str
    label: str
    path: str
    ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    attributes: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Listener:
    """A target port with its volumes.

    `wwpn`: of a Fibre Channel port; otherwise `address` ("": all addresses) and `port`. `target`: its name in the
    protocol; `volumes`: local ids; `clients`: names of the hosts with access. `command_window`: maximum outstanding
    commands of an iSCSI session, None: unknown, or different for its clients.
    """

    protocol: str
    target: str
    volumes: tuple[str, ...]
    clients: tuple[str, ...] = ()
    wwpn: str = ""
    address: str = ""
    port: int | None = None
    command_window: int | None = None


@dataclass(slots=True)
class Targets:
    """All volumes and target ports. `disabled`: targets that are configured but not enabled."""

    volumes: dict[str, Volume] = field(default_factory=dict)
    listeners: list[Listener] = field(default_factory=list)
    disabled: list[str] = field(default_factory=list)


def targets(server: Snapshot, command_lines: Collection[bytes]) -> Targets:
    """Read all targets. `command_lines`: those of NBD servers."""
    inventory = Targets()
    _add_lio(server, inventory)
    _add_nvmet(server, inventory)
    _add_nbd(server, command_lines, inventory)
    return inventory


def _add_lio(server: Snapshot, inventory: Targets) -> None:
    by_serial = {}
    for volume, serial in _backstores(server):
        inventory.volumes[volume.local_id] = volume
        by_serial[serial] = volume.local_id
    for fabric in server.children(_LIO):
        for target in server.children(f"{_LIO}/{fabric}") if fabric != "core" else ():
            for group in server.children(f"{_LIO}/{fabric}/{target}"):
                folder = f"{_LIO}/{fabric}/{target}/{group}"
                if not group.startswith("tpgt_"):
                    continue
                if server.text(f"{folder}/enable") == "0":
                    inventory.disabled.append(target)
                    continue
                volumes = tuple(by_serial[s] for s in _serials_of_luns(server, folder) if s in by_serial)
                clients = tuple(server.children(f"{folder}/acls"))
                if wwpn := wwn(target):
                    inventory.listeners.append(Listener("fc", target, volumes, clients, wwpn=wwpn))
                for portal in filter(None, map(parse.portal, server.children(f"{folder}/np"))):
                    address, port = portal
                    inventory.listeners.append(
                        Listener(
                            fabric,
                            target,
                            volumes,
                            clients,
                            address=_listen_address(address),
                            port=port,
                            command_window=_command_window(server, folder, clients),
                        )
                    )


def _command_window(server: Snapshot, group: str, clients: Sequence[str]) -> int | None:
    """The command window of the sessions of a group: that of its clients, or of any client if none is named."""
    files = [f"{group}/acls/{client}/cmdsn_depth" for client in clients] or [f"{group}/attrib/default_cmdsn_depth"]
    return common_value(map(server.number, files))


def _backstores(server: Snapshot) -> Iterator[tuple[Volume, str]]:
    """Yield the backstores of LIO with their serials.

    A name is unique only within its kind, such as `fileio_0`.
    """
    names = Counter(name for hba in server.children(f"{_LIO}/core") for name in server.children(f"{_LIO}/core/{hba}"))
    for hba in server.children(f"{_LIO}/core"):
        for name in server.children(f"{_LIO}/core/{hba}"):
            label = name if names[name] == 1 else f"{hba}/{name}"
            folder = f"{_LIO}/core/{hba}/{name}"
            serial = parse.unit_serial(server.text(f"{folder}/wwn/vpd_unit_serial"))
            naa = parse.lio_naa(serial, server.text(f"{folder}/wwn/company_id"))
            path = server.text(f"{folder}/udev_path") or parse.backing_path(server.text(f"{folder}/info"))
            ids = {"naa": (naa,), "serial": (serial,)} if naa else {}
            yield Volume(label, label, path, ids, {"backstore": hba.rpartition("_")[0] or hba}), serial


def _serials_of_luns(server: Snapshot, group: str) -> Iterator[str]:
    """Yield the serials of a group's LUNs.

    They identify the backstores, because the names of LUN links are arbitrary.
    """
    for lun in server.children(f"{group}/lun"):
        for link in server.children(f"{group}/lun/{lun}"):
            if content := server.text(f"{group}/lun/{lun}/{link}/wwn/vpd_unit_serial"):
                yield parse.unit_serial(content)


def _add_nvmet(server: Snapshot, inventory: Targets) -> None:
    for nqn in server.children(f"{_NVMET}/subsystems"):
        subsystem = f"{_NVMET}/subsystems/{nqn}"
        for number in server.children(f"{subsystem}/namespaces"):
            folder = f"{subsystem}/namespaces/{number}"
            if server.text(f"{folder}/enable") == "0":
                inventory.disabled.append(f"{nqn} namespace {number}")
                continue
            eui = parse.nguid(server.text(f"{folder}/device_nguid"))
            attributes = {
                "uuid": server.text(f"{folder}/device_uuid") or None,
                "subsystem_serial": server.text(f"{subsystem}/attr_serial") or None,
            }
            label = f"{nqn.rpartition(':')[2]}/{number}"
            volume = Volume(
                f"{nqn}/{number}", label, server.text(f"{folder}/device_path"), {"eui": (eui,)}, attributes
            )
            inventory.volumes[volume.local_id] = volume
    for number in server.children(f"{_NVMET}/ports"):
        folder = f"{_NVMET}/ports/{number}"
        transport, address = server.text(f"{folder}/addr_trtype"), server.text(f"{folder}/addr_traddr")
        service = server.number(f"{folder}/addr_trsvcid")
        for nqn in server.children(f"{folder}/subsystems"):
            volumes = tuple(v for v in inventory.volumes if v.startswith(f"{nqn}/"))
            clients = tuple(server.children(f"{_NVMET}/subsystems/{nqn}/allowed_hosts"))
            if transport == "fc":
                listener = Listener("nvme-fc", nqn, volumes, clients, wwpn=fc_wwpn(address))
            else:
                listener = Listener(
                    f"nvme-{transport}", nqn, volumes, clients, address=_listen_address(address), port=service
                )
            if listener.wwpn or transport in ("tcp", "rdma"):
                inventory.listeners.append(listener)


def _add_nbd(server: Snapshot, command_lines: Collection[bytes], inventory: Targets) -> None:
    sockets = parse.listening(server.content("/proc/net/tcp")) | parse.listening(server.content("/proc/net/tcp6"))
    ports = {port for _, port in sockets}
    for export in (export for line in command_lines for export in nbd_servers.exports(line)):
        if export.port not in ports:
            continue  # one in a network namespace that is not visible
        name = export.name or export.path.rpartition("/")[2] or export.backstore.rpartition(" ")[2]
        local_id = f"nbd:{export.port}" + (f"/{export.name}" if export.name else "")
        inventory.volumes[local_id] = Volume(local_id, name, export.path, {}, {"backstore": export.backstore})
        listener = Listener("nbd", name, (local_id,), address=_listen_address(export.address), port=export.port)
        inventory.listeners.append(listener)


def _listen_address(address: str) -> str:
    """An address as the kernel prints it; "": all addresses. A portal is named as it was configured, such as ::0."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    return "" if parsed.is_unspecified else str(parsed)

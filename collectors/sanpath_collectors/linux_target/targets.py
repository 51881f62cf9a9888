"""What a storage server presents, and where: LIO, nvmet and nbdkit in the same words. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from sanpath_collectors.linux_host.parse import wwpn as fc_address
from sanpath_collectors.linux_host.snapshot import Snapshot
from sanpath_collectors.linux_target import parse

_LIO, _NVMET = "/sys/kernel/config/target", "/sys/kernel/config/nvmet"

FILES = (
    f"{_LIO}/core/*/*/udev_path",
    f"{_LIO}/core/*/*/info",
    f"{_LIO}/core/*/*/wwn/vpd_unit_serial",
    f"{_LIO}/core/*/*/wwn/company_id",
    f"{_LIO}/*/*/tpgt_*/enable",
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
"""What is enough to be there: portals, and links to what is presented and to whom."""


@dataclass(frozen=True, slots=True)
class Volume:
    """Something that hosts see as a LUN. `path`: the device or file behind it, "": none that is known."""

    local_id: str
    label: str
    path: str
    ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    attributes: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Listener:
    """Where something is presented. `wwpn`: of a Fibre Channel port, else `address` ("": every one) and `port`.
    `target`: its name in the protocol; `volumes`: local ids; `clients`: names of the hosts that may use it."""

    protocol: str
    target: str
    volumes: tuple[str, ...]
    clients: tuple[str, ...] = ()
    wwpn: str = ""
    address: str = ""
    port: int | None = None


@dataclass(slots=True)
class Targets:
    """All that is presented. `asleep`: targets that are configured and not enabled."""

    volumes: dict[str, Volume] = field(default_factory=dict)
    listeners: list[Listener] = field(default_factory=list)
    asleep: list[str] = field(default_factory=list)


def targets(server: Snapshot, commands: Collection[bytes]) -> Targets:
    """`commands`: the command lines of the nbdkits that run."""
    found = Targets()
    _add_lio(server, found)
    _add_nvmet(server, found)
    _add_nbdkit(server, commands, found)
    return found


def _add_lio(server: Snapshot, found: Targets) -> None:
    by_serial = {}
    for volume, serial in _backstores(server):
        found.volumes[volume.local_id] = volume
        by_serial[serial] = volume.local_id
    for fabric in server.children(_LIO):
        for target in server.children(f"{_LIO}/{fabric}") if fabric != "core" else ():
            for group in server.children(f"{_LIO}/{fabric}/{target}"):
                place = f"{_LIO}/{fabric}/{target}/{group}"
                if not group.startswith("tpgt_"):
                    continue
                if server.text(f"{place}/enable") == "0":
                    found.asleep.append(target)
                    continue
                volumes = tuple(by_serial[s] for s in _serials_of_luns(server, place) if s in by_serial)
                clients = tuple(server.children(f"{place}/acls"))
                if wwpn := parse.wwpn(target):
                    found.listeners.append(Listener("fc", target, volumes, clients, wwpn=wwpn))
                for portal in filter(None, map(parse.portal, server.children(f"{place}/np"))):
                    address, port = portal
                    listener = Listener(fabric, target, volumes, clients, address=_given(address), port=port)
                    found.listeners.append(listener)


def _backstores(server: Snapshot) -> Iterator[tuple[Volume, str]]:
    """Backstores of LIO with their serials."""
    for hba in server.children(f"{_LIO}/core"):
        for name in server.children(f"{_LIO}/core/{hba}"):
            place = f"{_LIO}/core/{hba}/{name}"
            serial = parse.unit_serial(server.text(f"{place}/wwn/vpd_unit_serial"))
            naa = parse.lio_naa(serial, server.text(f"{place}/wwn/company_id"))
            path = server.text(f"{place}/udev_path") or parse.behind(server.text(f"{place}/info"))
            ids = {"naa": (naa,), "serial": (serial,)} if naa else {}
            yield Volume(name, name, path, ids, {"backstore": hba.rpartition("_")[0] or hba}), serial


def _serials_of_luns(server: Snapshot, group: str) -> Iterator[str]:
    """The links of LUNs have names of their own: the serial behind tells the backstore."""
    for lun in server.children(f"{group}/lun"):
        for link in server.children(f"{group}/lun/{lun}"):
            if content := server.text(f"{group}/lun/{lun}/{link}/wwn/vpd_unit_serial"):
                yield parse.unit_serial(content)


def _add_nvmet(server: Snapshot, found: Targets) -> None:
    for nqn in server.children(f"{_NVMET}/subsystems"):
        subsystem = f"{_NVMET}/subsystems/{nqn}"
        for number in server.children(f"{subsystem}/namespaces"):
            place = f"{subsystem}/namespaces/{number}"
            if server.text(f"{place}/enable") == "0":
                found.asleep.append(f"{nqn} namespace {number}")
                continue
            eui = parse.nguid(server.text(f"{place}/device_nguid"))
            attributes = {
                "uuid": server.text(f"{place}/device_uuid") or None,
                "subsystem_serial": server.text(f"{subsystem}/attr_serial") or None,
            }
            label = f"{nqn.rpartition(':')[2]}/{number}"
            volume = Volume(
                f"{nqn}/{number}", label, server.text(f"{place}/device_path"), {"eui": (eui,)}, attributes
            )
            found.volumes[volume.local_id] = volume
    for number in server.children(f"{_NVMET}/ports"):
        place = f"{_NVMET}/ports/{number}"
        transport, address = server.text(f"{place}/addr_trtype"), server.text(f"{place}/addr_traddr")
        service = server.number(f"{place}/addr_trsvcid")
        for nqn in server.children(f"{place}/subsystems"):
            volumes = tuple(v for v in found.volumes if v.startswith(f"{nqn}/"))
            clients = tuple(server.children(f"{_NVMET}/subsystems/{nqn}/allowed_hosts"))
            if transport == "fc":
                listener = Listener("nvme-fc", nqn, volumes, clients, wwpn=fc_address(address))
            else:
                listener = Listener(f"nvme-{transport}", nqn, volumes, clients, address=_given(address), port=service)
            if listener.wwpn or transport in ("tcp", "rdma"):
                found.listeners.append(listener)


def _add_nbdkit(server: Snapshot, commands: Collection[bytes], found: Targets) -> None:
    sockets = parse.listening(server.content("/proc/net/tcp")) | parse.listening(server.content("/proc/net/tcp6"))
    ports = {port for _, port in sockets}
    for process in filter(None, map(parse.nbdkit, commands)):
        if process.port is None or process.port not in ports:
            continue  # a socket of this machine alone, or of a network namespace that is not seen from here
        name = process.export or process.path.rpartition("/")[2] or process.plugin
        local_id = f"nbd:{process.port}" + (f"/{process.export}" if process.export else "")
        found.volumes[local_id] = Volume(local_id, name, process.path, {}, {"backstore": f"nbdkit {process.plugin}"})
        listener = Listener("nbd", name, (local_id,), address=_given(process.address), port=process.port)
        found.listeners.append(listener)


def _given(address: str) -> str:
    """An address, "" for all of them."""
    return "" if address in ("0.0.0.0", "::") else address  # noqa: S104 - what somebody else listens on

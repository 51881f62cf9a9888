"""The storage adapters of an ESXi host as initiator ports. Pure: plain data in, things out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sanpath.model import Scalar
from sanpath.plugin import SourceEntity
from sanpath_collectors.vsphere.plain import TYPE, Record

_GIGABIT, _MEGABIT = 1_000_000_000, 1_000_000
_TECHNOLOGIES: Mapping[str, tuple[str | None, str]] = {
    "HostFibreChannelHba": ("fibre_channel", "FC"),
    "HostFibreChannelOverEthernetHba": ("ethernet", "FCoE"),
    "HostInternetScsiHba": ("ethernet", "iSCSI"),
    "HostTcpHba": ("ethernet", "TCP"),
    "HostRdmaHba": ("ethernet", "RDMA"),
    "HostPcieHba": (None, "PCIe"),
    "HostSerialAttachedHba": (None, "SAS"),
    "HostBlockHba": (None, "block"),
    "HostParallelScsiHba": (None, "parallel SCSI"),
}
"""Type of an adapter → technology of its cable, None: it has none to a switch; and protocol."""


def adapter(host: str, said: Record, nqn: str | None = None, nvme: Record | None = None) -> SourceEntity:
    """An adapter as the host's port. `nqn`: the NVMe name of the host, which all its NVMe ports share and which
    therefore tells none of them; `nvme`: what NVMe says of the adapter."""
    technology, protocol = _TECHNOLOGIES.get(str(said.get(TYPE)), (None, "other"))
    is_nvme = said.get("storageProtocol") == "nvme"
    entity = f"{host}/{said['device']}"
    attributes: dict[str, Scalar] = {
        "technology": technology,
        "protocol": f"NVMe/{protocol}" if is_nvme else protocol,
        "nqn": nqn if is_nvme else None,
        **_controllers(nvme or {}),
        "speed_bits_per_second": speed(said),
        "capable_bits_per_second": _megabits(said.get("maxSpeedMb")),
        "port_state": None if said.get("status") == "unknown" else said.get("status"),
        "wwnn": wwn(said.get("nodeWorldWideName")),
        "port_type": said.get("portType"),
        "model": said.get("model"),
        "driver": said.get("driver"),
        "driver_version": said.get("driverVersion"),
        "firmware_version": said.get("firmwareVersion"),
        "network_adapter": said.get("underlyingNic")
        or said.get("associatedPnic")
        or said.get("associatedRdmaDevice"),
        "software": said.get("isSoftwareBased"),
    }
    return SourceEntity("hba", entity, entity, {"name": (entity,), **keys(said)}, told(attributes))


def keys(said: Record) -> dict[str, tuple[str, ...]]:
    """What the fabric knows an adapter by."""
    found = {"wwpn": wwn(said.get("portWorldWideName")), "iqn": said.get("iScsiName")}
    return {key: (value,) for key, value in found.items() if value}


def host_nqn(names: Sequence[Record]) -> str | None:
    """The NVMe name of a host, of `hardware.systemInfo.qualifiedName`; that of its virtual volumes is another one.

    >>> host_nqn([{"type": "nvmeQualifiedName", "value": "nqn.2014-08.com.example:nvme:esx7"}])
    'nqn.2014-08.com.example:nvme:esx7'
    """
    told = (str(one["value"]) for one in names if one.get("type") == "nvmeQualifiedName" and one.get("value"))
    return next(told, None)


def by_adapter(topology: Record) -> dict[str, Record]:
    """Key of an adapter → what `nvmeTopology` says of it."""
    return {str(one.get("adapter")): one for one in topology.get("adapter", ())}


def _controllers(nvme: Record) -> dict[str, Scalar]:
    """The array's controllers that an adapter is connected to, and the I/Os that they take from it at once."""
    connected = nvme.get("connectedController", ())
    queues = [(c.get("numberOfQueues"), c.get("queueSize")) for c in connected]
    sizes = [n * size for n, size in queues if isinstance(n, int) and isinstance(size, int)]
    return {
        "target_nqn": ", ".join(dict.fromkeys(str(c["subnqn"]) for c in connected if c.get("subnqn"))),
        "nvme_controllers": len(connected) or None,
        "nvme_queue_slots": min(sizes) if sizes else None,
    }


def wwn(value: object) -> str | None:
    """A world-wide name: the API gives it as a signed 64-bit number.

    >>> wwn(2305843009213694593), wwn(-1), wwn(0)
    ('2000000000000281', 'ffffffffffffffff', None)
    """
    return f"{value & (1 << 64) - 1:016x}" if isinstance(value, int) and value else None


def speed(said: Record) -> int | None:
    """Speed in use, bits a second. The API promises bits a second for Fibre Channel and hosts give gigabits.

    >>> speed({"speed": 16}), speed({"speed": 8000000000}), speed({"speed": 0}), speed({"currentSpeedMb": 10000})
    (16000000000, 8000000000, None, 10000000000)
    """
    value = said.get("speed")
    if isinstance(value, int) and value > 0:
        return value * _GIGABIT if value < 1000 else value
    return _megabits(said.get("currentSpeedMb"))


def told(attributes: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Those that were told."""
    return {name: value for name, value in attributes.items() if value not in (None, "")}


def by_key(adapters: Sequence[Record]) -> dict[str, Record]:
    """Key → adapter, of those that have a name."""
    return {str(one.get("key")): one for one in adapters if one.get("device")}


def _megabits(value: object) -> int | None:
    return value * _MEGABIT if isinstance(value, int) and value > 0 else None

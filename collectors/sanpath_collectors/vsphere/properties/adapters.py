"""The storage adapters of an ESXi host as initiator ports. Pure: plain data in, entities out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sanpath.model import Scalar
from sanpath.plugin import SourceEntity
from sanpath_collectors.vsphere.connection.plain import TYPE, Record

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
"""Type of an adapter → technology of its link to a switch (None: it has no such link), and protocol."""


def adapter(host: str, record: Record, nqn: str | None = None, nvme: Record | None = None) -> SourceEntity:
    """Return an adapter as a port of the host.

    `nqn`: the NVMe name of the host, which all its NVMe ports share and which therefore does not identify a port.
    `nvme`: the record of the adapter in the NVMe topology.
    """
    technology, protocol = _TECHNOLOGIES.get(str(record.get(TYPE)), (None, "other"))
    is_nvme = record.get("storageProtocol") == "nvme"
    entity = f"{host}/{record['device']}"
    attributes: dict[str, Scalar] = {
        "technology": technology,
        "protocol": f"NVMe/{protocol}" if is_nvme else protocol,
        "nqn": nqn if is_nvme else None,
        **_controllers(nvme or {}),
        "speed_bits_per_second": speed(record),
        "capable_bits_per_second": _megabits(record.get("maxSpeedMb")),
        "port_state": None if record.get("status") == "unknown" else record.get("status"),
        "wwnn": wwn(record.get("nodeWorldWideName")),
        "port_type": record.get("portType"),
        "model": record.get("model"),
        "driver": record.get("driver"),
        "driver_version": record.get("driverVersion"),
        "firmware_version": record.get("firmwareVersion"),
        "network_adapter": record.get("underlyingNic")
        or record.get("associatedPnic")
        or record.get("associatedRdmaDevice"),
        "software": record.get("isSoftwareBased"),
    }
    return SourceEntity("hba", entity, entity, {"name": (entity,), **join_keys(record)}, without_empty(attributes))


def join_keys(record: Record) -> dict[str, tuple[str, ...]]:
    """Return the join keys by which the fabric identifies an adapter."""
    key_values = {"wwpn": wwn(record.get("portWorldWideName")), "iqn": record.get("iScsiName")}
    return {key: (value,) for key, value in key_values.items() if value}


def host_nqn(names: Sequence[Record]) -> str | None:
    """Return the NVMe name of a host from `hardware.systemInfo.qualifiedName`, not that of its virtual volumes.

    >>> host_nqn([{"type": "nvmeQualifiedName", "value": "nqn.2014-08.com.example:nvme:esx7"}])
    'nqn.2014-08.com.example:nvme:esx7'
    """
    nqns = (str(item["value"]) for item in names if item.get("type") == "nvmeQualifiedName" and item.get("value"))
    return next(nqns, None)


def index_by_adapter(topology: Record) -> dict[str, Record]:
    """Return the records of `nvmeTopology` by the keys of their adapters."""
    return {str(item.get("adapter")): item for item in topology.get("adapter", ())}


def _controllers(nvme: Record) -> dict[str, Scalar]:
    """Return the array controllers connected to an adapter, and the outstanding I/Os that they accept from it."""
    connected = nvme.get("connectedController", ())
    queues = [(c.get("numberOfQueues"), c.get("queueSize")) for c in connected]
    sizes = [n * size for n, size in queues if isinstance(n, int) and isinstance(size, int)]
    return {
        "target_nqn": ", ".join(dict.fromkeys(str(c["subnqn"]) for c in connected if c.get("subnqn"))),
        "nvme_controllers": len(connected) or None,
        "nvme_queue_slots": min(sizes) if sizes else None,
    }


def wwn(value: object) -> str | None:
    """Format a world-wide name, which the API gives as a signed 64-bit number.

    >>> wwn(2305843009213694593), wwn(-1), wwn(0)
    ('2000000000000281', 'ffffffffffffffff', None)
    """
    return f"{value & (1 << 64) - 1:016x}" if isinstance(value, int) and value else None


def speed(record: Record) -> int | None:
    """Return the current speed in bits per second; the API documents that unit for FC, but hosts report gigabits.

    >>> speed({"speed": 16}), speed({"speed": 8000000000}), speed({"speed": 0}), speed({"currentSpeedMb": 10000})
    (16000000000, 8000000000, None, 10000000000)
    """
    value = record.get("speed")
    if isinstance(value, int) and value > 0:
        return value * _GIGABIT if value < 1000 else value
    return _megabits(record.get("currentSpeedMb"))


def without_empty(attributes: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return the attributes that are neither None nor empty."""
    return {name: value for name, value in attributes.items() if value not in (None, "")}


def index_by_key(adapters: Sequence[Record]) -> dict[str, Record]:
    """Return the adapters that have a name, by their keys."""
    return {str(item.get("key")): item for item in adapters if item.get("device")}


def _megabits(value: object) -> int | None:
    return value * _MEGABIT if isinstance(value, int) and value > 0 else None

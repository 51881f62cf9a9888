"""Turns FlashArray REST 2 items into entities and links. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from sanpath.plugin import SourceEntity, SourceLink, json_object, json_texts, wwn
from sanpath_collectors.flasharray.parse import Entry, name, number, physical_port, text

Item = SourceEntity | SourceLink

_NAA_PREFIX = "naa.624a9370"  # NAA 6, Pure's IEEE company id 24a937, then the volume's serial
_NVME_COMPANY_ID = "24a937"
_MIN_BITS_PER_SECOND = 1_000  # documented as Gb/s, but arrays report bit/s; no port is slower than 1,000 bit/s


def array(item: Entry, model: str) -> SourceEntity:
    """The array."""
    return SourceEntity(
        "array",
        name(item),
        label=name(item),
        ids={"name": (name(item),)},
        attributes={
            "model": model or None,
            "os": item.get("os"),
            "version": item.get("version"),
            # Both controllers take I/O for every volume on all their ports.
            "array_access": "active_active",
            "media": "flash",
        },
    )


def controllers(items: Iterable[Entry], array_name: str) -> Iterator[Item]:
    """Controllers with their role, and their links to the array."""
    for item in items:
        if controller := name(item):
            attributes = {key: text(item, key) or None for key in ("mode", "status", "model", "version")}
            yield SourceEntity("controller", controller, label=controller, attributes=attributes)
            yield SourceLink("member_of", ("controller", controller), ("array", array_name), "controllers")


def ports(items: Iterable[Entry], interfaces: Iterable[Entry], array_name: str) -> Iterator[Item]:
    """Target ports, named as in /ports ("CT0.FC0"); in /network-interfaces Ethernet ports are "ct0.eth4".

    The target's IQN and NQN are attributes, not join keys, because all ports of an array share them. A port has the
    addresses of its VLANs ("CT0.ETH4.202") as well.
    """
    by_name = {name(interface).upper(): interface for interface in interfaces}
    entries_by_port: dict[str, list[Entry]] = {}
    for item in items:
        if port := physical_port(item):
            entries_by_port.setdefault(port, []).append(item)
    for port, entries in entries_by_port.items():
        yield _port(port, entries, by_name.get(port, {}))
        yield SourceLink("member_of", ("array_port", port), ("array", array_name), "ports")


def _port(port: str, entries: list[Entry], interface: Entry) -> SourceEntity:
    eth = json_object(interface.get("eth"))
    wwpns = [wwn(item.get("wwn")) or "" for item in (*entries, json_object(interface.get("fc")))]
    addresses = [text(eth, "address"), *(text(entry, "portal").rpartition(":")[0].strip("[]") for entry in entries)]
    return SourceEntity(
        "array_port",
        port,
        label=port,
        ids=_ids(wwpn=wwpns, ip=addresses, mac=[text(eth, "mac_address").lower()]),
        attributes={
            "capable_bits_per_second": bits_per_second(number(interface.get("speed"))),
            "technology": "fibre_channel" if any(wwpns) or ".FC" in port else "ethernet",
            "services": ",".join(json_texts(interface.get("services"))) or None,
            "enabled": interface.get("enabled") is True if "enabled" in interface else None,
            "target_iqn": next((iqn for e in entries if (iqn := text(e, "iqn"))), None),
            "target_nqn": next((nqn for e in entries if (nqn := text(e, "nqn"))), None),
            "failover": next((partner for e in entries if (partner := text(e, "failover"))), None),
        },
    )


def bits_per_second(speed: int | float | None) -> int | float | None:
    """Speed of an interface. None: unknown, which the array reports as 0."""
    if not speed:
        return None
    return speed if speed >= _MIN_BITS_PER_SECOND else speed * 1_000_000_000


def hosts(items: Iterable[Entry]) -> Iterator[Item]:
    """Hosts configured on the array, and their Fibre Channel initiators.

    Hosts of a replication peer are left out.
    """
    initiators: set[str] = set()
    for item in items:
        host = name(item)
        if not host or item.get("is_local") is False:
            continue
        wwpns = [w for w in map(wwn, json_texts(item.get("wwns"))) if w]
        connectivity = json_object(item.get("port_connectivity"))
        yield SourceEntity(
            "host",
            host,
            label=host,
            ids=_ids(wwpn=wwpns, iqn=json_texts(item.get("iqns")), nqn=json_texts(item.get("nqns"))),
            attributes={
                "personality": text(item, "personality") or None,
                "port_connectivity": text(connectivity, "details") or None,
                **(_limits(item) if "qos" in item else {}),
            },
        )
        for initiator in wwpns:
            if initiator not in initiators:
                initiators.add(initiator)
                yield SourceEntity("hba", initiator, label=initiator, ids={"wwpn": (initiator,)})
            yield SourceLink("attached_to", ("hba", initiator), ("host", host), "hosts: wwns")


def use_volume_groups(volumes: Iterable[Entry]) -> bool:
    """Whether any volume is in a volume group."""
    return any(name(json_object(volume.get("volume_group"))) for volume in volumes)


def volumes(items: Iterable[Entry], array_name: str, groups: Iterable[Entry] = ()) -> Iterator[Item]:
    """Volumes with their SCSI and NVMe identifiers, and the QoS limits of each volume and its group."""
    limits = {name(group): _limits(group) for group in groups}
    for item in items:
        volume, serial = name(item), text(item, "serial")
        if not volume or item.get("destroyed") is True:
            continue
        group = name(json_object(item.get("volume_group")))
        yield SourceEntity(
            "volume",
            volume,
            label=volume,
            ids=volume_ids(serial) if serial else {},
            attributes={
                "size_bytes": number(item.get("provisioned")),
                "subtype": text(item, "subtype") or None,
                **_limits(item),
                **({"volume_group": group} if group else {}),
                **{f"group_{limit}": value for limit, value in limits.get(group, {}).items()},
            },
        )
        yield SourceLink("member_of", ("volume", volume), ("array", array_name), "volumes")


def _limits(item: Entry) -> dict[str, int | float | None]:
    """The QoS limits of a volume (all releases), a volume group or a host (since REST 2.50)."""
    qos = json_object(item.get("qos"))
    return {
        "qos_bytes_per_second": number(qos.get("bandwidth_limit")),
        "qos_ops_per_second": number(qos.get("iops_limit")),
    }


def volume_ids(serial: str) -> Mapping[str, tuple[str, ...]]:
    """SCSI and NVMe identifiers of a volume.

    >>> volume_ids("6C1B16CE1C034D1C00013918")["naa"]
    ('naa.624a93706c1b16ce1c034d1c00013918',)
    """
    serial_lower = serial.lower()
    return {
        "naa": (_NAA_PREFIX + serial_lower,),
        "eui": (f"eui.00{serial_lower[:14]}{_NVME_COMPANY_ID}{serial_lower[-10:]}",),
        "serial": (serial,),
    }


def connections(items: Iterable[Entry], known_hosts: Collection[str]) -> Iterator[SourceLink]:
    """Links from volumes to the hosts they are presented to, each once.

    Connections to a host group are listed for each of its hosts.
    """
    seen_pairs: set[tuple[str, str]] = set()
    for item in items:
        pair = name(json_object(item.get("volume"))), name(json_object(item.get("host")))
        if not pair[0] or pair[1] not in known_hosts or pair in seen_pairs:
            continue
        seen_pairs.add(pair)
        lun = item.get("lun")
        evidence = "connections" if lun is None else f"connections: LUN {lun}"
        yield SourceLink("presents", ("volume", pair[0]), ("host", pair[1]), evidence)


def _ids(**keys: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Join keys without empty and duplicate values."""
    return {key: unique for key, values in keys.items() if (unique := tuple(dict.fromkeys(v for v in values if v)))}

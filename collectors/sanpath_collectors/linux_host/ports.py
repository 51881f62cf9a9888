"""The initiator ports of a host: Fibre Channel ports, and network interfaces that are hardware or carry storage."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from sanpath.plugin import SourceEntity, SourceLink
from sanpath_collectors.linux_host import parse
from sanpath_collectors.linux_host.snapshot import Snapshot

_FC, _NET = "/sys/class/fc_host", "/sys/class/net"
_TECHNOLOGIES = {1: "ethernet", 32: "infiniband"}  # ARPHRD_ETHER and ARPHRD_INFINIBAND, linux/if_arp.h


def fibre_channel(host: Snapshot, owner: str) -> Iterator[SourceEntity]:
    """Fibre Channel ports, those of NVMe over Fabrics too."""
    for name in host.children(_FC):
        place = f"{_FC}/{name}"
        speed, supported = (parse.speeds(host.text(f"{place}/{file}")) for file in ("speed", "supported_speeds"))
        wwpn, fabric = (parse.wwpn(host.text(f"{place}/{file}")) for file in ("port_name", "fabric_name"))
        yield SourceEntity(
            "hba",
            name,
            label=f"{owner}/{name}",
            ids={"wwpn": (wwpn,)} if wwpn else {},
            attributes={
                "technology": "fibre_channel",
                "capable_bits_per_second": max(supported, default=None),
                "speed_bits_per_second": speed[0] if len(speed) == 1 else None,
                "port_state": host.text(f"{place}/port_state") or None,
                "fabric_wwn": fabric or None,
                "model": host.text(f"{place}/symbolic_name") or None,
            },
        )


def interfaces(host: Snapshot, carrying: Collection[str]) -> list[str]:
    """Network interfaces that are hardware or a bond, and those that are `carrying` storage, whatever they are."""
    return [
        name
        for name in host.children(_NET)
        if name in carrying
        or host.has(f"{_NET}/{name}/bonding")
        # A virtual function that a guest uses belongs to the guest.
        or (host.has(f"{_NET}/{name}/device") and not host.has(f"{_NET}/{name}/device/physfn"))
    ]


def network(
    host: Snapshot, owner: str, names: Sequence[str], addresses: Mapping[str, Sequence[str]]
) -> Iterator[SourceEntity | SourceLink]:
    """Network interfaces, and which lie on which: the members of a bond, the port below a VLAN.

    Only hardware has its MAC address as a join key: a bond and a VLAN have that of the port below, too.
    """
    for name in names:
        place = f"{_NET}/{name}"
        own = host.has(f"{place}/device")
        mac = (host.text(f"{place}/bonding_slave/perm_hwaddr") or host.text(f"{place}/address")) if own else ""
        ids = {"mac": (mac,) if mac else (), "ip": tuple(addresses.get(name, ()))}
        megabits = host.number(f"{place}/speed")
        yield SourceEntity(
            "hba",
            name,
            label=f"{owner}/{name}",
            ids={key: values for key, values in ids.items() if values},
            attributes={
                "technology": _TECHNOLOGIES.get(host.number(f"{place}/type") or 0),
                "speed_bits_per_second": megabits * 1_000_000 if megabits else None,
                "port_state": host.text(f"{place}/operstate") or None,
                "mtu": host.number(f"{place}/mtu"),
            },
        )
        for lower in names:
            if host.has(f"{place}/lower_{lower}"):
                yield SourceLink("member_of", ("hba", lower), ("hba", name), f"{place}/lower_{lower}")

"""The initiator ports of a host: Fibre Channel ports, and network interfaces that are hardware or carry storage."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from sanpath.plugin import SourceEntity, SourceLink, without_none
from sanpath_collectors.linux_host import parse
from sanpath_collectors.linux_host.snapshot import Snapshot

_FC, _NET = "/sys/class/fc_host", "/sys/class/net"
_PCIE_LANES = ("current_link_speed", "current_link_width", "max_link_speed", "max_link_width")
PCIE_FILES = (*_PCIE_LANES, "uevent")
"""Files of a PCI device: the negotiated speed and width, the highest possible ones, and its address."""
_TECHNOLOGIES = {1: "ethernet", 32: "infiniband"}  # ARPHRD_ETHER and ARPHRD_INFINIBAND, linux/if_arp.h


def fibre_channel(host: Snapshot, host_name: str) -> Iterator[SourceEntity]:
    """Fibre Channel ports, including those of NVMe over Fabrics."""
    for name in host.children(_FC):
        folder = f"{_FC}/{name}"
        speed, supported = (parse.speeds(host.text(f"{folder}/{file}")) for file in ("speed", "supported_speeds"))
        wwpn, fabric = (parse.wwpn(host.text(f"{folder}/{file}")) for file in ("port_name", "fabric_name"))
        yield SourceEntity(
            "hba",
            name,
            label=f"{host_name}/{name}",
            ids={"wwpn": (wwpn,)} if wwpn else {},
            attributes={
                "technology": "fibre_channel",
                "capable_bits_per_second": max(supported, default=None),
                "speed_bits_per_second": speed[0] if len(speed) == 1 else None,
                "port_state": host.text(f"{folder}/port_state") or None,
                "fabric_wwn": fabric or None,
                "model": host.text(f"{folder}/symbolic_name") or None,
                # Above the SCSI host there is the PCI function.
                **_pcie(host, f"{folder}/device/.."),
            },
        )


def _pcie(host: Snapshot, folder: str) -> dict[str, int | str]:
    """The throughput of the PCIe lanes of a device, and its address without the function, as far as known."""
    speed, lanes, max_speed, max_lanes = (host.text(f"{folder}/{file}") for file in _PCIE_LANES)
    address = parse.setting(host.text(f"{folder}/uevent"), "PCI_SLOT_NAME")
    values = {
        "pci_device": address.partition(".")[0] or None,
        "pcie_bits_per_second": parse.pcie_bits_per_second(speed, lanes),
        "pcie_capable_bits_per_second": parse.pcie_bits_per_second(max_speed, max_lanes),
    }
    return without_none(values)


def interfaces(host: Snapshot, storage_interfaces: Collection[str]) -> list[str]:
    """Network interfaces that are hardware or a bond, and `storage_interfaces`, which have storage traffic."""
    return [
        name
        for name in host.children(_NET)
        if name in storage_interfaces
        or host.has(f"{_NET}/{name}/bonding")
        # A virtual function belongs to the guest that uses it.
        or (host.has(f"{_NET}/{name}/device") and not host.has(f"{_NET}/{name}/device/physfn"))
    ]


def network(
    host: Snapshot, host_name: str, interface_names: Sequence[str], addresses: Mapping[str, Sequence[str]]
) -> Iterator[SourceEntity | SourceLink]:
    """Network interfaces, and the links between them: members of a bond, and the port of a VLAN.

    Only the MAC address of hardware is a join key: a bond or a VLAN has the same address as its port.
    """
    for name in interface_names:
        folder = f"{_NET}/{name}"
        is_hardware = host.has(f"{folder}/device")
        mac = (
            (host.text(f"{folder}/bonding_slave/perm_hwaddr") or host.text(f"{folder}/address"))
            if is_hardware
            else ""
        )
        ids = {"mac": (mac,) if mac else (), "ip": tuple(addresses.get(name, ()))}
        megabits = host.number(f"{folder}/speed")
        yield SourceEntity(
            "hba",
            name,
            label=f"{host_name}/{name}",
            ids={key: values for key, values in ids.items() if values},
            attributes={
                "technology": _TECHNOLOGIES.get(host.number(f"{folder}/type") or 0),
                "speed_bits_per_second": megabits * 1_000_000 if megabits else None,
                "port_state": host.text(f"{folder}/operstate") or None,
                "mtu": host.number(f"{folder}/mtu"),
                **_pcie(host, f"{folder}/device"),
            },
        )
        for lower in interface_names:
            if host.has(f"{folder}/lower_{lower}"):
                yield SourceLink("member_of", ("hba", lower), ("hba", name), f"{folder}/lower_{lower}")

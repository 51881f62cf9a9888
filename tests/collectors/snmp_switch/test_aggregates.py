"""The members of aggregates, and interfaces that are no ports of their own."""

from __future__ import annotations

import pytest

from tests.collectors.snmp_switch.small import (
    AGGREGATE,
    ETHERNET,
    GIGABIT,
    IF_STACK,
    MULTIPLEXOR,
    PROP_VIRTUAL,
    Objects,
    mac,
    port,
    read,
)

_ATTACHED = "1.2.840.10006.300.43.1.2.1.1.13."


def stacked(*pairs: tuple[int, int], status: int = 1) -> Objects:
    """Rows of ifStackTable: the higher and the lower ifIndex."""
    return {f"{IF_STACK}{higher}.{lower}": status for higher, lower in pairs}


def two_ports() -> Objects:
    return port(1, "Ethernet1", mac(1)) | port(2, "Ethernet2", mac(2))


@pytest.mark.parametrize(
    ("name", "if_type"),
    [
        ("Port-Channel7", AGGREGATE),  # Arista EOS
        ("uplink", AGGREGATE),  # as people name it
        ("Eth-Trunk3", PROP_VIRTUAL),  # Huawei S12700
        ("Po48", PROP_VIRTUAL),  # Cisco IOS
        ("Trk1", MULTIPLEXOR),  # HP ProCurve
        ("Eth-Trunk1", ETHERNET),  # Huawei S5300
    ],
)
def test_members_are_found_in_the_interface_stack(name: str, if_type: int) -> None:
    objects = two_ports() | port(3, "Ethernet3", mac(3)) | port(51, name, mac(1), if_type)
    found = read("sw", objects | stacked((0, 51), (51, 1), (51, 2), (1, 0), (0, 3)))
    assert found.members == {("Ethernet1", name), ("Ethernet2", name)}
    assert found.ports[name].attributes["members"] == 2
    assert found.row(name) == {}  # counted at its members
    assert found.row("Ethernet1")["bytes_rx_total"] == 5_000_001_000


@pytest.mark.parametrize(
    ("name", "if_type"),
    [
        ("VLAN 00001", PROP_VIRTUAL),  # above all its ports
        ("ge-0/0/1.0", PROP_VIRTUAL),  # a logical unit of Junos
        ("internal1", ETHERNET),  # a port above another
    ],
)
def test_what_is_above_a_port_is_not_always_an_aggregate(name: str, if_type: int) -> None:
    found = read("sw", two_ports() | port(51, name, mac(51), if_type) | stacked((51, 1), (51, 2)))
    assert found.members == set()


def test_an_aggregate_is_no_member_of_one_above_it() -> None:
    objects = two_ports() | port(51, "ae1", mac(1), AGGREGATE) | port(52, "ae1.10", mac(1), AGGREGATE)
    found = read("sw", objects | stacked((52, 51), (51, 1), (51, 2)) | stacked((52, 2), status=2))
    assert found.members == {("Ethernet1", "ae1"), ("Ethernet2", "ae1")}


def test_the_lag_mib_outranks_the_interface_stack() -> None:
    objects = two_ports() | port(51, "Port-Channel7", mac(1), AGGREGATE) | stacked((51, 1), (51, 2))
    found = read("sw", objects | {f"{_ATTACHED}1": 51, f"{_ATTACHED}2": 0})
    assert found.members == {("Ethernet1", "Port-Channel7")}


@pytest.mark.parametrize(
    ("name", "if_type"),
    [
        *(("mgmt0", ETHERNET), ("Mgmt 0", ETHERNET), ("mgmt1/1/1", ETHERNET), ("MgmtEth0/RP0/CPU0/0", ETHERNET)),
        *(("re0:mgmt-0", ETHERNET), ("Management1", ETHERNET), ("ManagementEthernet 1/1", ETHERNET)),
        *(("oobm", ETHERNET), ("oob", ETHERNET), ("MEth0/0/1", ETHERNET), ("M-GigabitEthernet0/0/0", ETHERNET)),
        *(("me0", ETHERNET), ("vme", ETHERNET), ("fxp0", ETHERNET), ("em0", ETHERNET)),
        *(("Vethernet1301", GIGABIT), ("irb", ETHERNET), ("Vlan-interface1", ETHERNET)),
        *(("Null0", 1), ("tunl0", 1), ("VLAN interface ID 0001", 1), ("Trk1", MULTIPLEXOR)),
    ],
)
def test_interfaces_that_are_no_ports_are_not_counted(name: str, if_type: int) -> None:
    found = read("sw", two_ports() | port(51, name, mac(51), if_type))
    assert found.row(name) == {}
    assert found.check.identity.endswith("2 ports, 2 online")


@pytest.mark.parametrize("name", ["Ethernet1/1", "eth0", "em1", "mge-0/0/1", "MultiGigabitEthernet1", "e0M", "1"])
def test_ports_with_similar_names_are_counted(name: str) -> None:
    assert read("sw", port(51, name, mac(51))).row(name) != {}


def test_ports_without_a_connector_are_counted_if_they_are_up() -> None:
    """ZTE: ifConnectorPresent is false for every port. Of ports that are down it may be so."""
    objects = {**port(1, "xgei-0/1/0/1", connector=2), **port(2, "xgei-0/1/0/2", connector=2, up=2)}
    found = read("sw", objects | port(3, "dsc", b"", 1, connector=2))
    assert found.check.identity.endswith("1 port, 1 online")


def addresses(objects: Objects) -> dict[str, tuple[str, ...]]:
    return {label: entity.ids.get("mac", ()) for label, entity in read("sw", objects).ports.items()}


def test_a_port_keeps_an_address_that_its_aggregate_or_its_unit_has_too() -> None:
    objects = two_ports() | port(51, "Port-Channel7", mac(1), AGGREGATE) | stacked((51, 1), (51, 2))
    objects |= port(3, "ge-0/0/3", mac(3)) | port(53, "ge-0/0/3.0", mac(3), PROP_VIRTUAL)
    assert addresses(objects) == {
        "Ethernet1": (mac(1).hex(":"),),
        "Ethernet2": (mac(2).hex(":"),),
        "Port-Channel7": (),
        "ge-0/0/3": (mac(3).hex(":"),),
        "ge-0/0/3.0": (),
    }


@pytest.mark.parametrize(
    ("name", "if_type"),
    [
        ("Vlan1", 136),  # seen at every uplink
        ("Po9", AGGREGATE),  # of other ports
        ("Loopback0", 24),
        ("mgmt0", ETHERNET),
        ("Ethernet1.1", ETHERNET),  # a port by itself
    ],
)
def test_an_address_that_is_seen_elsewhere_identifies_no_port(name: str, if_type: int) -> None:
    found = addresses(two_ports() | port(51, name, mac(1), if_type))
    assert (found["Ethernet1"], found["Ethernet2"]) == ((), (mac(2).hex(":"),))

"""The members of aggregates, and interfaces that are no ports of their own."""

from __future__ import annotations

import pytest

from tests.collectors.snmp_switch.small import (
    AGGREGATE,
    ETHERNET,
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

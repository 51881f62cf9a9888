"""Cables that LLDP reports: many switches name their own ports in another way than their neighbours see them."""

from __future__ import annotations

from tests.collectors.snmp_switch.small import LLDP_CHASSIS, Objects, announced, cabled, heard, mac, port, read

_LOCAL, _NAME = 7, 5
"""LldpPortIdSubtype: locally assigned, interface name."""
_BRIDGE_PORT = "1.3.6.1.2.1.17.1.4.1.2."


def test_an_identifier_that_is_the_ifindex_and_the_lldp_number_names_the_port() -> None:
    """Junos: identifier "611" with number 611; its description is what people wrote, or a dash."""
    near: Objects = {LLDP_CHASSIS: mac(0x100), **port(611, "xe-1/2/0"), **port(612, "xe-1/2/1")}
    near |= announced(611, b"611", _LOCAL, b"-") | heard(611, mac(0x200), b"628", _LOCAL)
    near |= announced(612, b"612", _LOCAL, b"to core-3")
    far: Objects = {LLDP_CHASSIS: mac(0x200), **port(628, "xe-0/0/0")}
    far |= announced(628, b"628", _LOCAL, b"-") | heard(628, mac(0x100), b"611", _LOCAL)
    both = read("core-1", near), read("core-2", far)
    assert cabled(*both) == {frozenset(("switch_port:core-1/xe-1/2/0", "switch_port:core-2/xe-0/0/0"))}


def test_an_identifier_that_is_the_ifindex_of_the_bridge_port_names_the_port() -> None:
    objects = {LLDP_CHASSIS: mac(0x100), **port(513, "ge-0/0/1"), **port(514, "ge-0/0/2")}
    objects |= announced(2, b"514", _LOCAL) | heard(2, mac(0x200), b"ge-0/0/0", _NAME)
    mapped = read("sw", objects | {f"{_BRIDGE_PORT}1": 513, f"{_BRIDGE_PORT}2": 514})
    assert [near for near, _ in mapped.cables] == ["ge-0/0/2"]
    assert read("sw", objects).cables == []  # a number that nothing confirms


def test_an_lldp_number_alone_names_no_port() -> None:
    """The agent numbers its LLDP ports itself, as of Catalyst: number 3 is another port than ifIndex 3."""
    objects = {LLDP_CHASSIS: mac(0x100), **port(3, "Gi0/3"), **port(10, "Gi0/10")}
    objects |= announced(3, b"10", _LOCAL) | heard(3, mac(0x200), b"1", _LOCAL)
    assert read("sw", objects | {f"{_BRIDGE_PORT}3": 3}).cables == []


def test_a_name_outranks_a_number() -> None:
    """A switch whose ports are named by numbers that are ifIndexes of others."""
    objects = {LLDP_CHASSIS: mac(0x100), **port(1, "2"), **port(2, "1")}
    objects |= announced(1, b"1", _NAME) | heard(1, mac(0x200), b"7", _NAME)
    assert [near for near, _ in read("sw", objects).cables] == ["1"]

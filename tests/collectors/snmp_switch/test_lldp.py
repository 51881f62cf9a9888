"""Cables that LLDP reports: many switches name their own ports in another way than their neighbours see them."""

from __future__ import annotations

from tests.collectors.snmp_switch.small import (
    LLDP_CHASSIS,
    NX_OS,
    PROP_VIRTUAL,
    Objects,
    announced,
    cabled,
    heard,
    mac,
    port,
    read,
)

_MAC_ADDRESS, _NAME, _LOCAL = 3, 5, 7
"""LldpPortIdSubtype."""
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


def test_the_lldp_number_is_that_of_the_bridge_port() -> None:
    """As LLDP-MIB defines it. EXOS: identifier "2" of port 1:2, which is bridge port 2 with ifIndex 1002."""
    objects = {LLDP_CHASSIS: mac(0x100), **port(1001, "1:1"), **port(1002, "1:2")}
    objects |= announced(1, b"1", _NAME) | announced(2, b"2", _NAME) | heard(2, mac(0x200), b"vmnic2", _NAME)
    objects |= {f"{_BRIDGE_PORT}1": 1001, f"{_BRIDGE_PORT}2": 1002}
    assert [near for near, _ in read("sw", objects).cables] == ["1:2"]
    # An identifier that is the ifIndex of something else.
    assert read("sw", objects | announced(2, b"1001", _LOCAL)).cables == []
    # A port with a name whose bridge port is another one: this switch numbers its ports in another way.
    assert read("sw", objects | announced(1, b"1:1", _NAME) | {f"{_BRIDGE_PORT}1": 1002}).cables == []


def test_of_a_device_that_is_no_bridge_the_lldp_number_is_the_ifindex() -> None:
    objects = {LLDP_CHASSIS: mac(0x100), **port(272637955, "ten1/1/1"), **port(272637959, "ten1/1/2")}
    objects |= announced(272637955, b"tengigabit 1", _LOCAL) | heard(272637955, mac(0x200), b"vmnic2", _NAME)
    assert [near for near, _ in read("sw", objects).cables] == ["ten1/1/1"]
    # Nor is it, if a name tells otherwise.
    others = announced(272637959, b"ten1/1/1", _NAME) | announced(272637955, b"tengigabit 1", _LOCAL)
    assert read("sw", objects | others).cables == []


def test_an_agent_without_the_table_of_its_own_ports() -> None:
    """As RouterOS, which numbers them by ifIndex, and some Comware, where the bridge port is the same."""
    objects = {**port(1, "wlan1"), **port(2, "ether2"), **port(24, "ge1/0/24")}
    for number in (1, 2, 24):
        objects |= heard(number, mac(0x200 + number), b"vmnic2", _NAME)
    assert {near for near, _ in read("sw", objects).cables} == {"wlan1", "ether2", "ge1/0/24"}
    objects |= {f"{_BRIDGE_PORT}24": 24, f"{_BRIDGE_PORT}1": 2}  # number 1: of which of the two?
    assert {near for near, _ in read("sw", objects).cables} == {"ether2", "ge1/0/24"}


def test_a_name_outranks_a_number() -> None:
    """A switch whose ports are named by numbers that are ifIndexes of others."""
    objects = {LLDP_CHASSIS: mac(0x100), **port(1, "2"), **port(2, "1")}
    objects |= announced(1, b"1", _NAME) | heard(1, mac(0x200), b"7", _NAME)
    assert [near for near, _ in read("sw", objects).cables] == ["1"]


def test_ports_of_nx_os_are_known_by_their_address_and_short_name() -> None:
    """Its table has the chassis address and a MAC address for the port; what it sends are the port's address and
    the short name. A UCS interconnect shows no LLDP table at all."""
    names = {"nexus": 0x100, "nexus-2": 0x200, "ucs": 0x300}
    objects: dict[str, Objects] = {}
    for name, base in names.items():
        objects[name] = {
            **port(436207616, "Ethernet1/1", mac(base + 1)),
            **port(436211712, "Ethernet1/2", mac(base + 2)),
            **port(369098762, "port-channel11", mac(base + 2), PROP_VIRTUAL),
        }
        if name != "ucs":
            objects[name][LLDP_CHASSIS] = mac(base).hex(":").encode()
            for number, last in ((436207616, base + 1), (436211712, base + 2)):
                objects[name] |= announced(number, mac(last).hex(":").encode(), _MAC_ADDRESS, b"to somewhere")

    def padded(short: bytes) -> bytes:
        return short.ljust(16, b"\0")

    objects["nexus"] |= heard(436207616, mac(0x201), padded(b"Eth1/1"), _LOCAL, b"to somewhere")
    objects["nexus-2"] |= heard(436207616, mac(0x101), padded(b"Eth1/1"), _LOCAL, b"to somewhere")
    objects["nexus-2"] |= heard(436211712, mac(0x302), padded(b"Eth1/2"), _LOCAL, b"Ethernet1/2")
    found = [read(name, objects[name], object_id=NX_OS) for name in names]
    assert cabled(*found) == {
        frozenset(("switch_port:nexus/Ethernet1/1", "switch_port:nexus-2/Ethernet1/1")),
        frozenset(("switch_port:nexus-2/Ethernet1/2", "switch_port:ucs/Ethernet1/2")),
    }


def test_a_port_that_announces_its_name_is_found_although_its_table_has_a_number() -> None:
    """As of Junos 15 and later, which sends xe-0/0/0 and keeps 628 in its table."""
    near: Objects = {LLDP_CHASSIS: mac(0x100), **port(611, "xe-1/2/0"), **announced(611, b"611", _LOCAL)}
    near |= heard(611, mac(0x200), b"xe-0/0/0", _NAME)
    far: Objects = {LLDP_CHASSIS: mac(0x200), **port(628, "xe-0/0/0"), **announced(628, b"628", _LOCAL)}
    assert len(cabled(read("core-1", near), read("core-2", far))) == 1


def test_what_a_table_says_outranks_what_is_derived() -> None:
    """A switch that announces numbers which are the names of other ports, and one description for all."""
    objects: Objects = {LLDP_CHASSIS: mac(0x100)}
    for number in (1, 2, 3):
        name = str(number - 1)
        objects |= port(number, name, mac(0x100), descr=b"Gigabit port")
        objects |= announced(number, str(number).encode(), _LOCAL, name.encode())
    ports = read("sw", objects).ports
    chassis = mac(0x100).hex(":")
    expected = {"0": (f"{chassis}/1", f"{chassis}/0"), "1": (f"{chassis}/2",), "2": (f"{chassis}/3",)}
    assert {label: entity.ids["lldp"] for label, entity in ports.items()} == expected


def test_a_name_that_nx_os_cuts_off_is_completed_from_the_description() -> None:
    objects = {LLDP_CHASSIS: mac(0x100), **port(436207616, "Ethernet1/1", mac(0x101))}
    objects |= announced(436207616, mac(0x101), _MAC_ADDRESS)
    cut, other = b"Ten-GigabitEther", b"GigabitEthernet1"
    for port_id, description, entire in (
        (cut, b"Ten-GigabitEthernet1/0/49 Interface", "Ten-GigabitEthernet1/0/49"),
        (cut, b"to nexus", "Ten-GigabitEther"),
        (other, b"GigabitEthernet1", "GigabitEthernet1"),
        (b"TenGigabitEthern", b"TenGigabitEthernet 0/49", "TenGigabitEthernet 0/49"),
    ):
        found = read("sw", objects | heard(436207616, mac(0x200), port_id, _NAME, description), object_id=NX_OS)
        assert found.cables == [("Ethernet1/1", ("lldp", f"{mac(0x200).hex(':')}/{entire}"))]

"""Where devices have logged in when more than one switch knows of them, and what a WWPN without a name is."""

from __future__ import annotations

from sanpath.model import SourceEntity, SourceLink
from sanpath.topology.resolve import resolve
from sanpath.topology.topology import Topology

HOST, TARGET, UPLINK, OTHER_UPLINK = "20000025b5100001", "524a9371af4e8200", "201f002a6a000000", "2020002a6a000000"

Reported = tuple[str, SourceEntity | SourceLink]


def resolved(*reported: Reported) -> Topology:
    return resolve((source, number, item) for number, (source, item) in enumerate(reported))


def switch(name: str, **ports: str) -> list[Reported]:
    """A switch with ports by label, each with its own WWPN ("": not told)."""
    reported: list[Reported] = [(name, SourceEntity("switch", name, name, {"name": (name,)}))]
    for label, wwpn in ports.items():
        ids = {"wwpn": (wwpn,)} if wwpn else {}
        reported.append((name, SourceEntity("switch_port", label, label, ids)))
        reported.append((name, SourceLink("member_of", ("switch_port", label), ("switch", name), "ifTable")))
    return reported


def login(source: str, wwpn: str, port: str, evidence: str = "name server") -> Reported:
    return source, SourceLink("logged_in", ("wwpn", wwpn), ("switch_port", port), evidence)


def device(source: str, kind: str, wwpn: str, label: str = "") -> Reported:
    return source, SourceEntity(kind, label or wwpn, label or wwpn, {"wwpn": (wwpn,)})


def links(topology: Topology) -> set[tuple[str, str, str]]:
    return {
        (link.relation, link.from_entity.partition(":")[2], link.to_entity.partition(":")[2])
        for link in topology.links
        if link.relation != "member_of"
    }


NPV = [
    *switch("edge", vfc1="25cc000000000001", uplink1=UPLINK, uplink2=OTHER_UPLINK),
    *switch("core", p1="2001000000000001", p2="2002000000000001", p3="2003000000000001"),
    *(login("core", UPLINK, "p1"), login("core", OTHER_UPLINK, "p2"), login("core", HOST, "p1")),
    *(device("core", "hba", HOST), device("core", "array_port", TARGET), login("core", TARGET, "p3")),
]


def test_behind_an_npv_device_the_nearest_port_is_the_login() -> None:
    found = resolved(*NPV, login("edge", HOST, "vfc1", "fabric login"))
    assert links(found) == {
        ("cabled_to", "edge/uplink1", "core/p1"),
        ("cabled_to", "edge/uplink2", "core/p2"),
        ("logged_in", HOST, "edge/vfc1"),
        ("known_at", HOST, "core/p1"),
        ("logged_in", TARGET, "core/p3"),
    }
    assert not found.unjoined


def test_without_the_npv_device_the_port_of_its_uplink_is_the_nearest_there_is() -> None:
    found = resolved(*(reported for reported in NPV if reported[0] == "core"))
    assert ("logged_in", HOST, "core/p1") in links(found)
    assert {unjoined.subject.split()[1] for unjoined in found.unjoined} == {UPLINK, OTHER_UPLINK}


def test_a_chain_of_npv_devices() -> None:
    middle = switch("middle", down="2005000000000003", up="20ff000000000003")
    found = resolved(
        *NPV,
        *middle,
        *switch("top", t1="2001000000000004"),
        *(login("edge", HOST, "vfc1"), login("middle", UPLINK, "down"), login("middle", HOST, "down")),
        *(login("top", "20ff000000000003", "t1"), login("top", HOST, "t1")),
    )
    assert {link for link in links(found) if link[1] == HOST} == {
        ("logged_in", HOST, "edge/vfc1"),
        ("known_at", HOST, "core/p1"),
        ("known_at", HOST, "middle/down"),
        ("known_at", HOST, "top/t1"),
    }


def test_many_wwpns_on_one_port_are_many_logins() -> None:
    virtual = "c050760000000001"
    found = resolved(
        *switch("sw1", p1="2001000000000001"),
        *(
            device("sw1", "hba", HOST),
            device("sw1", "hba", virtual),
            login("sw1", HOST, "p1"),
            login("sw1", virtual, "p1"),
        ),
    )
    assert links(found) == {("logged_in", HOST, "sw1/p1"), ("logged_in", virtual, "sw1/p1")}


def test_both_ends_of_an_inter_switch_link_are_one_cable() -> None:
    found = resolved(
        *switch("sw1", e1="2001000000000001"),
        *switch("sw2", e9="2009000000000002"),
        ("sw1", SourceLink("cabled_to", ("switch_port", "e1"), ("wwpn", "20:09:00:00:00:00:00:02"), "link table")),
        ("sw2", SourceLink("cabled_to", ("switch_port", "e9"), ("wwpn", "2001000000000001"), "link table")),
    )
    (cable,) = [link for link in found.links if link.relation == "cabled_to"]
    assert cable.evidence == ("sw1: link table", "sw2: link table")


def test_an_address_behind_an_ethernet_uplink_is_known_there_and_logged_in_at_its_port() -> None:
    mac = "02:00:0b:00:00:aa"
    found = resolved(
        *switch("sw1", Ethernet49=""),
        *switch("sw2", Ethernet1="", Ethernet49=""),
        ("fa1", SourceEntity("array_port", "CT0.ETH4", "CT0.ETH4", {"mac": (mac,)})),
        ("sw1", SourceEntity("switch_port", "Ethernet49", "Ethernet49", {"lldp": ("02:00:0a:00:00:fe/Ethernet49",)})),
        (
            "sw2",
            SourceLink("cabled_to", ("switch_port", "Ethernet49"), ("lldp", "02:00:0A:00:00:FE/Ethernet49"), "LLDP"),
        ),
        ("sw1", SourceLink("logged_in", ("mac", mac), ("switch_port", "Ethernet49"), "forwarding table")),
        ("sw2", SourceLink("logged_in", ("mac", mac), ("switch_port", "Ethernet1"), "forwarding table")),
        (
            "sw2",
            SourceLink("logged_in", ("mac", "02:00:00:00:00:99"), ("switch_port", "Ethernet1"), "forwarding table"),
        ),
    )
    assert links(found) == {
        ("cabled_to", "sw2/Ethernet49", "sw1/Ethernet49"),
        ("known_at", "fa1/CT0.ETH4", "sw1/Ethernet49"),
        ("logged_in", "fa1/CT0.ETH4", "sw2/Ethernet1"),
    }
    assert not found.unjoined  # nobody asked about the other address


def test_ports_of_one_name_that_see_the_same_logins_are_two_where_their_own_wwpns_differ() -> None:
    """A switch in access gateway mode and the one before it may both have a port 0/5."""
    found = resolved(
        *switch("gateway", p5="2005000000000001"),
        *switch("core", p5="2005000000000002"),
        *(device("core", "hba", HOST), login("gateway", HOST, "p5"), login("core", HOST, "p5")),
    )
    assert len(found.of_kind("switch_port")) == 2
    assert len(found.of_kind("switch")) == 2


def test_one_switch_read_under_two_names_is_one_by_its_own_wwn() -> None:
    reported = [
        (name, SourceEntity("switch", name, name, {"switch_wwn": (wwn,)}))
        for name, wwn in (("sw1", "10:00:00:05:33:00:00:01"), ("sw1-again", "1000000533000001"))
    ]
    assert [entity.id for entity in resolved(*reported).of_kind("switch")] == ["switch:sw1"]


def test_a_wwpn_is_a_name_only_where_nothing_better_is_known() -> None:
    seen = [*switch("a-switch", p1=""), device("a-switch", "array_port", TARGET), device("a-switch", "hba", HOST)]
    assert {e.id for e in resolved(*seen).entities.values()} >= {f"array_port:{TARGET}", f"hba:{HOST}"}
    named = resolved(*seen, device("fa1", "array_port", TARGET, "CT0.FC0"), device("zeus", "hba", HOST, "zeus/host3"))
    assert {e.id for e in named.entities.values()} >= {"array_port:fa1/CT0.FC0", "hba:zeus/host3"}
    assert len(named.of_kind("array_port")) == len(named.of_kind("hba")) == 1


def test_what_the_port_itself_says_outranks_what_a_switch_took_it_for() -> None:
    found = resolved(
        *switch("sw1", p1="2001000000000001"),
        device("sw1", "hba", TARGET),
        login("sw1", TARGET, "p1"),
        device("fa1", "array_port", TARGET, "CT0.FC2"),
    )
    assert not found.of_kind("hba")
    assert links(found) == {("logged_in", "fa1/CT0.FC2", "sw1/p1")}


def test_what_is_known_at_a_port_channel_is_cabled_to_its_members() -> None:
    """A forwarding table names the port channel of the uplink; the bytes are counted at its members."""
    mac = "02:00:0b:00:00:aa"
    members: list[Reported] = [
        ("sw2", SourceLink("member_of", ("switch_port", f"e{n}"), ("switch_port", "po10"), "LACP")) for n in (49, 50)
    ]
    cables: list[Reported] = [
        ("sw2", SourceLink("cabled_to", ("switch_port", f"e{n}"), ("lldp", f"sw1/e{n}"), "LLDP")) for n in (49, 50)
    ]
    found = resolved(
        *switch("sw2", e49="", e50="", po10=""),
        *members,
        *((("sw1", SourceEntity("switch", "sw1", "sw1", {"name": ("sw1",)}))),),
        *(
            reported
            for n in (49, 50)
            for reported in (
                ("sw1", SourceEntity("switch_port", f"e{n}", f"e{n}", {"lldp": (f"sw1/e{n}",)})),
                ("sw1", SourceLink("member_of", ("switch_port", f"e{n}"), ("switch", "sw1"), "ifTable")),
            )
        ),
        *cables,
        ("sw1", SourceEntity("switch_port", "e1", "e1")),
        ("sw1", SourceLink("member_of", ("switch_port", "e1"), ("switch", "sw1"), "ifTable")),
        ("db1", SourceEntity("hba", "eth0", "db1/eth0", {"mac": (mac,)})),
        ("sw1", SourceLink("logged_in", ("mac", mac), ("switch_port", "e1"), "forwarding table")),
        ("sw2", SourceLink("logged_in", ("mac", mac), ("switch_port", "po10"), "forwarding table")),
    )
    assert {link for link in links(found) if link[0] in ("logged_in", "known_at")} == {
        ("logged_in", "db1/eth0", "sw1/e1"),
        ("known_at", "db1/eth0", "sw2/e49"),
        ("known_at", "db1/eth0", "sw2/e50"),
    }

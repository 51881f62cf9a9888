"""Walks of three switches of one fabric: what each tells of itself, and that together they tell the whole path.

An interconnect in NPV mode logs in to a DS-5100B, which two inter-switch links lead to an SNS2124 with the array. The
facts were read from the recordings by hand.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from pydantic import SecretStr

from sanpath.model import Rows, SourceEntity, SourceLink
from sanpath.plugin import Check, Cost, Item
from sanpath.topology.resolve import resolve
from sanpath.topology.topology import Topology
from sanpath_collectors.snmp_switch.collector import SnmpSwitch
from sanpath_collectors.snmp_switch.config import SnmpSwitchConfig
from tests.support.replay import ReplaySnmp, read_snmprec

ROOT = Path(__file__).parents[3]
WALKS = ROOT / os.environ.get("SANPATH_RECORDINGS", "../shared/recordings") / "snmp"
pytestmark = pytest.mark.skipif(not WALKS.is_dir(), reason="no recorded device answers: set SANPATH_RECORDINGS")

DS5100B, SNS2124, INTERCONNECT = "brocade-ds-5100b", "brocade-unknown-001", "cisco-ucs-6100.fc-subset"
HOST, TARGET = "20000025b510001b", "20007c1cf1f71760"


class StillClock:
    def now_us(self) -> int:
        return 1_700_000_000_000_000


class OneAgent:
    """A context with one recorded switch."""

    def __init__(self, path: Path) -> None:
        self.clock, self.cost = StillClock(), Cost()
        self._agent = ReplaySnmp([read_snmprec(path)], self.clock, self.cost)

    def snmp(self, credentials: object) -> ReplaySnmp:  # noqa: ARG002
        return self._agent


@dataclass(frozen=True)
class Switch:
    """What the collector made of a walk. `requests`: of a poll."""

    check: Check
    found: list[SourceEntity | SourceLink]
    items: list[Item]
    requests: int

    @property
    def ports(self) -> dict[str, SourceEntity]:
        return {t.local_id: t for t in self.found if isinstance(t, SourceEntity) and t.kind == "switch_port"}

    @property
    def itself(self) -> SourceEntity:
        return next(t for t in self.found if isinstance(t, SourceEntity) and t.kind == "switch")

    def links(self, relation: str) -> list[SourceLink]:
        return [t for t in self.found if isinstance(t, SourceLink) and t.relation == relation]

    def row(self, port: str) -> dict[str, Any]:
        rows = self._rows(port)
        return {metric: values[rows.entity.index(port)] for metric, values in rows.values.items()}

    def bits(self, port: str) -> dict[str, int]:
        return {column.metric: column.bits for column in self._rows(port).table.columns}

    def _rows(self, port: str) -> Rows:
        return next(rows for rows in self.items if isinstance(rows, Rows) and port in rows.entity)


@cache
def switch(name: str) -> Switch:
    async def run() -> Switch:
        context = OneAgent(WALKS / f"{name}.snmprec.bz2")
        config = SnmpSwitchConfig(name=name, collector="snmp_switch", host="192.0.2.1", community=SecretStr("unused"))
        collector = SnmpSwitch(config)
        await collector.open(context)
        check = await collector.check(context)
        found = [item async for item in collector.inventory(context)]
        before = context.cost.requests
        items = [item async for item in collector.poll(context)]
        return Switch(check, found, items, context.cost.requests - before)

    return asyncio.run(run())


@cache
def fabric() -> Topology:
    named = {"ds5100b": DS5100B, "sns2124": SNS2124, "ucs-a": INTERCONNECT}
    return resolve((source, 1, item) for source, walk in named.items() for item in switch(walk).found)


def port(number: int) -> str:
    """The local id of a Brocade port by its number, counted from 1."""
    return str(1_073_741_823 + number)


def modes(ports: Iterable[SourceEntity]) -> Counter[object]:
    return Counter(p.attributes.get("port_mode") for p in ports)


def test_what_a_ds5100b_is() -> None:
    ds = switch(DS5100B)
    assert ds.check.identity == "DUMSYS-63: DS_5100B, v6.4.3d, 40 ports, 14 online, 3 of them inter-switch links"
    assert ds.check.unreadable == ()
    assert ds.itself.ids["switch_wwn"] == ("1000000533316d94",)
    assert len(ds.ports) == 45  # 46 interfaces but for the loopback
    assert modes(ds.ports.values()) == {"G": 26, "F": 11, "E": 3, None: 5}
    assert ds.ports[port(18)].label == "0/17"
    assert ds.ports[port(18)].ids["wwpn"] == ("2011000533316d94",)
    assert not [p for p in ds.ports.values() if "mac" in p.ids]  # addresses in digits, and one of the chassis


def test_octets_of_a_ds5100b_are_wider_than_its_interface_counters() -> None:
    ds = switch(DS5100B)
    row, bits = ds.row(port(1)), ds.bits(port(1))
    assert bits["bytes_rx_total"] == bits["credit_stall_seconds_tx_total"] == 63
    # swFCPortNoTxCredits says 398,240,381 here, and ifOutOctets the low 32 bits.
    assert row["credit_stall_seconds_tx_total"] == 4_693_207_677
    assert row["credit_stall_seconds_tx_total"] % 2**32 == 398_240_381
    up, down = ds.row(port(18)), ds.row(port(20))
    assert (up["link_up"], up["link_speed_bits_per_second"]) == (1, 8000)
    assert (down["link_up"], down["link_speed_bits_per_second"]) == (0, None)
    assert ds.bits(port(1))["state_changes_total"] == 32  # four octets on this release
    assert (row["optics_rx_power_dbm"], row["optics_tx_power_dbm"]) == (-3.6, -2.5)
    assert ds.requests <= 35


def test_interfaces_of_management_are_not_polled() -> None:
    polled = {entity for rows in switch(DS5100B).items if isinstance(rows, Rows) for entity in rows.entity}
    assert len(polled - {"DUMSYS-63"}) == 40


def test_every_login_of_a_ds5100b_is_at_its_port() -> None:
    ds = switch(DS5100B)
    at = {edge.from_end[1]: edge.to_end[1] for edge in ds.links("logged_in")}
    assert len(at) == 25
    assert at["210000e08b841cf1"] == port(12)  # its address 01:01:00 names no port
    assert at["50060161446059c6"] == port(1)
    assert sum(where == port(19) for where in at.values()) == 8
    assert sum(where == port(18) for where in at.values()) == 8
    kinds = Counter(t.kind for t in ds.found if isinstance(t, SourceEntity))
    assert (kinds["hba"], kinds["array_port"]) == (17, 2)  # three HBAs without a name, two uplinks, a tape drive


def test_a_switch_without_sw_mib_tells_the_same_from_fcmgmt() -> None:
    sns = switch(SNS2124)
    assert sns.check.identity == "DUMSYS-66: SNS2124, 7.2.1, 24 ports, 6 online, 2 of them inter-switch links"
    assert modes(sns.ports.values()) == {"G": 18, "F": 4, "E": 2, None: 5}
    row = sns.row(port(9))
    assert row["bytes_rx_total"] == pytest.approx(3_251_891_769_412_084, rel=1e-3)  # ifHCInOctets, read later
    assert sns.bits(port(9))["bytes_rx_total"] == 63
    assert sns.ports[port(9)].attributes["capable_bits_per_second"] == 8_000_000_000
    assert {edge.from_end[1] for edge in sns.links("logged_in")} == {
        *(TARGET, "20107c1cf1f71760", "20007c1cf1f71786", "20107c1cf1f71786")
    }


def test_both_ends_of_an_inter_switch_link_have_counted_the_same() -> None:
    for near, far in ((22, 23), (23, 24)):
        received, sent = switch(DS5100B).row(port(near)), switch(SNS2124).row(port(far))
        assert received["bytes_rx_total"] == pytest.approx(sent["bytes_tx_total"], rel=2.5e-6)
        assert received["bytes_tx_total"] == pytest.approx(sent["bytes_rx_total"], rel=1.5e-5)


def test_an_interconnect_that_answers_a_stub_of_fcmgmt_is_no_brocade() -> None:
    ucs = switch(INTERCONNECT)
    assert ucs.check.identity.startswith("DUMSYS-53: Cisco NX-OS(tm) ucs, 5.2(3)N2(2.28g), ")
    assert ucs.itself.ids["switch_wwn"] == ("2000002a6afc5b80",)
    assert len(ucs.ports) == 368
    assert modes(ucs.ports.values()) == {"NP": 2, "TF": 14, None: 352}
    uplink = ucs.ports["16900096"]
    assert (uplink.label, uplink.ids["wwpn"]) == ("fc1/31", ("201f002a6afc5b80",))
    assert (uplink.attributes["vsan"], uplink.attributes["speed_bits_per_second"]) == (1, 8_000_000_000)
    assert ucs.ports["503317964"].attributes["alias"] == "server 2/7, VHBA vHBA0"
    row, bits = ucs.row("16900096"), ucs.bits("16900096")
    assert (row["bytes_rx_total"], row["bytes_tx_total"]) == (2_751_237_502_995_668, 135_539_219_354_144)
    assert (row["frames_rx_total"], row["discards_rx_total"]) == (1_362_686_464_553, 263)
    assert (bits["bytes_rx_total"], bits["credit_stall_seconds_tx_total"]) == (64, 32)  # column 47 came later
    assert row["discards_timeout_total"] == 0
    assert "discards_timeout_total" not in ucs.bits("503317964")  # a virtual port has no such column
    assert ucs.row("503317964")["link_speed_bits_per_second"] is None  # up, but it names speed 0
    assert ucs.requests <= 120


def test_port_channels_and_the_supervisor_are_not_counted() -> None:
    ucs = switch(INTERCONNECT)
    polled = {entity for rows in ucs.items if isinstance(rows, Rows) for entity in rows.entity}
    for unpolled in ("369098762", "101191680"):  # port-channel11: its members are counted; sup-fc0
        assert unpolled in ucs.ports
        assert unpolled not in polled


def test_logins_of_an_interconnect() -> None:
    logins = switch(INTERCONNECT).links("logged_in")
    assert len(logins) == 14
    at = {edge.from_end[1]: edge.to_end[1] for edge in logins}
    assert at[HOST] == "503317964"
    assert any("012508" in edge.evidence for edge in logins if edge.from_end[1] == HOST)


def test_the_whole_path_without_a_name_given_by_hand() -> None:
    found = fabric()
    graph = nx.Graph(
        (link.from_entity, link.to_entity)
        for link in found.links
        if link.relation in ("logged_in", "cabled_to", "member_of")
    )
    ways = list(nx.all_shortest_paths(graph, f"hba:{HOST}", f"array_port:{TARGET}"))
    for near, far in (("0/21", "0/22"), ("0/22", "0/23")):
        assert [
            f"hba:{HOST}",
            *("switch_port:ucs-a/vfc1485", "switch:ucs-a", "switch_port:ucs-a/fc1/31"),
            *("switch_port:ds5100b/0/17", "switch:ds5100b", f"switch_port:ds5100b/{near}"),
            *(f"switch_port:sns2124/{far}", "switch:sns2124", "switch_port:sns2124/0/8"),
            f"array_port:{TARGET}",
        ] in ways
    assert len(ways) == 4  # two uplinks, two inter-switch links
    # Which uplink the host is pinned to is told by where the switch before it knows the host.
    assert found.related(f"hba:{HOST}", "known_at") == ["switch_port:ds5100b/0/17"]


def test_every_fabric_login_of_the_interconnect_joins() -> None:
    found = fabric()
    for edge in switch(INTERCONNECT).links("logged_in"):
        hba = f"hba:{edge.from_end[1]}"
        (login,) = found.related(hba, "logged_in")
        assert login == found.known_as["ucs-a", "switch_port", edge.to_end[1]]
        assert len(found.related(hba, "known_at", "switch_port")) == 1


def test_what_does_not_join_says_what_it_is() -> None:
    unjoined = {u.subject.split()[1] for u in fabric().unjoined}
    assert unjoined == {
        "500308c388c4f001",  # a tape drive
        *("21000024ff069d67", "21000024ff069d7c", "21000024ff069ab1"),  # no symbolic name
        "20110027f83b163f",  # the port of a third switch, which was not read
    }

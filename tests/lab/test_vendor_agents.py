"""What the simulated Brocade and Cisco switches answer, as raw SNMP: the tables and the traps of the real ones."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pysnmp.proto.rfc1902 import Counter32, Counter64

from sanpath_lab.scenario import Scenario, load_scenario
from sanpath_lab.simulation import Simulation
from tests.lab.conftest import EPOCH_SECONDS
from tests.lab.snmp_client import walked

SYS_OBJECT_ID = "1.3.6.1.2.1.1.2"
IF_ENTRY = "1.3.6.1.2.1.2.2.1"
IF_X_ENTRY = "1.3.6.1.2.1.31.1.1.1"

SW = "1.3.6.1.4.1.1588.2.1.1.1"
SW_PORT = f"{SW}.6.2.1"
UNIT = "16.0.0.5.51.0.0.1.0.0.0.0.0.0.0.0"
"""The octets of sw1's identifier, with no length before them: the first is 0x10 of a WWN."""
STATISTICS = "1.3.6.1.3.94.4.5.1"
UNIT_PORT = "1.3.6.1.3.94.1.10.1"
FIRST_PORT = 1073741824

FC_FE = "1.3.6.1.4.1.9.9.289.1"
FC1_2, FC1_3, FC1_8 = 0x01001000, 0x01002000, 0x01007000

NEIGHBOUR = bytes.fromhex("21000024ff000009")


def number(cell: Any) -> int:
    """Eight octets as a counter."""
    raw = bytes(cell)
    assert len(raw) == 8
    return int.from_bytes(raw, "big")


def under_load(scenario: str) -> Simulation:
    simulation = Simulation(load_scenario(scenario), EPOCH_SECONDS)
    simulation.begin_load()
    simulation.advance(1.5)
    return simulation


@pytest.fixture(scope="module")
def brocade() -> Simulation:
    return under_load("slow-drain-host")


@pytest.fixture(scope="module")
def cisco() -> Simulation:
    return under_load("oversubscribed-isl")


def test_each_says_whose_make_it_is(brocade: Simulation, cisco: Simulation) -> None:
    (one,) = walked(brocade, "sw1", SYS_OBJECT_ID).values()
    (other,) = walked(cisco, "sw1", SYS_OBJECT_ID).values()
    assert str(one) == "1.3.6.1.4.1.1588.2.1.1.1"
    assert str(other).startswith("1.3.6.1.4.1.9.12.3.1.3.")


def test_a_brocade_numbers_its_ports_in_three_ways(brocade: Simulation) -> None:
    found = walked(brocade, "sw1", IF_ENTRY, IF_X_ENTRY, SW_PORT, UNIT_PORT)
    assert bytes(found[f"{IF_ENTRY}.2.{FIRST_PORT + 3}"]) == b"FC port 0/3"
    assert bytes(found[f"{IF_X_ENTRY}.1.{FIRST_PORT + 3}"]) == b"0/3"
    assert bytes(found[f"{SW_PORT}.37.4"]) == b"3"
    assert bytes(found[f"{SW_PORT}.34.4"]).hex() == "2003000533000001"
    assert bytes(found[f"{UNIT_PORT}.10.{UNIT}.4"]) == bytes(found[f"{SW_PORT}.34.4"])
    assert int(found[f"{UNIT_PORT}.15.{UNIT}.4"]) == 16 * 125_000
    assert int(found[f"{UNIT_PORT}.18.{UNIT}.4"]) == 3
    assert [int(found[f"{SW_PORT}.39.{port}"]) for port in (4, 8, 1)] == [4, 5, 6], "F, E, and G without a cable"
    assert not any(oid.startswith(f"{IF_X_ENTRY}.18.") for oid in found), "Fabric OS 7 has no ifAlias"


def test_every_table_of_a_brocade_counts_the_same_in_its_own_width(brocade: Simulation) -> None:
    found = walked(brocade, "sw1", IF_ENTRY, IF_X_ENTRY, SW_PORT, STATISTICS)
    sent = number(found[f"{STATISTICS}.6.{UNIT}.4"])
    assert sent > 50_000_000
    assert isinstance(found[f"{IF_X_ENTRY}.10.{FIRST_PORT + 3}"], Counter64)
    assert int(found[f"{IF_X_ENTRY}.10.{FIRST_PORT + 3}"]) == sent
    assert isinstance(found[f"{IF_ENTRY}.16.{FIRST_PORT + 3}"], Counter32)
    assert int(found[f"{IF_ENTRY}.16.{FIRST_PORT + 3}"]) == sent % 2**32
    assert int(found[f"{SW_PORT}.11.4"]) == sent // 4
    assert number(found[f"{STATISTICS}.4.{UNIT}.4"]) == int(found[f"{SW_PORT}.13.4"])


def test_a_brocade_counts_the_stall_in_ticks_at_the_port_before_the_slow_device(brocade: Simulation) -> None:
    found = walked(brocade, "sw1", SW_PORT, STATISTICS)
    ticks = number(found[f"{STATISTICS}.8.{UNIT}.4"])
    assert 0.9 < ticks * 2.5e-6 / brocade.now < 0.96
    assert int(found[f"{SW_PORT}.20.4"]) == ticks
    assert number(found[f"{STATISTICS}.8.{UNIT}.3"]) == 0, "the victim's own port"
    far = walked(brocade, "sw2", f"{SW_PORT}.20")
    assert int(far[f"{SW_PORT}.20.8"]) * 2.5e-6 / brocade.now > 0.8, "the link towards it"


def test_what_a_brocade_does_not_count_is_a_sign_bit_and_not_a_number(brocade: Simulation) -> None:
    found = walked(brocade, "sw1", STATISTICS)
    assert bytes(found[f"{STATISTICS}.14.{UNIT}.4"]) == b"\x80" + bytes(7)
    assert number(found[f"{STATISTICS}.40.{UNIT}.4"]) == 0


def test_a_brocade_knows_its_own_devices_and_where_its_links_lead(brocade: Simulation) -> None:
    names, sns = f"{SW}.7.2.1", "1.3.6.1.3.94.5.2.1.1"
    neighbours, unit_links = f"{SW}.2.9.1", "1.3.6.1.3.94.1.12.1"
    found = walked(brocade, "sw1", names, neighbours, sns, unit_links)
    local = {bytes(v) for oid, v in found.items() if oid.startswith(f"{names}.4.")}
    assert local == {bytes.fromhex("21000024ff000002"), NEIGHBOUR}
    # The index is unit, port counted from 1, address.
    assert bytes(found[f"{sns}.4.{UNIT}.4.1.4.0"]) == NEIGHBOUR
    assert bytes(found[f"{sns}.12.{UNIT}.4.1.4.0"]).hex() == "2003000533000001"
    assert int(found[f"{neighbours}.2.1"]) == 8
    assert bytes(found[f"{neighbours}.8.1"]).hex() == "2007000533000002"
    assert int(found[f"{unit_links}.4.{UNIT}.1"]) == 7, "counted from 0 here"
    assert int(found[f"{unit_links}.12.{UNIT}.1"]) == 4, "a switch"
    assert int(found[f"{unit_links}.12.{UNIT}.{0x010400}"]) == 2, "a device"
    (far,) = (bytes(v).hex() for oid, v in walked(brocade, "sw2", f"{neighbours}.8").items())
    assert far == "2007000533000001"


def test_a_cisco_tells_the_mode_of_each_port_and_who_has_logged_in(cisco: Simulation) -> None:
    found = walked(cisco, "sw1", FC_FE, IF_X_ENTRY)
    assert [int(found[f"{FC_FE}.1.2.1.3.{port}"]) for port in (FC1_2, FC1_8, 0x01000000)] == [2, 4, 14]
    assert int(found[f"{IF_X_ENTRY}.15.{FC1_8}"]) == 8000
    assert bytes(found[f"{FC_FE}.1.5.1.3.{FC1_3}.1.{0x010300}"]) == NEIGHBOUR
    assert bytes(found[f"{FC_FE}.1.6.1.2.{FC1_8}"]).hex() == "2008000dec000002", "the port at the other end"
    assert sum(oid.startswith(f"{FC_FE}.1.5.1.3.") for oid in found) == 2


def test_the_name_server_of_a_cisco_knows_the_whole_fabric(cisco: Simulation) -> None:
    names = "1.3.6.1.4.1.9.9.293.1.1.4.1"
    for switch in ("sw1", "sw2"):
        found = walked(cisco, switch, names)
        assert bytes(found[f"{names}.2.1.1.3.0"]) == NEIGHBOUR
        assert bytes(found[f"{names}.10.1.1.3.0"]).hex() == "2003000dec000001"
        assert sum(oid.startswith(f"{names}.2.") for oid in found) == 4


def test_a_full_link_reads_98_percent_of_its_data_rate_and_shows_no_stall() -> None:
    cisco = under_load("oversubscribed-isl")
    octets, ticks = f"{IF_X_ENTRY}.10.{FC1_8}", f"{FC_FE}.2.1.1.47.{FC1_8}"
    before, since = walked(cisco, "sw2", IF_X_ENTRY), cisco.now
    cisco.advance(since + 1.0)
    after = walked(cisco, "sw2", IF_X_ENTRY, FC_FE)
    assert 0.975 < (int(after[octets]) - int(before[octets])) / 850e6 < 0.99
    assert int(after[ticks]) == 0


def test_a_cisco_counts_the_stall_in_64_and_in_32_bits(slow_drain: Simulation) -> None:
    other = slow_drain.scenario.model_dump_json().replace("fabric_os", "nx_os").replace("sw2/0/0", "sw2/0/4")
    scenario = Scenario.model_validate_json(re.sub(r"(sw\d)/0/", r"\1/fc1/", other))
    simulation = Simulation(scenario, slow_drain.epoch_seconds)
    simulation.advance(1.0)
    found = walked(simulation, "sw1", f"{FC_FE}.2.1.1")
    wait = found[f"{FC_FE}.2.1.1.47.{FC1_3}"]
    assert isinstance(wait, Counter64)
    assert 0.9 < int(wait) * 2.5e-6 < 0.96
    assert isinstance(found[f"{FC_FE}.2.1.1.15.{FC1_3}"], Counter32)
    assert int(found[f"{FC_FE}.2.1.1.15.{FC1_3}"]) == int(wait)
    assert int(found[f"{FC_FE}.2.1.1.40.{FC1_3}"]) > 100, "how often its credits ran out"

"""Real device answers through the built-in collectors; facts read from the recordings by hand."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from sanpath.plugin import Check, Cost, Item, Rows, Thing, Tie
from sanpath.transport.replay import ReplaySnmp, read_snmprec
from sanpath_collectors.flasharray import inventory, parse
from sanpath_collectors.flasharray.tables import HOST, VOLUME
from sanpath_collectors.snmp_switch.collector import SnmpSwitch
from sanpath_collectors.snmp_switch.config import SnmpSwitchConfig

ROOT = Path(__file__).parents[2]
RECORDINGS = ROOT / os.environ.get("SANPATH_RECORDINGS", "../shared/recordings")
MISSING = "no recorded device answers: set SANPATH_RECORDINGS"

with_switches = pytest.mark.skipif(not (RECORDINGS / "snmp").is_dir(), reason=MISSING)
with_flasharray = pytest.mark.skipif(not (RECORDINGS / "flasharray" / "rest2").is_dir(), reason=MISSING)


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


def read_switch(name: str) -> tuple[Check, list[Thing | Tie], list[Item], Cost]:
    async def run() -> tuple[Check, list[Thing | Tie], list[Item], Cost]:
        context = OneAgent(RECORDINGS / "snmp" / name)
        config = SnmpSwitchConfig(name="sw", collector="snmp_switch", host="192.0.2.1", community=SecretStr("unused"))
        switch = SnmpSwitch(config)
        await switch.open(context)
        check = await switch.check(context)
        found = [item async for item in switch.inventory(context)]
        context.cost.requests = 0
        return check, found, [item async for item in switch.poll(context)], context.cost

    return asyncio.run(run())


def things(found: Iterable[object], kind: str) -> dict[str, Thing]:
    return {t.local_id: t for t in found if isinstance(t, Thing) and t.kind == kind}


def sample(items: Iterable[Item], entity: str) -> dict[str, Any]:
    """The one row of an entity, with the width of its byte counters."""
    for rows in items:
        if isinstance(rows, Rows) and entity in rows.entity:
            row = {metric: values[rows.entity.index(entity)] for metric, values in rows.values.items()}
            return row | {"bits": max(column.bits for column in rows.table.columns)}
    raise AssertionError(f"no row of {entity}")


@with_switches
def test_brocade_with_32_bit_counters() -> None:
    check, found, items, cost = read_switch("brocade-ds-5100b.snmprec.bz2")
    ports = things(found, "switch_port")
    assert check.identity == "DUMSYS-63: DS-5100B"
    assert any("64-bit" in gap for gap in check.unreadable)
    assert len(ports) == 45  # 46 interfaces but for the loopback
    assert sum(p.attributes["technology"] == "fibre_channel" for p in ports.values()) == 40
    assert ports["1073741841"].label == "0/17"
    assert ports["1073741841"].ids == {"name": ("0/17",)}  # its ifPhysAddress "75008" is a port address in digits
    up = sample(items, "1073741841")
    assert (up["bytes_rx_total"], up["bits"]) == (2_154_461_320, 32)
    assert (up["link_up"], up["link_speed_bits_per_second"]) == (1, 8000)
    down = sample(items, "1073741843")
    assert (down["link_up"], down["link_speed_bits_per_second"]) == (0, None)
    assert sample(items, "DUMSYS-63")["uptime_seconds"] == 1_706_568_608
    assert cost.requests <= 12


@with_switches
def test_brocade_port_addresses_of_six_digits_are_no_macs() -> None:
    _, found, items, _ = read_switch("brocade-unknown-001.snmprec.bz2")
    ports = things(found, "switch_port")
    assert ports["1073741832"].ids == {"name": ("0/8",)}  # "329728" has six octets, like a MAC
    assert not [p for p in ports.values() if "mac" in p.ids]  # eth0, fc0 and port0 share the chassis' address
    port = sample(items, "1073741832")
    assert (port["bytes_rx_total"], port["bytes_tx_total"]) == (3_251_891_769_412_084, 49_465_721_343_948)
    assert port["bits"] == 64


@with_switches
def test_cisco_with_both_widths_and_virtual_ports() -> None:
    check, found, items, cost = read_switch("cisco-ucs-6100.fc-subset.snmprec.bz2")
    ports = things(found, "switch_port")
    assert check.identity.startswith("DUMSYS-53: Cisco NX-OS(tm) ucs")
    assert len(ports) == 368
    uplink = ports["16900096"]
    assert uplink.label == "fc1/31"
    assert uplink.ids["wwpn"] == ("201f002a6afc5b80",)
    assert uplink.attributes["speed_bits_per_second"] == 8_000_000_000
    row = sample(items, "16900096")
    assert (row["bytes_rx_total"], row["bytes_tx_total"]) == (2_751_237_502_995_668, 135_539_219_354_144)
    assert (row["discards_rx_total"], row["bits"]) == (263, 64)
    assert ports["503317964"].attributes["alias"] == "server 2/7, VHBA vHBA0"
    assert sample(items, "503317964")["link_speed_bits_per_second"] is None  # up, but a virtual port names speed 0
    supervisor = sample(items, "101191680")  # sup-fc0 is not in ifXTable
    assert (supervisor["bytes_rx_total"], supervisor["bits"]) == (388_475_805, 32)
    polled = {entity for rows in items if isinstance(rows, Rows) for entity in rows.entity}
    assert "369098762" in ports
    assert "369098762" not in polled  # port-channel11: its members are counted
    assert cost.requests <= 120


def rest2(name: str) -> list[parse.Entry]:
    return parse.page((RECORDINGS / "flasharray" / "rest2" / f"{name}.json").read_bytes(), name).items


def rows_of(rows: Rows | None) -> dict[str, dict[str, Any]]:
    assert rows is not None
    return {
        entity: {metric: values[number] for metric, values in rows.values.items()}
        for number, entity in enumerate(rows.entity)
    }


@with_flasharray
def test_flasharray_performance_is_split_into_components() -> None:
    series = parse.array_series(rest2("arrays_performance"), "z-x70-a", None, 7)
    assert series is not None
    assert series.device_time == [1_664_312_775_929_000]
    array = rows_of(series)["z-x70-a"]
    assert (array["ops_per_second_read"], array["bytes_per_second_read"]) == (96, 2_914_975)
    assert (array["service_seconds_read"], array["queue_seconds_read"], array["san_seconds_read"]) == (
        78,
        1,
        35,
    )
    assert (array["service_seconds_write"], array["san_seconds_write"]) == (153, 78)
    assert parse.array_series(rest2("arrays_performance"), "z-x70-a", 1_664_312_775_929, 7) is None


@with_flasharray
def test_flasharray_records_volumes_and_hosts_in_use() -> None:
    hosts = {t.local_id for t in inventory.hosts(rest2("hosts")) if isinstance(t, Thing) and t.kind == "host"}
    ties = list(inventory.connections(rest2("connections"), hosts))
    connected = {name for tie in ties for name in (tie.from_end[1], tie.to_end[1])}
    assert len(hosts) == 16  # of 31; the others belong to the replication peer
    assert (
        Tie(
            "presents",
            ("volume", "z-cisco-x70-a-datastore-VSI-FC-NVMe"),
            ("host", "z-c220-5-nvme"),
            "connections: LUN 254",
        )
        in ties
    )
    busy = rows_of(parse.performance(VOLUME, rest2("volumes_performance"), (), 7))
    assert busy["eg-ocp-px01"]["ops_per_second_read"] == 5
    every = rows_of(parse.performance(VOLUME, rest2("volumes_performance"), connected, 7))
    assert "z-win2019-poc-lun1" in every  # connected, idle
    assert "z-test-ap-01" not in every  # neither
    assert rows_of(parse.performance(HOST, rest2("hosts_performance"), (), 7)).keys() == {
        "z-c220-1-fc",
        "z-c220-2-fc",
        "z-m70-a:z-c220-2-fc",
    }


@with_flasharray
def test_flasharray_ports_carry_keys_and_speed() -> None:
    found = list(inventory.ports(rest2("ports"), rest2("network_interfaces"), "z-x70-a"))
    ports = things(found, "array_port")
    assert len(ports) == 20
    assert ports["CT0.FC0"].ids == {"wwpn": ("524a9371af4e8200",)}
    assert ports["CT0.FC0"].attributes["capable_bits_per_second"] == 16_000_000_000
    assert ports["CT0.ETH4"].ids["ip"] == ("192.168.29.133",)
    assert ports["CT0.ETH4"].attributes["services"] == "iscsi"
    assert ports["CT0.ETH14"].attributes["capable_bits_per_second"] == 100_000_000_000
    traffic = rows_of(parse.port_performance(rest2("network_interfaces_performance"), ports.keys(), 7))
    assert len(traffic) == 20  # of 28: management and replication left out
    assert traffic["CT1.FC2"]["bytes_per_second_rx"] == 2_983_443
    assert traffic["CT1.ETH4"]["bytes_per_second_rx"] == 715_569


@with_flasharray
def test_flasharray_volume_and_path_identity() -> None:
    volumes = things(inventory.volumes(rest2("volumes"), "z-x70-a"), "volume")
    assert volumes["z-win2019-poc-lun1"].ids["naa"] == ("naa.624a93706c1b16ce1c034d1c000aab1a",)
    paths = rows_of(parse.balance(rest2("hosts_balance"), 7))
    assert len(paths) == 8
    assert paths["2100f4c7aa002706>CT0.FC2"] == {"ops_count": 271, "busiest_path_ratio": 0.989051094890511}


@with_flasharray
def test_flasharray_version_is_the_newest_both_know() -> None:
    versions = (RECORDINGS / "flasharray" / "rest2" / "versions.json").read_bytes()
    assert json.loads(versions)["version"][-1] == "2.15"
    assert parse.rest_version(versions) == "2.15"

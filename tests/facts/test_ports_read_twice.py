"""A switch that two sources read, over SNMP and over REST or NX-API: one switch, one port, its traffic once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from sanpath import registry
from sanpath.facts.compute import compute
from sanpath.facts.facts import Facts
from sanpath.facts.table import number
from sanpath.model import SourceEntity, SourceLink
from sanpath.topology.resolve import resolve
from sanpath_collectors.brocade_rest.tables import SWITCH_PORT as REST_PORT
from sanpath_collectors.snmp_switch.tables import OPTICS as REST_OPTICS
from sanpath_collectors.snmp_switch.tables import SWITCH_PORT as SNMP_PORT
from tests.collectors.test_cases import CASES, SteppedClock, load_config
from tests.support.recording import RecordingBuilder
from tests.support.replay import ReplayContext

OWN, INITIATOR, TARGET = "2007000decaa0000", "21000024ff000001", "524a937000000001"
BYTES_A_SECOND = 200_000_000
MEGABITS = 16_000
SECONDS = 40


def recording(folder: Path, sources: Sequence[str], rest_every: int = 1) -> Facts:
    """A test of 32 s at two ports. `sources`: snmp and rest in the order of their names, as sw-a, sw-b.

    `rest_every`: seconds between the polls over REST."""
    out = RecordingBuilder(folder)
    for name, kind in zip(("sw-a", "sw-b"), sources, strict=False):
        tables = (SNMP_PORT,) if kind == "snmp" else (REST_PORT, REST_OPTICS)
        out.source(name, "snmp_switch" if kind == "snmp" else "brocade_rest", *tables)
        out.entity(name, "switch", "sw", ids={"switch_wwn": ("10:00:00:0d:ec:aa:00:00",)})
        for order, (port, own, peer) in enumerate((("7", OWN, INITIATOR), ("1", "2001000decaa0000", TARGET))):
            local = f"1000{order}" if kind == "snmp" else f"0/{port}"
            about = {"technology": "fibre_channel"}
            out.entity(name, "switch_port", local, f"port {local}", {"wwpn": (own,)}, about)
            out.link(name, "member_of", (("switch_port", local), ("switch", "sw")), "table")
            out.link(name, "logged_in", (("wwpn", peer), ("switch_port", local)), "table")
            for second in range(0, SECONDS, rest_every if kind == "rest" else 1):
                total = {"bytes_rx_total": BYTES_A_SECOND * second, "bytes_tx_total": BYTES_A_SECOND * second}
                values = {**total, "link_speed_bits_per_second": MEGABITS, "link_up": 1}
                if kind == "snmp":
                    values |= {"errors_rx_total": second}
                    out.samples(name, SNMP_PORT, second, {local: values})
                else:
                    values |= {"crc_errors_total": 2 * second}
                    out.samples(name, REST_PORT, second, {local: values})
                    if second % 12 == 0:
                        optics = {"optics_rx_power_dbm": -3.5, "optics_temperature_celsius": 40.0}
                        out.samples(name, REST_OPTICS, second, {local: optics})
    out.entity("config", "hba", "esx7/vmhba2", ids={"wwpn": (INITIATOR,)})
    out.configure_link("hba:esx7/vmhba2 attached_to host:esx7")
    out.entity("config", "host", "esx7")
    out.entity("config", "array_port", "fa1/CT0", ids={"wwpn": (TARGET,)})
    out.entity("config", "array", "fa1")
    out.configure_link("array_port:fa1/CT0 member_of array:fa1")
    mark = {"step": "t", "group": 1, "offered": 16, "block_bytes": 65536}
    out.event("sw-a", 4.0, "step-begin", **mark)
    out.event("sw-a", 36.0, "step-end", **mark)
    return compute(out.write())


ORDERS = [("snmp",), ("rest",), ("snmp", "rest"), ("rest", "snmp")]


@pytest.mark.parametrize("sources", ORDERS, ids="-".join)
def test_its_bytes_count_once(tmp_path: Path, sources: Sequence[str]) -> None:
    links = recording(tmp_path, sources).tables["link"]
    found = {(row["entity"], row["direction"]): row["bytes_per_second"] for row in links}
    assert len(found) == len(list(links)) == 4
    assert list(found.values()) == pytest.approx([BYTES_A_SECOND] * 4, rel=0.01)


@pytest.mark.parametrize("sources", [("snmp", "rest"), ("rest", "snmp")], ids="-".join)
def test_the_source_that_is_asked_more_often_tells_how_full_a_link_is(tmp_path: Path, sources: Sequence[str]) -> None:
    rows = list(recording(tmp_path, sources, rest_every=6).tables["link"])
    assert min(number(row, "windows") for row in rows) > 20
    assert [row["bytes_per_second"] for row in rows] == pytest.approx([BYTES_A_SECOND] * 4, rel=0.01)


@pytest.mark.parametrize("sources", [("snmp", "rest"), ("rest", "snmp")], ids="-".join)
def test_each_source_adds_what_the_other_does_not_have(tmp_path: Path, sources: Sequence[str]) -> None:
    """Two checksum errors a second only REST counts, one error a second only SNMP, light only REST sees."""
    ports = list(recording(tmp_path, sources).tables["switch_port"])
    assert len(ports) == 2
    for row in ports:
        seconds = row["windows"]  # of a second each; a step shorter than a minute counts as one
        assert row["crc_errors_per_minute"] == pytest.approx(2.0 * seconds)
        assert row["errors_per_minute"] == pytest.approx(seconds)
        assert (row["optics_rx_power_dbm"], row["logins"]) == (-3.5, 1)


async def _inventory(case: Path) -> list[SourceEntity | SourceLink]:
    config = load_config(case)
    collector = registry.collector_class(registry.spec(config.collector))(config)
    context = ReplayContext(SteppedClock(), case / "replies")
    await collector.open(context)
    await collector.check(context)
    return [item async for item in collector.inventory(context)]


def _own_wwpns(items: Sequence[SourceEntity | SourceLink]) -> set[str]:
    ports = (item for item in items if isinstance(item, SourceEntity) and item.kind == "switch_port")
    return {wwpn for port in ports for wwpn in port.ids.get("wwpn", ())}


@pytest.mark.parametrize(
    ("over_snmp", "other"),
    [
        ("snmp_switch/cisco-mds-txwait-64", "cisco_nxapi/mds-9.3"),
        ("snmp_switch/brocade-fos-9", "brocade_rest/fos-9.1-beside-snmp"),
    ],
)
def test_the_same_switch_over_two_protocols_is_one(over_snmp: str, other: str) -> None:
    """From recorded answers of both: one switch, every port once, each login at the port where both saw it."""
    by_name = {f"{case.parent.name}/{case.name}": case for case in CASES}
    found = {name: asyncio.run(_inventory(by_name[name])) for name in (over_snmp, other)}
    reports = [
        (f"source{n}", number, item) for n, name in enumerate(found) for number, item in enumerate(found[name])
    ]
    topology = resolve(reports)
    assert len(topology.of_kind("switch")) == 1
    ports = {name: _own_wwpns(items) for name, items in found.items()}
    assert ports[over_snmp] == ports[other]
    joined = [port for port in topology.of_kind("switch_port") if "wwpn" in port.ids]
    assert {len(port.known_as) for port in joined} == {2}
    for kind in ("hba", "array_port"):
        for device in topology.of_kind(kind):
            assert len(topology.related(device.id, "logged_in", "switch_port")) <= 1

"""Real device answers through the built-in collectors; facts read from the recordings by hand."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from sanpath.plugin import Rows, SourceEntity, SourceLink
from sanpath_collectors.flasharray import inventory, parse
from sanpath_collectors.flasharray.tables import HOST, VOLUME

ROOT = Path(__file__).parents[2]
RECORDINGS = ROOT / os.environ.get("SANPATH_RECORDINGS", "../shared/recordings")
MISSING = "no recorded device answers: set SANPATH_RECORDINGS"

with_flasharray = pytest.mark.skipif(not (RECORDINGS / "flasharray" / "rest2").is_dir(), reason=MISSING)


def entities(found: Iterable[object], kind: str) -> dict[str, SourceEntity]:
    return {t.local_id: t for t in found if isinstance(t, SourceEntity) and t.kind == kind}


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
    hosts = {t.local_id for t in inventory.hosts(rest2("hosts")) if isinstance(t, SourceEntity) and t.kind == "host"}
    links = list(inventory.connections(rest2("connections"), hosts))
    connected = {name for link in links for name in (link.from_end[1], link.to_end[1])}
    assert len(hosts) == 16  # of 31; the others belong to the replication peer
    assert (
        SourceLink(
            "presents",
            ("volume", "z-cisco-x70-a-datastore-VSI-FC-NVMe"),
            ("host", "z-c220-5-nvme"),
            "connections: LUN 254",
        )
        in links
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
    ports = entities(found, "array_port")
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
    volumes = entities(inventory.volumes(rest2("volumes"), "z-x70-a"), "volume")
    assert volumes["z-win2019-poc-lun1"].ids["naa"] == ("naa.624a93706c1b16ce1c034d1c000aab1a",)
    paths = rows_of(parse.balance(rest2("hosts_balance"), 7))
    assert len(paths) == 8
    assert paths["2100f4c7aa002706>CT0.FC2"] == {"ops_count": 271, "busiest_path_ratio": 0.989051094890511}


@with_flasharray
def test_flasharray_version_is_the_newest_both_know() -> None:
    versions = (RECORDINGS / "flasharray" / "rest2" / "versions.json").read_bytes()
    assert json.loads(versions)["version"][-1] == "2.15"
    assert parse.rest_version(versions) == "2.15"

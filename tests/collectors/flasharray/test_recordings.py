"""Recorded answers of a real FA-X70R3 (Purity 6.3.3) through the whole collector, over HTTPS."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from pydantic import SecretStr

from sanpath.plugin import Check, Cost, Event, Rows, SourceEntity, SourceLink
from sanpath.recording.writing.clock import RecorderClock
from sanpath.transport.live_context import LiveContext
from sanpath_collectors.flasharray.collector import FlashArray
from sanpath_collectors.flasharray.config import FlashArrayConfig
from sanpath_collectors.flasharray.endpoints import CONSEQUENCES
from sanpath_lab.certificate import server_context

ROOT = Path(__file__).parents[3]
RECORDINGS = ROOT / os.environ.get("SANPATH_RECORDINGS", "../shared/recordings") / "flasharray" / "rest2"
OTHER_NAMES = {"hosts/performance/balance": "hosts_balance"}
"""Of the files; the others are called as the endpoint."""

pytestmark = pytest.mark.skipif(not RECORDINGS.is_dir(), reason="no recorded answers: set SANPATH_RECORDINGS")


def recorded(endpoint: str) -> Path:
    name = OTHER_NAMES.get(endpoint, endpoint.replace("/", "_").replace("-", "_"))
    return RECORDINGS / f"{name}.json"


async def answer(request: web.Request) -> web.Response:
    if request.path == "/api/api_version":
        return web.Response(body=(RECORDINGS / "versions.json").read_bytes())
    if request.method == "POST":
        return web.json_response({}, headers={"x-auth-token": "session"})
    return web.Response(body=recorded(request.path.removeprefix("/api/2.15/")).read_bytes())


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Check, list[Any]]:
    """What check says; what inventory and a poll yield."""
    ca_file = tmp_path_factory.mktemp("tls") / "ca.pem"

    async def run() -> tuple[Check, list[Any]]:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=server_context(ca_file)).start()
        host, port = runner.addresses[0][:2]
        config = FlashArrayConfig(
            name="fa1",
            collector="flasharray",
            host=f"{host}:{port}",
            api_token=SecretStr("token"),
            ca_file=ca_file,
        )
        array, context = FlashArray(config), LiveContext(RecorderClock(), Cost())
        await array.open(context)
        check = await array.check(context)
        items: list[Any] = [item async for item in array.inventory(context)]
        items += [item async for item in array.poll(context)]
        await array.close()
        await runner.cleanup()
        return check, items

    return asyncio.run(run())


def entities(items: Iterable[Any], kind: str) -> dict[str, SourceEntity]:
    return {item.local_id: item for item in items if isinstance(item, SourceEntity) and item.kind == kind}


def rows_of(items: Iterable[Any], kind: str) -> Rows:
    (rows,) = [item for item in items if isinstance(item, Rows) and item.table.kind == kind]
    return rows


def in_file(endpoint: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads(recorded(endpoint).read_text(encoding="utf-8"))["items"]
    return items


@pytest.mark.parametrize("endpoint", CONSEQUENCES)
def test_every_call_has_a_recording(endpoint: str) -> None:
    assert in_file(endpoint), f"{recorded(endpoint).name} holds no items"


def test_everything_is_read(reported: tuple[Check, list[Any]]) -> None:
    check, items = reported
    assert check.identity == "z-x70-a, FA-X70R3, Purity//FA 6.3.3"
    assert check.unreadable == ()
    counts = {kind: len(entities(items, kind)) for kind in ("array", "controller", "array_port", "host", "volume")}
    assert counts == {
        "array": 1,
        "controller": 2,
        "array_port": 20,
        "host": 16,
        "volume": sum(not volume["destroyed"] for volume in in_file("volumes")),
    }
    kinds = {item.table.kind for item in items if isinstance(item, Rows)}
    assert kinds == {"array", "volume", "host", "path", "array_port"}


def test_volumes_join_by_the_identifier_of_scsi_inquiry(reported: tuple[Check, list[Any]]) -> None:
    found = {local_id: node.ids["naa"] for local_id, node in entities(reported[1], "volume").items()}
    assert found == {
        volume["name"]: (f"naa.624a9370{volume['serial'].lower()}",)
        for volume in in_file("volumes")
        if not volume["destroyed"]
    }


def test_initiators_and_target_ports_are_written_alike_everywhere(reported: tuple[Check, list[Any]]) -> None:
    """Hosts give them as 2100F4C7AA002706, ports and the balance of paths as 52:4A:93:71:..."""
    items = reported[1]
    paths = rows_of(items, "path").entity
    assert len(paths) == 8
    assert {path.split(">")[0] for path in paths} <= entities(items, "hba").keys()
    assert {path.split(">")[1] for path in paths} <= entities(items, "array_port").keys()
    ports = {port.ids["wwpn"] for port in entities(items, "array_port").values() if "wwpn" in port.ids}
    assert len(ports) == sum(port["wwn"] is not None for port in in_file("ports"))
    assert all(len(wwpn) == 16 and wwpn.islower() | wwpn.isdigit() for (wwpn,) in ports)


def test_links_end_at_what_there_is(reported: tuple[Check, list[Any]]) -> None:
    items = reported[1]
    known = {(node.kind, node.local_id) for node in items if isinstance(node, SourceEntity)}
    links = [item for item in items if isinstance(item, SourceLink)]
    assert [link for link in links if link.from_end not in known or link.to_end not in known] == []
    assert sum(link.relation == "presents" for link in links) > 100


def test_total_is_the_service_time_before_6_3_14(reported: tuple[Check, list[Any]]) -> None:
    """So that the queue time has to be added to it, and never is in it."""
    volumes = rows_of(reported[1], "volume")
    totals = {volume["name"]: volume["usec_per_read_op"] for volume in in_file("volumes/performance")}
    assert [totals[name] for name in volumes.entity] == volumes.values["service_seconds_read"]


def test_space_comes_with_the_sample_after_the_inventory(reported: tuple[Check, list[Any]]) -> None:
    array = rows_of(reported[1], "array")
    assert array.values["data_reduction_ratio"][-1] == pytest.approx(1.808, abs=1e-3)
    assert array.values["used_bytes"][-1] == 12_078_408_193_372
    volumes = rows_of(reported[1], "volume")
    result = {volume["name"]: volume["space"]["data_reduction"] for volume in in_file("volumes")}
    assert [result[name] for name in volumes.entity] == volumes.values["data_reduction_ratio"]


def test_ports_count_errors_by_their_kind(reported: tuple[Check, list[Any]]) -> None:
    ports = rows_of(reported[1], "array_port")
    failures = dict(zip(ports.entity, ports.values["link_failures_per_second"], strict=True))
    frames = dict(zip(ports.entity, ports.values["frames_per_second_rx"], strict=True))
    assert (failures["CT1.FC2"], failures["CT1.ETH4"]) == (0, None)
    assert None not in frames.values()


def alerts(items: Iterable[Any]) -> Iterator[Event]:
    return (item for item in items if isinstance(item, Event) and item.name == "alert")


def test_open_alerts_are_said_once(reported: tuple[Check, list[Any]]) -> None:
    found = list(alerts(reported[1]))
    assert len(found) == len({alert["id"] for alert in in_file("alerts")})
    assert found[0].detail["severity"] == "info"
    assert found[0].detail["device_time"] == 1_678_287_765_779_000

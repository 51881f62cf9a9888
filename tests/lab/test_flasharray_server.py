from __future__ import annotations

import asyncio
import json
import os
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from sanpath_lab.certificate import server_context
from sanpath_lab.flasharray.array_state import ArrayState
from sanpath_lab.flasharray.server import FlashArrayServer
from sanpath_lab.flasharray.simulated_array_state import SimulatedArrayState
from sanpath_lab.simulation import Simulation

API_TOKEN = "6e1b80a1-cd63-de90-0e5a-b94f4c2d1a8d"
ROOT = Path(__file__).parents[2]
RECORDINGS = ROOT / os.environ.get("SANPATH_RECORDINGS", "../shared/recordings")
RECORDED = {
    "arrays": "arrays",
    "arrays/performance": "arrays_performance",
    "controllers": "controllers",
    "hardware": "hardware",
    "volumes": "volumes",
    "volumes/performance": "volumes_performance",
    "hosts": "hosts",
    "hosts/performance": "hosts_performance",
    "hosts/performance/balance": "hosts_balance",
    "ports": "ports",
    "network-interfaces": "network_interfaces",
    "network-interfaces/performance": "network_interfaces_performance",
    "connections": "connections",
    "alerts": "alerts",
}
RESOURCES = [pytest.param(name, id=name) for name in RECORDED]


class Client:
    """Speaks to the server as a collector does."""

    def __init__(self, http: aiohttp.ClientSession, base: str) -> None:
        self._http, self._base = http, base
        self.session: dict[str, str] = {}

    async def login(self, api_token: str = API_TOKEN) -> int:
        async with self._http.post(f"{self._base}/api/2.26/login", headers={"api-token": api_token}) as reply:
            if "x-auth-token" in reply.headers:
                self.session = {"x-auth-token": reply.headers["x-auth-token"]}
            return reply.status

    async def logout(self) -> int:
        async with self._http.post(f"{self._base}/api/2.26/logout", headers=self.session) as reply:
            return reply.status

    async def get(self, path: str) -> tuple[int, Any]:
        async with self._http.get(f"{self._base}/api/{path}", headers=self.session) as reply:
            return reply.status, await reply.json()

    async def items(self, resource: str) -> list[dict[str, Any]]:
        status, answer = await self.get(f"2.26/{resource}")
        assert status == 200, answer
        items: list[dict[str, Any]] = answer["items"]
        return items


def ask(
    state: ArrayState,
    folder: Path,
    use: Callable[[Client], Awaitable[Any]],
    logged_in: bool = True,
    trust: bool = True,
    **offers: Any,
) -> Any:
    async def run() -> Any:
        server = FlashArrayServer(state, API_TOKEN, **offers)
        await server.start(server_context(folder / "ca.pem"))
        tls = ssl.create_default_context(cafile=folder / "ca.pem" if trust else None)
        try:
            connector = aiohttp.TCPConnector(ssl=tls)
            async with aiohttp.ClientSession(connector=connector) as http:
                client = Client(http, "https://{}:{}".format(*server.address))
                if logged_in:
                    assert await client.login() == 200
                return await use(client)
        finally:
            await server.stop()

    return asyncio.run(run())


def test_versions_need_no_login_and_ascend(loaded: ArrayState, tmp_path: Path) -> None:
    status, answer = ask(loaded, tmp_path, lambda client: client.get("api_version"), logged_in=False)
    numbers = [tuple(map(int, version.split("."))) for version in answer["version"]]
    assert status == 200
    assert numbers == sorted(numbers)
    assert (2, 26) in numbers


def test_nothing_else_is_given_without_a_session(loaded: ArrayState, tmp_path: Path) -> None:
    async def use(client: Client) -> list[int]:
        refused = [await client.login("wrong"), (await client.get("2.26/arrays"))[0]]
        await client.login()
        open_session = (await client.get("2.26/arrays"))[0]
        return [*refused, open_session, await client.logout(), (await client.get("2.26/arrays"))[0]]

    assert ask(loaded, tmp_path, use, logged_in=False) == [401, 401, 200, 200, 401]


def test_a_client_that_does_not_know_the_authority_refuses(loaded: ArrayState, tmp_path: Path) -> None:
    with pytest.raises(aiohttp.ClientConnectorCertificateError):
        ask(loaded, tmp_path, lambda client: client.get("api_version"), logged_in=False, trust=False)


def test_neither_key_is_left_on_disk(tmp_path: Path) -> None:
    server_context(tmp_path / "ca.pem")
    assert [file.name for file in tmp_path.iterdir()] == ["ca.pem"]
    assert "PRIVATE" not in (tmp_path / "ca.pem").read_text()


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("2.26/pods", 404),
        ("2.12/arrays", 404),
        ("2.26/volumes?names=vol99", 400),
        ("2.26/volumes/performance?resolution=1000", 400),
        ("2.26/arrays/performance?resolution=1001", 400),
        ("2.26/arrays/performance?start_time=yesterday", 400),
        ("2.26/volumes?names=vol01", 200),
    ],
)
def test_what_is_unknown_is_refused(loaded: ArrayState, tmp_path: Path, path: str, status: int) -> None:
    found, answer = ask(loaded, tmp_path, lambda client: client.get(path))
    assert found == status
    assert ("errors" in answer) == (status != 200)


def test_one_second_samples_show_a_full_link_and_an_array_at_ease(loaded: ArrayState, tmp_path: Path) -> None:
    newest = loaded.array_samples(None, None)[-1].time_ms
    query = f"arrays/performance?resolution=1000&start_time={newest - 1000}&end_time={newest}"
    samples = ask(loaded, tmp_path, lambda client: client.items(query))
    assert [sample["time"] for sample in samples] == [newest - 1000, newest]
    for sample in samples:
        assert sample["reads_per_sec"] > 4000
        assert sample["bytes_per_read"] == 65536
        assert 300 < sample["service_usec_per_read_op"] < 400
        assert sample["san_usec_per_read_op"] > 1500, "the transfer waits for the link"
        assert sample["usec_per_read_op"] >= sample["service_usec_per_read_op"]
        assert sample["writes_per_sec"] == sample["usec_per_write_op"] == 0


def test_without_times_the_newest_sample_alone(loaded: ArrayState, tmp_path: Path) -> None:
    (sample,) = ask(loaded, tmp_path, lambda client: client.items("arrays/performance"))
    assert sample["time"] == loaded.array_samples(None, None)[-1].time_ms


def test_the_balance_shows_one_path_with_everything(loaded: ArrayState, tmp_path: Path) -> None:
    rows = ask(loaded, tmp_path, lambda client: client.items("hosts/performance/balance"))
    fractions = {(r["initiator"]["wwn"][-2:], r["target"]["name"]): r["fraction_relative_to_max"] for r in rows}
    assert fractions == {
        ("02", "CT0.FC0"): 1.0,
        ("02", "CT1.FC0"): 0.0,
        ("03", "CT0.FC0"): 0.0,
        ("03", "CT1.FC0"): 0.0,
    }


def test_an_idle_host_has_one_row_of_nulls(simulation: Simulation, tmp_path: Path) -> None:
    idle = SimulatedArrayState(simulation.scenario, simulation.array, catch_up=lambda: None)
    (row,) = ask(idle, tmp_path, lambda client: client.items("hosts/performance/balance"))
    assert row["op_count"] is row["fraction_relative_to_max"] is row["target"]["name"] is None


def test_names_join_as_on_a_real_array(loaded: ArrayState, tmp_path: Path) -> None:
    async def use(client: Client) -> list[list[dict[str, Any]]]:
        return [await client.items(name) for name in ("hosts", "ports", "network-interfaces", "volumes")]

    hosts, ports, interfaces, volumes = ask(loaded, tmp_path, use)
    assert hosts[0]["wwns"] == ["21000024FF000002", "21000024FF000003"]
    assert ports[0]["wwn"] == interfaces[0]["fc"]["wwn"] == "52:4A:93:70:00:00:00:00"
    assert interfaces[0]["speed"] == 8_000_000_000, "bits per second"
    assert len(volumes[0]["serial"]) == 24


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(v) for key, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_without_nulls(v) for v in value]
    return value


@pytest.mark.parametrize("version", ["2.26", "2.56"])
@pytest.mark.parametrize("resource", RESOURCES)
def test_answers_fit_the_vendors_schema(loaded: ArrayState, tmp_path: Path, resource: str, version: str) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    file = RECORDINGS / "flasharray/openapi/fa2.56-collector-subset.json"
    if not file.is_file():
        pytest.skip(f"no recordings at {RECORDINGS}")
    specification = json.loads(file.read_text())
    status, answer = ask(loaded, tmp_path, lambda client: client.get(f"{version}/{resource}"), newest=(2, 56))
    assert status == 200
    schema = specification["responses_200"][resource] | {"components": specification["components"]}
    jsonschema.Draft202012Validator(schema).validate(_without_nulls(answer))


@pytest.mark.parametrize("resource", RESOURCES)
def test_field_names_are_those_of_a_real_array(loaded: ArrayState, tmp_path: Path, resource: str) -> None:
    file = RECORDINGS / f"flasharray/rest2/{RECORDED[resource]}.json"
    if not file.is_file():
        pytest.skip(f"no recordings at {RECORDINGS}")
    real = {key for item in json.loads(file.read_text())["items"] for key in item}
    for item in ask(loaded, tmp_path, lambda client: client.items(resource)):
        assert set(item) <= real


@pytest.mark.parametrize(("version", "there"), [("2.2", False), ("2.4", True), ("2.26", True)])
def test_what_came_later_is_not_there(loaded: ArrayState, tmp_path: Path, version: str, there: bool) -> None:
    async def use(client: Client) -> list[int]:
        resources = ("arrays/performance", "hosts/performance/balance", "network-interfaces/performance")
        return [(await client.get(f"{version}/{resource}"))[0] for resource in resources]

    assert ask(loaded, tmp_path, use) == ([200, 200, 200] if there else [200, 404, 404])


def test_pause_frames_are_counted_from_2_36_on(loaded: ArrayState, tmp_path: Path) -> None:
    async def use(client: Client) -> list[bool]:
        answers = [await client.get(f"{version}/network-interfaces/performance") for version in ("2.35", "2.36")]
        return ["flow_control_received_pause_frames_per_sec" in a["items"][0]["eth"] for _, a in answers]

    assert ask(loaded, tmp_path, use, newest=(2, 40)) == [False, True]


@pytest.mark.parametrize(("version", "token"), [("2.37", None), ("2.38", "1")])
def test_performance_has_tokens_of_pages_from_2_38_on(
    loaded: ArrayState, tmp_path: Path, version: str, token: str | None
) -> None:
    async def use(client: Client) -> list[Any]:
        path = f"{version}/network-interfaces/performance"
        first = (await client.get(path))[1]
        follow = "offset=1" if token is None else f"continuation_token={first['continuation_token']}"
        return [first, (await client.get(f"{path}?{follow}"))[1]]

    first, second = ask(loaded, tmp_path, use, newest=(2, 40), page_items=1)
    assert (first["more_items_remaining"], first["continuation_token"]) == (True, token)
    assert [page["items"][0]["name"] for page in (first, second)] == ["CT0.FC0", "CT1.FC0"]
    assert second["more_items_remaining"] is False


def test_an_array_that_offers_rest_1_only(loaded: ArrayState, tmp_path: Path) -> None:
    async def use(client: Client) -> list[Any]:
        return [await client.get("api_version"), (await client.get("2.4/arrays"))[0]]

    (_, answer), newer = ask(loaded, tmp_path, use, logged_in=False, newest=None, newest_rest1=(1, 4))
    assert answer["version"] == ["1.0", "1.1", "1.2", "1.3", "1.4"]
    assert newer == 404

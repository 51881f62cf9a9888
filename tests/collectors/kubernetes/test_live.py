"""The collector on a real API server, with the account of role.yaml. The case folders are what it answered.

SANPATH_UPDATE_CASES=1 writes their replies anew. They hold the answers as they came, without `managedFields`.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml

import sanpath_collectors.kubernetes as package
from sanpath.plugin import Cost, Event, Http, HttpReply, Item, SourceLink
from sanpath.transport.live_context import LiveContext
from sanpath_collectors.kubernetes import api as requests
from sanpath_collectors.kubernetes.collector import Kubernetes
from sanpath_collectors.kubernetes.config import KubernetesConfig
from tests.support.kube_api import NAMESPACE, ApiServer, api_server, attach, create_pod, fill, program

FOLDER = Path(__file__).parent
README = Path(package.__file__).with_name("README.md").read_text(encoding="utf-8")
ROLE = README.partition("## Access rights")[2].partition("```yaml\n")[2].partition("```")[0]
"""The role as the README prints it."""
CLUSTER = yaml.safe_load((FOLDER / "cluster.yaml").read_text(encoding="utf-8"))
UPDATE = os.environ.get("SANPATH_UPDATE_CASES") == "1"
PLACEHOLDER = "token-of-the-service-account"

pytestmark = pytest.mark.skipif(
    program("etcd") is None or program("kube-apiserver") is None,
    reason="needs etcd and kube-apiserver in KUBEBUILDER_ASSETS or on the PATH",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with api_server(tmp_path_factory.mktemp("kube")) as running:
        fill(running, CLUSTER)
        yield running


@pytest.fixture(scope="module")
def token(server: ApiServer) -> str:
    return server.token(ROLE)


@dataclass(slots=True)
class RecordingHttp:
    """Passes requests on to the API server, and notes the answers."""

    server: Http
    answers: list[dict[str, Any]]

    async def request(
        self,
        method: Literal["GET", "POST", "DELETE"],
        path: str,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> HttpReply:
        assert method == "GET"
        reply = await self.server.request(method, path, params, headers, body)
        query = {name: value for name, value in (params or {}).items() if name != "limit"}
        status = {"status": reply.status} if reply.status != 200 else {}
        needs = {"needs": {"authorization": f"Bearer {PLACEHOLDER}"}} if path == "/version" else {}
        answer = {"request": f"GET {path}", **({"query": query} if query else {}), **status, **needs}
        self.answers.append({**answer, "json": _without_managed_fields(json.loads(reply.body))})
        return reply

    async def close(self) -> None:
        await self.server.close()


class Context(LiveContext):
    """A context whose answers are noted."""

    answers: list[dict[str, Any]]

    def http(self, *args: Any, **kwargs: Any) -> Http:
        return RecordingHttp(super().http(*args, **kwargs), self.answers)


class Clock:
    def now_us(self) -> int:
        return round(time.time() * 1e6)


@dataclass(slots=True)
class Run:
    """What a run of the steps of a case emitted, and what the server answered."""

    unreadable: tuple[str, ...] = ()
    inventory: list[Item] = field(default_factory=list)
    polls: list[list[Item]] = field(default_factory=list)
    requests_of_last_poll: int = 0
    answers: list[dict[str, Any]] = field(default_factory=list)


def run(server: ApiServer, token: str, config: Mapping[str, Any], between: Callable[[], None] = lambda: None) -> Run:
    """Run the steps of a case: open, check, inventory, `between`, two polls."""
    about = {"name": "k8s", "collector": "kubernetes", "address": server.address, "ca_file": server.ca_file}
    collector = Kubernetes(KubernetesConfig.model_validate({**about, "token": token, **config}))
    return asyncio.run(_run(collector, between))


async def _run(collector: Kubernetes, between: Callable[[], None]) -> Run:
    result, cost = Run(), Cost()
    context = Context(Clock(), cost)
    context.answers = result.answers
    await collector.open(context)
    try:
        result.unreadable = (await collector.check(context)).unreadable
        result.inventory = await _all(collector.inventory(context))
        between()
        for _ in range(2):
            before = cost.requests
            result.polls.append(await _all(collector.poll(context)))
            result.requests_of_last_poll = cost.requests - before
    finally:
        await collector.close()
    return result


async def _all(items: AsyncIterator[Item]) -> list[Item]:
    return [item async for item in items]


def links(items: list[Item], relation: str) -> set[tuple[str, str]]:
    return {
        (item.from_end[1], item.to_end[1])
        for item in items
        if isinstance(item, SourceLink) and item.relation == relation
    }


def replay(case: str, config: Mapping[str, Any], answers: list[dict[str, Any]]) -> dict[str, Any]:
    """What the case expects. With SANPATH_UPDATE_CASES=1 its replies and its configuration are written first."""
    folder = FOLDER / case
    if UPDATE:
        (folder / "replies").mkdir(parents=True, exist_ok=True)
        about = {"name": "k8s", "collector": "kubernetes", "address": "k8s.example.com:6443", "token": PLACEHOLDER}
        (folder / "config.yaml").write_text(yaml.safe_dump({**about, **config}, sort_keys=False), encoding="utf-8")
        text = yaml.safe_dump(_without_repetitions(answers), sort_keys=False, width=118)
        (folder / "replies" / "http.yaml").write_text(text, encoding="utf-8")
        pytest.skip("the replies were written")
    expected: dict[str, Any] = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    return expected


def emitted(items: list[Item]) -> list[dict[str, Any]]:
    """Items as a case holds them, but for the moments of events."""
    from tests.collectors.test_cases import as_data

    return [{**as_data(item), "seen": 0} if isinstance(item, Event) else as_data(item) for item in items]


def _without_repetitions(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Answers that are the same until the end are kept once: the last one is repeated by the replay."""
    last: dict[str, dict[str, Any]] = {}
    kept = []
    for answer in reversed(answers):
        key = json.dumps([answer["request"], answer.get("query")])
        if last.get(key) == answer and not any(_same_request(a, answer) and a != answer for a in kept):
            continue
        last[key] = answer
        kept.append(answer)
    return kept[::-1]


def _same_request(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    return (first["request"], first.get("query")) == (second["request"], second.get("query"))


def _without_managed_fields(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_managed_fields(item) for key, item in value.items() if key != "managedFields"}
    return [_without_managed_fields(item) for item in value] if isinstance(value, list) else value


def test_volumes_of_every_kind_with_the_printed_role_and_no_other_right(server: ApiServer, token: str) -> None:
    config = {"loads": {name: f"{NAMESPACE}/{name}" for name in CLUSTER["volumes"]}}
    result = run(server, token, config)
    expected = replay("v1.35-volumes-of-every-kind", config, result.answers)
    assert emitted(result.inventory) == expected["inventory"]
    assert len(result.unreadable) == 1
    assert "nfs is a file share" in result.unreadable[0]
    assert result.requests_of_last_poll == len(CLUSTER["volumes"])


def test_a_pod_that_is_scheduled_anew_takes_its_volume_along(server: ApiServer, token: str) -> None:
    volume = CLUSTER["volumes"]["powerstore"]
    create_pod(server, "mover-0", "worker-1", "powerstore")

    def reschedule() -> None:
        server.send("DELETE", f"/api/v1/namespaces/{NAMESPACE}/pods/mover-0?gracePeriodSeconds=0")
        create_pod(server, "mover-0", "worker-2", "powerstore")
        attach(server, "pv-powerstore", volume["volume"]["csi"], "worker-2", volume["attached"])

    config = {"loads": {"fio": f"{NAMESPACE}/mover-0"}}
    result = run(server, token, config, reschedule)
    expected = replay("pod-scheduled-anew-on-another-node", config, result.answers)
    moved = [item for item in result.polls[0] if isinstance(item, Event)]
    assert [(event.name, event.detail["from"], event.detail["to"]) for event in moved] == [
        ("vm-moved", "worker-1", "worker-2")
    ]
    assert links(result.inventory, "runs_on") == {("perf/mover-0", "worker-1"), ("fio", "perf/mover-0")}
    assert links(result.polls[0], "runs_on") == {("perf/mover-0", "worker-2"), ("fio", "perf/mover-0")}
    assert len(links(result.polls[0], "backed_by")) == 1
    assert result.polls[1] == []
    assert [line for line in emitted(result.polls[0]) if "seen" not in line] == [
        line for line in expected["poll 1"] if "event" not in line
    ]


def test_an_account_that_may_only_read_pods_follows_the_load_to_its_node(server: ApiServer) -> None:
    group, account = "rbac.authorization.k8s.io", {"kind": "ServiceAccount", "name": "pods-only", "namespace": "perf"}
    server.create(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", "ServiceAccount", "v1", "pods-only")
    server.create(
        f"/apis/{group}/v1/namespaces/{NAMESPACE}/rolebindings",
        "RoleBinding",
        f"{group}/v1",
        "pods-only",
        roleRef={"apiGroup": group, "kind": "Role", "name": "sanpath"},
        subjects=[account],
    )
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}}
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/pods-only/token"
    config = {"loads": {"fio": f"{NAMESPACE}/fc-wwid"}}
    result = run(server, str(server.send("POST", path, request)["status"]["token"]), config)
    replay("no-right-to-read-volumes", config, result.answers)
    assert links(result.inventory, "runs_on") == {("perf/fc-wwid", "worker-1"), ("fio", "perf/fc-wwid")}
    assert not links(result.inventory, "targets")
    assert {line.partition(" is forbidden")[0].rpartition("/")[0] for line in result.unreadable[:2]} == {
        "/api/v1/nodes",
        "/api/v1/persistentvolumes",
    }


def test_pods_of_a_job_are_read_in_pages(server: ApiServer, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "_PAGE", "8")
    for name in ("job-a1b2c", "job-x7k2p"):
        create_pod(server, name, "worker-2", "fc-wwid")
    config = {"loads": {"fio": f"{NAMESPACE}/job-*"}}
    result = run(server, token, config)
    replay("pods-of-a-job-in-pages", config, result.answers)
    assert len([answer for answer in result.answers if "continue" in answer.get("query", {})]) > 2
    assert links(result.inventory, "runs_on") == {
        ("perf/job-a1b2c", "worker-2"),
        ("perf/job-x7k2p", "worker-2"),
        ("fio/job-a1b2c", "perf/job-a1b2c"),
        ("fio/job-x7k2p", "perf/job-x7k2p"),
    }

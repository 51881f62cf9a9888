"""Reads a cluster: everything for the inventory, and the pods at each poll, to see whether one has moved."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import ClassVar, Literal

from sanpath.plugin import (
    Check,
    ClientCertificate,
    Collector,
    CollectorError,
    Context,
    Failure,
    Item,
    SourceEntity,
    SourceLink,
)
from sanpath_collectors.kubernetes import cluster, events, inventory
from sanpath_collectors.kubernetes.api import Api
from sanpath_collectors.kubernetes.cluster import Snapshot
from sanpath_collectors.kubernetes.config import KubernetesConfig
from sanpath_collectors.kubernetes.objects import text
from sanpath_collectors.kubernetes.parse import target

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Folder in every pod with the token of its service account and the certificate of the cluster's authority."""


class Kubernetes(Collector[KubernetesConfig]):
    """The pods of the configured loads in one cluster."""

    runs_in: ClassVar[Literal["loop", "thread"]] = "thread"

    def __init__(self, config: KubernetesConfig) -> None:
        super().__init__(config)
        self._targets = [target(load, pod) for load, pod in config.loads.items()]
        self._opened: Api | None = None
        self._snapshot = Snapshot()
        self._reported: set[tuple[object, ...]] = set()

    async def open(self, ctx: Context) -> None:
        """Connect. Raises CollectorError if the API server does not answer or refuses this account."""
        await self.close()
        config = self.config
        in_pod = config.token is None and config.token_file is None and config.client_certificate is None
        token_file = _ACCOUNT / "token" if in_pod else config.token_file
        ca_file = config.ca_file
        if ca_file is None and in_pod and await ctx.files.read(str(_ACCOUNT / "ca.crt")) is not None:
            ca_file = _ACCOUNT / "ca.crt"

        async def token() -> str:
            if token_file is None:
                return config.token.get_secret_value() if config.token is not None else ""
            content = await ctx.files.read(str(token_file))
            if content is None:
                message = f"{token_file} cannot be read: give token, token_file or client_certificate"
                raise CollectorError(Failure.MISCONFIGURED, message)
            return content.decode("utf-8", "replace").strip()

        certificate = config.client_certificate
        client = ClientCertificate(certificate, config.client_key) if certificate is not None else None
        http = ctx.http(f"https://{config.address}", ca_file, config.verify_tls, config.budget_seconds, client=client)
        self._opened = Api(http, token)
        async with self.closed_on_failure():
            await self._api.get("/version")

    async def check(self, ctx: Context) -> Check:
        """Return the version of the cluster, the pods of the loads, and what this account may not read."""
        version = await self._api.get("/version") or {}
        snapshot = await cluster.snapshot(self._api, self._targets)
        pods = [f"{pod.local_id} on {pod.node or 'no node'}" for pod in snapshot.pods_by_id().values()]
        names = ", ".join(pods) or "no pod of a load"
        details = [event.detail for event in events.problems(snapshot, ctx.clock.now_us())]
        return Check(
            f"Kubernetes {text(version.get('gitVersion')) or 'of an unknown version'}: {names}",
            None,
            (*snapshot.unreadable.values(), *(f"{d['entity']}: {d['why']}: {d['consequence']}" for d in details)),
        )

    async def inventory(self, ctx: Context) -> AsyncIterator[SourceEntity | SourceLink]:  # noqa: ARG002 - the base class' signature
        """Yield nodes, pods, claims, LUNs and volumes, and what each load addresses."""
        self._snapshot = await cluster.snapshot(self._api, self._targets)
        for item in inventory.items(self._snapshot, self.config.arrays):
            yield item

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:
        """Yield the events of the pods since the last poll, then an inventory; and, once, what is unknown."""
        before = self._snapshot.pods_by_id()
        if await cluster.read_pods(self._api, self._targets) != self._snapshot.pods:
            self._snapshot = await cluster.snapshot(self._api, self._targets)
            for change in events.changes(before, self._snapshot, ctx.clock.now_us()):
                yield change
            for item in inventory.items(self._snapshot, self.config.arrays):
                yield item
        for problem in events.problems(self._snapshot, ctx.clock.now_us()):
            key = tuple(problem.detail.values())
            if key not in self._reported:
                self._reported.add(key)
                yield problem

    async def close(self) -> None:
        """Close the connections."""
        api, self._opened = self._opened, None
        if api is not None:
            await api.close()

    @property
    def _api(self) -> Api:
        return self.opened(self._opened)

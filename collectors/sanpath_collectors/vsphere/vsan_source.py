"""The vSAN clusters of a vCenter: found with the inventory, queried every few minutes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from sanpath.plugin import Clock, CollectorError, Event, Failure, Rows, SourceEntity, SourceLink
from sanpath_collectors.vsphere import vsan
from sanpath_collectors.vsphere.connection import vmomi
from sanpath_collectors.vsphere.connection.session import Session
from sanpath_collectors.vsphere.connection.soap import Endpoint, FaultError
from sanpath_collectors.vsphere.tables import VSAN_SECONDS
from sanpath_collectors.vsphere.vsan import KINDS, Statistics

T = TypeVar("T")

_US = 1_000_000
_QUERY_WINDOW_US = (2 * VSAN_SECONDS + 60) * _US
"""Length of the queried window: the last mean may not be available yet."""
_CONFIG = "configurationEx"
_CONSEQUENCE = "latency, congestion and rebuild load of the vSAN cluster are unknown"


class VsanSource:
    """Reads the clusters once if none of them has vSAN. `seconds`: limit of a call's duration."""

    def __init__(self, session: Session, seconds: float) -> None:
        self._session, self._seconds = session, seconds
        self._clusters: dict[str, str] = {}
        self._service: Endpoint | None = None
        self._kinds: list[str] = []
        self._newest: dict[str, int] = {}
        self._reported: set[str] = set()
        self._refused: set[str] = set()
        self._due_us = 0
        self._pending: list[tuple[str, str]] = []

    async def find(self) -> None:
        """Find the clusters with vSAN."""
        clusters = await self._unless_refused(self._session.all_of({"ClusterComputeResource": ("name", _CONFIG)}))
        if isinstance(clusters, str):
            return
        self._clusters = {
            cluster.moid: cluster.text("name") for cluster in clusters if vsan.enabled(cluster.values.get(_CONFIG))
        }

    async def poll(
        self, now_us: int, nodes: Mapping[str, str], clock: Clock, until_us: int
    ) -> AsyncIterator[SourceEntity | SourceLink | Event | Rows]:
        """Yield new statistics and their entities. Queries that have not begun by `until_us` wait for the next poll.

        `now_us`: time of the server's clock; `until_us`: time of `clock`; `nodes`: id of a vSAN node → name of the
        host. Raises CollectorError when the server cannot be reached.
        """
        if self._clusters and now_us >= self._due_us:
            self._due_us = now_us + VSAN_SECONDS * _US // 2
            failure = await self._unless_refused(self._open())
            if isinstance(failure, str):
                for event in self._unknown("vSAN performance service", failure, clock):
                    yield event
            self._pending = [(moid, kind) for moid in self._clusters for kind in self._kinds]
        while self._pending and clock.now_us() < until_us:
            moid, kind = self._pending.pop(0)
            cluster = self._clusters.get(moid, moid)
            statistics = await self._unless_refused(self._query(moid, kind, now_us))
            if isinstance(statistics, str):
                for event in self._unknown(f"{cluster}: {kind}", statistics, clock):
                    yield event
                continue
            for item in self._items(statistics, kind, cluster, nodes, clock):
                yield item

    async def _unless_refused(self, call: Awaitable[T]) -> T | str:
        """Return the result of a call, or the reason why it failed. Raises CollectorError when it is UNREACHABLE."""
        try:
            async with asyncio.timeout(self._seconds):
                return await call
        except TimeoutError:
            return f"no answer within {self._seconds:.3g} s"
        except CollectorError as error:
            if error.failure is Failure.UNREACHABLE:
                raise
            return str(error)

    def _items(
        self, statistics: list[Statistics], kind: str, cluster: str, nodes: Mapping[str, str], clock: Clock
    ) -> Iterator[SourceEntity | SourceLink | Rows]:
        entities = (entity_statistics.entity for entity_statistics in statistics)
        new = [entity for entity in entities if entity not in self._reported]
        self._reported.update(new)
        yield from vsan.items(new, cluster, nodes)
        yield from vsan.rows(statistics, kind, cluster, nodes, self._newest, clock.now_us())

    async def _open(self) -> None:
        """Find the service, and the entity types of its statistics."""
        if self._service is None:
            self._service = await self._session.service("/vsanHealth", "/sdk/vsanServiceVersions.xml", "vsan")
            if self._service is None:
                raise FaultError("vsanServiceVersions.xml", "NotSupported", "no version of the service is known here")
        self._service.cookie = self._session.endpoint.cookie  # the session may have been renewed
        if not self._kinds:
            types = await self._service.call(self._manager(self._service), "VsanPerfGetSupportedEntityTypes")
            supported = {str(entity_type.name) for entity_type in types or ()}
            self._kinds = [kind for kind in KINDS if kind in supported]

    async def _query(self, cluster: str, kind: str, now_us: int) -> list[Statistics]:
        """Query the statistics of one entity type: a call accepts only one wildcard."""
        if (service := self._service) is None:
            return []
        spec = vmomi.make(
            "VsanPerfQuerySpec",
            entityRefId=f"{kind}:*",
            startTime=datetime.fromtimestamp((now_us - _QUERY_WINDOW_US) / _US, UTC),
            endTime=datetime.fromtimestamp(now_us / _US, UTC),
            labels=KINDS[kind].all_labels,
        )
        reference = service.reference("ClusterComputeResource", cluster)
        entities = await service.call(self._manager(service), "VsanPerfQueryPerf", [spec], reference)
        return [
            Statistics(
                str(entity.entityRefId),
                str(entity.sampleInfo or ""),
                {str(series.metricId.label): str(series.values or "") for series in entity.value or ()},
            )
            for entity in entities or ()
        ]

    def _unknown(self, name: str, reason: str, clock: Clock) -> Iterator[Event]:
        if name not in self._refused:
            self._refused.add(name)
            yield Event(clock.now_us(), "facts-unknown", {"entity": name, "why": reason, "consequence": _CONSEQUENCE})

    @staticmethod
    def _manager(service: Endpoint) -> Any:
        return service.reference("VsanPerformanceManager", "vsan-performance-manager")

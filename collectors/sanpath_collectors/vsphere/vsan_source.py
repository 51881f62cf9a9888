"""The vSAN clusters of a vCenter as a part of its source: found with the inventory, asked every few minutes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from sanpath.plugin import Clock, CollectorError, Event, Failure, Rows, SourceEntity, SourceLink
from sanpath_collectors.vsphere import vmomi, vsan
from sanpath_collectors.vsphere.session import Session
from sanpath_collectors.vsphere.soap import Endpoint, FaultError
from sanpath_collectors.vsphere.tables import VSAN_SECONDS
from sanpath_collectors.vsphere.vsan import KINDS, Statistics

T = TypeVar("T")

_US = 1_000_000
_BACK_US = (2 * VSAN_SECONDS + 60) * _US
"""How far back is asked: the last mean may not be there yet."""
_CONFIG = "configurationEx"
_CONSEQUENCE = "latency, congestion and rebuild load of the vSAN cluster are unknown"


class VsanSource:
    """Costs one look at the clusters where none of them has vSAN. `seconds`: how long a call may take."""

    def __init__(self, session: Session, seconds: float) -> None:
        self._session, self._seconds = session, seconds
        self._clusters: dict[str, str] = {}
        self._service: Endpoint | None = None
        self._kinds: list[str] = []
        self._newest: dict[str, int] = {}
        self._known: set[str] = set()
        self._refused: set[str] = set()
        self._due = 0
        self._left: list[tuple[str, str]] = []

    async def find(self) -> None:
        """The clusters with vSAN, by their managed object ids."""
        found = await self._unless_refused(self._session.all_of({"ClusterComputeResource": ("name", _CONFIG)}))
        if isinstance(found, str):
            return
        self._clusters = {one.moid: one.text("name") for one in found if vsan.enabled(one.values.get(_CONFIG))}

    async def poll(
        self, now: int, nodes: Mapping[str, str], clock: Clock, until: int
    ) -> AsyncIterator[SourceEntity | SourceLink | Event | Rows]:
        """New statistics, and the things that they tell of; what is not asked by `until` comes with the next poll.

        `now`: the server's clock; `nodes`: id of a vSAN node → what people call the host. Raises CollectorError when
        the server cannot be reached.
        """
        if self._clusters and now >= self._due:
            self._due = now + VSAN_SECONDS * _US // 2
            failure = await self._unless_refused(self._open())
            if isinstance(failure, str):
                for event in self._unknown("vSAN performance service", failure, clock):
                    yield event
            self._left = [(moid, kind) for moid in self._clusters for kind in self._kinds]
        while self._left and clock.now_us() < until:
            moid, kind = self._left.pop(0)
            cluster = self._clusters.get(moid, moid)
            told = await self._unless_refused(self._ask(moid, kind, now))
            if isinstance(told, str):
                for event in self._unknown(f"{cluster}: {kind}", told, clock):
                    yield event
                continue
            for item in self._items(told, kind, cluster, nodes, clock):
                yield item

    async def _unless_refused(self, call: Awaitable[T]) -> T | str:
        """What a call returns, or why it does not. Raises CollectorError when the server cannot be reached."""
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
        self, told: list[Statistics], kind: str, cluster: str, nodes: Mapping[str, str], clock: Clock
    ) -> Iterator[SourceEntity | SourceLink | Rows]:
        new = [one.entity for one in told if one.entity not in self._known]
        self._known.update(new)
        yield from vsan.items(new, cluster, nodes)
        yield from vsan.rows(told, kind, cluster, nodes, self._newest, clock.now_us())

    async def _open(self) -> None:
        """Find the service, and what it has statistics of."""
        if self._service is None:
            self._service = await self._session.beside("/vsanHealth", "/sdk/vsanServiceVersions.xml", "vsan")
            if self._service is None:
                raise FaultError("vsanServiceVersions.xml", "NotSupported", "no version of the service is known here")
        self._service.cookie = self._session.endpoint.cookie  # the session may be another one since
        if not self._kinds:
            told = await self._service.call(self._manager(self._service), "VsanPerfGetSupportedEntityTypes")
            offered = {str(one.name) for one in told or ()}
            self._kinds = [kind for kind in KINDS if kind in offered]

    async def _ask(self, cluster: str, kind: str, now: int) -> list[Statistics]:
        """Statistics of one kind: a call takes one wildcard only."""
        if (service := self._service) is None:
            return []
        asked = vmomi.make(
            "VsanPerfQuerySpec",
            entityRefId=f"{kind}:*",
            startTime=datetime.fromtimestamp((now - _BACK_US) / _US, UTC),
            endTime=datetime.fromtimestamp(now / _US, UTC),
            labels=KINDS[kind].asked,
        )
        reference = service.reference("ClusterComputeResource", cluster)
        told = await service.call(self._manager(service), "VsanPerfQueryPerf", [asked], reference)
        return [
            Statistics(
                str(entity.entityRefId),
                str(entity.sampleInfo or ""),
                {str(one.metricId.label): str(one.values or "") for one in entity.value or ()},
            )
            for entity in told or ()
        ]

    def _unknown(self, what: str, why: str, clock: Clock) -> Iterator[Event]:
        if what not in self._refused:
            self._refused.add(what)
            yield Event(clock.now_us(), "facts-unknown", {"entity": what, "why": why, "consequence": _CONSEQUENCE})

    @staticmethod
    def _manager(service: Endpoint) -> Any:
        return service.reference("VsanPerformanceManager", "vsan-performance-manager")

"""Queries performance counters, of several managed objects in each call, or of fewer if the server limits that."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from sanpath_collectors.vsphere.connection import vmomi
from sanpath_collectors.vsphere.connection.plain import Record
from sanpath_collectors.vsphere.connection.session import Session
from sanpath_collectors.vsphere.connection.soap import FaultError
from sanpath_collectors.vsphere.parse import Answer, answers
from sanpath_collectors.vsphere.tables import SAMPLE_SECONDS

_LAST_SAMPLES = 6
"""Samples arrive late and several at once: a query for only the last one would leave gaps."""
_MAX_OBJECTS_PER_CALL = 16
"""Maximum managed objects in one call: a reply of hosts with many paths has some megabytes."""


class Performance:
    """QueryPerf of one session. `failed`: managed object id → reason why the last query had no reply for it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._objects_per_call = _MAX_OBJECTS_PER_CALL
        self.failed: dict[str, str] = {}

    async def catalogue(self) -> list[Record]:
        """Return the counters that the server has."""
        manager = self._session.manager("perfManager")
        objects = await self._session.properties_of(type(manager)._wsdlName, [manager._moId], ["perfCounter"])
        return objects[0].records("perfCounter") if objects else []

    async def available(self, kind: str, moid: str) -> set[int]:
        """Return the ids of the counters for which a managed object has samples now."""
        reference = self._session.endpoint.reference(kind, moid)
        manager = self._session.manager("perfManager")
        metrics = await self._session.call(manager, "QueryAvailablePerfMetric", reference, None, None, SAMPLE_SECONDS)
        return {metric.counterId for metric in metrics or ()}

    async def query(
        self, kind: str, moids: Sequence[str], counters: Sequence[tuple[int, str]]
    ) -> AsyncIterator[list[Answer]]:
        """Yield the last samples of managed objects, call by call. `counters`: (id, instances)."""
        self.failed = {}
        pending = list(moids)
        while pending:
            batch, pending = pending[: self._objects_per_call], pending[self._objects_per_call :]
            try:
                yield await self._query(kind, batch, counters)
            except FaultError as fault:
                if len(batch) == 1:
                    self.failed[batch[0]] = str(fault)
                    continue
                # An object no longer exists, or an administrator has set a limit (config.vpxd.stats.maxQueryMetrics).
                if "restricted by the administrator" in fault.text:
                    self._objects_per_call = max(1, len(batch) // 2)
                    pending = batch + pending
                else:
                    async for results in self._query_each(kind, batch, counters):
                        yield results

    async def _query_each(
        self, kind: str, moids: Sequence[str], counters: Sequence[tuple[int, str]]
    ) -> AsyncIterator[list[Answer]]:
        for moid in moids:
            try:
                yield await self._query(kind, [moid], counters)
            except FaultError as fault:
                self.failed[moid] = str(fault)

    async def _query(self, kind: str, moids: Sequence[str], counters: Sequence[tuple[int, str]]) -> list[Answer]:
        metrics = [vmomi.make("PerfMetricId", counterId=key, instance=instances) for key, instances in counters]
        specs = [
            vmomi.make(
                "PerfQuerySpec",
                entity=self._session.endpoint.reference(kind, moid),
                metricId=metrics,
                maxSample=_LAST_SAMPLES,
                intervalId=SAMPLE_SECONDS,
                format="csv",
            )
            for moid in moids
        ]
        manager = self._session.manager("perfManager")
        results: list[Answer] = await self._session.call(manager, "QueryPerf", specs, read=answers)
        return results

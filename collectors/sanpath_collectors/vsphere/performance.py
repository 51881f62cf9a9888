"""Asks for performance counters: a few managed objects a call, fewer where the server allows no more."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from sanpath_collectors.vsphere import vmomi
from sanpath_collectors.vsphere.parse import Answer, answers
from sanpath_collectors.vsphere.plain import Record
from sanpath_collectors.vsphere.session import Session
from sanpath_collectors.vsphere.soap import FaultError
from sanpath_collectors.vsphere.tables import SAMPLE_SECONDS

_LAST_SAMPLES = 6
"""Samples arrive late and several at once: the last one alone leaves gaps."""
_TOGETHER = 16
"""Managed objects asked for in one call: some megabytes of answer from hosts with many paths."""


class Performance:
    """QueryPerf of one session. `failed`: managed object → why it was not answered, since the last call."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._together = _TOGETHER
        self.failed: dict[str, str] = {}

    async def catalogue(self) -> list[Record]:
        """The counters that the server has."""
        manager = self._session.manager("perfManager")
        found = await self._session.properties_of(type(manager)._wsdlName, [manager._moId], ["perfCounter"])
        return found[0].records("perfCounter") if found else []

    async def available(self, kind: str, moid: str) -> set[int]:
        """Ids of the counters that a managed object has samples of now."""
        this = self._session.endpoint.reference(kind, moid)
        manager = self._session.manager("perfManager")
        told = await self._session.call(manager, "QueryAvailablePerfMetric", this, None, None, SAMPLE_SECONDS)
        return {one.counterId for one in told or ()}

    async def query(
        self, kind: str, moids: Sequence[str], counters: Sequence[tuple[int, str]]
    ) -> AsyncIterator[list[Answer]]:
        """The last samples of managed objects, some of them at a time. `counters`: (id, instances)."""
        self.failed = {}
        left = list(moids)
        while left:
            here, left = left[: self._together], left[self._together :]
            try:
                yield await self._ask(kind, here, counters)
            except FaultError as fault:
                if len(here) == 1:
                    self.failed[here[0]] = str(fault)
                    continue
                # One of them may have gone, or the administrator has set a limit (config.vpxd.stats.maxQueryMetrics).
                if "restricted by the administrator" in fault.text:
                    self._together = max(1, len(here) // 2)
                    left = here + left
                else:
                    async for one in self._one_by_one(kind, here, counters):
                        yield one

    async def _one_by_one(
        self, kind: str, moids: Sequence[str], counters: Sequence[tuple[int, str]]
    ) -> AsyncIterator[list[Answer]]:
        for moid in moids:
            try:
                yield await self._ask(kind, [moid], counters)
            except FaultError as fault:
                self.failed[moid] = str(fault)

    async def _ask(self, kind: str, moids: Sequence[str], counters: Sequence[tuple[int, str]]) -> list[Answer]:
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
        found: list[Answer] = await self._session.call(manager, "QueryPerf", specs, read=answers)
        return found

"""Polls a FlashArray over REST 1: the most recent sample of everything that its version reports."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import ClassVar, Literal

from sanpath.plugin import Context, Http, Item, Table, warning
from sanpath_collectors.flasharray import parse
from sanpath_collectors.flasharray.collector import FlashArray
from sanpath_collectors.flasharray_rest1.session import Rest1
from sanpath_collectors.flasharray_rest1.tables import (
    ARRAY,
    ARRAY_PORT,
    HOST,
    PORTS_SINCE,
    QOS_LIMIT_SINCE,
    QUEUE_TIME_SINCE,
    SAN_TIME_SINCE,
    VOLUME,
    Version,
    fields_of,
)


class FlashArrayRest1(FlashArray):
    """A FlashArray over the vendor's SDK, whose calls block."""

    runs_in: ClassVar[Literal["loop", "thread"]] = "thread"
    volume_table: ClassVar[Table] = VOLUME
    host_table: ClassVar[Table] = HOST
    port_table: ClassVar[Table] = ARRAY_PORT
    _session: Rest1 | None
    _warned = False

    def _new_session(self, http: Http) -> Rest1:
        return Rest1(http, self.config.host, self.config.api_token)

    @property
    def _version(self) -> Version:
        return (1, 0) if self._session is None else self._session.version

    def _fields(self) -> Mapping[str, str]:
        return fields_of(self._version)

    def _unreadable(self, answers: Mapping[str, list[parse.Entry]]) -> tuple[str, ...]:  # noqa: ARG002
        return unreported(self._version)

    async def _array_samples(self, ctx: Context) -> AsyncIterator[Item]:
        """Yield the most recent sample, once."""
        if not self._warned:
            self._warned = True
            self._pending += [warning(ctx.clock.now_us(), "not-told", reason) for reason in unreported(self._version)]
        items = [{**item, "name": self._array} for item in await self._items(ctx, "arrays/performance")][-1:]
        seen_us = ctx.clock.now_us()
        rows = parse.performance(ARRAY, items, {self._array}, seen_us, self._total_includes_queue, self._fields())
        newest_ms = parse.milliseconds(items[-1]) if items else None
        if rows is None or (newest_ms is not None and newest_ms == self._newest_ms):
            return
        self._newest_ms = newest_ms
        rows.values["queued"] = [parse.number(item.get("queue_depth")) for item in items]
        yield self._add_space(rows)


def unreported(version: Version) -> tuple[str, ...]:
    """What this version of REST 1 does not report, with the consequence."""
    number = ".".join(map(str, version))
    reasons = [
        "one-second samples: REST 1 gives only the most recent one: what happened between two polls is unknown"
    ]
    if version < SAN_TIME_SINCE:
        reasons.append(
            f"service, queue and transfer time: REST {number} gives only their sum: the array's own part is unknown"
        )
    elif version < QUEUE_TIME_SINCE:
        reasons.append(f"queue time: REST {number} does not separate it: the service time includes it")
    if version < QUEUE_TIME_SINCE:
        reasons.append(f"QoS time: REST {number} does not report it: whether a limit was reached is not known")
    if version < QOS_LIMIT_SINCE:
        reasons.append(f"QoS limits: REST {number} does not report them: which volume is capped is not known")
    if version >= PORTS_SINCE:
        reasons.append("Fibre Channel ports: REST 1 does not count their bytes: whether one is full is unknown")
    return tuple(reasons)

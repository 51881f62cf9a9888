"""A run of the collector against a server, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sanpath.model import SourceEntity, SourceLink
from sanpath.plugin import Check, Cost, Event, Item, Rows
from sanpath.topology.resolve import resolve
from sanpath.topology.topology import Topology
from sanpath.transport.live_context import LiveContext
from sanpath_collectors.vsphere.collector import Vsphere
from sanpath_collectors.vsphere.config import VsphereConfig
from tests.support.declared import undeclared


class WallClock:
    def now_us(self) -> int:
        return time.time_ns() // 1000


@dataclass
class Asked:
    """What a source said: at the check, of the inventory, and in each poll."""

    check: Check | None = None
    inventory: list[SourceEntity | SourceLink] = field(default_factory=list)
    polls: list[list[Item]] = field(default_factory=list)

    def entity(self, kind: str, local_id: str) -> SourceEntity:
        """The last that was said of a thing."""
        reported = [*self.inventory, *(item for poll in self.polls for item in poll)]
        return [
            item
            for item in reported
            if isinstance(item, SourceEntity) and (item.kind, item.local_id) == (kind, local_id)
        ][-1]

    def entities(self, kind: str) -> dict[str, SourceEntity]:
        """Those of the inventory."""
        return {t.local_id: t for t in self.inventory if isinstance(t, SourceEntity) and t.kind == kind}

    def events(self, name: str) -> list[Mapping[str, Any]]:
        """Details of the events of a name, in order."""
        return [item.detail for poll in self.polls for item in poll if isinstance(item, Event) and item.name == name]

    def rows(self, kind: str, entity: str) -> list[dict[str, Any]]:
        """Samples of an entity in base units, with the seconds since STARTED of the test vCenter as "at"."""
        found = []
        for rows in (item for poll in self.polls for item in poll if isinstance(item, Rows)):
            scales = {column.metric: column.scale for column in rows.table.columns}
            for number, name in enumerate(rows.entity):
                if rows.table.kind == kind and name == entity:
                    row = {
                        metric: None if values[number] is None else values[number] * scales[metric]
                        for metric, values in rows.values.items()
                    }
                    row["device_time"] = rows.device_time[number] if rows.device_time else None
                    row["covers"] = rows.covers_seconds[number] if rows.covers_seconds else None
                    found.append(row)
        return found

    @property
    def topology(self) -> Topology:
        """The joins of what the inventory said."""
        return resolve([("vc", 0, item) for item in self.inventory])


Change = Callable[[int], Awaitable[None] | None]
"""What happens before each poll, by its number."""

Ask = Callable[..., Asked]
"""Asks a test vCenter: `ask(vcenter, polls=2, change=..., **settings)`."""


async def ask_all(
    settings: Mapping[str, object], polls: int, change: Change | None = None, inventories: int = 1
) -> Asked:
    """Open, check, inventory, polls, more inventories, close."""
    collector = Vsphere(VsphereConfig.model_validate({"name": "vc", "collector": "vsphere", **settings}))
    context = LiveContext(WallClock(), Cost())
    asked = Asked()
    try:
        await collector.open(context)
        asked.check = await collector.check(context)
        asked.inventory = [item async for item in collector.inventory(context)]
        for number in range(1, polls + 1):
            if change is not None and (wait := change(number)) is not None:
                await wait
            asked.polls.append([item async for item in collector.poll(context)])
        for _ in range(1, inventories):
            asked.inventory = [item async for item in collector.inventory(context)]
    finally:
        await collector.close()
    assert not undeclared([*asked.inventory, *(item for poll in asked.polls for item in poll)])
    return asked

"""The collector: reads samples in every poll; path and host states, and details from esxcli, less often."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from sanpath.model import Scalar
from sanpath.plugin import (
    Check,
    Collector,
    Context,
    Event,
    Http,
    Item,
    LessOften,
    Rows,
    ServerClock,
    SourceEntity,
    SourceLink,
)
from sanpath_collectors.vsphere import check as checking
from sanpath_collectors.vsphere.config import VsphereConfig
from sanpath_collectors.vsphere.connection.performance import Performance
from sanpath_collectors.vsphere.connection.session import Session
from sanpath_collectors.vsphere.counters import Plan, plan
from sanpath_collectors.vsphere.parse import Samples
from sanpath_collectors.vsphere.properties import details, states
from sanpath_collectors.vsphere.properties.details import Details
from sanpath_collectors.vsphere.properties.inventory import (
    DEVICES,
    EVERYTHING,
    STORAGE,
    EsxHost,
    Inventory,
    Machine,
    select_inventory,
)
from sanpath_collectors.vsphere.tables import SAMPLE_SECONDS
from sanpath_collectors.vsphere.vsan_source import VsanSource

_LATE_US = 60_000_000
"""Age from which samples are late: those of an idle vCenter are up to two intervals old."""
_DETAILS_BEGIN_RATIO, _DETAILS_END_RATIO = 0.5, 0.9
"""Shares of a poll's time: details of another host are requested until the first, and must arrive by the second."""


class Vsphere(Collector[VsphereConfig]):
    """A vCenter or an ESXi host, in one session."""

    runs_in: ClassVar[Literal["loop", "thread"]] = "thread"
    delay_seconds: ClassVar[float] = float(SAMPLE_SECONDS)
    """A sample is usually available one interval after its end. Without the last one, a step of a minute has two."""

    def __init__(self, config: VsphereConfig) -> None:
        super().__init__(config)
        self._http: Http | None = None
        self._inventory = Inventory({}, {}, {})
        self._samples = Samples(Plan())
        self._host_details: dict[str, Details] = {}
        self._pending_hosts: list[str] = []
        self._states = states.States()
        self._states_due = LessOften(config.states_every_seconds, config.every_seconds)
        self._without_samples: set[str] = set()
        self._late = False
        self._clock = ServerClock()
        self._reported: set[str] = set()

    async def open(self, ctx: Context) -> None:
        """Log in, and read the ids of the counters. Closes the session on failure."""
        config = self.config
        await self.close()
        self._http = ctx.http(
            f"https://{config.host}",
            config.ca_file,
            config.verify_tls,
            config.budget_seconds * 0.9,
            pinned_certificate=config.pinned_certificate,
        )
        self._session = Session(self._http, config.user, config.password)
        async with self.closed_on_failure():
            await self._session.open()
            self._performance = Performance(self._session)
            # After a new login, the ids of the counters may differ.
            self._samples.plan = plan(await self._performance.catalogue())
            self._vsan = VsanSource(self._session, config.budget_seconds / 4) if config.vsan else None

    async def check(self, ctx: Context) -> Check:  # noqa: ARG002 - the session was lent at open
        """Report product, version and clock, and what this account and these hosts do not provide."""
        await self._refresh_inventory()
        return await checking.check(
            self._session, self._performance, self._inventory, self._samples.plan, self.config
        )

    async def inventory(self, ctx: Context) -> AsyncIterator[SourceEntity | SourceLink]:  # noqa: ARG002 - as above
        """Yield hosts with adapters, LUNs and paths, virtual machines with disks; find vSAN clusters."""
        await self._refresh_inventory()
        self._inventory.require(self.config.hosts)
        self._pending_hosts = self._inventory.connected()
        for item in self._inventory.items():
            yield self._add_details(item)
        if self._vsan is not None:
            await self._vsan.find()

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:
        """Yield new samples of hosts and virtual machines, changes of state, and details of some hosts in turn."""
        began_us = ctx.clock.now_us()
        server_now_us = await self._session.now_us()
        self._clock.add_reading(server_now_us, began_us, ctx.clock.now_us())
        if (clock_event := self._clock.event(began_us)) is not None:
            yield clock_event
        for event in self._unknown_facts(began_us):
            yield event
        for item in await self._machine_changes(ctx):
            yield item
        hosts = {moid: self._inventory.hosts[moid] for moid in self._inventory.connected()}
        async for sample in self._samples_of("HostSystem", hosts, ctx):
            yield sample
        async for sample in self._samples_of("VirtualMachine", self._inventory.machines, ctx):
            yield sample
        for event in self._lateness(server_now_us, began_us):
            yield event
        if self._states_due.is_due(began_us):
            self._states_due.note(began_us)
            async for item in self._state_items(ctx):
                yield item
        if self._vsan is not None:
            until_us = began_us + int(_DETAILS_BEGIN_RATIO * self.config.budget_seconds * 1e6)
            async for item in self._vsan.poll(server_now_us, self._inventory.vsan_nodes, ctx.clock, until_us):
                yield item
        budget = self.config.budget_seconds
        while (
            self._pending_hosts
            and (spent_seconds := (ctx.clock.now_us() - began_us) / 1e6) < _DETAILS_BEGIN_RATIO * budget
        ):
            for item in await self._details(
                self._pending_hosts.pop(0), _DETAILS_END_RATIO * budget - spent_seconds, ctx
            ):
                yield item

    async def close(self) -> None:
        """Log out."""
        if self._http is not None:
            http, self._http = self._http, None
            try:
                await self._session.close()
            finally:
                await http.close()

    async def _refresh_inventory(self) -> None:
        """Read the inventory. Logs in again first if the session has expired: views end with it."""
        await self._session.now_us()
        everything = await self._session.all_of(EVERYTHING)
        selected = select_inventory(everything, self.config.hosts, self.config.machines, self.config.name)
        selected.add_storage(await self._session.properties_of("HostSystem", selected.connected(), STORAGE))
        selected.add_devices(await self._session.properties_of("VirtualMachine", list(selected.machines), [DEVICES]))
        self._inventory = selected
        self._states.begin(selected)

    async def _samples_of(
        self, kind: str, objects: Mapping[str, EsxHost] | Mapping[str, Machine], ctx: Context
    ) -> AsyncIterator[Rows | Event]:
        counters = self._samples.plan.requested.get(kind)
        if not counters or not objects:
            return
        answered: set[str] = set()
        async for answers in self._performance.query(kind, list(objects), counters):
            seen_us = ctx.clock.now_us()
            for answer in answers:
                if (entity := objects.get(answer.moid)) is not None and answer.times:
                    answered.add(answer.moid)
                    for item in self._samples.rows(answer, entity.name, entity.local_id, seen_us):
                        yield item
        for event in self._missing_samples(objects, answered, ctx.clock.now_us()):
            yield event

    def _missing_samples(
        self, objects: Mapping[str, EsxHost] | Mapping[str, Machine], answered: set[str], seen_us: int
    ) -> Iterator[Event]:
        """Yield an event for each entity that has stopped having samples."""
        for moid, entity in objects.items():
            if moid in answered:
                self._without_samples.discard(moid)
            elif moid not in self._without_samples:
                self._without_samples.add(moid)
                reason = self._performance.failed.get(moid, "the server has no samples of it")
                yield Event(seen_us, "no-samples", {"entity": entity.name, "why": reason})

    def _lateness(self, server_now_us: int, seen_us: int) -> Iterator[Event]:
        newest = self._samples.newest
        if newest is None:
            return
        is_late = server_now_us - newest > _LATE_US
        if is_late != self._late:
            self._late = is_late
            detail = {"seconds": round((server_now_us - newest) / 1e6, 1)}
            yield Event(seen_us, "samples-late" if is_late else "samples-in-time", detail)

    async def _machine_changes(self, ctx: Context) -> Sequence[Item]:
        """Return changes of virtual machines since the last poll: a step is judged by the host on which it ran."""
        running = await self._session.properties_of(
            "VirtualMachine", list(self._inventory.machines), states.MACHINE_PROPERTIES
        )
        return list(states.machine_changes(self._inventory, running, ctx.clock.now_us()))

    async def _state_items(self, ctx: Context) -> AsyncIterator[Item]:
        """Yield changes since the last inventory, and path states with the server's time."""
        host_details = await self._session.properties_of(
            "HostSystem", list(self._inventory.hosts), states.HOST_PROPERTIES
        )
        device_time = await self._session.now_us()
        for item in self._states.changes(self._inventory, host_details, ctx.clock.now_us(), device_time):
            yield self._add_details(item) if isinstance(item, SourceEntity) else item
        if any(self._inventory.hosts[moid].storage_is_unread for moid in self._inventory.connected()):
            async for entity in self.inventory(ctx):
                yield entity

    async def _details(self, moid: str, seconds: float, ctx: Context) -> Sequence[Item]:
        """Read the details of one host from esxcli and the advanced options; return the entities with them."""
        host = self._inventory.hosts[moid]
        host_details = self._host_details[host.name] = await details.ask(
            self._session, host, self.config.esxcli, seconds
        )
        items: list[Item] = []
        if host_details.refused and f"esxcli {moid}" not in self._reported:
            self._reported.add(f"esxcli {moid}")
            reason = {"entity": host.name, "why": host_details.refused, "consequence": details.CONSEQUENCE}
            items.append(Event(ctx.clock.now_us(), "facts-unknown", reason))
        entities = (
            item
            for item in self._inventory.host_items(host)
            if isinstance(item, SourceEntity) and self._details_of(item)
        )
        return [*items, *map(self._add_details, entities)]

    def _add_details(self, item: SourceEntity | SourceLink) -> SourceEntity | SourceLink:
        if isinstance(item, SourceEntity) and (extra := self._details_of(item)):
            return replace(item, attributes={**item.attributes, **extra})
        return item

    def _details_of(self, entity: SourceEntity) -> Mapping[str, Scalar]:
        host = entity.local_id.partition("/")[0]
        host_details = self._host_details.get(host)
        return {} if host_details is None else details.details_of(entity.kind, entity.local_id, host, host_details)

    def _unknown_facts(self, seen_us: int) -> Iterator[Event]:
        """Yield events for what is unknown in this run, once."""
        if "run" in self._reported:
            return
        self._reported.add("run")
        for line in self._samples.plan.unknown():
            yield Event(seen_us, "counters-missing", {"text": line})
        for host in self._inventory.hosts.values():
            if host.state != "connected":
                yield states.host_event(seen_us, host.name, None, host.state)
            for name, reason in host.missing.items():
                yield Event(seen_us, "facts-unknown", {"entity": host.name, "what": name, "why": reason})

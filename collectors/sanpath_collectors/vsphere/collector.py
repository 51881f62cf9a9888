"""Asks a vCenter or an ESXi host: samples every poll; path and host states, and what esxcli knows, less often."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from sanpath.model import Scalar
from sanpath.plugin import Check, Collector, Context, Event, Http, Item, Rows, ServerClock, SourceEntity, SourceLink
from sanpath_collectors.vsphere import checking, details, states
from sanpath_collectors.vsphere.config import VsphereConfig
from sanpath_collectors.vsphere.counters import Plan, plan
from sanpath_collectors.vsphere.details import Told
from sanpath_collectors.vsphere.inventory import DEVICES, EVERYTHING, STORAGE, EsxHost, Inventory, Machine, chosen
from sanpath_collectors.vsphere.parse import Samples
from sanpath_collectors.vsphere.performance import Performance
from sanpath_collectors.vsphere.session import Session
from sanpath_collectors.vsphere.vsan_source import VsanSource

_LATE_US = 60_000_000
"""Samples of an idle vCenter are up to two intervals old; older ones are late."""
_SPARE, _LATEST = 0.5, 0.9
"""Shares of a poll's time: until the first another host is asked for its details, by the second it has to answer."""


class Vsphere(Collector[VsphereConfig]):
    """A vCenter or an ESXi host, in one session."""

    runs_in: ClassVar[Literal["loop", "thread"]] = "thread"

    def __init__(self, config: VsphereConfig) -> None:
        super().__init__(config)
        self._http: Http | None = None
        self._found = Inventory({}, {}, {})
        self._samples = Samples(Plan())
        self._told: dict[str, Told] = {}
        self._untold: list[str] = []
        self._states = states.States()
        self._states_due = 0
        self._quiet: set[str] = set()
        self._late = False
        self._clock = ServerClock()
        self._said: set[str] = set()

    async def open(self, ctx: Context) -> None:
        """Log in, and find the ids of the counters. Leaves nothing open when that fails."""
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
        try:
            await self._session.open()
            self._performance = Performance(self._session)
            self._samples = self._samples.under(plan(await self._performance.catalogue()))
            self._vsan = VsanSource(self._session, config.budget_seconds / 4) if config.vsan else None
        except BaseException:
            await self.close()
            raise

    async def check(self, ctx: Context) -> Check:  # noqa: ARG002 - the session was lent at open
        """Product, version and clock; what this account, and these hosts, do not tell."""
        await self._look()
        return await checking.check(self._session, self._performance, self._found, self._samples.plan, self.config)

    async def inventory(self, ctx: Context) -> AsyncIterator[SourceEntity | SourceLink]:  # noqa: ARG002 - as above
        """Hosts with their adapters, LUNs and paths, virtual machines with their disks, vSAN clusters."""
        await self._look()
        self._found.require(self.config.hosts)
        self._untold = self._found.connected()
        for item in self._found.items():
            yield self._with_details(item)
        if self._vsan is not None:
            await self._vsan.find()

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:
        """New samples of hosts and virtual machines, changes of state, and details of a host or more, in turn."""
        began = ctx.clock.now_us()
        now = await self._session.now_us()
        self._clock.add_reading(now, began, ctx.clock.now_us())
        if (compared := self._clock.event(began)) is not None:
            yield compared
        for event in self._say(began):
            yield event
        for item in await self._moves(ctx):
            yield item
        hosts = {moid: self._found.hosts[moid] for moid in self._found.connected()}
        async for sample in self._samples_of("HostSystem", hosts, ctx):
            yield sample
        async for sample in self._samples_of("VirtualMachine", self._found.machines, ctx):
            yield sample
        for event in self._lateness(now, began):
            yield event
        if began >= self._states_due:
            # half a poll early rather than a whole one late: the grid of polls has jitter
            wait = self.config.states_every_seconds - self.config.every_seconds / 2
            self._states_due = began + int(max(0.0, wait) * 1e6)
            async for item in self._state_items(ctx):
                yield item
        if self._vsan is not None:
            until = began + int(_SPARE * self.config.budget_seconds * 1e6)
            async for item in self._vsan.poll(now, self._found.vsan_nodes, ctx.clock, until):
                yield item
        budget = self.config.budget_seconds
        while self._untold and (spent := (ctx.clock.now_us() - began) / 1e6) < _SPARE * budget:
            for item in await self._details(self._untold.pop(0), _LATEST * budget - spent, ctx):
                yield item

    async def close(self) -> None:
        """Log out."""
        if self._http is not None:
            http, self._http = self._http, None
            try:
                await self._session.close()
            finally:
                await http.close()

    async def _look(self) -> None:
        """What there is now. Logs in again first when the session has expired: views end with it."""
        await self._session.now_us()
        everything = await self._session.all_of(EVERYTHING)
        found = chosen(everything, self.config.hosts, self.config.machines, self.config.name)
        found.add_storage(await self._session.properties_of("HostSystem", found.connected(), STORAGE))
        found.add_devices(await self._session.properties_of("VirtualMachine", list(found.machines), [DEVICES]))
        self._found = found
        self._states.begin(found)

    async def _samples_of(
        self, kind: str, objects: Mapping[str, EsxHost] | Mapping[str, Machine], ctx: Context
    ) -> AsyncIterator[Rows | Event]:
        counters = self._samples.plan.asked.get(kind)
        if not counters or not objects:
            return
        answered: set[str] = set()
        async for answers in self._performance.query(kind, list(objects), counters):
            seen = ctx.clock.now_us()
            for answer in answers:
                if (one := objects.get(answer.moid)) is not None and answer.times:
                    answered.add(answer.moid)
                    for item in self._samples.rows(answer, one.name, one.local_id, seen):
                        yield item
        for event in self._silent(objects, answered, ctx.clock.now_us()):
            yield event

    def _silent(
        self, objects: Mapping[str, EsxHost] | Mapping[str, Machine], answered: set[str], seen: int
    ) -> Iterator[Event]:
        """What has no samples any longer, once each time."""
        for moid, one in objects.items():
            if moid in answered:
                self._quiet.discard(moid)
            elif moid not in self._quiet:
                self._quiet.add(moid)
                why = self._performance.failed.get(moid, "the server has no samples of it")
                yield Event(seen, "no-samples", {"entity": one.name, "why": why})

    def _lateness(self, now: int, seen: int) -> Iterator[Event]:
        newest = self._samples.newest
        if newest is None:
            return
        late = now - newest > _LATE_US
        if late != self._late:
            self._late = late
            detail = {"seconds": round((now - newest) / 1e6, 1)}
            yield Event(seen, "samples-late" if late else "samples-in-time", detail)

    async def _moves(self, ctx: Context) -> Sequence[Item]:
        """Machines that run on another host than at the last poll: a step is judged on the host that it ran on."""
        running = await self._session.properties_of("VirtualMachine", list(self._found.machines), states.OF_MACHINES)
        return list(states.machine_changes(self._found, running, ctx.clock.now_us()))

    async def _state_items(self, ctx: Context) -> AsyncIterator[Item]:
        """Changes since the last look; path states on the server's clock, which tells its offset from ours."""
        told = await self._session.properties_of("HostSystem", list(self._found.hosts), states.OF_HOSTS)
        device_time = await self._session.now_us()
        for item in self._states.changes(self._found, told, ctx.clock.now_us(), device_time):
            yield self._with_details(item) if isinstance(item, SourceEntity) else item
        if any(self._found.hosts[moid].unread for moid in self._found.connected()):
            async for thing in self.inventory(ctx):
                yield thing

    async def _details(self, moid: str, seconds: float, ctx: Context) -> Sequence[Item]:
        """What esxcli and the advanced options say of one host."""
        host = self._found.hosts[moid]
        told = self._told[host.name] = await details.ask(self._session, host, self.config.esxcli, seconds)
        items: list[Item] = []
        if told.refused and f"esxcli {moid}" not in self._said:
            self._said.add(f"esxcli {moid}")
            why = {"entity": host.name, "why": told.refused, "consequence": details.CONSEQUENCE}
            items.append(Event(ctx.clock.now_us(), "facts-unknown", why))
        things = (
            item for item in self._found.of_host(host) if isinstance(item, SourceEntity) and self._details_of(item)
        )
        return [*items, *map(self._with_details, things)]

    def _with_details(self, item: SourceEntity | SourceLink) -> SourceEntity | SourceLink:
        if isinstance(item, SourceEntity) and (more := self._details_of(item)):
            return replace(item, attributes={**item.attributes, **more})
        return item

    def _details_of(self, thing: SourceEntity) -> Mapping[str, Scalar]:
        host = thing.local_id.partition("/")[0]
        told = self._told.get(host)
        return {} if told is None else details.merged(thing.kind, thing.local_id, host, told)

    def _say(self, seen: int) -> Iterator[Event]:
        """What stays unknown in this run, once."""
        if "run" in self._said:
            return
        self._said.add("run")
        for line in self._samples.plan.unknown():
            yield Event(seen, "counters-missing", {"text": line})
        for host in self._found.hosts.values():
            if host.state != "connected":
                yield states.host_event(seen, host.name, None, host.state)
            for name, why in host.missing.items():
                yield Event(seen, "facts-unknown", {"entity": host.name, "what": name, "why": why})

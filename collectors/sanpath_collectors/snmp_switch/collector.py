"""Asks a switch what it is, what hangs on it and what it has counted."""

from __future__ import annotations

from collections.abc import AsyncIterator

from sanpath.plugin import (
    Check,
    Collector,
    CollectorError,
    Context,
    Event,
    Failure,
    Item,
    Snmp,
    SourceEntity,
    SourceLink,
)
from sanpath_collectors.snmp_switch import parse
from sanpath_collectors.snmp_switch.changes import Changes
from sanpath_collectors.snmp_switch.checking import check
from sanpath_collectors.snmp_switch.config import SnmpSwitchConfig
from sanpath_collectors.snmp_switch.device import Device, discover, whereabouts
from sanpath_collectors.snmp_switch.plan import Plan, PortCells, by_port
from sanpath_collectors.snmp_switch.reading import SYS_NAME, SYS_UPTIME, read
from sanpath_collectors.snmp_switch.samples import samples
from sanpath_collectors.snmp_switch.values import text


class SnmpSwitch(Collector[SnmpSwitchConfig]):
    """A switch by whatever tables it answers: the uptime, then the columns that its ports need."""

    def __init__(self, config: SnmpSwitchConfig) -> None:
        super().__init__(config)
        self._snmp: Snmp | None = None
        self._name = config.name
        self._device: Device | None = None
        self._plan = Plan()
        self._changes = Changes()
        self._uptime: tuple[int, int] | None = None
        self._started_us: int | None = None

    def _agent(self, ctx: Context) -> Snmp:
        if self._snmp is None:
            self._snmp = ctx.snmp(self.config.credentials())
        return self._snmp

    async def open(self, ctx: Context) -> None:
        """Ask for the name: the first proof that host and credentials are right. Leaves nothing open otherwise."""
        try:
            self._name = text((await self._agent(ctx).get([SYS_NAME]))[SYS_NAME]) or self.config.name
        except BaseException:
            await self.close()
            raise

    async def check(self, ctx: Context) -> Check:
        """Model, firmware and ports; which facts the account, or the switch's settings, keep from us."""
        return check(await self._learn(ctx), self._plan)

    async def inventory(self, ctx: Context) -> AsyncIterator[SourceEntity | SourceLink]:
        """The switch, its ports, the logins on them and the links to other switches."""
        async for item in whereabouts(self._agent(ctx), await self._learn(ctx)):
            yield item

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:
        """Uptime, then all ports. Raises UNREADABLE when the agent shows no port."""
        ticks = (await self._agent(ctx).get([SYS_UPTIME]))[SYS_UPTIME]
        seen = ctx.clock.now_us()
        if isinstance(ticks, int):
            if restart := self._restart(ticks, seen):
                yield restart
            if self._started_us is None:
                self._started_us = seen - ticks * parse.TICK_US
            yield parse.uptime(self._name, ticks, seen)
        device = self._device or await self._learn(ctx)
        counting = [port for port in self._plan.counting() if port in device.ports and device.ports[port].carries]
        if not counting:
            raise CollectorError(Failure.UNREADABLE, "the agent answers, but its view holds no port with counters")
        cells: PortCells = {}
        problem = None
        try:
            await self._ask(ctx, device, cells)
        except CollectorError as error:
            problem = error
        for rows in samples(counting, self._plan.chosen, cells, self._started_us):
            yield rows
            for event in self._changes.events(rows, device.ports):
                yield event
        if problem is not None:
            raise problem

    async def close(self) -> None:
        """Free the socket."""
        if self._snmp is not None:
            await self._snmp.close()
            self._snmp = None

    async def _learn(self, ctx: Context) -> Device:
        agent = self._agent(ctx)
        device = await discover(agent, self.config.name)
        await self._plan.learn(agent, device.profiles, device.ports, device.interfaces)
        self._device, self._name = device, device.name
        return device

    async def _ask(self, ctx: Context, device: Device, cells: PortCells) -> None:
        """Fill in the cells, profile by profile: what has been answered before a failure is kept."""
        for profile in device.profiles:
            if columns := self._plan.columns(profile):
                rows = await read(self._agent(ctx), columns, SYS_UPTIME)
                for port, told in by_port(profile, rows, device.interfaces).items():
                    cells.setdefault(port, {}).update(told)

    def _restart(self, ticks: int, seen: int) -> Event | None:
        before, self._uptime = self._uptime, (ticks, seen)
        if before is None or not parse.restarted(before[0], ticks, (seen - before[1]) / 1e6):
            return None
        # A new start may number the ports anew, and count from zero: find out again what there is.
        self._device, self._plan, self._changes, self._started_us = None, Plan(), Changes(), None
        detail = {"uptime_seconds_before": before[0] / 100, "uptime_seconds": ticks / 100}
        return Event(seen, "device-restarted", detail)

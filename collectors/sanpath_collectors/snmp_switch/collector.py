"""The collector: reads the identity of a switch, its neighbours, and its counters."""

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
from sanpath_collectors.snmp_switch.check import check
from sanpath_collectors.snmp_switch.column_reader import SYS_NAME, SYS_UPTIME, read
from sanpath_collectors.snmp_switch.config import SnmpSwitchConfig
from sanpath_collectors.snmp_switch.device import Device, discover, read_inventory
from sanpath_collectors.snmp_switch.events import Changes
from sanpath_collectors.snmp_switch.plan import Plan, PortCells, cells_by_port


class SnmpSwitch(Collector[SnmpSwitchConfig]):
    """A switch, read by the tables that it answers: each poll reads the uptime, then the columns of its ports."""

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
        """Read the name, to verify host and credentials. Closes the socket on failure."""
        async with self.closed_on_failure():
            self._name = parse.text((await self._agent(ctx).get([SYS_NAME]))[SYS_NAME]) or self.config.name

    async def check(self, ctx: Context) -> Check:
        """Report model, firmware and ports, and what the rights or the switch's settings hide."""
        return check(await self._discover(ctx), self._plan)

    async def inventory(self, ctx: Context) -> AsyncIterator[SourceEntity | SourceLink]:
        """Yield the switch, its ports, their logins and the links to other switches."""
        async for item in read_inventory(self._agent(ctx), await self._discover(ctx)):
            yield item

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:
        """Yield the uptime, then the samples of all ports. Raises UNREADABLE if the agent shows no port."""
        uptime_ticks = (await self._agent(ctx).get([SYS_UPTIME]))[SYS_UPTIME]
        seen_us = ctx.clock.now_us()
        if isinstance(uptime_ticks, int):
            if restart := self._restart(uptime_ticks, seen_us):
                yield restart
            if self._started_us is None:
                self._started_us = seen_us - uptime_ticks * parse.TICK_US
            yield parse.uptime(self._name, uptime_ticks, seen_us)
        device = self._device or await self._discover(ctx)
        polled = [port for port in self._plan.counted_ports() if port in device.ports and device.ports[port].carries]
        if not polled:
            raise CollectorError(Failure.UNREADABLE, "the agent answers, but its view holds no port with counters")
        cells: PortCells = {}
        problem = None
        try:
            await self._ask(ctx, device, cells)
        except CollectorError as error:
            problem = error
        for rows in self._plan.rows(polled, cells, self._started_us):
            yield rows
            for event in self._changes.events(rows, device.ports):
                yield event
        if problem is not None:
            raise problem

    async def close(self) -> None:
        """Close the socket."""
        if self._snmp is not None:
            await self._snmp.close()
            self._snmp = None

    async def _discover(self, ctx: Context) -> Device:
        agent = self._agent(ctx)
        device = await discover(agent, self.config.name)
        await self._plan.choose_columns(agent, device.profiles, device.ports, device.interfaces)
        self._device, self._name = device, device.name
        return device

    async def _ask(self, ctx: Context, device: Device, cells: PortCells) -> None:
        """Fill in the cells, profile by profile: answers before a failure are retained."""
        for profile in device.profiles:
            if columns := self._plan.columns(profile):
                rows = await read(self._agent(ctx), columns, SYS_UPTIME)
                for port, port_cells in cells_by_port(profile, rows, device.interfaces).items():
                    cells.setdefault(port, {}).update(port_cells)

    def _restart(self, uptime_ticks: int, seen_us: int) -> Event | None:
        previous, self._uptime = self._uptime, (uptime_ticks, seen_us)
        if previous is None or uptime_ticks >= previous[0]:
            return None
        if not parse.has_restarted(previous[0], uptime_ticks, (seen_us - previous[1]) / 1e6):
            if self._started_us is not None:  # sysUpTime begins again after 497 days; the switch's time continues.
                self._started_us += parse.TICKS_WRAP * parse.TICK_US
            return None
        # After a restart ports may have new numbers, and counters start from zero: discover the switch again.
        self._device, self._plan, self._changes, self._started_us = None, Plan(), Changes(), None
        detail = {"uptime_seconds_before": previous[0] / 100, "uptime_seconds": uptime_ticks / 100}
        return Event(seen_us, "device-restarted", detail)

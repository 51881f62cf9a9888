"""Asks a switch for its interface tables."""

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
    Thing,
    Tie,
)
from sanpath_collectors.snmp_if import parse
from sanpath_collectors.snmp_if.config import SnmpIfConfig


class SnmpIf(Collector[SnmpIfConfig]):
    """A switch by IF-MIB: one table walk a poll, the uptime before it."""

    def __init__(self, config: SnmpIfConfig) -> None:
        super().__init__(config)
        self._snmp: Snmp | None = None
        self._switch = config.name
        self._ports: set[str] = set()
        self._virtual: set[str] = set()
        self._with_64: set[str] = set()
        self._uptime: tuple[int, int] | None = None
        self._started_us: int | None = None

    def _agent(self, ctx: Context) -> Snmp:
        if self._snmp is None:
            self._snmp = ctx.snmp(self.config.credentials())
        return self._snmp

    async def open(self, ctx: Context) -> None:
        """Ask for the name: the first proof that host and credentials are right. Leaves nothing open otherwise."""
        try:
            system = await self._agent(ctx).get([parse.SYS_NAME])
        except BaseException:
            await self.close()
            raise
        self._switch = parse.text(system[parse.SYS_NAME]) or self.config.name

    async def check(self, ctx: Context) -> Check:
        """Name and description; which counters the account may see."""
        system = await self._agent(ctx).get([parse.SYS_DESCR])
        rows = await self._agent(ctx).columns([parse.IF_TYPE, parse.IF_HC_IN_OCTETS, parse.IF_NAME])
        unreadable = []
        if not rows:
            unreadable.append("ifTable: no port of this switch can be judged")
        elif not any(parse.has_64_bits(row) for row in rows.values()):
            unreadable.append("64-bit octet counters: the 32-bit ones wrap in 5 s on a full 8 Gb/s link")
        description = parse.text(system[parse.SYS_DESCR]).partition("\n")[0].strip()
        return Check(f"{self._switch}: {description}" if description else self._switch, None, tuple(unreadable))

    async def inventory(self, ctx: Context) -> AsyncIterator[Thing | Tie]:
        """The switch, its ports, and the logins that port descriptions tell of."""
        system = await self._agent(ctx).get([parse.SYS_NAME, parse.SYS_DESCR])
        yield Thing(
            "switch",
            self._switch,
            label=self._switch,
            ids={"name": (self._switch,)},
            attributes={"description": parse.text(system[parse.SYS_DESCR])},
        )
        rows = await self._agent(ctx).columns(parse.INVENTORY_COLUMNS)
        self._ports = set(rows)
        self._virtual = {index for index, row in rows.items() if parse.is_virtual(row)}
        self._with_64 |= {index for index, row in rows.items() if parse.has_64_bits(row)}
        for thing in parse.things(self._switch, rows):
            yield thing

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:
        """Uptime, then all ports in one walk. Raises UNREADABLE when the agent shows no port."""
        ticks = (await self._agent(ctx).get([parse.SYS_UPTIME]))[parse.SYS_UPTIME]
        seen = ctx.clock.now_us()
        if isinstance(ticks, int):
            if restart := self._restart(ticks, seen):
                yield restart
            if self._started_us is None:
                self._started_us = seen - ticks * parse.TICK_US
            yield parse.uptime(self._switch, ticks, seen)
        columns = parse.octet_columns(self._with_64, self._ports - self._virtual)
        rows = await self._agent(ctx).columns(columns, beside=parse.SYS_UPTIME)
        if not rows:
            raise CollectorError(Failure.UNREADABLE, "the agent answers, but its view holds no ifTable")
        self._with_64 |= {index for index, row in rows.items() if parse.has_64_bits(row)}
        for samples in parse.samples(rows, self._virtual, self._with_64, self._started_us):
            yield samples

    async def close(self) -> None:
        """Free the socket."""
        if self._snmp is not None:
            await self._snmp.close()
            self._snmp = None

    def _restart(self, ticks: int, seen: int) -> Event | None:
        before, self._uptime = self._uptime, (ticks, seen)
        if before is None or not parse.restarted(before[0], ticks, (seen - before[1]) / 1e6):
            return None
        self._ports.clear()  # a new start may number the interfaces anew: ask for both kinds of counters again
        self._with_64.clear()
        self._started_us = None
        detail = {"uptime_seconds_before": before[0] / 100, "uptime_seconds": ticks / 100}
        return Event(seen, "device-restarted", detail)

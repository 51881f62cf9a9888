"""Polls a switch over NX-API: one show command per poll for all ports, optics and uptime less often."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from math import ceil

from sanpath.plugin import (
    BusyError,
    Check,
    Collector,
    CollectorError,
    Context,
    Event,
    Failure,
    Http,
    Item,
    LessOften,
    SourceEntity,
    SourceLink,
    quantity,
    warning,
)
from sanpath_collectors.cisco_nxapi import inventory, parse
from sanpath_collectors.cisco_nxapi.config import CiscoNxapiConfig
from sanpath_collectors.cisco_nxapi.nxapi import Nxapi
from sanpath_collectors.snmp_switch import logins, zones
from sanpath_collectors.snmp_switch.events import Changes, Uptime
from sanpath_collectors.snmp_switch.ports import Port
from sanpath_collectors.snmp_switch.ports import inventory as port_items
from sanpath_collectors.snmp_switch.profile import devices

_VERSION, _SWITCH_WWN, _PORTS = "show version", "show wwn switch", "show interface"
_OPTICS = "show interface transceiver details"
_LOGINS, _NPV_LOGINS = "show flogi database", "show npv flogi-table"
_NAMES, _ZONES = "show fcns database detail", "show zoneset active"
_WITHOUT = {
    _OPTICS: "optical power and temperature are unknown",
    _LOGINS: "which device is on which port is unknown",
    _NAMES: "which logins are initiators or targets is unknown",
    _ZONES: zones.UNKNOWN,
}


class CiscoNxapi(Collector[CiscoNxapiConfig]):
    """A switch with NX-OS: its Fibre Channel interfaces, all VSANs together."""

    def __init__(self, config: CiscoNxapiConfig) -> None:
        super().__init__(config)
        self._http: Http | None = None
        self._nxapi: Nxapi | None = None
        self._name = config.name
        self._ports: dict[str, Port] = {}
        self._changes = Changes()
        self._uptime = Uptime()
        self._noted: set[str] = set()
        self._pending: list[Event] = []
        self._optics = LessOften(config.optics_every_seconds, config.every_seconds)
        self._busy_until = 0

    async def open(self, ctx: Context) -> None:
        """Request the version, to verify host and login. Leaves nothing open on failure."""
        await self.close()
        if (wait_us := self._busy_until - ctx.clock.now_us()) > 0:
            raise CollectorError(
                Failure.UNREACHABLE, f"the switch asked to wait, for another {ceil(wait_us / 1e6)} s"
            )
        config = self.config
        self._http = ctx.http(f"https://{config.host}", config.ca_file, config.verify_tls, config.request_seconds)
        self._nxapi = Nxapi(self._http, self.config.user, self.config.password)
        async with self.closed_on_failure():
            self._named(*await self._show(ctx, [_VERSION]))

    async def check(self, ctx: Context) -> Check:
        """Return name, model, release and ports, and what this role or release does not show."""
        commands = [_VERSION, _PORTS, *_WITHOUT]
        version, interfaces, optics, flogi, *other_answers = await self._show(ctx, commands)
        other_answers = [optics, await self._logins(ctx, flogi), *other_answers]
        self._named(version)
        ports = [port for port in inventory.ports(interfaces.body).values() if port.carries]
        unreadable = [
            f"{command}: {shown.error}: {consequence}"
            for (command, consequence), shown in zip(_WITHOUT.items(), other_answers, strict=True)
            if shown.error
        ]
        if interfaces.error:
            unreadable.insert(0, f"{_PORTS}: {interfaces.error}: no port of this switch can be judged")
        online = sum(port.attributes.get("up") is True for port in ports)
        about = inventory.switch(version.body, None, self._name).attributes
        identity = [str(about[name]) for name in ("model", "firmware") if about[name]]
        identity.append(f"{quantity(len(ports), 'port')}, {online} online")
        return Check(f"{self._name}: {', '.join(identity)}", None, tuple(unreadable))

    async def inventory(self, ctx: Context) -> AsyncIterator[SourceEntity | SourceLink]:
        """Yield the switch, its ports and their logins, links to other switches, and the zones' pairs."""
        commands = [_VERSION, _SWITCH_WWN, _PORTS, _LOGINS, _NAMES, _ZONES]
        version, own, interfaces, flogi, names, zoneset = await self._show(ctx, commands)
        flogi = await self._logins(ctx, flogi)
        self._named(version)
        yield inventory.switch(version.body, parse.first_wwn(own.body), self._name)
        self._ports = inventory.ports(interfaces.body)
        for item in port_items(self._name, self._ports):
            yield item
        found = inventory.logins(flogi.body, names.body, self._ports)
        for item in logins.inventory((login for login in found if login.port), self._ports, devices()):
            yield item
        for link in inventory.neighbours(interfaces.body):
            yield link
        self._note_refusals(ctx, [(_LOGINS, flogi), (_NAMES, names), (_ZONES, zoneset)])
        zoned = zones.links(inventory.zones(zoneset.body, found), found)
        if zoned is None:
            self._pending.append(zones.left_out(ctx.clock.now_us()))
        for link in zoned or ():
            yield link

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:
        """Yield the counters and states of all ports; when due, optics and uptime too."""
        now_us = ctx.clock.now_us()
        are_optics_due = self._optics.is_due(now_us)
        interfaces, *other_answers = await self._show(ctx, [_PORTS, _VERSION] if are_optics_due else [_PORTS])
        seen_us = ctx.clock.now_us()
        if interfaces.error:
            raise CollectorError(Failure.UNREADABLE, f"{_PORTS}: {interfaces.error}")
        known = {name: port.local_id for name, port in self._ports.items() if port.carries}
        rows = parse.samples(interfaces.body, known, seen_us)
        if rows is None:
            raise CollectorError(Failure.UNREADABLE, f"{_PORTS}: no Fibre Channel port of this switch has counters")
        yield rows
        for event in self._changes.events(rows, self._ports):
            yield event
        for version in other_answers:
            for item in self._uptime.items(self._name, parse.uptime_seconds(version.body), seen_us):
                yield item
        if are_optics_due:
            # A switch may take longer for its optics than a poll may: the next polls do not ask for them again.
            self._optics.note(now_us)
            (shown,) = await self._show(ctx, [_OPTICS])
            self._note_refusals(ctx, [(_OPTICS, shown)])
            if optics := parse.optics(shown.body, known, ctx.clock.now_us()):
                yield optics
        pending, self._pending = self._pending, []
        for event in pending:
            yield event

    async def close(self) -> None:
        """Close the connections. The switch forgets the cookie by itself."""
        http, self._http, self._nxapi = self._http, None, None
        if http is not None:
            await http.close()

    async def _logins(self, ctx: Context, flogi: parse.Output) -> parse.Output:
        """Return the logins. A switch in NPV mode has a separate command for those that it passes on."""
        if not flogi.error:
            return flogi
        (npv,) = await self._show(ctx, [_NPV_LOGINS])
        return flogi if npv.error else npv

    def _named(self, version: parse.Output) -> None:
        self._name = parse.text(version.body, "host_name", "hostname") or self.config.name

    def _note_refusals(self, ctx: Context, shown: Sequence[tuple[str, parse.Output]]) -> None:
        """Remark, once for each command, what its refusal leaves unknown."""
        for command, answer in shown:
            if answer.error and command not in self._noted:
                self._noted.add(command)
                text = f"{command}: {answer.error}: {_WITHOUT[command]}"
                self._pending.append(warning(ctx.clock.now_us(), "command-refused", text))

    async def _show(self, ctx: Context, commands: Sequence[str]) -> list[parse.Output]:
        if self._nxapi is None:
            raise CollectorError(Failure.UNREACHABLE, "there is no connection to the switch")
        try:
            return await self._nxapi.show(commands)
        except BusyError as busy:
            self._busy_until = ctx.clock.now_us() + int(busy.wait_seconds * 1e6)
            raise

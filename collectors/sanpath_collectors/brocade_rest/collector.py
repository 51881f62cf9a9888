"""Polls a switch over REST: statistics and states of all ports every poll, optics and uptime less often."""

from __future__ import annotations

from collections.abc import AsyncIterator
from math import ceil
from typing import ClassVar

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
from sanpath_collectors.brocade_rest import inventory, parse
from sanpath_collectors.brocade_rest.config import BrocadeRestConfig
from sanpath_collectors.brocade_rest.rest import ClosedError, Rest
from sanpath_collectors.snmp_switch import logins, zones
from sanpath_collectors.snmp_switch.events import Changes, Uptime
from sanpath_collectors.snmp_switch.ports import Port
from sanpath_collectors.snmp_switch.ports import inventory as port_items
from sanpath_collectors.snmp_switch.profile import devices

_SWITCH, _PORTS = "brocade-fibrechannel-switch/fibrechannel-switch", "brocade-interface/fibrechannel"
_STATISTICS, _OPTICS = "brocade-interface/fibrechannel-statistics", "brocade-media/media-rdp"
_NAMES, _ZONES = "brocade-name-server/fibrechannel-name-server", "brocade-zone/effective-configuration"
_WITHOUT = {
    _OPTICS: "optical power and temperature are unknown",
    _NAMES: "which logins are initiators or targets is unknown",
    _ZONES: zones.UNKNOWN,
}
_LOGIN_SECONDS = 30.0
"""Some switches take more than ten seconds (github.com/brocade/ansible, issue 59)."""
_UNANSWERED_SECONDS = 600.0
"""Wait after an unanswered login, whose session stays for hours; a switch admits three by default."""


class BrocadeRest(Collector[BrocadeRestConfig]):
    """A switch, or a virtual fabric of it, in one session."""

    open_seconds: ClassVar[float] = _LOGIN_SECONDS + 5

    def __init__(self, config: BrocadeRestConfig) -> None:
        super().__init__(config)
        self._http: Http | None = None
        self._rest: Rest | None = None
        self._name = config.name
        self._ports: dict[str, Port] = {}
        self._changes = Changes()
        self._uptime = Uptime()
        self._closed: set[str] = set()
        self._pending: list[Event] = []
        self._optics = LessOften(config.optics_every_seconds, config.every_seconds)
        self._busy_until = 0
        self._wait_reason = ""

    async def open(self, ctx: Context) -> None:
        """Log in. Leaves nothing open on failure. Sends no request while a busy switch has asked to wait, nor soon
        after an unanswered login."""
        await self.close()
        if (wait_us := self._busy_until - ctx.clock.now_us()) > 0:
            raise CollectorError(Failure.UNREACHABLE, f"{self._wait_reason}, for another {ceil(wait_us / 1e6)} s")
        config = self.config
        # A login gets more time than a poll; the recorder itself ends a poll.
        seconds = max(_LOGIN_SECONDS, config.request_seconds)
        self._http = ctx.http(f"https://{config.host}", config.ca_file, config.verify_tls, seconds)
        self._rest = Rest(self._http, self.config.user, self.config.password, self.config.virtual_fabric)
        try:
            await self._rest.login()
        except BaseException as error:
            self._note_wait(ctx, error)
            await self.close()
            raise

    async def check(self, ctx: Context) -> Check:
        """Return name, firmware and ports, and what this login or release leaves unknown."""
        switch = await self._switch(ctx)
        ports = inventory.ports(await self._read(ctx, _PORTS))
        unreadable = []
        for container, consequence in _WITHOUT.items():
            try:
                found = await self._read(ctx, container)
            except ClosedError as closed:
                unreadable.append(f"{closed}: {consequence}")
                continue
            if container == _ZONES and not inventory.zones(found, ()):
                unreadable.append(f"{container}: no zone is in force: {consequence}")
        online = sum(port.attributes.get("up") is True for port in ports.values())
        identity = [f"{self._name}: Fabric OS {parse.text(switch, 'firmware-version')}".strip()]
        identity.append(f"{quantity(len(ports), 'port')}, {online} online")
        return Check(", ".join(identity), None, tuple(unreadable))

    async def inventory(self, ctx: Context) -> AsyncIterator[SourceEntity | SourceLink]:
        """Yield the switch, its ports and their logins, links to other switches, and the zones' pairs."""
        yield inventory.switch(await self._switch(ctx), self._name)
        entries = await self._read(ctx, _PORTS)
        self._ports = inventory.ports(entries)
        for item in port_items(self._name, self._ports):
            yield item
        names = await self._read_if_open(ctx, _NAMES)
        registered = inventory.parse_logins(names, self._ports)
        for item in logins.inventory((login for login in registered if login.port), self._ports, devices()):
            yield item
        for link in inventory.neighbours(entries, registered):
            yield link
        zoned = zones.links(inventory.zones(await self._read_if_open(ctx, _ZONES), names), registered)
        if zoned is None:
            self._pending.append(zones.left_out(ctx.clock.now_us()))
        for link in zoned or ():
            yield link

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:
        """Yield the counters and states of all ports; when due, optics and uptime too."""
        counted = await self._read(ctx, _STATISTICS)
        seen_us = ctx.clock.now_us()
        known = {name: port.local_id for name, port in self._ports.items()}
        rows = parse.statistics(await self._read(ctx, _PORTS), counted, known, seen_us)
        if rows is None:
            raise CollectorError(Failure.UNREADABLE, f"{_STATISTICS}: no port of this switch has counters")
        yield rows
        for event in self._changes.events(rows, self._ports):
            yield event
        if self._optics.is_due(seen_us):
            self._optics.note(seen_us)
            uptime_seconds = parse.counter(await self._switch(ctx), "up-time")
            for item in self._uptime.items(self._name, uptime_seconds, ctx.clock.now_us()):
                yield item
            media = await self._read_if_open(ctx, _OPTICS)
            if optics := parse.optics(media, known, ctx.clock.now_us()):
                yield optics
        pending, self._pending = self._pending, []
        for event in pending:
            yield event

    async def close(self) -> None:
        """Log out."""
        rest, http = self._rest, self._http
        self._rest = self._http = None
        try:
            if rest is not None:
                await rest.logout()
        finally:  # the recorder does not wait long for a switch that does not answer
            if http is not None:
                await http.close()

    async def _switch(self, ctx: Context) -> parse.Entry:
        """Return the object of the switch; of several logical switches the first, to which the login belongs."""
        switch = next(iter(await self._read(ctx, _SWITCH)), {})
        self._name = parse.text(switch, "user-friendly-name") or self.config.name
        return switch

    async def _read_if_open(self, ctx: Context, container: str) -> list[parse.Entry]:
        """Return the objects of a container; none, without further requests, if it is closed to this login."""
        if container in self._closed:
            return []
        try:
            return await self._read(ctx, container)
        except ClosedError as closed:
            self._closed.add(container)
            self._pending.append(warning(ctx.clock.now_us(), "endpoint-closed", f"{closed}: {_WITHOUT[container]}"))
            return []

    async def _read(self, ctx: Context, container: str) -> list[parse.Entry]:
        if self._rest is None:
            raise CollectorError(Failure.UNREACHABLE, "there is no session with the switch")
        try:
            return await self._rest.read(container)
        except BaseException as error:
            self._note_wait(ctx, error)
            raise

    def _note_wait(self, ctx: Context, error: BaseException) -> None:
        if isinstance(error, BusyError):
            self._busy_until = ctx.clock.now_us() + int(error.wait_seconds * 1e6)
            self._wait_reason = "the switch asked to wait"
        elif self._rest is not None and self._rest.awaits_login:
            self._busy_until = ctx.clock.now_us() + int(_UNANSWERED_SECONDS * 1e6)
            self._wait_reason = "a login had no answer and may hold one of the switch's few sessions: no other login"

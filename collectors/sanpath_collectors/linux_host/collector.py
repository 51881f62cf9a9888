"""Asks a host: one request a poll, a few for an inventory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from sanpath.plugin import Check, Collector, CollectorError, Context, Event, Failure, Item, SourceEntity, SourceLink
from sanpath_collectors.linux_host import parse, samples
from sanpath_collectors.linux_host.config import LinuxHostConfig
from sanpath_collectors.linux_host.devices import wwid
from sanpath_collectors.linux_host.host import Host
from sanpath_collectors.linux_host.inventory import FILES, NAMES, Inventory, path_thing
from sanpath_collectors.linux_host.paths import HostPath
from sanpath_collectors.linux_host.snapshot import Snapshot
from sanpath_collectors.linux_host.tables import FC_STATISTICS

_DISKSTATS, _STAT, _UPTIME, _NET_DEV = "/proc/diskstats", "/proc/stat", "/proc/uptime", "/proc/net/dev"
_HOSTNAME, _OSRELEASE = "/proc/sys/kernel/hostname", "/proc/sys/kernel/osrelease"
_NAMED = 8
"""How many devices a message names."""


class LinuxHost(Collector[LinuxHostConfig]):
    """A Linux host, this one or one over SSH."""

    runs_in: ClassVar[Literal["loop", "thread"]] = "thread"

    def __init__(self, config: LinuxHostConfig) -> None:
        super().__init__(config)
        self._name = config.host or config.name
        self._open: Host | None = None
        self._booted_us: int | None = None
        self._chosen: set[str] | None = None
        self._found: Inventory | None = None
        self._paths: dict[str, HostPath] = {}
        self._states: dict[str, str] = {}

    async def open(self, ctx: Context) -> None:
        """Log in, and find the host's name and the devices. Raises MISCONFIGURED for one that is not there."""
        self._open = Host(ctx.machine(self.config.ssh()), self.config.sudo)
        try:
            host = await self._open.snapshot([_DISKSTATS, _STAT, _UPTIME, _HOSTNAME, "/sys/block/dm-*/dm/name"])
            stats = self._stats(host)
            self._name = self.config.host or _called(host.text(_HOSTNAME)) or self.config.name
            self._chosen = None
            if self.config.devices is not None:
                maps = {host.text(f"/sys/block/{name}/dm/name"): name for name in host.children("/sys/block")}
                self._chosen = {_named(written, stats, maps) for written in self.config.devices}
            # This machine's clock is ours already.
            self._booted_us = await _boot_time(self._open, host) if self.config.address is not None else None
        except BaseException:
            await self.close()
            raise

    async def check(self, ctx: Context) -> Check:  # noqa: ARG002 - the base class' signature
        """The host, its kernel and what is read of it; what this account cannot see."""
        now = None if self._booted_us is None else await self._host.date_us()
        found = await self._look()
        disks = [name for name in found.read if not name.startswith("dm-")]
        unknown = [name for name in disks if not parse.identifiers(wwid(found.host, name))]
        unreadable = []
        if not found.host.has("/sys/block"):
            unreadable.append("/sys/block: no device can be joined to a volume, queue depths and paths are unknown")
        elif unknown:
            unreadable.append(f"NAA or EUI identifier of {_some(unknown)}: cannot be joined to a volume of an array")
        if self._host.refused:
            why = "; ".join(self._host.refused)
            unreadable.append(
                f"multipath maps {_some(found.multipath_maps)} ({why}): which paths share the I/O is unknown, and a "
                "path that multipath has given up is taken for a good one"
            )
        counts = [_counted(len(found.read), "block device")]
        counts += [_counted(len(found.paths), "path")] if found.paths else []
        system = f"Linux {found.host.text(_OSRELEASE)}".strip()
        return Check(f"{self._name}: {', '.join([system, *counts])}", now, tuple(unreadable))

    async def inventory(self, ctx: Context) -> AsyncIterator[SourceEntity | SourceLink]:  # noqa: ARG002 - the base class' signature
        """The host, its initiator ports, its block devices and the paths to them."""
        self._found = await self._look()
        # A path that has gone stays known: it carries nothing.
        for path, state in self._found.states().items():
            self._paths[path.id] = path
            self._states.setdefault(path.id, state)
        for item in self._found.items():
            yield item

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:
        """Counters of all devices, as they were at one moment, and the paths that have changed.

        A device that has come or gone makes an inventory due.
        """
        now = await self._host.snapshot(self._polled())
        seen = ctx.clock.now_us()
        time = self._device_time(now)
        stats = self._stats(now)
        devices = self._devices(stats)
        if not devices:
            raise CollectorError(Failure.UNREADABLE, f"{_DISKSTATS} holds none of the devices")
        yield samples.luns(stats, devices, seen, time)
        if (rows := samples.host(now, self._name, seen, time)) is not None:
            yield rows
        if self._found is None:
            return
        for rows in (
            samples.fibre_channel(now, self._found.fc_hosts, seen, time),
            samples.network(now, self._found.interfaces, seen, time),
        ):
            if rows is not None:
                yield rows
        async for item in self._path_items(now, parse.whole_devices(stats), seen, time):
            yield item
        if parse.whole_devices(stats) != self._found.devices:
            async for thing in self.inventory(ctx):
                yield thing

    async def close(self) -> None:
        """Log out."""
        host, self._open = self._open, None
        if host is not None:
            await host.close()

    @property
    def _host(self) -> Host:
        if self._open is None:
            raise CollectorError(Failure.UNREACHABLE, f"{self.config.name} is not open")
        return self._open

    async def _path_items(
        self, now: Snapshot, there: Collection[str], seen: int, time: int | None
    ) -> AsyncIterator[Item]:
        if not self._paths:
            return
        mapped = await self._host.path_states()
        states = {path: path.state(now, there, mapped) for path in self._paths.values()}
        yield samples.paths(states, seen, time)
        for path, state in states.items():
            before = self._states.get(path.id, state)
            self._states[path.id] = state
            if state != before:
                yield Event(seen, "path-state", {"path": path.id, "from": before, "to": state})
                yield path_thing(replace(path, target_state=None), state)  # that was read with the inventory

    async def _look(self) -> Inventory:
        """Everything there is now."""
        host = await self._host.snapshot(FILES, NAMES)
        found = Inventory(host, self._name, self._devices(self._stats(host)), await self._host.addresses())
        found.maps = await self._host.maps() if found.multipath_maps else {}
        return found

    def _polled(self) -> list[str]:
        files = [_DISKSTATS, _STAT, _UPTIME, _NET_DEV, "/proc/net/snmp"]
        for port in self._found.fc_hosts if self._found is not None else ():
            place = f"/sys/class/fc_host/{port}"
            files += [f"{place}/port_state", f"{place}/speed"]
            files += [f"{place}/statistics/{name}" for name in FC_STATISTICS.values()]
        for name in self._found.interfaces if self._found is not None else ():
            files.append(f"/sys/class/net/{name}/carrier")
        return files + [file for path in self._paths.values() for file in path.files()]

    def _device_time(self, now: Snapshot) -> int | None:
        uptime = parse.uptime_us(now.content(_UPTIME))
        return None if uptime is None or self._booted_us is None else self._booted_us + uptime

    def _stats(self, now: Snapshot) -> dict[str, list[int]]:
        content = now.content(_DISKSTATS)
        if not content:
            where = self.config.address or "this machine"
            raise CollectorError(Failure.MISCONFIGURED, f"{_DISKSTATS} cannot be read: {where} is no Linux host")
        return parse.diskstats(content)

    def _devices(self, stats: Mapping[str, Sequence[int]]) -> list[str]:
        if self._chosen is None:
            return parse.whole_devices(stats)
        return [name for name in stats if name in self._chosen]


async def _boot_time(host: Host, now: Snapshot) -> int | None:
    """When the host was booted, by its own clock; without `date`, to a second."""
    date, uptime = await host.date_us(), parse.uptime_us(now.content(_UPTIME))
    return parse.boot_us(now.content(_STAT)) if date is None or uptime is None else date - uptime


def _called(hostname: str) -> str:
    """A host's name for itself, "" where it is the one that every host has."""
    return "" if hostname.partition(".")[0] in ("localhost", "(none)") else hostname


def _named(written: str, stats: Mapping[str, Sequence[int]], maps: Mapping[str, str]) -> str:
    """The kernel's name of a device that people call by that, by its map's name or by a path below /dev."""
    name = written.removeprefix("/dev/").removeprefix("mapper/")
    if (found := maps.get(name, name)) in stats:
        return found
    there = _some(parse.whole_devices(stats)) or "none"
    raise CollectorError(Failure.MISCONFIGURED, f"no block device is called {written!r}; there are: {there}")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if names[_NAMED:] else "")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"

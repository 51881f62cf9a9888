"""Reads the block devices of the host: one file a poll, the settings of the devices with the inventory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import ClassVar, Literal

from sanpath.plugin import Check, Collector, CollectorError, Context, Failure, Item, Thing, Tie
from sanpath_collectors.linux_block import parse
from sanpath_collectors.linux_block.config import LinuxBlockConfig
from sanpath_collectors.linux_block.inventory import Inventory

_DISKSTATS = "/proc/diskstats"
_NAMED = 8
"""How many devices a message names."""


class LinuxBlock(Collector[LinuxBlockConfig]):
    """This Linux host."""

    runs_in: ClassVar[Literal["loop", "thread"]] = "thread"

    def __init__(self, config: LinuxBlockConfig) -> None:
        super().__init__(config)
        self._host = config.host or config.name
        self._chosen: set[str] | None = None

    async def open(self, ctx: Context) -> None:
        """Find the host's name and the devices. Raises MISCONFIGURED for one that is not there."""
        stats = await self._stats(ctx)
        self._host = self.config.host or await _line(ctx, "/proc/sys/kernel/hostname") or self.config.name
        self._chosen = None
        if self.config.devices is not None:
            maps = {await _line(ctx, f"/sys/block/{name}/dm/name"): name for name in stats if name.startswith("dm-")}
            self._chosen = {_named(written, stats, maps) for written in self.config.devices}

    async def check(self, ctx: Context) -> Check:
        """The host, its kernel and how many devices are read; which of them cannot be told apart."""
        devices = self._devices(await self._stats(ctx))
        inventory = Inventory(ctx.files, self._host, devices)
        disks = [name for name in devices if not name.startswith("dm-")]
        unknown = [name for name in disks if not parse.identifiers(await inventory.wwid(name))]
        unreadable = []
        if not await ctx.files.list("/sys/block"):
            unreadable.append("/sys/block: no device can be joined to a volume, queue depths are unknown")
        elif unknown:
            named = ", ".join(unknown[:_NAMED]) + (f" and {len(unknown) - _NAMED} more" if unknown[_NAMED:] else "")
            unreadable.append(f"NAA or EUI identifier of {named}: cannot be joined to a volume of an array")
        system = f"Linux {await _line(ctx, '/proc/sys/kernel/osrelease')}".strip()
        return Check(f"{self._host}: {system}, {len(devices)} block devices", None, tuple(unreadable))

    async def inventory(self, ctx: Context) -> AsyncIterator[Thing | Tie]:
        """The host, its initiator ports and its block devices."""
        devices = self._devices(await self._stats(ctx))
        async for item in Inventory(ctx.files, self._host, devices).items():
            yield item

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:
        """Counters of all devices, as they were at one moment."""
        stats = await self._stats(ctx)
        seen = ctx.clock.now_us()
        devices = self._devices(stats)
        if not devices:
            raise CollectorError(Failure.UNREADABLE, f"{_DISKSTATS} holds none of the devices")
        yield parse.samples(stats, devices, seen)

    async def _stats(self, ctx: Context) -> dict[str, list[int]]:
        content = await ctx.files.read(_DISKSTATS)
        if content is None:
            raise CollectorError(Failure.MISCONFIGURED, f"{_DISKSTATS} cannot be read: sanpath runs on no Linux host")
        return parse.diskstats(content)

    def _devices(self, stats: dict[str, list[int]]) -> list[str]:
        if self._chosen is None:
            return parse.whole_devices(stats)
        return [name for name in stats if name in self._chosen]


def _named(written: str, stats: dict[str, list[int]], maps: dict[str, str]) -> str:
    """The kernel's name of a device that people call by that, by its map's name or by a path below /dev."""
    name = written.removeprefix("/dev/").removeprefix("mapper/")
    if (found := maps.get(name, name)) in stats:
        return found
    there = parse.whole_devices(stats)
    some = ", ".join(there[:_NAMED]) + (" …" if there[_NAMED:] else "")
    raise CollectorError(Failure.MISCONFIGURED, f"no block device is called {written!r}; there are: {some or 'none'}")


async def _line(ctx: Context, path: str) -> str:
    return (await ctx.files.read(path) or b"").decode("utf-8", "replace").strip()

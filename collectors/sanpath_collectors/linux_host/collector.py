"""Polls a host: one request per poll, a few for an inventory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from sanpath.plugin import (
    Check,
    Collector,
    CollectorError,
    Context,
    Event,
    Failure,
    Item,
    SourceEntity,
    SourceLink,
    name_list,
    quantity,
)
from sanpath_collectors.linux_host import parse, samples
from sanpath_collectors.linux_host.cgroups.groups import LoadGroups
from sanpath_collectors.linux_host.config import LinuxHostConfig
from sanpath_collectors.linux_host.devices import loops, wwid
from sanpath_collectors.linux_host.host import Host
from sanpath_collectors.linux_host.inventory import FILES, NAMES, Inventory, path_entity
from sanpath_collectors.linux_host.load_threads import LoadThreads
from sanpath_collectors.linux_host.paths import HostPath
from sanpath_collectors.linux_host.snapshot import HOSTNAME, Snapshot
from sanpath_collectors.linux_host.tables import FC_PAYLOAD, FC_STATISTICS, TCP_CONNECTION
from sanpath_collectors.linux_host.tcp.connections import StorageConnections

_DISKSTATS, _STAT, _UPTIME, _NET_DEV = "/proc/diskstats", "/proc/stat", "/proc/uptime", "/proc/net/dev"
_OSRELEASE = "/proc/sys/kernel/osrelease"


class LinuxHost(Collector[LinuxHostConfig]):
    """A Linux host, this machine or one over SSH."""

    runs_in: ClassVar[Literal["loop", "thread"]] = "thread"

    def __init__(self, config: LinuxHostConfig) -> None:
        super().__init__(config)
        self._name = config.host or config.name
        self._connected: Host | None = None
        self._booted_us: int | None = None
        self._selected: set[str] | None = None
        self._loops: list[str] = []
        self._inventory: Inventory | None = None
        self._paths: dict[str, HostPath] = {}
        self._states: dict[str, str] = {}
        self._cores: dict[str, parse.CoreTicks] = {}
        self._connections = StorageConnections(TCP_CONNECTION, "write")
        self._groups = LoadGroups(self._name, config.load_processes)
        self._threads = LoadThreads()

    async def open(self, ctx: Context) -> None:
        """Log in, and read the host's name and devices. Raises MISCONFIGURED for a device that does not exist."""
        self._connected = Host(ctx.machine(self.config.ssh()), self.config.sudo)
        async with self.closed_on_failure():
            host = await self._connected.snapshot([_DISKSTATS, _STAT, _UPTIME, HOSTNAME, "/sys/block/dm-*/dm/name"])
            stats = self._stats(host)
            self._name = self.config.host or host.host_name or self.config.name
            self._groups.host = self._name
            self._selected = None
            if self.config.devices is not None:
                maps = {host.text(f"/sys/block/{name}/dm/name"): name for name in host.children("/sys/block")}
                self._selected = {_device_name(configured, stats, maps) for configured in self.config.devices}
            # The local machine's clock is the recorder's.
            self._booted_us = await _boot_time(self._connected, host) if self.config.address is not None else None

    async def check(self, ctx: Context) -> Check:  # noqa: ARG002 - the base class' signature
        """Return the host, its kernel, the numbers of devices and paths, and what this account cannot read."""
        clock_us = None if self._booted_us is None else await self._host.date_us()
        inventory = await self._read_inventory()
        disks = [name for name in inventory.selected if not name.startswith(("dm-", "loop"))]
        unknown = [name for name in disks if not parse.identifiers(wwid(inventory.host, name))]
        unreadable = []
        if not inventory.host.has("/sys/block"):
            unreadable.append("/sys/block: no device can be joined to a volume, queue depths and paths are unknown")
        elif unknown:
            unreadable.append(
                f"NAA or EUI identifier of {name_list(unknown)}: cannot be joined to a volume of an array"
            )
        if self._host.refused:
            reasons = "; ".join(self._host.refused)
            unreadable.append(
                f"multipath maps {name_list(inventory.multipath_maps)} ({reasons}): which paths share the I/O is "
                "unknown, and a path that multipath has given up counts as good"
            )
        if self._connections.unreadable:
            unreadable.append(
                "TCP connections (ss of iproute2): distance, loss and windows of iSCSI and NVMe/TCP are unknown"
            )
        counts = [quantity(len(inventory.selected), "block device")]
        counts += [quantity(len(inventory.paths), "path")] if inventory.paths else []
        system = f"Linux {inventory.host.text(_OSRELEASE)}".strip()
        return Check(f"{self._name}: {', '.join([system, *counts])}", clock_us, tuple(unreadable))

    async def inventory(self, ctx: Context) -> AsyncIterator[SourceEntity | SourceLink]:  # noqa: ARG002 - the base class' signature
        """Yield the host, its initiator ports, its block devices and the paths to them."""
        self._inventory = await self._read_inventory()
        # A path that no longer exists is still reported, without I/O.
        for path, state in self._inventory.states().items():
            self._paths[path.id] = path
            self._states.setdefault(path.id, state)
        for item in self._inventory.items():
            yield item

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:
        """Yield the counters of all devices at one moment, and the paths whose state has changed.

        If devices were added or removed, also yield an inventory.
        """
        snapshot = await self._host.snapshot(self._polled_files())
        seen_us = ctx.clock.now_us()
        device_time_us = self._device_time(snapshot)
        stats = self._stats(snapshot)
        devices = self._devices(stats)
        if not devices:
            raise CollectorError(Failure.UNREADABLE, f"{_DISKSTATS} holds none of the devices")
        yield samples.luns(stats, devices, seen_us, device_time_us)
        before, self._cores = self._cores, parse.core_times(snapshot.content(_STAT))
        ratios = parse.busiest_core(before, self._cores)
        ratios |= self._threads.ratios(snapshot, self._groups.found, seen_us)
        if (rows := samples.host(snapshot, self._name, ratios, seen_us, device_time_us)) is not None:
            yield rows
        if self._inventory is None:
            return
        for rows in (
            samples.fibre_channel(snapshot, self._inventory.fc_hosts, seen_us, device_time_us),
            samples.network(
                snapshot, self._inventory.interfaces, self._inventory.rdma_interfaces, seen_us, device_time_us
            ),
        ):
            if rows is not None:
                yield rows
        numbers = parse.device_numbers(snapshot.content(_DISKSTATS))
        by_number = {numbers[device]: device for device in devices}
        for group_item in self._groups.items(snapshot, by_number, seen_us, device_time_us):
            yield group_item
        async for item in self._path_items(snapshot, parse.storage_devices(stats), seen_us, device_time_us):
            yield item
        for connection_item in await self._connections.poll(self._host.machine, ctx.clock):
            yield connection_item
        if parse.storage_devices(stats) != self._inventory.devices:
            async for entity in self.inventory(ctx):
                yield entity
        await self._groups.search(self._host.machine, ctx.clock)

    async def close(self) -> None:
        """Log out."""
        host, self._connected = self._connected, None
        if host is not None:
            await host.close()

    @property
    def _host(self) -> Host:
        return self.opened(self._connected)

    async def _path_items(
        self, snapshot: Snapshot, devices: Collection[str], seen_us: int, device_time_us: int | None
    ) -> AsyncIterator[Item]:
        if not self._paths:
            return
        state_in_map = await self._host.path_states()
        states = {path: path.state(snapshot, devices, state_in_map) for path in self._paths.values()}
        yield samples.paths(states, seen_us, device_time_us)
        for path, state in states.items():
            previous = self._states.get(path.id, state)
            self._states[path.id] = state
            if state != previous:
                yield Event(seen_us, "path-state", {"path": path.id, "from": previous, "to": state})
                # The target port's state is only read with the inventory.
                yield path_entity(replace(path, target_state=None), state)

    async def _read_inventory(self) -> Inventory:
        """Read the current inventory."""
        snapshot = await self._host.snapshot(FILES, NAMES)
        self._loops = loops(snapshot)
        inventory = Inventory(
            snapshot, self._name, self._devices(self._stats(snapshot)), await self._host.addresses()
        )
        inventory.maps = await self._host.maps() if inventory.multipath_maps else {}
        await self._connections.find(self._host.machine, inventory.connections)
        return inventory

    def _polled_files(self) -> list[str]:
        files = [_DISKSTATS, _STAT, _UPTIME, _NET_DEV, "/proc/net/snmp", *self._groups.files()]
        files += self._threads.files(self._groups.found)
        for port in self._inventory.fc_hosts if self._inventory is not None else ():
            folder = f"/sys/class/fc_host/{port}"
            files += [f"{folder}/port_state", f"{folder}/speed"]
            files += [f"{folder}/statistics/{name}" for name in (*FC_STATISTICS.values(), *FC_PAYLOAD.values())]
        for name in self._inventory.interfaces if self._inventory is not None else ():
            files.append(f"/sys/class/net/{name}/carrier")
        return files + [file for path in self._paths.values() for file in path.files()]

    def _device_time(self, snapshot: Snapshot) -> int | None:
        uptime = parse.uptime_us(snapshot.content(_UPTIME))
        return None if uptime is None or self._booted_us is None else self._booted_us + uptime

    def _stats(self, snapshot: Snapshot) -> dict[str, list[int]]:
        content = snapshot.content(_DISKSTATS)
        if not content:
            machine = self.config.address or "this machine"
            raise CollectorError(Failure.MISCONFIGURED, f"{_DISKSTATS} cannot be read: {machine} is not a Linux host")
        return parse.diskstats(content)

    def _devices(self, stats: Mapping[str, Sequence[int]]) -> list[str]:
        if self._selected is None:
            return [*parse.storage_devices(stats), *(name for name in self._loops if name in stats)]
        return [name for name in stats if name in self._selected]


async def _boot_time(host: Host, snapshot: Snapshot) -> int | None:
    """Boot time by the host's clock in microseconds; without `date`, truncated to a second. None: unknown."""
    date, uptime = await host.date_us(), parse.uptime_us(snapshot.content(_UPTIME))
    return parse.boot_us(snapshot.content(_STAT)) if date is None or uptime is None else date - uptime


def _device_name(configured: str, stats: Mapping[str, Sequence[int]], maps: Mapping[str, str]) -> str:
    """The kernel's name of a configured device: a kernel name, the name of a map or a path below /dev.

    Raises MISCONFIGURED if there is no such device.
    """
    name = configured.removeprefix("/dev/").removeprefix("mapper/")
    if (device := maps.get(name, name)) in stats:
        return device
    available = name_list(parse.storage_devices(stats)) or "none"
    raise CollectorError(Failure.MISCONFIGURED, f"no block device is called {configured!r}; there are: {available}")

"""Polls a storage server: one request per poll, a few for an inventory."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable

from sanpath.plugin import (
    Check,
    CollectorError,
    Context,
    Failure,
    Item,
    SourceEntity,
    SourceLink,
    name_list,
    quantity,
)
from sanpath_collectors.linux_host import parse as host_parse
from sanpath_collectors.linux_host.machine_collector import MachineCollector
from sanpath_collectors.linux_host.snapshot import Snapshot
from sanpath_collectors.linux_host.tables import FC_PAYLOAD
from sanpath_collectors.linux_host.tcp.connections import StorageConnections
from sanpath_collectors.linux_target import inventory, samples, targets
from sanpath_collectors.linux_target.config import LinuxTargetConfig
from sanpath_collectors.linux_target.inventory import Inventory
from sanpath_collectors.linux_target.nbd_servers import PROCESSES
from sanpath_collectors.linux_target.tables import FC_STATISTICS, TCP_CONNECTION

_DISKSTATS, _NET_DEV, _STAT = "/proc/diskstats", "/proc/net/dev", "/proc/stat"


class LinuxTarget(MachineCollector[LinuxTargetConfig]):
    """A Linux storage server, this machine or one over SSH."""

    def __init__(self, config: LinuxTargetConfig) -> None:
        super().__init__(config)
        self._inventory: Inventory | None = None
        self._connections = StorageConnections(TCP_CONNECTION, "read")
        self._cores: dict[str, host_parse.CoreTicks] = {}

    async def open(self, ctx: Context) -> None:
        """Log in. Raises MISCONFIGURED for a machine that does not run Linux."""
        await self.connect(ctx)
        async with self.closed_on_failure():
            if not (await self.machine.read([_DISKSTATS])).get(_DISKSTATS):
                machine = self.config.address or "this machine"
                raise CollectorError(
                    Failure.MISCONFIGURED, f"{_DISKSTATS} cannot be read: {machine} is not a Linux host"
                )

    async def check(self, ctx: Context) -> Check:  # noqa: ARG002 - the base class' signature
        """Return the server, its numbers of volumes and protocols, and the volumes without counters."""
        current = await self._read_inventory()
        server, unreadable = current.server, []
        if not current.targets.listeners:
            unreadable.append("no target of LIO or nvmet, and no export by NBD: nothing that it presents is known")
        if current.targets.disabled:
            unreadable.append(f"{name_list(current.targets.disabled)}: not enabled, and left out")
        if without_counters := [
            v.label for v in current.targets.volumes.values() if v.local_id not in current.devices
        ]:
            unreadable.append(
                f"{name_list(without_counters)}: no block device behind it is counted, their latency is unknown"
            )
        if self._connections.unreadable:
            unreadable.append("TCP connections (ss of iproute2): distance, loss and windows are unknown")
        protocols = dict.fromkeys(listener.protocol for listener in current.targets.listeners)
        system = f"Linux {server.text('/proc/sys/kernel/osrelease')}".strip()
        counts = f"{quantity(len(current.targets.volumes), 'volume')} over {', '.join(protocols) or 'nothing'}"
        host_name = server.text("/proc/sys/kernel/hostname") or self.config.name
        return Check(f"{host_name}: {system}, {counts}", None, tuple(unreadable))

    async def inventory(self, ctx: Context) -> AsyncIterator[SourceEntity | SourceLink]:  # noqa: ARG002 - the base class' signature
        """Yield the array, its target ports, its volumes, and the hosts with access to them."""
        self._inventory = await self._read_inventory()
        for item in self._inventory.items():
            yield item

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:
        """Yield the counters of the backing devices and of the target ports at one moment."""
        if self._inventory is None:
            return
        fc_hosts = {wwpn: host for wwpn, host in self._inventory.fc_hosts.items() if wwpn in self._inventory.ports}
        statistics = (*FC_STATISTICS.values(), *FC_PAYLOAD.values())
        files = [f"/sys/class/fc_host/{host}/statistics/{f}" for host in fc_hosts.values() for f in statistics]
        snapshot = Snapshot(await self.machine.read([_DISKSTATS, _NET_DEV, _STAT, "/proc/net/snmp", *files]))
        seen_us = ctx.clock.now_us()
        stats = host_parse.diskstats(snapshot.content(_DISKSTATS))
        before, self._cores = self._cores, host_parse.core_times(snapshot.content(_STAT))
        ratios = host_parse.busiest_core(before, self._cores)
        devices = self._inventory.devices
        for rows in (
            samples.volumes(stats, devices, seen_us),
            samples.array(stats, self.config.name, devices.values(), seen_us),
            samples.controller(snapshot, self.config.name, ratios, seen_us),
            *samples.ports(snapshot, self._inventory.ports, fc_hosts, seen_us),
        ):
            if rows is not None:
                yield rows
        for item in await self._connections.poll(self.machine, ctx.clock):
            yield item

    async def _read_inventory(self) -> Inventory:
        """Read the current inventory."""
        files = (*inventory.FILES, *targets.FILES, "/proc/[0-9]*/comm")
        server = Snapshot(await self.machine.read(files), await self.machine.names(targets.NAMES))
        presented = targets.targets(server, await self._nbd_servers(server))
        paths = [volume.path for volume in presented.volumes.values() if volume.path]
        output = (await self.machine.run(("ip", "-o", "address"))).output
        addresses = host_parse.addresses(output)
        resolved = await self._resolve_links(paths)
        counted = host_parse.diskstats(server.content(_DISKSTATS))
        queues = await self._hardware_queues(
            {path.removeprefix("/dev/") for path in resolved.values()} & counted.keys()
        )
        current = Inventory(server, self.config.name, presented, resolved, addresses, queues)
        await self._connections.find(self.machine, current.connections)
        return current

    async def _nbd_servers(self, server: Snapshot) -> list[bytes]:
        """Command lines of NBD servers. No others are read, because they may contain secrets."""
        process_ids = [
            process_id
            for process_id in server.children("/proc")
            if server.text(f"/proc/{process_id}/comm") in PROCESSES
        ]
        return (
            list((await self.machine.read([f"/proc/{n}/cmdline" for n in process_ids])).values())
            if process_ids
            else []
        )

    async def _hardware_queues(self, devices: Collection[str]) -> dict[str, int]:
        """Block device → number of its hardware queues."""
        if not devices:
            return {}
        found = await self.machine.names([f"/sys/block/{device}/mq/*" for device in sorted(devices)])
        return dict(Counter(path.split("/")[3] for path in found))

    async def _resolve_links(self, paths: Iterable[str]) -> dict[str, str]:
        """Path → the path without symbolic links."""
        unique_paths = list(dict.fromkeys(paths))
        if not unique_paths:
            return {}
        output = (await self.machine.run(("readlink", "-m", "--", *unique_paths))).output
        return dict(zip(unique_paths, output.decode("utf-8", "replace").splitlines(), strict=False))

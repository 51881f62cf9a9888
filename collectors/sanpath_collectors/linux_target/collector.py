"""Asks a storage server: one request a poll, a few for an inventory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import ClassVar, Literal

from sanpath.plugin import Check, Collector, CollectorError, Context, Failure, Item, Machine, SourceEntity, SourceLink
from sanpath_collectors.linux_host import parse as host_parse
from sanpath_collectors.linux_host.snapshot import Snapshot
from sanpath_collectors.linux_target import inventory, samples, targets
from sanpath_collectors.linux_target.config import LinuxTargetConfig
from sanpath_collectors.linux_target.inventory import Inventory
from sanpath_collectors.linux_target.tables import FC_STATISTICS

_DISKSTATS, _NET_DEV, _STAT = "/proc/diskstats", "/proc/net/dev", "/proc/stat"
_NAMED = 8
"""How many names a message has."""


class LinuxTarget(Collector[LinuxTargetConfig]):
    """A Linux storage server, this machine or one over SSH."""

    runs_in: ClassVar[Literal["loop", "thread"]] = "thread"

    def __init__(self, config: LinuxTargetConfig) -> None:
        super().__init__(config)
        self._machine: Machine | None = None
        self._found: Inventory | None = None

    async def open(self, ctx: Context) -> None:
        """Log in. Raises MISCONFIGURED for a machine that is no Linux."""
        await self.close()
        self._machine = ctx.machine(self.config.ssh())
        try:
            if not (await self._machine.read([_DISKSTATS])).get(_DISKSTATS):
                where = self.config.address or "this machine"
                raise CollectorError(Failure.MISCONFIGURED, f"{_DISKSTATS} cannot be read: {where} is no Linux host")
        except BaseException:
            await self.close()
            raise

    async def check(self, ctx: Context) -> Check:  # noqa: ARG002 - the base class' signature
        """The server and what it presents; which volumes nothing is counted of."""
        found = await self._look()
        server, unreadable = found.server, []
        if not found.targets.listeners:
            unreadable.append("no target of LIO, nvmet or nbdkit: nothing that it presents is known")
        if found.targets.asleep:
            unreadable.append(f"{_some(found.targets.asleep)}: not enabled, and left out")
        if silent := [v.label for v in found.targets.volumes.values() if v.local_id not in found.devices]:
            unreadable.append(f"{_some(silent)}: no block device behind it is counted, their latency is unknown")
        protocols = dict.fromkeys(listener.protocol for listener in found.targets.listeners)
        system = f"Linux {server.text('/proc/sys/kernel/osrelease')}".strip()
        counts = f"{len(found.targets.volumes)} volumes over {', '.join(protocols) or 'nothing'}"
        called = server.text("/proc/sys/kernel/hostname") or self.config.name
        return Check(f"{called}: {system}, {counts}", None, tuple(unreadable))

    async def inventory(self, ctx: Context) -> AsyncIterator[SourceEntity | SourceLink]:  # noqa: ARG002 - the base class' signature
        """The array, its target ports, its volumes, and who may use them."""
        self._found = await self._look()
        for item in self._found.items():
            yield item

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:
        """Counters of the backing devices and of the target ports, as they were at one moment."""
        if self._found is None:
            return
        fc_hosts = {wwpn: host for wwpn, host in self._found.fc_hosts.items() if wwpn in self._found.ports}
        files = [
            f"/sys/class/fc_host/{host}/statistics/{f}" for host in fc_hosts.values() for f in FC_STATISTICS.values()
        ]
        now = Snapshot(await self._server.read([_DISKSTATS, _NET_DEV, _STAT, "/proc/net/snmp", *files]))
        seen = ctx.clock.now_us()
        stats = host_parse.diskstats(now.content(_DISKSTATS))
        devices = self._found.devices
        for rows in (
            samples.volumes(stats, devices, seen),
            samples.array(stats, self.config.name, devices.values(), seen),
            samples.controller(now, self.config.name, seen),
            *samples.ports(now, self._found.ports, fc_hosts, seen),
        ):
            if rows is not None:
                yield rows

    async def close(self) -> None:
        """Log out."""
        machine, self._machine = self._machine, None
        if machine is not None:
            await machine.close()

    @property
    def _server(self) -> Machine:
        if self._machine is None:
            raise CollectorError(Failure.UNREACHABLE, f"{self.config.name} is not open")
        return self._machine

    async def _look(self) -> Inventory:
        """Everything there is now."""
        wanted = (*inventory.FILES, *targets.FILES, "/proc/[0-9]*/comm")
        server = Snapshot(await self._server.read(wanted), await self._server.names(targets.NAMES))
        found = targets.targets(server, await self._nbdkits(server))
        paths = [volume.path for volume in found.volumes.values() if volume.path]
        output = (await self._server.run(("ip", "-o", "address"))).output
        addresses = host_parse.addresses(output)
        return Inventory(server, self.config.name, found, await self._resolved(paths), addresses)

    async def _nbdkits(self, server: Snapshot) -> list[bytes]:
        """Command lines, of these processes only: others may hold secrets."""
        numbers = [number for number in server.children("/proc") if server.text(f"/proc/{number}/comm") == "nbdkit"]
        return list((await self._server.read([f"/proc/{n}/cmdline" for n in numbers])).values()) if numbers else []

    async def _resolved(self, paths: Iterable[str]) -> dict[str, str]:
        """Path → where it leads to."""
        asked = list(dict.fromkeys(paths))
        if not asked:
            return {}
        output = (await self._server.run(("readlink", "-m", "--", *asked))).output
        return dict(zip(asked, output.decode("utf-8", "replace").splitlines(), strict=False))


def _some(names: list[str]) -> str:
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if names[_NAMED:] else "")

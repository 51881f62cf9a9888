"""Polls a Ceph cluster: one request to each OSD's admin socket per poll; ceph and rbd run for the inventory only."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, ClassVar, Literal

from sanpath.plugin import (
    Check,
    Collector,
    CollectorError,
    Context,
    Event,
    Failure,
    Item,
    Machine,
    SourceEntity,
    SourceLink,
    json_texts,
    name_list,
    quantity,
    read_json,
)
from sanpath_collectors.ceph import admin_socket, parse, samples
from sanpath_collectors.ceph.cluster import LIMITS, Cluster, Osd
from sanpath_collectors.ceph.config import CephConfig
from sanpath_collectors.linux_host.snapshot import Snapshot

_HOSTNAME, _COMM = "/proc/sys/kernel/hostname", "/proc/[0-9]*/comm"
_SNMP = "/proc/net/snmp"
_PROGRAM, _OPERATION_THREAD = "ceph-osd", "tp_osd_tp"
_MAX_IMAGES = 16
"""Maximum images whose limits are read if none are configured: rbd runs once for each."""
_EXCERPT_LENGTH = 200
_UNKNOWN_NAMES = ("", "localhost", "(none)")


class Ceph(Collector[CephConfig]):
    """A cluster: the OSDs of one or several hosts."""

    runs_in: ClassVar[Literal["loop", "thread"]] = "thread"

    def __init__(self, config: CephConfig) -> None:
        super().__init__(config)
        self._machines: list[Machine] = []
        self._cluster: Cluster | None = None
        self._alerts: set[tuple[str, str, str]] = set()

    async def open(self, ctx: Context) -> None:
        """Log in to all hosts. Raises MISCONFIGURED if there is no admin socket of an OSD, and REFUSED if this
        account may not list its folder."""
        await self.close()
        self._machines = [ctx.machine(target) for target in self.config.machines()]
        async with self.closed_on_failure():
            sockets = [path for machine in self._machines for path in await machine.names(self.config.sockets)]
            if not sockets:
                if closed := [folder for machine in self._machines for folder in await self._closed_folders(machine)]:
                    reason = f"this account may not list {name_list(list(dict.fromkeys(closed)))}"
                    remedy = "log in as root, or as a member of the group ceph"
                    raise CollectorError(Failure.REFUSED, f"no admin socket of an OSD: {reason}: {remedy}")
                patterns = name_list(self.config.sockets)
                raise CollectorError(Failure.MISCONFIGURED, f"no admin socket of an OSD: {patterns} matches nothing")

    async def check(self, ctx: Context) -> Check:  # noqa: ARG002 - the base class' signature
        """Return the cluster, its release, its numbers of OSDs and images, and what is unknown about it."""
        cluster = await self._read_cluster()
        unreadable = list(cluster.unread)
        if cluster.missing:
            names = name_list([f"osd.{number}" for number in cluster.missing])
            unreadable.append(f"{names}: not read; without them the sums of the cluster are unknown: add their hosts")
        if idle := [osd.name for osd in cluster.osds if not osd.threads]:
            unreadable.append(f"{name_list(idle)}: how busy the threads are that process operations is unknown")
        one_way = [
            image for image, limits in cluster.images.items() if limits and limits.keys() - set(LIMITS.values())
        ]
        if one_way:
            unreadable.append(f"{name_list(one_way)}: limits of reads or of writes alone are not judged")
        if unlimited := [image for image, limits in cluster.images.items() if limits is None]:
            unreadable.append(f"{name_list(unlimited)}: limits are not read; name the tested ones in `images`")
        counts = f"{quantity(len(cluster.osds), 'OSD')}, {quantity(len(cluster.images), 'image')}"
        return Check(f"{cluster.name}: Ceph {cluster.version}, {counts}", None, tuple(unreadable))

    async def inventory(self, ctx: Context) -> AsyncIterator[SourceEntity | SourceLink]:  # noqa: ARG002 - the base class' signature
        """Yield the cluster, its OSDs and their hosts, its pools and images."""
        self._cluster = await self._read_cluster()
        for item in self._cluster.items():
            yield item

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:
        """Yield the counters of all OSDs; their sums only while every OSD that is up answers."""
        if (cluster := self._cluster) is None:
            return
        for alert in cluster.health:
            if alert not in self._alerts:
                self._alerts.add(alert)
                code, severity, summary = alert
                detail = {"severity": severity, "summary": summary, "component": code}
                yield Event(ctx.clock.now_us(), "alert", detail)
        osds = cluster.osds
        threads = [[thread for osd in osds if osd.machine == n for thread in osd.threads] for n in self._indices]
        files = [
            Snapshot(await machine.read([_SNMP, *(f"/proc/{thread}/schedstat" for thread in ids)]))
            for machine, ids in zip(self._machines, threads, strict=True)
        ]
        sections: dict[Osd, Mapping[str, Any]] = {}
        failure = None
        for osd in cluster.osds:
            try:
                sections[osd] = await self._perf(osd)
            except CollectorError as error:
                failure = error
        seen_us = ctx.clock.now_us()
        if sections:
            yield samples.osds(sections, files, seen_us)
        if len(sections) == len(cluster.osds) and not cluster.missing:
            yield samples.array(cluster.name, list(sections.values()), seen_us)
            yield samples.cluster(cluster.name, list(sections.values()), seen_us)
        if self.config.image_counters:
            try:
                images = await self._json("ceph", "rbd", "perf", "image", "counters")
                if (rows := samples.images(images, cluster.images, ctx.clock.now_us())) is not None:
                    yield rows
            except CollectorError as error:
                failure = error
        yield samples.hosts(dict(zip(cluster.hosts, files, strict=True)), seen_us)
        if failure is not None:
            raise failure

    async def close(self) -> None:
        """Log out of all hosts."""
        machines, self._machines = self._machines, []
        for machine in machines:
            await machine.close()

    @property
    def _indices(self) -> range:
        """Indices of the machines. Raises UNREACHABLE if the source is not open."""
        return range(len(self.opened(self._machines or None)))

    async def _closed_folders(self, machine: Machine) -> list[str]:
        """Return the folders of the sockets that this account may not list: a wildcard matches nothing there."""
        parents = [path for pattern in self.config.sockets for path in parse.folders(pattern)]
        if not (folders := await machine.names(parents)):
            return []
        may_not = ("(", "!", "-readable", "-o", "!", "-executable", ")")
        reply = await machine.run(("find", "-H", *folders, "-maxdepth", "0", "-type", "d", *may_not))
        return reply.output.decode("utf-8", "replace").splitlines()

    async def _read_cluster(self) -> Cluster:
        """Read the state of the cluster. Raises MISCONFIGURED for OSDs of several clusters."""
        cluster = Cluster(self.config.name)
        found: dict[int, Osd] = {}
        fsids = set()
        for index in self._indices:
            machine = self._machines[index]
            host = Snapshot(await machine.read([_HOSTNAME, _COMM]))
            threads = await self._threads(machine, host)
            name = host.text(_HOSTNAME)
            is_usable = name not in _UNKNOWN_NAMES and name not in cluster.hosts
            cluster.hosts.append(name if is_usable else f"{self.config.name}-host{index + 1}")
            for socket in await machine.names(self.config.sockets):
                try:
                    status = admin_socket.reply(socket, await self._ask(machine, socket, "status"))
                except CollectorError as error:
                    if error.failure is not Failure.UNREACHABLE:
                        raise
                    continue  # the socket of an OSD that has ended
                if (number := parse.counter(status, "whoami")) is None:
                    raise CollectorError(Failure.UNREADABLE, f"{socket}: its status names no OSD")
                found[number] = Osd(number, socket, index, threads.get(number, ()))
                fsids.add(status.get("cluster_fsid"))
        if len(fsids) > 1:
            raise CollectorError(
                Failure.MISCONFIGURED, "the OSDs belong to several clusters: give each a source, with its `sockets`"
            )
        if not found:
            raise CollectorError(Failure.UNREACHABLE, "no OSD answers at its admin socket")
        cluster.osds = [found[number] for number in sorted(found)]
        first = cluster.osds[0]
        version = admin_socket.reply(
            first.socket, await self._ask(self._machines[first.machine], first.socket, "version")
        )
        cluster.version = str(version.get("version", ""))
        await self._read_monitors(cluster)
        return cluster

    async def _read_monitors(self, cluster: Cluster) -> None:
        """Add the reports of ceph and rbd. A remark says if they cannot be run."""
        status = await self._if_allowed(cluster, "ceph", "status")
        if status is None:
            return
        cluster.health = list(parse.health(status))
        cluster.states = parse.osd_states(await self._if_allowed(cluster, "ceph", "osd", "tree"))
        images = self.config.images
        if images is None:
            pools = parse.rbd_pools(await self._if_allowed(cluster, "ceph", "osd", "pool", "ls", "detail"))
            listed = [(pool, await self._if_allowed(cluster, "rbd", "ls", pool)) for pool in pools]
            images = [f"{pool}/{name}" for pool, names in listed for name in json_texts(names)]
        is_read = self.config.images is not None or len(images) <= _MAX_IMAGES
        for image in images:
            settings = await self._if_allowed(cluster, "rbd", "config", "image", "list", image) if is_read else None
            cluster.images[image] = None if settings is None else parse.limits(settings)

    async def _if_allowed(self, cluster: Cluster, program: Literal["ceph", "rbd"], *words: str) -> Any:
        """Return the output of ceph or rbd; None: the command failed, and a remark says so."""
        try:
            return await self._json(program, *words)
        except CollectorError as error:
            cluster.unread.append(str(error))
            return None

    async def _json(self, program: Literal["ceph", "rbd"], *words: str) -> Any:
        """Return the output of ceph or rbd. Raises UNREADABLE if it fails."""
        command = [*(self.config.ceph if program == "ceph" else self.config.rbd), *words, "--format", "json"]
        reply = await self._machines[0].run([*(("sudo", "-n") if self.config.sudo else ()), *command])
        reason = reply.errors.decode("utf-8", "replace").strip().rpartition("\n")[2][:_EXCERPT_LENGTH]
        if reply.exit_code == 0:
            try:
                return read_json(reply.output)
            except ValueError as error:
                reason = str(error)
        reason = reason or f"exit code {reply.exit_code}"
        raise CollectorError(Failure.UNREADABLE, f"{' '.join(command)} fails ({reason})")

    async def _threads(self, machine: Machine, host: Snapshot) -> Mapping[int, tuple[int, ...]]:
        """Return number of an OSD → its threads that process operations."""
        ids = [n for n in host.children("/proc") if n.isdigit() and host.text(f"/proc/{n}/comm") == _PROGRAM]
        if not ids:
            return {}
        lines = await machine.read([f"/proc/{process}/cmdline" for process in ids])
        tasks = Snapshot(await machine.read([f"/proc/{process}/task/*/comm" for process in ids]))
        threads: dict[int, tuple[int, ...]] = {}
        for process in ids:
            number = parse.osd_number(lines.get(f"/proc/{process}/cmdline", b""))
            folder = f"/proc/{process}/task"
            names = [n for n in tasks.children(folder) if tasks.text(f"{folder}/{n}/comm") == _OPERATION_THREAD]
            if number is not None:
                threads[number] = tuple(int(name) for name in names)
        return threads

    async def _perf(self, osd: Osd) -> Mapping[str, Any]:
        received = await self._ask(self._machines[osd.machine], osd.socket, "perf dump", logger="osd")
        section = admin_socket.reply(osd.socket, received).get("osd")
        if not isinstance(section, dict):
            raise CollectorError(Failure.UNREADABLE, f"{osd.socket}: perf dump has no section osd")
        return section

    async def _ask(self, machine: Machine, socket: str, prefix: str, **arguments: str) -> bytes:
        request = admin_socket.request(prefix, **arguments)
        return await machine.exchange(socket, request, admin_socket.is_complete, self.config.budget_seconds)

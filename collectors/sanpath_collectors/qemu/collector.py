"""Polls the virtual machines of a host: libvirt once per poll, or each QMP monitor once, and the threads' times."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal

from sanpath.plugin import (
    Check,
    CollectorError,
    CommandReply,
    Context,
    Event,
    Failure,
    Item,
    SourceEntity,
    SourceLink,
    name_list,
    quantity,
    rows_of,
)
from sanpath_collectors.linux_host.machine_collector import MachineCollector
from sanpath_collectors.linux_host.parse import diskstats
from sanpath_collectors.linux_host.snapshot import HOSTNAME, Snapshot
from sanpath_collectors.qemu import inventory, libvirt, parse, processes, qmp, samples
from sanpath_collectors.qemu.config import QemuConfig
from sanpath_collectors.qemu.model import MAIN_LOOP, Disk, Thread, VirtualMachine
from sanpath_collectors.qemu.tables import VDISK

_FILES = (HOSTNAME, "/proc/sys/kernel/osrelease", processes.COMM, "/run/libvirt/qemu/*.pid")
_NO_PROGRAM = 127
"""Exit code of a shell for a program that does not exist."""
_MONITOR_SHARE = 0.5
"""Maximum share of a poll's time for one monitor: the others must be read as well."""


class Qemu(MachineCollector[QemuConfig]):
    """The virtual machines of one host, this machine or one over SSH."""

    def __init__(self, config: QemuConfig) -> None:
        super().__init__(config)
        self._interface: Literal["libvirt", "qmp"] = config.interface or "qmp"
        self._vms: list[VirtualMachine] = []
        self._bins: dict[str, samples.Bins] = {}
        self._unread: dict[str, CollectorError] = {}
        self._reported: set[str] = set()

    async def open(self, ctx: Context) -> None:
        """Log in and choose the interface. Raises MISCONFIGURED if nothing runs virtual machines."""
        await self.connect(ctx)
        async with self.closed_on_failure():
            if self.config.interface is None:
                names = await self._domains(required=False)
                self._interface = "libvirt" if names else "qmp"

    async def check(self, ctx: Context) -> Check:  # noqa: ARG002 - the base class' signature
        """Return the host, its machines and disks, and what is unknown about them."""
        host, vms = await self._read()
        disks = [disk for vm in vms for disk in vm.disks]
        unreadable = []
        if not vms:
            unreadable.append(f"no virtual machine runs here, as far as {self._source()} reports")
        exports = [disk.name for disk in disks if disk.is_export]
        unreadable += [f"{name}: its disks are not read ({error})" for name, error in self._unread.items()]
        if exports:
            unreadable.append(f"exports {name_list(exports)}: QEMU keeps no statistics of exports, only their limits")
        unknown = sorted({vm.name for vm in vms for disk in vm.disks if not self._thread_numbers(vm, disk)})
        if unknown:
            unreadable.append(f"{name_list(unknown)}: how busy the threads are that serve the disks is unknown")
        counts = f"{quantity(len(vms), 'virtual machine')}, {quantity(len(disks), 'disk')}"
        return Check(f"{self._name(host)}: {self._source()}, {counts}", None, tuple(unreadable))

    async def inventory(self, ctx: Context) -> AsyncIterator[SourceEntity | SourceLink]:  # noqa: ARG002 - the base class' signature
        """Yield the host, its machines, their disks and throttle groups, and the devices below them."""
        host, self._vms = await self._read()
        release = host.text("/proc/sys/kernel/osrelease")
        for item in inventory.items(
            self._name(host), self._vms, await self._devices(), f"Linux {release}" if release else ""
        ):
            yield item

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:
        """Yield the counters of all disks. A machine that has ended is left out from then on."""
        statistics, seen_us, ended, failures = await self._statistics(ctx)
        numbers = {n for vm in self._vms for disk in vm.disks for n in self._thread_numbers(vm, disk) or ()}
        threads = Snapshot(await self.machine.read([f"/proc/{number}/schedstat" for number in sorted(numbers)]))
        by_disk: dict[str, samples.Row] = {}
        for vm in self._vms:
            for disk in vm.disks:
                # An export has only the time of its threads.
                values = statistics.get(vm.name, {}).get(disk.key, {} if disk.is_export else None)
                if values is None:
                    continue
                entity = inventory.local_id(vm.name, disk.name)
                by_disk[entity] = samples.row(values, self._bins.get(entity, {}), self._times(vm, disk, threads))
                self._bins[entity] = {name: bins for name, (_, bins) in samples.histograms(values).items()}
        if by_disk:
            yield rows_of(VDISK, by_disk, seen_us)
        for name in ended:
            yield Event(seen_us, "vm-stopped", {"vm": name, "state": "not running"})
        for name, error in {**self._unread, **failures}.items():
            if name not in self._reported:
                self._reported.add(name)
                yield Event(seen_us, "facts-unknown", {"entity": name, "what": "disks", "why": str(error)})
        self._vms = [vm for vm in self._vms if vm.name not in ended]
        if failures and not statistics:
            raise next(iter(failures.values()))

    def _source(self) -> str:
        return "libvirt" if self._interface == "libvirt" else "QMP"

    def _name(self, host: Snapshot) -> str:
        return self.config.host or host.host_name or self.config.name

    async def _read(self) -> tuple[Snapshot, list[VirtualMachine]]:
        """Read the host and its machines. Raises CollectorError if a configured one does not run."""
        host = Snapshot(await self.machine.read(_FILES))
        vms = await (
            self._read_from_libvirt(host) if self._interface == "libvirt" else self._read_from_monitors(host)
        )
        if self.config.machines is not None:
            running = [vm.name for vm in vms]
            if missing := [name for name in self.config.machines if name not in running]:
                if self._unread:  # one of these monitors may be the machine's
                    raise next(iter(self._unread.values()))
                known = name_list(running) or "none"
                message = f"no virtual machine is called {name_list(missing)}; running are: {known}"
                raise CollectorError(Failure.MISCONFIGURED, message)
            vms = [vm for vm in vms if vm.name in self.config.machines]
        return host, vms

    async def _read_from_libvirt(self, host: Snapshot) -> list[VirtualMachine]:
        vms = []
        for name in await self._domains():
            if self.config.machines is not None and name not in self.config.machines:
                continue
            reply = await self._virsh("dumpxml", "--domain", name)
            if reply.exit_code == 0:  # otherwise it has ended meanwhile
                vm = libvirt.virtual_machine(reply.output.decode("utf-8", "replace"))
                pid = host.number(f"/run/libvirt/qemu/{name}.pid")
                vms.append(vm if pid is None else await self._add_threads(vm, pid))
        return vms

    async def _domains(self, required: bool = True) -> list[str]:
        reply = await self._virsh("list", "--name", "--state-running", "--state-paused")
        if reply.exit_code != 0:
            if not required:
                return []
            excerpt = reply.errors.decode("utf-8", "replace").strip()
            failure = Failure.MISCONFIGURED if reply.exit_code == _NO_PROGRAM else Failure.REFUSED
            raise CollectorError(failure, f"{' '.join(self.config.virsh)} list fails", excerpt[:300])
        return [line for line in reply.output.decode("utf-8", "replace").splitlines() if line.strip()]

    async def _virsh(self, *words: str) -> CommandReply:
        return await self.machine.run([*(("sudo", "-n") if self.config.sudo else ()), *self.config.virsh, *words])

    async def _add_threads(self, vm: VirtualMachine, pid: int) -> VirtualMachine:
        """Add the numbers of a machine's threads, which libvirt does not report."""
        tasks = Snapshot(await self.machine.read([f"/proc/{pid}/task/*/comm"]))
        vm.threads |= {name: Thread(number) for name, number in processes.threads_by_name(tasks, pid).items()}
        vm.threads[MAIN_LOOP] = Thread(pid)
        return vm

    async def _read_from_monitors(self, host: Snapshot) -> list[VirtualMachine]:
        """Read the machines of all monitors. A failing one is remarked; if none answers, its failure is raised.

        A machine with a busy monitor is still read by the next poll, as long as its process runs.
        """
        numbers = processes.numbers(host)
        lines = await self.machine.read([f"/proc/{number}/cmdline" for number in numbers]) if numbers else {}
        running = [processes.process(n, lines.get(f"/proc/{n}/cmdline", b"")) for n in numbers]
        owners = {socket: process for process in running for socket in process.sockets}
        sockets: dict[str, str] = {}
        for socket in [*owners, *await self.machine.names(self.config.monitors)]:
            sockets.setdefault(processes.canonical_socket(socket), socket)
        known = {vm.socket: vm for vm in self._vms}
        vms: list[VirtualMachine] = []
        self._unread = {}
        for socket in sockets.values():
            owner = owners.get(socket)
            default_name = (owner.name if owner else "") or socket.rpartition("/")[2].partition(".")[0]
            try:
                vm = await self._read_from_monitor(socket, default_name)
            except CollectorError as error:
                if owner is not None and socket in known:
                    vms.append(known[socket])
                else:
                    self._unread[default_name] = error
                continue
            if vm.name not in [other.name for other in vms]:
                pid = owner.number if owner is not None else await self._process_of(vm)
                vm.threads |= {} if pid is None else {MAIN_LOOP: Thread(pid)}
                vms.append(vm)
        if self._unread and not vms:
            raise next(iter(self._unread.values()))
        return vms

    async def _read_from_monitor(self, socket: str, default_name: str) -> VirtualMachine:
        version, first = await self._ask(socket, parse.FIRST)
        answers = dict(first)
        for more in (parse.second_queries(first), None):
            commands = more if more is not None else parse.third_queries(answers)
            answers |= (await self._ask(socket, commands))[1] if commands else {}
        return parse.virtual_machine(default_name, socket, version, answers)

    async def _process_of(self, vm: VirtualMachine) -> int | None:
        """Return the process of a machine, found by one of its threads; None: unknown."""
        number = next((thread.number for thread in vm.threads.values() if thread.number is not None), None)
        if number is None:
            return None
        status = Snapshot(await self.machine.read([f"/proc/{number}/status"])).text(f"/proc/{number}/status")
        return processes.process_of_thread(status)

    async def _ask(
        self, socket: str, commands: Sequence[Mapping[str, object]], share: float = _MONITOR_SHARE
    ) -> tuple[str, qmp.Answers]:
        received = await self.machine.exchange(
            socket, qmp.request(commands), qmp.is_complete, self.config.budget_seconds * share
        )
        try:
            return qmp.answers(socket, received)
        except ValueError as error:
            excerpt = received[:200].decode("latin-1")
            raise CollectorError(Failure.UNREADABLE, f"{socket}: {error}", excerpt) from error

    async def _statistics(
        self, ctx: Context
    ) -> tuple[dict[str, Mapping[str, Mapping[str, Any]]], int, list[str], dict[str, CollectorError]]:
        """Return machine → disk → statistics, the time, machines that have ended, and machine → failure of its
        monitor."""
        if self._interface == "libvirt":
            reply = await self._virsh("domstats", "--block", "--raw", "--list-active")
            if reply.exit_code != 0:
                excerpt = reply.errors.decode("utf-8", "replace").strip()
                raise CollectorError(Failure.UNREACHABLE, "virsh domstats fails", excerpt[:300])
            by_machine = libvirt.statistics(reply.output.decode("utf-8", "replace"))
            stopped = [vm.name for vm in self._vms if vm.name not in by_machine]
            return {**by_machine}, ctx.clock.now_us(), stopped, {}
        statistics: dict[str, Mapping[str, Mapping[str, Any]]] = {}
        ended: list[str] = []
        failures: dict[str, CollectorError] = {}
        for vm in self._vms:
            # All failing monitors together leave a part of the poll's time to the others.
            share = _MONITOR_SHARE ** (1 + len(failures))
            try:
                statistics[vm.name] = parse.statistics((await self._ask(vm.socket, parse.STATISTICS, share))[1])
            except CollectorError as error:
                if error.failure is Failure.UNREACHABLE and vm.socket not in await self.machine.names([vm.socket]):
                    ended.append(vm.name)
                else:
                    failures[vm.name] = error
        return statistics, ctx.clock.now_us(), ended, failures

    async def _devices(self) -> dict[str, str]:
        """Return path of a disk's data → the block device on the host that holds it."""
        paths = sorted({disk.path for vm in self._vms for disk in vm.disks if disk.path})
        if not paths:
            return {}
        names = list(diskstats(Snapshot(await self.machine.read(["/proc/diskstats"])).content("/proc/diskstats")))
        sources = {path: path for path in paths if path.startswith("/dev/")}
        files = [path for path in paths if path not in sources]
        for path in files:
            output = (await self.machine.run(("df", "--output=source", "--", path))).output
            sources[path] = output.decode("utf-8", "replace").strip().rpartition("\n")[2].strip()
        devices = [source for source in dict.fromkeys(sources.values()) if source.startswith("/dev/")]
        resolved = (await self.machine.run(("readlink", "-m", "--", *devices))).output if devices else b""
        targets = dict(zip(devices, resolved.decode("utf-8", "replace").splitlines(), strict=False))
        found = {path: inventory.block_device(targets.get(source, ""), names) for path, source in sources.items()}
        return {path: device for path, device in found.items() if device}

    def _thread_numbers(self, vm: VirtualMachine, disk: Disk) -> list[int] | None:
        """Return the threads that serve a disk; None: one of them is unknown."""
        numbers = [vm.threads[name].number for name in disk.threads if name in vm.threads]
        known = [number for number in numbers if number is not None]
        return known if len(known) == len(disk.threads) else None

    def _times(self, vm: VirtualMachine, disk: Disk, threads: Snapshot) -> tuple[int, int] | None:
        """Return how long the threads of a disk ran and waited for a processor, in nanoseconds; None: unknown."""
        times = [processes.cpu_times(threads, number) for number in self._thread_numbers(vm, disk) or ()]
        known = [time for time in times if time is not None]
        if not known or len(known) != len(times):
            return None
        return sum(ran for ran, _ in known), sum(waited for _, waited in known)

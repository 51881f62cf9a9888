"""The entities and links of a storage server. No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sanpath.plugin import SourceEntity, SourceLink, common_value, wwn
from sanpath_collectors.linux_host import parse as host_parse
from sanpath_collectors.linux_host.devices import POLL_QUEUES, hardware_queues
from sanpath_collectors.linux_host.snapshot import Snapshot
from sanpath_collectors.linux_host.tcp.connections import ConnectionFilter
from sanpath_collectors.linux_target import parse
from sanpath_collectors.linux_target.targets import Listener, Targets, Volume

_FC, _NET = "/sys/class/fc_host", "/sys/class/net"
_SECTOR_BYTES = 512
_PROTOCOLS = {"iscsi": "iscsi", "nvme-tcp": "nvme_tcp", "nbd": "nbd"}

FILES = (
    "/proc/diskstats",
    "/proc/meminfo",
    "/proc/net/tcp",
    "/proc/net/tcp6",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/osrelease",
    "/sys/block/*/queue/io_poll",
    "/sys/block/*/queue/nr_requests",
    *POLL_QUEUES,
    "/sys/class/block/*/size",
    f"{_FC}/*/port_name",
    f"{_FC}/*/speed",
    f"{_NET}/*/address",
    f"{_NET}/*/speed",
    f"{_NET}/*/operstate",
)


@dataclass(slots=True)
class Inventory:
    """The entities of a storage server.

    `paths`: path of a volume → its resolved path; `addresses`: interface → its addresses; `queues`: block device →
    its hardware queues. `ports`: target port → its listeners; `fc_hosts`: WWPN → fc_host; `devices`: volume → its
    backing block device with kernel counters; files and memory have none.
    """

    server: Snapshot
    name: str
    targets: Targets
    paths: Mapping[str, str]
    addresses: Mapping[str, Sequence[str]]
    queues: Mapping[str, int]
    ports: dict[str, list[Listener]] = field(init=False)
    fc_hosts: dict[str, str] = field(init=False)
    devices: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.fc_hosts = {
            host_parse.wwpn(self.server.text(f"{_FC}/{name}/port_name")): name for name in self.server.children(_FC)
        }
        self.ports = {}
        for listener in self.targets.listeners:
            for port in [listener.wwpn] if listener.wwpn else self._interfaces(listener.address):
                self.ports.setdefault(port, []).append(listener)
        statistics = host_parse.diskstats(self.server.content("/proc/diskstats"))
        device_names = {
            v.local_id: self.paths.get(v.path, "").removeprefix("/dev/") for v in self.targets.volumes.values()
        }
        self.devices = {volume: device for volume, device in device_names.items() if device in statistics}

    def items(self) -> Iterator[SourceEntity | SourceLink]:
        """Yield the array, its target ports, its volumes, and the hosts with access to them."""
        memory = host_parse.memory_bytes(self.server.content("/proc/meminfo"))
        release = self.server.text("/proc/sys/kernel/osrelease")
        attributes = {"os": f"Linux {release}".strip(), "memory_bytes": memory}
        yield SourceEntity("array", self.name, self.name, {"name": (self.name,)}, attributes)
        yield SourceEntity("controller", self.name, self.name)
        yield SourceLink("member_of", ("controller", self.name), ("array", self.name), "its processors")
        for port, listeners in self.ports.items():
            yield self._port(port, listeners)
            yield SourceLink("member_of", ("array_port", port), ("array", self.name), "its targets")
        for volume in self.targets.volumes.values():
            yield self._volume(volume)
            yield SourceLink("member_of", ("volume", volume.local_id), ("array", self.name), "its targets")
        for port, listeners in self.ports.items():
            for listener in listeners:
                for volume_id in listener.volumes:
                    evidence = f"{listener.protocol} {listener.target}"
                    yield SourceLink("presents", ("array_port", port), ("volume", volume_id), evidence)
        yield from self._clients()

    @property
    def connections(self) -> ConnectionFilter:
        """The TCP connections from initiators: all connections to a target's port."""
        protocols = {
            listener.port: _PROTOCOLS.get(listener.protocol, "other")
            for listener in self.targets.listeners
            if listener.port is not None and not listener.wwpn
        }
        portals = {(listener.address, port) for listener in self.targets.listeners if (port := listener.port)}
        return ConnectionFilter(protocols, portals, set(protocols), self._ends())

    def _ends(self) -> dict[str, list[tuple[str, str]]]:
        """Own address → the target ports with this address."""
        ends: dict[str, list[tuple[str, str]]] = {}
        for port in self.ports:
            for address in ("127.0.0.1", "::1") if port == "lo" else self.addresses.get(port, ()):
                ends.setdefault(address, []).append(("array_port", port))
        return ends

    def _interfaces(self, address: str) -> list[str]:
        """The interfaces with this address; "": all interfaces with any address."""
        if not address:
            return [name for name, local_addresses in self.addresses.items() if local_addresses] or ["lo"]
        if address.startswith("127.") or address == "::1":
            return ["lo"]
        return [name for name, local_addresses in self.addresses.items() if address in local_addresses]

    def _port(self, port: str, listeners: Sequence[Listener]) -> SourceEntity:
        common = {
            "command_window": common_value(listener.command_window for listener in listeners),
            "services": ",".join(dict.fromkeys(listener.protocol for listener in listeners)),
            "targets": ",".join(dict.fromkeys(listener.target for listener in listeners)),
        }
        if listeners[0].wwpn:
            speeds = host_parse.speeds(self.server.text(f"{_FC}/{self.fc_hosts.get(port, '')}/speed"))
            speed = speeds[0] if len(speeds) == 1 else None
            return SourceEntity(
                "array_port",
                port,
                port,
                {"wwpn": (port,)},
                {"technology": "fibre_channel", "speed_bits_per_second": speed, **common},
            )
        folder = f"{_NET}/{port}"
        megabits = self.server.number(f"{folder}/speed")
        mac = self.server.text(f"{folder}/address") if port != "lo" else ""
        ids = {"mac": (mac,) if mac else (), "ip": tuple(self.addresses.get(port, ()))}
        speed = megabits * 1_000_000 if megabits else None
        return SourceEntity(
            "array_port",
            port,
            port,
            {key: values for key, values in ids.items() if values},
            {"technology": "ethernet", "speed_bits_per_second": speed, **common},
        )

    def _volume(self, volume: Volume) -> SourceEntity:
        device = self.devices.get(volume.local_id)
        sectors = self.server.number(f"/sys/class/block/{device}/size") if device else None
        attributes = {
            **volume.attributes,
            "path": volume.path or None,
            "device": device,
            "device_slots": self._queue_slots(device) if device else None,
            "zvol": parse.zvol(volume.path) or None,
            "size_bytes": sectors * _SECTOR_BYTES if sectors is not None else None,
        }
        ids = {key: non_empty for key, values in volume.ids.items() if (non_empty := tuple(filter(None, values)))}
        return SourceEntity("volume", volume.local_id, volume.label, ids, attributes)

    def _queue_slots(self, device: str) -> int | None:
        """The I/Os that all hardware queues of a block device accept at once; others wait before its clock starts.
        None: it has no queues itself, such as a logical volume, or the number for polled I/Os is unknown."""
        queues = hardware_queues(self.server, device, self.queues.get(device, 0))
        requests = self.server.number(f"/sys/block/{device}/queue/nr_requests")
        return queues * requests if queues and requests else None

    def _clients(self) -> Iterator[SourceEntity | SourceLink]:
        access: dict[str, dict[str, str]] = {}
        for listener in self.targets.listeners:
            for client in listener.clients:
                for volume in listener.volumes:
                    access.setdefault(client, {}).setdefault(volume, f"{listener.protocol} access list")
        for client, volumes in access.items():
            wwpn = wwn(client)
            key = "wwpn" if wwpn else "nqn" if client.startswith("nqn.") else "iqn"
            yield SourceEntity("host", client, client, {key: (wwpn or client,)})
            for volume, evidence in volumes.items():
                yield SourceLink("presents", ("volume", volume), ("host", client), evidence)

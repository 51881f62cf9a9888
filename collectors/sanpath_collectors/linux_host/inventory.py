"""The files needed for a host's inventory, and its entities and links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sanpath.plugin import SourceEntity, SourceLink
from sanpath_collectors.linux_host import devices, local_drives, multipath, parse, ports
from sanpath_collectors.linux_host.multipath import Maps
from sanpath_collectors.linux_host.paths import HostPath, is_map, lun_of, paths_of, usable
from sanpath_collectors.linux_host.snapshot import Snapshot
from sanpath_collectors.linux_host.tcp.connections import ConnectionFilter
from sanpath_collectors.linux_host.tcp.ss import end_point
from sanpath_collectors.linux_host.tcp.storage_connections import SERVICES

_FILES: Mapping[str, Sequence[str]] = {
    "/proc": ("diskstats", "stat", "meminfo", "sys/kernel/osrelease"),
    "/sys/block/loop*": devices.LOOP_FILES,
    "/etc": ("iscsi/initiatorname.iscsi", "nvme/hostnqn"),
    "/sys/block/*": ("size", "serial", "wwid", "ana_state"),
    "/sys/block/*/dm": ("name", "uuid"),
    "/sys/block/*/queue": ("rotational", "scheduler", "nr_requests", "max_sectors_kb", "io_poll"),
    "/sys/block/*/device": ("wwid", "vendor", "model", "queue_depth", "state", "access_state"),
    "/sys/block/nvme*/device": ("address", "subsysnqn", "transport"),
    "/sys/class/nvme-subsystem/*": ("iopolicy",),
    "/sys/class/fc_host/*": (
        "port_name",
        "fabric_name",
        "port_state",
        "speed",
        "supported_speeds",
        "symbolic_name",
        *(f"device/../{name}" for name in ports.PCIE_FILES),
    ),
    "/sys/class/fc_remote_ports/*": ("port_name", "port_state", "scsi_target_id"),
    "/sys/class/fc_transport/*": ("port_name",),
    "/sys/class/iscsi_host/*": ("ipaddress", "netdev"),
    "/sys/class/iscsi_session/*": ("targetname", "initiatorname", "state"),
    "/sys/class/iscsi_connection/*": ("address", "port", "persistent_address", "persistent_port", "local_ipaddr"),
    "/sys/class/net/*": ("address", "type", "speed", "mtu", "operstate", "bonding_slave/perm_hwaddr"),
    "/sys/class/net/*/device": ports.PCIE_FILES,
}
FILES = (
    *(f"{folder}/{name}" for folder, names in _FILES.items() for name in names),
    *devices.POLL_QUEUES,
    devices.MOUNTS,
    *local_drives.FILES,
)
NAMES = (
    "/sys/block/*/slaves/*",
    "/sys/block/*/holders/*",
    *devices.QUEUE_NAMES,
    "/sys/block/*/device/scsi_device/*",
    "/sys/class/iscsi_session/*/device/target*",
    "/sys/class/net/*/bonding",
    "/sys/class/net/*/device",
    "/sys/class/net/*/device/physfn",
    "/sys/class/net/*/lower_*",
    *local_drives.NAMES,
)
_OVER_TCP = ("iscsi", "nvme_tcp")


@dataclass(slots=True)
class Inventory:
    """The entities of a host.

    `host_name`: its name; `selected`: the block devices that are polled; `addresses`: network interface → IP
    addresses; `maps`: the multipath maps, {}: unknown. `devices`: all block devices but loop devices; `interfaces`:
    the network interfaces that are polled.
    """

    host: Snapshot
    host_name: str
    selected: Sequence[str]
    addresses: Mapping[str, Sequence[str]] = field(default_factory=dict)
    maps: Maps = field(default_factory=dict)
    devices: list[str] = field(init=False)
    paths: list[HostPath] = field(init=False)
    interfaces: list[str] = field(init=False)

    def __post_init__(self) -> None:
        device_numbers = parse.device_numbers(self.host.content("/proc/diskstats"))
        self.devices = parse.storage_devices(device_numbers)
        by_address = {address: name for name, ip_addresses in self.addresses.items() for address in ip_addresses}
        self.paths = list(paths_of(self.host, device_numbers, self.selected, by_address))
        self.interfaces = ports.interfaces(self.host, {path.hba for path in self.paths if path.hba})

    @property
    def connections(self) -> ConnectionFilter:
        """The TCP connections to storage: those to the portals of paths, and to registered ports."""
        ends = {path.target or "": path.protocol for path in self.paths if path.protocol in _OVER_TCP}
        portals = {portal: protocol for end, protocol in ends.items() if (portal := end_point(end)) is not None}
        return ConnectionFilter(
            {**SERVICES, **{port: protocol for (_, port), protocol in portals.items()}},
            set(portals),
            set(SERVICES),
            {
                address: [("hba", interface)]
                for interface, addresses in self.addresses.items()
                for address in addresses
                if interface in self.interfaces
            },
            [("host", self.host_name)],
        )

    @property
    def rdma_interfaces(self) -> set[str]:
        """The network interfaces with paths over RDMA."""
        return {path.hba for path in self.paths if path.hba is not None and path.protocol == "nvme_rdma"}

    @property
    def fc_hosts(self) -> list[str]:
        """The Fibre Channel ports (fc_host)."""
        return self.host.children("/sys/class/fc_host")

    @property
    def multipath_maps(self) -> list[str]:
        """Names of the multipath maps among the selected devices."""
        return [
            self.host.text(f"/sys/block/{name}/dm/name") or name for name in self.selected if is_map(self.host, name)
        ]

    def states(self) -> dict[HostPath, str]:
        """The state of each path."""
        state_in_map = multipath.path_states(self.maps)
        return {path: path.state(self.host, self.devices, state_in_map) for path in self.paths}

    def items(self) -> Iterator[SourceEntity | SourceLink]:
        """Yield ports, the host with its names at arrays, devices, paths, and the links between them."""
        port_items: list[SourceEntity | SourceLink] = [*ports.fibre_channel(self.host, self.host_name)]
        port_items += ports.network(self.host, self.host_name, self.interfaces, self.addresses)
        yield self._host(
            [wwpn for item in port_items if isinstance(item, SourceEntity) for wwpn in item.ids.get("wwpn", ())]
        )
        for item in port_items:
            yield item
            if isinstance(item, SourceEntity):
                class_name = "fc_host" if item.local_id in self.fc_hosts else "net"
                yield SourceLink(
                    "attached_to", ("hba", item.local_id), ("host", self.host_name), f"/sys/class/{class_name}"
                )
        states = self.states()
        for device in self.selected:
            yield from self._device(device, {path: state for path, state in states.items() if path.lun == device})
        for path, state in states.items():
            yield from self._path(path, state)

    def _host(self, wwpns: Iterable[str]) -> SourceEntity:
        text = self.host.text
        sessions = self.host.children("/sys/class/iscsi_session")
        initiators = [text(f"/sys/class/iscsi_session/{session}/initiatorname") for session in sessions]
        ids = {
            "name": (self.host_name,),
            "wwpn": tuple(wwpns),
            "iqn": (parse.setting(text("/etc/iscsi/initiatorname.iscsi"), "InitiatorName"), *initiators),
            "nqn": (text("/etc/nvme/hostnqn"),),
        }
        unique_ids = {key: tuple(dict.fromkeys(filter(None, values))) for key, values in ids.items()}
        release = text("/proc/sys/kernel/osrelease")
        return SourceEntity(
            "host",
            self.host_name,
            self.host_name,
            {key: values for key, values in unique_ids.items() if values},
            {
                "os": f"Linux {release}".strip(),
                "cores": parse.cores(self.host.content("/proc/stat")),
                "memory_bytes": parse.memory_bytes(self.host.content("/proc/meminfo")),
                "iscsi_sessions": len(sessions) or None,
            },
        )

    def _device(self, name: str, states: Mapping[HostPath, str]) -> Iterator[SourceEntity | SourceLink]:
        groups = self.maps.get(self.host.text(f"/sys/block/{name}/dm/name"), ())
        yield devices.lun(self.host, self.host_name, name, states, groups)
        yield SourceLink("attached_to", ("lun", name), ("host", self.host_name), "/proc/diskstats")
        numbers = parse.device_numbers(self.host.content("/proc/diskstats"))
        for lower in devices.lower_devices(self.host, name, self.selected, numbers):
            evidence = "backing_file" if name.startswith("loop") else "slaves"
            yield SourceLink("member_of", ("lun", lower), ("lun", name), evidence)
        if (upper := lun_of(self.host, name)) in self.selected and upper.startswith("nvme") and upper != name:
            yield SourceLink("member_of", ("lun", name), ("lun", upper), f"name {name}")

    def _path(self, path: HostPath, state: str) -> Iterator[SourceEntity | SourceLink]:
        yield path_entity(path, state)
        evidence = f"/sys/block/{path.device}"
        yield SourceLink("member_of", ("path", path.id), ("lun", path.lun), evidence)
        if path.hba is not None and (path.hba in self.fc_hosts or path.hba in self.interfaces):
            yield SourceLink("attached_to", ("path", path.id), ("hba", path.hba), evidence)
        if path.target_end is not None:
            yield SourceLink("targets", ("path", path.id), path.target_end, f"{path.protocol} path")


def path_entity(path: HostPath, state: str) -> SourceEntity:
    """The entity of a path with its state."""
    return SourceEntity(
        "path",
        path.id,
        label=path.id,
        attributes={
            "state": state,
            "usable": usable(state),
            "device": path.device,
            "lun": path.lun,
            "protocol": path.protocol,
            "hba": path.hba,
            "target": path.target,
            "target_name": path.target_name,
            "target_state": path.target_state,
        },
    )

"""What is asked of a host for its inventory, and the things and links that come of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sanpath.plugin import SourceEntity, SourceLink
from sanpath_collectors.linux_host import devices, multipath, parse, ports
from sanpath_collectors.linux_host.multipath import Maps
from sanpath_collectors.linux_host.paths import HostPath, is_map, lun_of, paths_of, usable
from sanpath_collectors.linux_host.snapshot import Snapshot

_FILES: Mapping[str, Sequence[str]] = {
    "/proc": ("diskstats", "stat", "meminfo", "sys/kernel/osrelease"),
    "/etc": ("iscsi/initiatorname.iscsi", "nvme/hostnqn"),
    "/sys/block/*": ("size", "serial", "wwid", "ana_state"),
    "/sys/block/*/dm": ("name", "uuid"),
    "/sys/block/*/queue": ("rotational", "scheduler", "nr_requests", "max_sectors_kb"),
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
    ),
    "/sys/class/fc_remote_ports/*": ("port_name", "port_state", "scsi_target_id"),
    "/sys/class/fc_transport/*": ("port_name",),
    "/sys/class/iscsi_host/*": ("ipaddress", "netdev"),
    "/sys/class/iscsi_session/*": ("targetname", "initiatorname", "state"),
    "/sys/class/iscsi_connection/*": ("address", "port", "persistent_address", "persistent_port", "local_ipaddr"),
    "/sys/class/net/*": ("address", "type", "speed", "mtu", "operstate", "bonding_slave/perm_hwaddr"),
}
FILES = tuple(f"{folder}/{name}" for folder, names in _FILES.items() for name in names)
NAMES = (
    "/sys/block/*/slaves/*",
    "/sys/block/*/holders/*",
    "/sys/block/*/device/scsi_device/*",
    "/sys/class/iscsi_session/*/device/target*",
    "/sys/class/net/*/bonding",
    "/sys/class/net/*/device",
    "/sys/class/net/*/device/physfn",
    "/sys/class/net/*/lower_*",
)


@dataclass(slots=True)
class Inventory:
    """What there is.

    `owner`: what the host is called; `read`: the block devices that are read; `addresses`: network interface → IP
    addresses; `maps`: what is known of multipath maps, {} when nothing is. `devices`: all block devices;
    `interfaces`: the network interfaces that are read.
    """

    host: Snapshot
    owner: str
    read: Sequence[str]
    addresses: Mapping[str, Sequence[str]] = field(default_factory=dict)
    maps: Maps = field(default_factory=dict)
    devices: list[str] = field(init=False)
    paths: list[HostPath] = field(init=False)
    interfaces: list[str] = field(init=False)

    def __post_init__(self) -> None:
        numbers = parse.device_numbers(self.host.content("/proc/diskstats"))
        self.devices = parse.whole_devices(numbers)
        by_address = {address: name for name, own in self.addresses.items() for address in own}
        self.paths = list(paths_of(self.host, numbers, self.read, by_address))
        self.interfaces = ports.interfaces(self.host, {path.hba for path in self.paths if path.hba})

    @property
    def fc_hosts(self) -> list[str]:
        """Fibre Channel ports."""
        return self.host.children("/sys/class/fc_host")

    @property
    def multipath_maps(self) -> list[str]:
        """What the multipath maps among the devices that are read are called."""
        return [self.host.text(f"/sys/block/{name}/dm/name") or name for name in self.read if is_map(self.host, name)]

    def states(self) -> dict[HostPath, str]:
        """What each path is called."""
        mapped = multipath.path_states(self.maps)
        return {path: path.state(self.host, self.devices, mapped) for path in self.paths}

    def items(self) -> Iterator[SourceEntity | SourceLink]:
        """Ports, the host with the names that arrays know it by, devices, paths, and what lies on what."""
        found: list[SourceEntity | SourceLink] = [*ports.fibre_channel(self.host, self.owner)]
        found += ports.network(self.host, self.owner, self.interfaces, self.addresses)
        yield self._host(
            [wwpn for item in found if isinstance(item, SourceEntity) for wwpn in item.ids.get("wwpn", ())]
        )
        for item in found:
            yield item
            if isinstance(item, SourceEntity):
                place = "fc_host" if item.local_id in self.fc_hosts else "net"
                yield SourceLink("attached_to", ("hba", item.local_id), ("host", self.owner), f"/sys/class/{place}")
        states = self.states()
        for device in self.read:
            yield from self._device(device, {path: state for path, state in states.items() if path.lun == device})
        for path, state in states.items():
            yield from self._path(path, state)

    def _host(self, wwpns: Iterable[str]) -> SourceEntity:
        text = self.host.text
        sessions = self.host.children("/sys/class/iscsi_session")
        initiators = [text(f"/sys/class/iscsi_session/{session}/initiatorname") for session in sessions]
        ids = {
            "name": (self.owner,),
            "wwpn": tuple(wwpns),
            "iqn": (parse.setting(text("/etc/iscsi/initiatorname.iscsi"), "InitiatorName"), *initiators),
            "nqn": (text("/etc/nvme/hostnqn"),),
        }
        said = {key: tuple(dict.fromkeys(filter(None, values))) for key, values in ids.items()}
        release = text("/proc/sys/kernel/osrelease")
        return SourceEntity(
            "host",
            self.owner,
            self.owner,
            {key: values for key, values in said.items() if values},
            {
                "os": f"Linux {release}".strip(),
                "cores": parse.cores(self.host.content("/proc/stat")),
                "memory_bytes": parse.memory_bytes(self.host.content("/proc/meminfo")),
                "iscsi_sessions": len(sessions) or None,
            },
        )

    def _device(self, name: str, states: Mapping[HostPath, str]) -> Iterator[SourceEntity | SourceLink]:
        groups = self.maps.get(self.host.text(f"/sys/block/{name}/dm/name"), ())
        yield devices.lun(self.host, self.owner, name, states, groups)
        yield SourceLink("attached_to", ("lun", name), ("host", self.owner), "/proc/diskstats")
        for lower in devices.below(self.host, name, self.read):
            yield SourceLink("member_of", ("lun", lower), ("lun", name), "slaves")
        if (upper := lun_of(self.host, name)) in self.read and upper.startswith("nvme") and upper != name:
            yield SourceLink("member_of", ("lun", name), ("lun", upper), f"name {name}")

    def _path(self, path: HostPath, state: str) -> Iterator[SourceEntity | SourceLink]:
        yield path_thing(path, state)
        evidence = f"/sys/block/{path.device}"
        yield SourceLink("member_of", ("path", path.id), ("lun", path.lun), evidence)
        if path.hba is not None and (path.hba in self.fc_hosts or path.hba in self.interfaces):
            yield SourceLink("attached_to", ("path", path.id), ("hba", path.hba), evidence)
        if path.target_end is not None:
            yield SourceLink("targets", ("path", path.id), path.target_end, f"{path.protocol} path")


def path_thing(path: HostPath, state: str) -> SourceEntity:
    """A path in a state."""
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

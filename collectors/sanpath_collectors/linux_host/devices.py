"""The block devices of a host: identifiers, settings, and the policy of their paths. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sanpath.plugin import SourceEntity, complete_sum
from sanpath_collectors.linux_host import multipath, parse
from sanpath_collectors.linux_host.local_drives import is_local
from sanpath_collectors.linux_host.multipath import Group
from sanpath_collectors.linux_host.paths import NVME_PATH, HostPath, is_map, lun_of, usable
from sanpath_collectors.linux_host.snapshot import Snapshot

_DRIVERS = {"nvme": "nvme", "nullb": "null_blk", "vd": "virtio_blk"}
"""Prefix of a device name → driver that can reserve hardware queues for polled I/Os."""
POLL_QUEUES = tuple(f"/sys/module/{driver}/parameters/poll_queues" for driver in _DRIVERS.values())
QUEUE_NAMES = tuple(
    f"/sys/block/{device}/mq/*"
    for device in ("dm-*", "loop*", "vd*", "xvd*", "nullb*", "nbd*", "rbd*", "nvme?n*", "nvme??n*")
)
"""The hardware queues of devices with separate requests per queue, without those of the paths of NVMe devices, of
which there may be thousands."""
LOOP_FILES = ("ro", "loop/backing_file")
"""Files of a loop device; without the second it has no backing file."""
MOUNTS = "/proc/self/mountinfo"
_ONE_POOL = ("sd", "dasd")
"""Devices whose requests are limited by the adapter, however many queues it has."""


def wwid(host: Snapshot, device: str) -> str:
    """The identifier of a device; "": it has none."""
    files = (f"/sys/block/{device}/{file}" for file in ("dm/uuid", "device/wwid", "wwid"))
    return next((value for file in files if (value := host.text(file))), "")


def loops(host: Snapshot) -> list[str]:
    """The writable loop devices. Others contain packages (snap) or images, or have no backing file."""
    names = (name for name in host.children("/sys/block") if name.startswith("loop"))
    return [name for name in names if _file_of_loop(host, name) and host.number(f"/sys/block/{name}/ro") == 0]


def _file_of_loop(host: Snapshot, device: str) -> str:
    return host.text(f"/sys/block/{device}/loop/backing_file")


def lower_devices(
    host: Snapshot, device: str, candidates: Collection[str], device_numbers: Mapping[str, str]
) -> list[str]:
    """The devices below a map, or below the file of a loop device, with the disk instead of a partition. Only
    `candidates` are returned. `device_numbers`: name → device number."""
    slaves = host.children(f"/sys/block/{device}/slaves")
    if file := _file_of_loop(host, device):
        number = parse.device_below(host.text(MOUNTS), file)
        on_disk = [name for name, each in device_numbers.items() if each == number]
        slaves = [file.removeprefix("/dev/")] if file.startswith("/dev/") else on_disk
    disks = [parse.disk_of(slave, candidates) for slave in slaves]
    return [disk for disk in dict.fromkeys(disks) if disk in candidates]


def lun(
    host: Snapshot, host_name: str, name: str, states: Mapping[HostPath, str], groups: Sequence[Group]
) -> SourceEntity:
    """A block device. `states`: its paths and their states; `groups`: those of its multipath map, empty: unknown."""
    folder = f"/sys/block/{name}"
    map_name, identifier = host.text(f"{folder}/dm/name"), wwid(host, name)
    sectors, rotational = host.number(f"{folder}/size"), host.number(f"{folder}/queue/rotational")
    scheduler, queues = parse.scheduler(host.text(f"{folder}/queue/scheduler")), len(host.children(f"{folder}/mq"))
    # Before Linux 5.0 a device could have a queue of requests without hardware queues.
    if name.startswith(_ONE_POOL) or (not queues and scheduler not in ("", "none")):
        queues = 1
    request_queues = hardware_queues(host, name, queues)
    # A path has its LUN's identifier: as a join key it would merge the two.
    ids = {} if lun_of(host, name) != name else parse.identifiers(identifier)
    return SourceEntity(
        "lun",
        name,
        label=f"{host_name}/{name}",
        ids={"device": tuple(dict.fromkeys(filter(None, (name, map_name)))), **ids},
        attributes={
            "kind": _kind(host, name),
            "map": map_name or None,
            "wwid": identifier or None,
            "serial": host.text(f"{folder}/serial") or None,
            "vendor": host.text(f"{folder}/device/vendor") or None,
            "model": host.text(f"{folder}/device/model") or None,
            "size_bytes": None if sectors is None else sectors * 512,
            "rotational": None if rotational is None else rotational == 1,
            "local": is_local(host, name),
            "scheduler": scheduler or None,
            "queue_depth": _queue_depth(host, name, states, groups),
            # Logical volumes, md and NVMe devices over several paths hold no requests, despite the file.
            "nr_requests": host.number(f"{folder}/queue/nr_requests") if request_queues else None,
            "hardware_queues": request_queues or None,
            "max_sectors_kb": host.number(f"{folder}/queue/max_sectors_kb"),
            **_path_attributes(host, states, groups),
        },
    )


def hardware_queues(host: Snapshot, device: str, queues: int) -> int | None:
    """Number of a device's queues for I/Os that are not polled. None: the number for polled I/Os is unknown."""
    # Before Linux 5.0 every device claimed to poll, but none reserved a queue for it.
    if not host.number(f"/sys/block/{device}/queue/io_poll") or device.startswith(_ONE_POOL):
        return queues
    driver = next((driver for prefix, driver in _DRIVERS.items() if device.startswith(prefix)), None)
    if driver is None:
        return None
    return max(0, queues - (host.number(f"/sys/module/{driver}/parameters/poll_queues") or 0))


def _kind(host: Snapshot, name: str) -> str:
    if name.startswith("dm-"):
        return "multipath map" if is_map(host, name) else "other dm"
    return next((kind for kind in ("nvme", "md", "loop") if name.startswith(kind)), "disk")


def _path_attributes(
    host: Snapshot, states: Mapping[HostPath, str], groups: Sequence[Group]
) -> dict[str, str | int | None]:
    if not states:
        return {}
    native, policy = multipath.native_policy(groups), multipath.policy(groups)
    switch_operations = groups[0].repeat if groups else None
    if iopolicy := _iopolicy(host, states.keys()):
        native, policy = iopolicy, multipath.policy_of_selector(iopolicy)
        # The kernel chooses anew for every I/O (drivers/nvme/host/multipath.c, nvme_round_robin_path).
        switch_operations = 1 if iopolicy == "round-robin" else None
    usable_paths = [usable(state) for state in states.values()]
    return {
        "path_policy": policy,
        "path_policy_native": native,
        "path_switch_operations": switch_operations,
        "paths": len(states),
        "paths_active": None if None in usable_paths else usable_paths.count(True),
    }


def _iopolicy(host: Snapshot, paths: Collection[HostPath]) -> str:
    """The path policy of native NVMe multipath, a setting of the subsystem; "" for other devices."""
    instances = [match[2] for path in paths if (match := NVME_PATH.fullmatch(path.device))]
    files = [f"/sys/class/nvme-subsystem/nvme-subsys{instance}/iopolicy" for instance in instances[:1]]
    return next((value for file in files if (value := host.text(file))), "")


def _queue_depth(host: Snapshot, name: str, states: Mapping[HostPath, str], groups: Sequence[Group]) -> int | None:
    """Maximum outstanding I/Os of the device; for a map, the sum of the usable paths in its active groups.

    None: unknown.
    """
    if not is_map(host, name):
        return host.number(f"/sys/block/{name}/device/queue_depth")
    active_numbers = [number for group in groups if group.state == "active" for number in group.paths]
    active_devices = [
        path.device for path, state in states.items() if path.number in active_numbers and usable(state)
    ]
    return complete_sum(host.number(f"/sys/block/{path}/device/queue_depth") for path in active_devices)

"""A virtual machine from the answers of its QMP monitor. No I/O.

`query-block` has the disks of a machine, `query-block-exports` those of a storage daemon. The statistics of
`query-blockstats` nest: below "parent" is the node that a node reads from, down to the file or device.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sanpath.plugin import json_object, json_objects, read_json
from sanpath_collectors.qemu.model import (
    MAIN_LOOP,
    Disk,
    Thread,
    VirtualMachine,
    limit_names,
    limits,
    without_account,
)
from sanpath_collectors.qemu.qmp import Answers, command, integer, property_of

_LIST_OBJECTS = command("qom-list", {"path": "/objects"})
_NODES = command("query-blockstats", {"query-nodes": True})
FIRST = (
    *(command(name) for name in ("query-name", "query-block", "query-blockstats", "query-block-exports")),
    *(command(name) for name in ("query-named-block-nodes", "query-iothreads", "query-cpus-fast")),
    _NODES,
    _LIST_OBJECTS,
)
"""The first queries of an inventory. A storage daemon does not know all of them."""
STATISTICS = (command("query-blockstats"),)
"""The queries of a poll."""

_DISK_PROPERTIES = ("serial", "wwn", "iothread", "num-queues", "queue-size", "parent_bus")
_CONTROLLER_PROPERTIES = ("iothread", "num_queues", "virtqueue_size")
_DISK_LIMITS = limit_names(("iops", "iops_rd", "iops_wr", "bps", "bps_rd", "bps_wr"), "iops_size", "_")
_GROUP_LIMITS = limit_names(
    ("iops-total", "iops-read", "iops-write", "bps-total", "bps-read", "bps-write"), "iops-size", "-"
)
_CONTROLLERS = {
    "virtio-blk-": "virtio_blk",
    "virtio-scsi-": "virtio_scsi",
    "vhost-": "vhost",
    "scsi-": "scsi",
    "nvme": "nvme",
    "ide-": "ide",
    "ich9-ahci": "ahci",
    "pvscsi": "pvscsi",
    "lsi": "lsi_logic",
    "megasas": "megasas",
}
"""Prefix of a device type's name in QEMU → type of the virtual controller."""
_FILTERS = ("throttle", "copy-on-read", "copy-before-write", "mirror_top", "commit_top", "backup-top", "compress")
"""Drivers of nodes that pass I/O on (BlockDriver.is_filter)."""


def second_queries(first: Answers) -> list[dict[str, object]]:
    """Return the commands that depend on the first answers: settings of devices, buses and throttle groups."""
    commands = [command("qom-list", {"path": "/machine/peripheral"})] if "query-block" in first else []
    for device in json_objects(first.get("query-block")):
        if path := _device_path(device):
            commands += [property_of(path, name) for name in (*_DISK_PROPERTIES, "type")]
    for group in _objects(first, "throttle-group"):
        commands.append(property_of(f"/objects/{group}", "limits"))
    return commands


def third_queries(second_answers: Answers) -> list[dict[str, object]]:
    """Return the commands that depend on the second answers: the controllers of SCSI disks."""
    controllers = {_controller_path(bus) for id_, bus in second_answers.items() if id_.endswith(" parent_bus")}
    return [
        property_of(path, name)
        for path in sorted(filter(None, controllers))
        for name in (*_CONTROLLER_PROPERTIES, "type")
    ]


def virtual_machine(default_name: str, socket: str, version: str, answers: Answers) -> VirtualMachine:
    """Return the machine of a monitor. `answers`: all of them. `default_name`: its name if it has none itself."""
    name = json_object(answers.get("query-name")).get("name")
    threads = {
        str(thread.get("id")): Thread(integer(thread.get("thread-id")), integer(thread.get("poll-max-ns")))
        for thread in json_objects(answers.get("query-iothreads"))
    }
    cpus = json_objects(answers.get("query-cpus-fast"))
    threads |= {f"CPU {cpu.get('cpu-index')}": Thread(integer(cpu.get("thread-id"))) for cpu in cpus}
    nodes = {str(node.get("node-name")): node for node in json_objects(answers.get("query-named-block-nodes"))}
    below = _below(answers)
    disks = [*_disks(answers, nodes, below), *_exports(answers, nodes, below)]
    return VirtualMachine(
        name if isinstance(name, str) and name else default_name, disks, threads, version, len(cpus) or None, socket
    )


def statistics(answers: Answers) -> dict[str, Mapping[str, Any]]:
    """Return key of a disk → its statistics."""
    return {_key(entry): json_object(entry.get("stats")) for entry in json_objects(answers.get("query-blockstats"))}


def _disks(answers: Answers, nodes: Mapping[str, Mapping[str, Any]], below: Mapping[str, str]) -> Iterator[Disk]:
    for device in json_objects(answers.get("query-block")):
        inserted = json_object(device.get("inserted"))
        if not inserted or device.get("removable"):
            continue
        path = _device_path(device)
        bus = str(_property(answers, path, "parent_bus") or "")
        controller = _controller_path(bus)
        kind = _type(answers, controller) or _type(answers, path)
        thread = _property(answers, path, "iothread") or _property(answers, controller, "iothread")
        queues = _property(answers, path, "num-queues") or _property(answers, controller, "num_queues")
        size = _property(answers, path, "queue-size") or _property(answers, controller, "virtqueue_size")
        wwn = integer(_property(answers, path, "wwn"))
        chain = _chain(str(inserted.get("node-name")), below)
        group, group_limits = _group(inserted, chain, nodes, answers)
        yield Disk(
            name=_name(device, path),
            key=_key(device),
            controller_type=kind,
            controller=controller.rpartition("/")[2],
            serial=str(_property(answers, path, "serial") or ""),
            naa=f"{wwn:016x}" if wwn else "",
            size_bytes=integer(json_object(inserted.get("image")).get("virtual-size")),
            format=_format(chain, nodes, inserted),
            threads=(str(thread).rpartition("/")[2] if thread else MAIN_LOOP,),
            # 65535: "auto", resolved when the device was made (hw/virtio/virtio-pci.c)
            queues=None if queues == 0xFFFF else integer(queues),
            queue_size=integer(size),
            limits=group_limits,
            group=group,
            **_backing(chain, nodes, inserted),
        )


def _exports(answers: Answers, nodes: Mapping[str, Mapping[str, Any]], below: Mapping[str, str]) -> Iterator[Disk]:
    """Yield the exports of a storage daemon, which has no devices. QEMU keeps no statistics of exports."""
    for export in json_objects(answers.get("query-block-exports")) if "query-block" in answers else ():
        if json_objects(answers.get("query-block")):
            continue
        chain = _chain(str(export.get("node-name")), below)
        node = nodes.get(chain[0], {})
        group, group_limits = _group(node, chain, nodes, answers)
        yield Disk(
            name=str(export.get("id")),
            key=str(export.get("id")),
            is_export=True,
            controller_type=str(export.get("type") or ""),
            size_bytes=integer(json_object(node.get("image")).get("virtual-size")),
            format=_format(chain, nodes, node),
            threads=(MAIN_LOOP,),
            limits=group_limits,
            group=group,
            **_backing(chain, nodes, node),
        )


def _below(answers: Answers) -> dict[str, str]:
    """Return node → the node that it reads from."""
    below: dict[str, str] = {}
    for request in (_NODES, *STATISTICS):
        for entry in json_objects(answers.get(str(request["id"]))):
            node: Mapping[str, Any] = entry
            while lower := json_object(node.get("parent")):
                below[str(node.get("node-name"))] = str(lower.get("node-name"))
                node = lower
    return below


def _chain(node: str, below: Mapping[str, str]) -> list[str]:
    """Return a node and all nodes below it."""
    chain = [node]
    while (lower := below.get(chain[-1])) is not None and lower not in chain:
        chain.append(lower)
    return chain


def _group(
    inserted: Mapping[str, Any], chain: Sequence[str], nodes: Mapping[str, Mapping[str, Any]], answers: Answers
) -> tuple[str, dict[str, int]]:
    """Return the throttle group of a disk and its limits; ("", {}): it has none.

    A disk is throttled at its device (`group` of query-block), or by a filter node below it.
    """
    if inserted.get("group"):
        return str(inserted["group"]), limits(inserted, _DISK_LIMITS)
    for node in chain:
        filter_node = nodes.get(node, {})
        if filter_node.get("drv") == "throttle" and (name := _filter_group(filter_node)):
            values = json_object(answers.get(f"qom-get /objects/{name} limits"))
            return name, limits(values, _GROUP_LIMITS)
    return "", {}


def _filter_group(node: Mapping[str, Any]) -> str:
    """Return the group of a throttle filter, which is only in the JSON form of its file name."""
    filename = str(json_object(node.get("image")).get("filename") or "")
    try:
        options = json_object(read_json(filename.removeprefix("json:")))
    except ValueError:
        return ""
    return str(options.get("throttle-group") or "")


def _backing(chain: Sequence[str], nodes: Mapping[str, Mapping[str, Any]], top: Mapping[str, Any]) -> dict[str, Any]:
    """Return the place of a disk's data, and the cache mode of the lowest node."""
    lowest = nodes.get(chain[-1], top)
    driver, file = str(lowest.get("drv") or ""), str(lowest.get("file") or "")
    cache = json_object(lowest.get("cache"))
    mode = "" if "direct" not in cache else "none" if cache["direct"] else "writeback"
    if cache.get("no-flush"):
        mode = "unsafe"
    image = rbd_image(file) if driver == "rbd" else ""
    is_path = driver in ("file", "host_device") and file.startswith("/")
    return {
        "backing": f"rbd {image}" if image else f"{driver} {without_account(file)}"[:500],
        "path": file if is_path else "",
        "image": image,
        "cache": mode,
    }


def _format(chain: Sequence[str], nodes: Mapping[str, Mapping[str, Any]], top: Mapping[str, Any]) -> str:
    """Return the format of a disk's data: the driver of its highest node that is not a filter."""
    drivers = [str(nodes.get(node, top).get("drv") or "") for node in chain]
    return next((driver for driver in drivers if driver not in _FILTERS), "")


def rbd_image(file: str) -> str:
    """Return pool and name of an RBD image, from the file name of its node. "": unknown.

    >>> rbd_image("rbd:vms/db1-disk0:id=admin:conf=/etc/ceph/ceph.conf")
    'vms/db1-disk0'
    >>> rbd_image('json:{"driver": "rbd", "pool": "vms", "image": "db1-disk0"}')
    'vms/db1-disk0'
    """
    if file.startswith("rbd:"):
        return file.removeprefix("rbd:").partition(":")[0].partition("@")[0]
    try:
        options = json_object(read_json(file.removeprefix("json:")))
    except ValueError:
        return ""
    parts = [str(options[key]) for key in ("pool", "namespace", "image") if options.get(key)]
    return "/".join(parts) if options.get("image") else ""


def _objects(first: Answers, kind: str) -> list[str]:
    objects = json_objects(first.get(str(_LIST_OBJECTS["id"])))
    return [str(item.get("name")) for item in objects if item.get("type") == f"child<{kind}>"]


def _device_path(device: Mapping[str, Any]) -> str:
    """Return the path of a disk's device in QEMU's object tree; "": it has none.

    >>> _device_path({"qdev": "/machine/peripheral/virtio0/virtio-backend"}), _device_path({"qdev": "scsi0"})
    ('/machine/peripheral/virtio0', '/machine/peripheral/scsi0')
    """
    qdev = str(device.get("qdev") or "")
    path = qdev if qdev.startswith("/") or not qdev else f"/machine/peripheral/{qdev}"
    return path.removesuffix("/virtio-backend")


def _controller_path(bus: object) -> str:
    """Return the controller of a bus that disks share; "" for the PCI bus of a disk that is its own controller.

    >>> _controller_path("/machine/peripheral/scsihw0/virtio-backend/scsihw0.0")
    '/machine/peripheral/scsihw0'
    """
    path = str(bus or "").rpartition("/")[0].removesuffix("/virtio-backend")
    return path if path.startswith("/machine/peripheral") else ""


def _property(answers: Answers, path: str, name: str) -> Any:
    return answers.get(f"qom-get {path} {name}")


def _type(answers: Answers, path: str) -> str:
    kind = str(_property(answers, path, "type") or "")
    return next((name for beginning, name in _CONTROLLERS.items() if kind.startswith(beginning)), kind)


def _key(entry: Mapping[str, Any]) -> str:
    """Return the name of a disk in statistics: its device's, else its backend's or its node's."""
    return str(entry.get("qdev") or entry.get("device") or entry.get("node-name") or "")


def _name(device: Mapping[str, Any], path: str) -> str:
    """Return the name of a disk for people: the id of its device, else of its backend or node."""
    name = path.rpartition("/")[2]
    if name and not name.startswith("device["):
        return name
    return str(device.get("device") or json_object(device.get("inserted")).get("node-name") or name)

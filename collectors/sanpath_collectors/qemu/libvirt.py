"""A virtual machine from libvirt: `virsh dumpxml` and `virsh domstats --block`. No I/O.

    Domain: 'web1'
      block.count=1
      block.0.name=vda
      block.0.rd.reqs=1
      block.0.rd.times=4271794

Times are nanoseconds (libvirt-domain.h, VIR_DOMAIN_STATS_BLOCK).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from defusedxml import ElementTree
from defusedxml.common import DefusedXmlException

from sanpath.plugin import CollectorError, Failure, without_none
from sanpath_collectors.qemu.model import MAIN_LOOP, Disk, Thread, VirtualMachine, limit_names, limits

_LIMITS = limit_names(
    (
        "total_iops_sec",
        "read_iops_sec",
        "write_iops_sec",
        "total_bytes_sec",
        "read_bytes_sec",
        "write_bytes_sec",
    ),
    "size_iops_sec",
    "_",
)
_STATISTICS = {
    "rd.reqs": "rd_operations",
    "rd.bytes": "rd_bytes",
    "rd.times": "rd_total_time_ns",
    "wr.reqs": "wr_operations",
    "wr.bytes": "wr_bytes",
    "wr.times": "wr_total_time_ns",
    "fl.reqs": "flush_operations",
    "fl.times": "flush_total_time_ns",
}
"""libvirt's name of a statistic → QEMU's."""
_CONTROLLER_TYPES = {"virtio": "virtio_blk", "sata": "ahci", "ide": "ide", "nvme": "nvme"}
_SCSI_MODELS = {
    "virtio-scsi": "virtio_scsi",
    "virtio-transitional": "virtio_scsi",
    "virtio-non-transitional": "virtio_scsi",
    "lsilogic": "lsi_logic",
    "lsisas1068": "lsi_logic_sas",
    "vmpvscsi": "pvscsi",
}


def statistics(output: str) -> dict[str, dict[str, Mapping[str, Any]]]:
    """Return machine → disk → statistics under QEMU's names, from `virsh domstats --block --raw --list-active`."""
    machines: dict[str, dict[str, Mapping[str, Any]]] = {}
    fields: dict[str, dict[str, str]] = {}
    name = ""
    for line in [*output.splitlines(), "Domain: ''"]:
        text = line.strip()
        if text.startswith("Domain: '") and text.endswith("'"):
            if name:
                machines[name] = dict(_group_by_disk(fields))
            name, fields = text[len("Domain: '") : -1], {}
        elif text.startswith("block."):
            number, _, entry = text.removeprefix("block.").partition(".")
            key, _, value = entry.partition("=")
            fields.setdefault(number, {})[key] = value
    return machines


def _group_by_disk(fields: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for values in fields.values():
        counters = {name: _integer(values.get(key)) for key, name in _STATISTICS.items()}
        if "name" in values:
            yield values["name"], without_none(counters)


def virtual_machine(xml: str) -> VirtualMachine:
    """Return the machine of `virsh dumpxml`. Raises CollectorError, UNREADABLE, if it is malformed."""
    try:
        root = ElementTree.fromstring(xml, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError, LookupError) as error:
        raise CollectorError(Failure.UNREADABLE, "virsh dumpxml: no XML", xml[:200]) from error
    name = root.findtext("name") or ""
    if root.tag != "domain" or not name:
        raise CollectorError(Failure.UNREADABLE, "virsh dumpxml: no domain", xml[:200])
    controllers = {
        item.get("index", ""): item for item in root.iterfind("devices/controller") if item.get("type") == "scsi"
    }
    disks = [
        _disk(item, controllers) for item in root.iterfind("devices/disk") if item.get("device", "disk") != "cdrom"
    ]
    threads = {f"iothread{number}": Thread(None) for number in _thread_numbers(root)}
    vcpus = root.findtext("vcpu") or ""
    return VirtualMachine(name, disks, threads, vcpus=int(vcpus) if _is_number(vcpus) else None)


def _thread_numbers(root: Element) -> list[str]:
    ids = [item.get("id", "") for item in root.iterfind("iothreadids/iothread")]
    count = root.findtext("iothreads") or ""
    return ids or [str(number + 1) for number in range(min(1000, int(count) if _is_number(count) else 0))]


def _disk(item: Element, controllers: Mapping[str, Element]) -> Disk:
    target, driver, source, tune = (_child(item, tag) for tag in ("target", "driver", "source", "iotune"))
    bus, address = target.get("bus", ""), _child(item, "address")
    controller = controllers.get(address.get("controller", "")) if bus == "scsi" else None
    model = controller.get("model", "") if controller is not None else ""
    controller_properties = _child(controller, "driver") if controller is not None else Element("driver")
    number = driver.get("iothread") or controller_properties.get("iothread")
    # QEMU 9.0 and libvirt 10.0 spread the queues of a disk over several iothreads.
    numbers = [thread.get("id", "") for thread in driver.iterfind("iothreads/iothread")] or (
        [number] if number else []
    )
    protocol = source.get("protocol", "")
    path = source.get("file") or source.get("dev") or ""
    remote = source.get("name", "")
    values = {child.tag: _integer(child.text) for child in tune}
    name = target.get("dev", "")
    return Disk(
        name=name,
        key=name,
        controller_type=_SCSI_MODELS.get(model, model) if bus == "scsi" else _CONTROLLER_TYPES.get(bus, bus),
        controller=f"scsi{controller.get('index')}" if controller is not None else "",
        serial=item.findtext("serial") or "",
        naa=(item.findtext("wwn") or "").removeprefix("0x").lower(),
        format=driver.get("type", ""),
        backing=f"{protocol or item.get('type', '')} {path or remote}".strip(),
        path=path,
        image=remote if protocol == "rbd" else "",
        cache=driver.get("cache", ""),
        aio=driver.get("io", ""),
        threads=tuple(f"iothread{number}" for number in numbers) or (MAIN_LOOP,),
        queues=_integer(driver.get("queues") or controller_properties.get("queues")),
        queue_size=_integer(driver.get("queue_size") or controller_properties.get("virtqueue_size")),
        limits=limits(values, _LIMITS),
        group=tune.findtext("group_name") or "",
    )


def _child(item: Element, tag: str) -> Element:
    child = item.find(tag)
    return child if child is not None else Element(tag)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 19


def _integer(text: str | None) -> int | None:
    return int(text) if text and _is_number(text) else None

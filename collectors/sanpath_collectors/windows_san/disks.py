"""The disks of an export, by their numbers in Windows, and their MPIO paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sanpath.model import Scalar
from sanpath.plugin import SourceEntity, SourceLink, without_none
from sanpath_collectors.windows_san import values
from sanpath_collectors.windows_san.mpclaim import MpioDisk, MpioPath
from sanpath_collectors.windows_san.parse import Export, Record
from sanpath_collectors.windows_san.ports import wwpn_by_scsi_port
from sanpath_collectors.windows_san.values import parse_identifier, parse_integer, parse_text

_BLOCK_BYTES = 4096
"""The recommended alignment of a partition."""


def disk_items(export: Export, host: str) -> Iterator[SourceEntity | SourceLink]:
    """Yield every disk with its paths. If the number of an MPIO disk in Windows is unknown, its MPIO name is used."""
    disks_by_number = {number: disk for disk in export.disks if (number := _disk_number(disk)) is not None}
    by_identifier = {
        (parse_text(disk.get("UniqueId")) or "?").lower(): number for number, disk in disks_by_number.items()
    }
    mpio_by_number: dict[int, MpioDisk] = {}
    unnumbered = []
    for mpio in export.mpio_disks:
        number = mpio.system_disk
        if number is None:
            number = by_identifier.get((mpio.serial or "").lower())
        if number is None:
            unnumbered.append(mpio)
        else:
            mpio_by_number[number] = mpio
    scsi_ports = wwpn_by_scsi_port(export)
    volumes: dict[int, list[Record]] = {}
    for volume in export.volumes:
        if (number := parse_integer(volume.get("DiskNumber"))) is not None:
            volumes.setdefault(number, []).append(volume)
    for number in sorted({*disks_by_number, *mpio_by_number}):
        yield from _disk_items(
            host,
            f"PhysicalDisk{number}",
            {**disks_by_number.get(number, {}), **_volume_format(volumes.get(number, ()))},
            mpio_by_number.get(number),
            scsi_ports,
        )
    for mpio in unnumbered:
        yield from _disk_items(host, f"MPIO Disk{mpio.number}", {}, mpio, scsi_ports)


def _disk_items(
    host: str, device: str, disk: Record, mpio: MpioDisk | None, scsi_ports: dict[int, str]
) -> Iterator[SourceEntity | SourceLink]:
    entity = f"{host}/{device}"
    ids = parse_identifier(parse_text(disk.get("UniqueId")), parse_text(disk.get("UniqueIdFormat")))
    if mpio is not None and not ids:
        ids = parse_identifier(mpio.serial)
    attributes: dict[str, Scalar] = {
        "model": parse_text(disk.get("FriendlyName")),
        "vendor": parse_text(disk.get("Manufacturer")),
        "serial": parse_text(disk.get("SerialNumber")),
        "bus": values.find_code_name(disk.get("BusType"), values.BUSES),
        "size_bytes": parse_integer(disk.get("Size")),
        "file_system": parse_text(disk.get("FileSystem")),
        "allocation_unit_bytes": parse_integer(disk.get("AllocationUnitSize")),
        "partition_offset_bytes": parse_integer(disk.get("Offset")),
    }
    if mpio is not None:
        attributes |= {
            "path_policy": mpio.common_policy,
            "path_policy_native": mpio.policy or mpio.code,
            "paths": len(mpio.paths) or None,
            "paths_active": _count_usable_paths(mpio),
            "path_access": "active/active" if mpio.is_symmetric else None,
            "access": mpio.access,
            "dsm": mpio.dsm,
        }
    yield SourceEntity("lun", entity, entity, {"device": (device,), **ids}, without_none(attributes))
    yield SourceLink("attached_to", ("lun", entity), ("host", host), "Get-Disk" if disk else "mpclaim")
    if mpio is None:
        return
    for path in mpio.paths:
        yield from _path_items(host, entity, mpio, path, scsi_ports)


def _count_usable_paths(mpio: MpioDisk) -> int | None:
    """Return the number of paths that can carry I/O. None: this is unknown for a path."""
    usable = [mpio.is_usable(path) for path in mpio.paths]
    return None if None in usable or not usable else sum(map(bool, usable))


def _volume_format(volumes: Sequence[Record]) -> Record:
    """Return the format that all volumes of a disk have, and the least aligned offset."""
    offsets = [offset for volume in volumes if (offset := parse_integer(volume.get("Offset"))) is not None]
    common = {
        key: volumes[0].get(key)
        for key in ("FileSystem", "AllocationUnitSize")
        if volumes and all(volume.get(key) == volumes[0].get(key) for volume in volumes)
    }
    return common | ({"Offset": max(offsets, key=lambda offset: (offset % _BLOCK_BYTES, offset))} if offsets else {})


def _path_items(
    host: str, lun: str, mpio: MpioDisk, path: MpioPath, scsi_ports: dict[int, str]
) -> Iterator[SourceEntity | SourceLink]:
    label = f"{lun}/{path.id}"
    wwpn = scsi_ports.get(path.address[0])
    attributes: dict[str, Scalar] = {
        "state": mpio.state_of(path),
        "usable": mpio.is_usable(path),
        "lun": lun,
        "hba": wwpn,
        "adapter": path.adapter,
        "controller": path.controller,
        "target_group": path.target_group,
        "relative_port": path.relative_port,
        "scsi_address": "|".join(f"{number:03}" for number in path.address),
    }
    yield SourceEntity("path", label, label, {}, without_none(attributes))
    yield SourceLink("member_of", ("path", label), ("lun", lun), "mpclaim")
    if wwpn is not None:
        yield SourceLink("attached_to", ("path", label), ("hba", f"{host}/{wwpn}"), f"SCSI port {path.address[0]}")


def _disk_number(disk: Record) -> int | None:
    number = parse_integer(disk.get("Number"))
    return parse_integer(disk.get("DeviceId")) if number is None else number

"""What the host consists of: block devices with their identifiers and settings, maps over them, initiator ports."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Collection, Iterable

from sanpath.plugin import Files, Thing, Tie
from sanpath_collectors.linux_block import parse

_MULTIPATH = "mpath-"  # how device-mapper identifiers of multipath maps begin
_HIDDEN_PATH = re.compile(r"(nvme\d+)c\d+(n\d+)")  # a path below a native NVMe multipath device


class Inventory:
    """Reads below /sys. `host` is what the host is called, `devices` which block devices are read."""

    def __init__(self, files: Files, host: str, devices: Collection[str]) -> None:
        self._files, self._host, self._devices = files, host, dict.fromkeys(devices)

    async def items(self) -> AsyncIterator[Thing | Tie]:
        """Ports, the host with the names that arrays know it by, devices, and what lies on what."""
        ports = [port async for port in self._ports()]
        wwpns = [wwpn for port in ports for wwpn in port.ids.get("wwpn", ())]
        ids = {
            "name": [self._host],
            "wwpn": wwpns,
            "iqn": [parse.setting(await self._text("/etc/iscsi/initiatorname.iscsi"), "InitiatorName")],
            "nqn": [await self._text("/etc/nvme/hostnqn")],
        }
        yield Thing("host", self._host, self._host, {key: found for key in ids if (found := _said(ids[key]))})
        for port in ports:
            yield port
            yield Tie("attached_to", ("hba", port.local_id), ("host", self._host), "/sys/class/fc_host")
        for device in self._devices:
            yield await self._device(device)
            yield Tie("attached_to", ("lun", device), ("host", self._host), "/proc/diskstats")
            for lower in await self._below(device):
                yield Tie("member_of", ("lun", lower), ("lun", device), "slaves")
            upper = "".join(match.groups()) if (match := _HIDDEN_PATH.fullmatch(device)) else ""
            if upper in self._devices:
                yield Tie("member_of", ("lun", device), ("lun", upper), f"name {device}")

    async def wwid(self, device: str) -> str:
        """The device's own identifier, "" where it has none."""
        for place in ("dm/uuid", "device/wwid", "wwid"):
            if found := await self._text(f"/sys/block/{device}/{place}"):
                return found
        return ""

    async def _ports(self) -> AsyncIterator[Thing]:
        for name in await self._files.list("/sys/class/fc_host"):
            place = f"/sys/class/fc_host/{name}"
            supported = parse.speeds(await self._text(f"{place}/supported_speeds"))
            speed = parse.speeds(await self._text(f"{place}/speed"))
            wwpn = (await self._text(f"{place}/port_name")).removeprefix("0x")
            yield Thing(
                "hba",
                name,
                label=f"{self._host}/{name}",
                ids={"wwpn": (wwpn,)} if wwpn else {},
                attributes={
                    "technology": "fibre_channel",
                    "capable_bits_per_second": max(supported, default=None),
                    "speed_bits_per_second": speed[0] if len(speed) == 1 else None,
                    "port_state": await self._text(f"{place}/port_state") or None,
                },
            )

    async def _device(self, device: str) -> Thing:
        place = f"/sys/block/{device}"
        sectors = parse.number(await self._text(f"{place}/size"))
        rotational = parse.number(await self._text(f"{place}/queue/rotational"))
        map_name, wwid = await self._text(f"{place}/dm/name"), await self.wwid(device)
        # A path has the identifier of the LUN that it leads to: as a join key it would make the two one.
        ids = {} if await self._is_path(device) else parse.identifiers(wwid)
        return Thing(
            "lun",
            device,
            label=f"{self._host}/{device}",
            ids={"device": _said([device, map_name]), **ids},
            attributes={
                "kind": await self._kind(device),
                "map": map_name or None,
                "wwid": wwid or None,
                "serial": await self._text(f"{place}/serial") or None,
                "vendor": await self._text(f"{place}/device/vendor") or None,
                "model": await self._text(f"{place}/device/model") or None,
                "size_bytes": None if sectors is None else sectors * 512,
                "rotational": None if rotational is None else rotational == 1,
                "scheduler": parse.scheduler(await self._text(f"{place}/queue/scheduler")) or None,
                "queue_depth": parse.number(await self._text(f"{place}/device/queue_depth")),
                "nr_requests": parse.number(await self._text(f"{place}/queue/nr_requests")),
                "max_sectors_kb": parse.number(await self._text(f"{place}/queue/max_sectors_kb")),
            },
        )

    async def _kind(self, device: str) -> str:
        if device.startswith("dm-"):
            return "multipath map" if await self._is_map(device) else "other dm"
        return "nvme" if device.startswith("nvme") else "disk"

    async def _is_map(self, device: str) -> bool:
        return (await self._text(f"/sys/block/{device}/dm/uuid")).startswith(_MULTIPATH)

    async def _is_path(self, device: str) -> bool:
        holders = await self._files.list(f"/sys/block/{device}/holders")
        return bool(_HIDDEN_PATH.fullmatch(device)) or any([await self._is_map(holder) for holder in holders])

    async def _below(self, device: str) -> list[str]:
        """Devices that a map lies on, the disk in place of its partition."""
        slaves = await self._files.list(f"/sys/block/{device}/slaves")
        disks = dict.fromkeys(parse.disk_of(slave, self._devices) for slave in slaves)
        return [disk for disk in disks if disk in self._devices]

    async def _text(self, path: str) -> str:
        content = await self._files.read(path)
        return (content or b"").decode("utf-8", "replace").strip(" \0\r\n")


def _said(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if value))

"""The entities of a cloud instance and its volumes, with their limits. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from sanpath.plugin import Cloud, CloudLimit, SourceEntity, SourceLink, clouds, common_value
from sanpath_collectors.cloud_volume.config import CloudVolumeConfig, VolumeConfig
from sanpath_collectors.linux_host.snapshot import HOSTNAME, Snapshot

_DMI, _BLOCK = "/sys/class/dmi/id", "/sys/block"
FILES = (
    HOSTNAME,
    f"{_DMI}/sys_vendor",
    f"{_DMI}/product_name",
    f"{_BLOCK}/nvme*/device/model",
    f"{_BLOCK}/nvme*/device/serial",
    f"{_BLOCK}/*/size",
)
_AMAZON, _AZURE = "amazon", "azure"
_NAMESPACE = re.compile(r"nvme\d+n\d+")
_SECTOR_BYTES, _GIB = 512, 1 << 30

Kind = Literal["ebs", "instance_store", "configured"]

_MODELS: Mapping[str, Kind] = {
    "Amazon Elastic Block Store": "ebs",
    "Amazon EC2 NVMe Instance Storage": "instance_store",
}
"""Model reported by an NVMe device → kind of volume."""


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume of the instance. `kind`: ebs and instance_store have a log page."""

    device: str
    local_id: str
    label: str
    kind: Kind
    about: VolumeConfig
    size_gib: float | None


@dataclass(slots=True)
class Inventory:
    """The instance and its volumes. `cloud` None: the machine's maker is not a known provider."""

    machine: Snapshot
    config: CloudVolumeConfig
    cloud: Cloud | None = field(init=False)
    host: str = field(init=False)
    instance_type: str | None = field(init=False)
    volumes: list[Volume] = field(init=False)

    def __post_init__(self) -> None:
        vendor = self.machine.text(f"{_DMI}/sys_vendor")
        self.cloud = next((cloud for cloud in clouds() if cloud.vendor == vendor), None)
        self.host = self.config.host or self.machine.text(HOSTNAME) or self.config.name
        is_amazon = self.cloud is not None and self.cloud.key == _AMAZON
        product = self.machine.text(f"{_DMI}/product_name") if is_amazon else ""
        self.instance_type = self.config.instance_type or product or None
        self.volumes = [v for name in self.machine.children(_BLOCK) if (v := self._volume(name)) is not None]

    def limits(self) -> CloudLimit:
        """Limits of the instance, if they apply to all its volumes. They do not with instance store, nor for an Azure
        size that has volumes both with and without cache, because each kind has its own limit."""
        cached = common_value(volume.about.caching != "none" for volume in self.volumes)
        has_store = any(volume.kind == "instance_store" for volume in self.volumes)
        if self.cloud is None or self.instance_type is None or cached is None or has_store:
            return CloudLimit()
        return self.cloud.instance(self.instance_type, cached=cached) or CloudLimit()

    def volume_limit(self, volume: Volume) -> CloudLimit:
        """Limits of a volume: configured numbers, else those of its type."""
        about, limit = volume.about, None
        if self.cloud is not None and about.type:
            limit = self.cloud.volume(about.type, volume.size_gib)
        limit = limit or CloudLimit()
        return CloudLimit(
            about.ops_per_second or limit.ops_per_second, about.bytes_per_second or limit.bytes_per_second
        )

    def items(self) -> Iterator[SourceEntity | SourceLink]:
        """Yield the instance, its volumes with their devices, and the links between them."""
        attributes = {"instance_type": self.instance_type, **_qos(self.limits())}
        yield SourceEntity("host", self.host, self.host, {"name": (self.host,)}, attributes)
        arrays = {volume.local_id: self._array(volume) for volume in self.volumes}
        for array in dict.fromkeys(arrays.values()):
            yield SourceEntity("array", array, array, {"name": (array,)})
        for volume in self.volumes:
            lun, evidence = ("lun", volume.device), f"{_BLOCK}/{volume.device}"
            yield self._entity(volume)
            yield SourceLink("member_of", ("volume", volume.local_id), ("array", arrays[volume.local_id]), evidence)
            yield SourceEntity("lun", volume.device, f"{self.host}/{volume.device}", {"device": (volume.device,)})
            yield SourceLink("attached_to", lun, ("host", self.host), evidence)
            yield SourceLink("backed_by", lun, ("volume", volume.local_id), evidence)

    def _volume(self, device: str) -> Volume | None:
        folder = f"{_BLOCK}/{device}/device"
        kind = _MODELS.get(self.machine.text(f"{folder}/model"))
        about = self.config.volumes.get(device)
        sectors = self.machine.number(f"{_BLOCK}/{device}/size")
        size = about.size_gib if about is not None and about.size_gib else sectors and sectors * _SECTOR_BYTES / _GIB
        if kind is not None and _NAMESPACE.fullmatch(device):
            serial = self.machine.text(f"{folder}/serial")
            name = re.sub(r"^vol-?", "vol-", serial) or f"{self.host}/{device}"
            label = about.name if about is not None and about.name else name
            return Volume(device, name, label, kind, about or VolumeConfig(), size)
        if about is None:
            return None
        name = about.name or f"{self.host}/{device}"
        return Volume(device, name, name, "configured", about, size)

    def _array(self, volume: Volume) -> str:
        if volume.kind == "instance_store":
            return f"{self.host} instance store"
        return self.cloud.name if self.cloud is not None else self.config.name

    def _entity(self, volume: Volume) -> SourceEntity:
        about = volume.about
        is_azure = self.cloud is not None and self.cloud.key == _AZURE
        attributes = {
            "cloud": self.cloud.key if self.cloud is not None else None,
            "volume_type": about.type,
            "size_bytes": None if volume.size_gib is None else round(volume.size_gib * _GIB),
            "caching": about.caching if is_azure else None,
            **_qos(self.volume_limit(volume)),
        }
        return SourceEntity("volume", volume.local_id, volume.label, {}, attributes)


def _qos(limit: CloudLimit) -> dict[str, float | None]:
    return {"qos_ops_per_second": limit.ops_per_second, "qos_bytes_per_second": limit.bytes_per_second}

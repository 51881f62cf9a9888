"""The storage behind a volume: the identifiers of its LUN, its name at the array, or the ports that present it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sanpath.plugin import json_texts
from sanpath_collectors.kubernetes.objects import child, strings, text

_NAA = re.compile(r"(?:naa\.|0x|wwn-0x|scsi-3|3)?([0-9a-f]{32}|[0-9a-f]{16})")
_EUI = re.compile(r"(?:nvme-)?(?:eui|nguid)\.([0-9a-f]{16}|[0-9a-f]{32})")
_WWPN = re.compile(r"[0-9a-f]{16}")
_ONTAP_NAA = "600a0980"
"""NAA 6 and NetApp's IEEE company id; the LUN's serial number follows, 12 characters in ASCII."""
_RBD = "rbd.csi.ceph.com"
_IBM = "block.csi.ibm.com"
_PORTAL_KEYS = re.compile(r"portals?|targetPortal|PORTAL[0-9]+|NVMETCPPORTAL[0-9]+|p[0-9]+|nvmeTargetIPs")
"""Keys of portals: iscsi.csi.k8s.io and democratic-csi, Dell (PORTAL0), NetApp Trident (p1, nvmeTargetIPs)."""
_PATHS = ("/subscriptions/", "projects/")
"""Prefixes of handles that are paths: Azure disks and Google disks. The name is at the end."""
_FILE_SYSTEMS = ("nfs", "cephfs", "glusterfs", "azureFile")
_FILE_DRIVERS = re.compile(r"(^|[.-])(nfs|cephfs|efs|smb|file|filestore|isilon|azurefile)([.-]|$)")


@dataclass(frozen=True, slots=True)
class Backing:
    """The storage behind a volume.

    `driver`: the CSI driver, or the kind of an in-tree volume. `name`: of the volume at its array, or pool and image.
    `naa`, `eui`: identifiers of its LUN. `device`: kernel name of a device of the node. `addresses`, `wwpns`: of the
    target ports that present it. `is_file`: a share of a file server. "" and (): unknown.
    """

    driver: str
    name: str = ""
    naa: str = ""
    eui: str = ""
    device: str = ""
    addresses: tuple[str, ...] = ()
    wwpns: tuple[str, ...] = ()
    is_file: bool = False

    @property
    def is_lun(self) -> bool:
        """Whether the node's block device is known by an identifier or by name."""
        return bool(self.naa or self.eui or self.device)


def backing(volume: Mapping[str, Any], attached: Mapping[str, str]) -> Backing | None:
    """Return the storage behind a volume. None: nothing outside the node, for example an emptyDir.

    `attached`: the publish context of its attachment, {}: none.
    """
    kind = next((kind for kind in _KINDS if kind in volume), None)
    if kind is not None:
        return _KINDS[kind](child(volume, kind))
    if "csi" in volume:
        return _csi(child(volume, "csi"), attached)
    kind = next((kind for kind in _FILE_SYSTEMS if kind in volume), None)
    return Backing(kind, is_file=True) if kind is not None else None


def naa(value: str) -> str:
    """Return the NAA identifier in a WWID, a serial number or a name below /dev/disk/by-id; "": there is none.

    >>> naa("3624a93706C1B16CE1C034D1C00013918"), naa("68ccf098003ceb5e4577a20be6d11bf9"), naa("vol-1")
    ('naa.624a93706c1b16ce1c034d1c00013918', 'naa.68ccf098003ceb5e4577a20be6d11bf9', '')
    """
    match = _NAA.fullmatch(value.strip().lower())
    return f"naa.{match[1]}" if match else ""


def eui(value: str) -> str:
    """Return the identifier of an NVMe namespace (EUI-64 or NGUID); "": there is none.

    >>> eui("nguid.006c1b16ce1c034d24a9371c00013918"), eui("nvme-eui.0025385b01426e3f")
    ('eui.006c1b16ce1c034d24a9371c00013918', 'eui.0025385b01426e3f')
    """
    match = _EUI.fullmatch(value.strip().lower())
    return f"eui.{match[1]}" if match else ""


def ontap_naa(serial: str) -> str:
    """Return the NAA identifier of an ONTAP LUN by its serial number of 12 characters; "": not such a serial number.

    >>> ontap_naa("yocwB?Wl7x2l")
    'naa.600a0980796f6377423f576c3778326c'
    """
    return f"naa.{_ONTAP_NAA}{serial.encode().hex()}" if len(serial) == 12 and serial.isascii() else ""


def _csi(csi: Mapping[str, Any], attached: Mapping[str, str]) -> Backing:
    driver, handle = text(csi.get("driver")), text(csi.get("volumeHandle"))
    attributes = strings(csi.get("volumeAttributes"))
    if _is_file(driver, attributes, attached):
        return Backing(driver, handle, is_file=True)
    if driver.endswith(_RBD):
        return Backing(driver, _image(attributes, handle))
    identifier = handle.partition(";")[2] if driver == _IBM else attached.get("DEVICE_WWN", "")
    portals = [value for key, value in {**attributes, **attached}.items() if _PORTAL_KEYS.fullmatch(key)]
    ports = [value for key, value in attached.items() if key.startswith(("FCWWPN", "fcTargetWWPN"))]
    return Backing(
        driver,
        attributes.get("internalName") or (handle.rpartition("/")[2] if handle.startswith(_PATHS) else handle),
        naa(identifier) or ontap_naa(attached.get("iscsiLunSerial", "")),
        eui(identifier),
        addresses=_addresses(portals),
        wwpns=_wwpns(ports),
    )


def _is_file(driver: str, attributes: Mapping[str, str], attached: Mapping[str, str]) -> bool:
    return "file" in (attributes.get("protocol"), attached.get("protocol")) or bool(_FILE_DRIVERS.search(driver))


def _image(attributes: Mapping[str, str], handle: str) -> str:
    """Return pool, namespace and name of an RBD image. The handle of a static volume is the image's name."""
    image = attributes.get("imageName") or (handle if attributes.get("staticVolume") == "true" else "")
    names = [attributes.get("pool", ""), attributes.get("radosNamespace", ""), image]
    return "/".join(filter(None, names)) if image else ""


Reader = Callable[[Mapping[str, Any]], Backing]
"""Reads an in-tree volume."""


def _iscsi(volume: Mapping[str, Any]) -> Backing:
    portals = [text(volume.get("targetPortal")), *json_texts(volume.get("portals"))]
    return Backing("iscsi", f"{text(volume.get('iqn'))} LUN {volume.get('lun') or 0}", addresses=_addresses(portals))


def _fc(volume: Mapping[str, Any]) -> Backing:
    identifiers = [naa(wwid) for wwid in json_texts(volume.get("wwids"))]
    ports = _wwpns(json_texts(volume.get("targetWWNs")))
    return Backing("fc", naa=next(filter(None, identifiers), ""), wwpns=ports)


def _rbd(volume: Mapping[str, Any]) -> Backing:
    return Backing("rbd", f"{text(volume.get('pool')) or 'rbd'}/{text(volume.get('image'))}")


def _local(volume: Mapping[str, Any]) -> Backing:
    """Return a path on the node: a device below /dev, by its identifier or by name; or a folder."""
    path = text(volume.get("path"))
    name = path.rpartition("/")[2]
    if path.startswith("/dev/disk/by-id/"):
        return Backing("local", path, naa(name), eui(name))
    return Backing("local", path, device=name if path == f"/dev/{name}" else "")


def _name_reader(kind: str, field: str) -> Reader:
    """Return the reader of an in-tree cloud volume: its name is the last component of its identifier."""

    def read(volume: Mapping[str, Any]) -> Backing:
        return Backing(kind, text(volume.get(field)).rpartition("/")[2])

    return read


_KINDS: Mapping[str, Reader] = {
    "iscsi": _iscsi,
    "fc": _fc,
    "rbd": _rbd,
    "local": _local,
    "hostPath": _local,
    "awsElasticBlockStore": _name_reader("awsElasticBlockStore", "volumeID"),
    "azureDisk": _name_reader("azureDisk", "diskName"),
    "gcePersistentDisk": _name_reader("gcePersistentDisk", "pdName"),
}


def _addresses(portals: Iterable[str]) -> tuple[str, ...]:
    """Return the IP addresses of portals, without ports, each once. A value may contain several.

    >>> _addresses(["10.20.0.11:3260", '["10.20.0.12:3260"]', "10.0.0.1,10.0.0.2", "[fd00::1]:3260", "fd00::2"])
    ('10.20.0.11', '10.20.0.12', '10.0.0.1', '10.0.0.2', 'fd00::1', 'fd00::2')
    """
    found = []
    for word in re.split(r"[\s,\"]+", ",".join(portals)):
        bracketed = re.search(r"\[([0-9a-f:]+)\](:[0-9]+)?$", word)
        plain = word.strip("[]")
        is_v4 = plain.count(":") < 2
        found.append(bracketed[1] if bracketed else plain.partition(":")[0] if is_v4 else plain)
    return tuple(dict.fromkeys(address for address in found if address))


def _wwpns(values: Iterable[str]) -> tuple[str, ...]:
    """Return the names of Fibre Channel ports in 16 hex digits.

    >>> _wwpns(["50:06:0E:80:12:34:56:00", "0x500A0982991B8DC5", "none"])
    ('50060e8012345600', '500a0982991b8dc5')
    """
    names = [value.lower().removeprefix("0x").replace(":", "").replace("-", "") for value in values]
    return tuple(dict.fromkeys(name for name in names if _WWPN.fullmatch(name)))

"""Parses files of configfs, and outputs of processes and commands. No I/O.

Files of a LIO backstore (/sys/kernel/config/target/core/iblock_0/vol1, Linux 6.1):

    udev_path             /dev/vg0/vol1, as targetcli sets it; "" where it was not set
    wwn/vpd_unit_serial   T10 VPD Unit Serial Number: 0e5f6a1e-77c4-4b8a-9d61-0a3f6f3f2a11
    wwn/company_id        0x001405
"""

from __future__ import annotations

import ipaddress
import re

_COMPANY_ID = "001405"  # LIO's default, which kernels before 5.9 cannot change


def unit_serial(content: str) -> str:
    """The serial of a LIO backstore; "": it has none.

    >>> unit_serial("T10 VPD Unit Serial Number: 0e5f6a1e-77c4-4b8a-9d61-0a3f6f3f2a11")
    '0e5f6a1e-77c4-4b8a-9d61-0a3f6f3f2a11'
    """
    return content.rpartition(":")[2].strip()


def backing_path(info: str) -> str:
    """The backing device or file of a LIO backstore without `udev_path`, from its `info`; "": `info` has none.

    Source: drivers/target/target_core_iblock.c and target_core_file.c.

    >>> backing_path("Status: ACTIVATED  Max Queue Depth: 0  SectorSize: 512  HwMaxSectors: 384\\n"
    ...        "        iBlock device: nullb0  readonly: 0\\n        Major: 253 Minor: 0  CLAIMED: IBLOCK")
    '/dev/nullb0'
    >>> backing_path("        TCM FILEIO ID: 0        File: /srv/image.raw  Size: 1073741824  Mode: O_DSYNC Async: 0")
    '/srv/image.raw'
    """
    device = re.search(r"\biBlock device: (\S+)", info)
    file = re.search(r"\bFile: (\S+)", info)
    return f"/dev/{device[1]}" if device else file[1] if file else ""


def lio_naa(serial: str, company_id: str) -> str:
    """The NAA identifier that hosts see for a LIO backstore; "": it has no serial.

    It is NAA 6, the company id, and the first 25 hex digits of the serial (drivers/target/target_core_spc.c).

    >>> lio_naa("0e5f6a1e-77c4-4b8a-9d61-0a3f6f3f2a11", "0x001405")
    'naa.60014050e5f6a1e77c44b8a9d610a3f6'
    """
    digits = re.sub(r"[^0-9a-f]", "", serial.lower())
    company = re.sub(r"^0x", "", company_id.lower()) or _COMPANY_ID
    return f"naa.6{company:0>6}{digits:0<25.25}" if digits else ""


def portal(name: str) -> tuple[str, int] | None:
    """Address and port of a portal; None: not a portal.

    >>> portal("192.0.2.9:3260"), portal("[2001:db8::9]:3260"), portal("+iser")
    (('192.0.2.9', 3260), ('2001:db8::9', 3260), None)
    """
    match = re.fullmatch(r"\[?([0-9A-Fa-f.:]+?)\]?:(\d{1,5})", name)
    return (match[1], int(match[2])) if match else None


def nguid(content: str) -> str:
    """The EUI identifier that hosts see for a namespace; "": it has none (all zeros).

    >>> nguid("ef90689c-6c46-d44c-89c1-4067801309a8"), nguid("00000000-0000-0000-0000-000000000000")
    ('eui.ef90689c6c46d44c89c14067801309a8', '')
    """
    digits = content.lower().replace("-", "")
    return f"eui.{digits}" if re.fullmatch(r"[0-9a-f]{32}", digits) and set(digits) != {"0"} else ""


def listening(content: bytes) -> set[tuple[str, int]]:
    """Address and port of the listening sockets in /proc/net/tcp or tcp6 of a little-endian machine.

    >>> listening(b"  sl  local_address rem_address   st\\n   0: 0100007F:2A39 00000000:0000 0A 00000000:0 00:0\\n")
    {('127.0.0.1', 10809)}
    """
    sockets = set()
    for line in content.decode("ascii", "replace").splitlines()[1:]:
        words = line.split()
        if (
            len(words) > 3
            and words[3] == "0A"
            and (match := re.fullmatch(r"([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4})", words[1]))
        ):
            octets = bytes.fromhex(match[1])
            big_endian = b"".join(octets[start : start + 4][::-1] for start in range(0, len(octets), 4))
            sockets.add((str(ipaddress.ip_address(big_endian)), int(match[2], 16)))
    return sockets


def zvol(path: str) -> str:
    """Pool and name of a ZFS volume from its path; "" for other paths.

    >>> zvol("/dev/zvol/tank/vm/disk1")
    'tank/vm/disk1'
    """
    return path.removeprefix("/dev/zvol/") if path.startswith("/dev/zvol/") else ""

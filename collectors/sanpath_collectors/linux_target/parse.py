"""Files of configfs, and what processes and commands say → values. No I/O.

LIO tells of a backstore (/sys/kernel/config/target/core/iblock_0/vol1, Linux 6.1):

    udev_path             /dev/vg0/vol1, as targetcli sets it; "" where it was not set
    wwn/vpd_unit_serial   T10 VPD Unit Serial Number: 0e5f6a1e-77c4-4b8a-9d61-0a3f6f3f2a11
    wwn/company_id        0x001405
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

_COMPANY_ID = "001405"  # of LIO itself, where the kernel does not let it be changed (Linux before 5.9)
_NBD_PORT = 10809  # IANA

_SHORT_WITH_VALUE = re.compile("[DegiPptUu]")
_LONG_WITH_VALUE = re.compile(
    "debug|export(name)?|filter|group|ip-?addr|log|mask-handshake|pid-?file|port|run|selinux-label|threads"
    "|tls(-certificates|-psk)?|unix|user"
)
"""Options of nbdkit(1) that are followed by their value."""


def unit_serial(content: str) -> str:
    """The serial of a LIO backstore, "" where it has none.

    >>> unit_serial("T10 VPD Unit Serial Number: 0e5f6a1e-77c4-4b8a-9d61-0a3f6f3f2a11")
    '0e5f6a1e-77c4-4b8a-9d61-0a3f6f3f2a11'
    """
    return content.rpartition(":")[2].strip()


def behind(info: str) -> str:
    """The device or file behind a LIO backstore that was made without its `udev_path`, by its `info`; "" where that
    names none (drivers/target/target_core_iblock.c and target_core_file.c).

    >>> behind("Status: ACTIVATED  Max Queue Depth: 0  SectorSize: 512  HwMaxSectors: 384\\n"
    ...        "        iBlock device: nullb0  readonly: 0\\n        Major: 253 Minor: 0  CLAIMED: IBLOCK")
    '/dev/nullb0'
    >>> behind("        TCM FILEIO ID: 0        File: /srv/image.raw  Size: 1073741824  Mode: O_DSYNC Async: 0")
    '/srv/image.raw'
    """
    device = re.search(r"\biBlock device: (\S+)", info)
    file = re.search(r"\bFile: (\S+)", info)
    return f"/dev/{device[1]}" if device else file[1] if file else ""


def lio_naa(serial: str, company_id: str) -> str:
    """The identifier that hosts see of a LIO backstore: NAA 6, company, and the first 25 hex digits of the serial
    (drivers/target/target_core_spc.c). "" without a serial.

    >>> lio_naa("0e5f6a1e-77c4-4b8a-9d61-0a3f6f3f2a11", "0x001405")
    'naa.60014050e5f6a1e77c44b8a9d610a3f6'
    """
    digits = re.sub(r"[^0-9a-f]", "", serial.lower())
    company = re.sub(r"^0x", "", company_id.lower()) or _COMPANY_ID
    return f"naa.6{company:0>6}{digits:0<25.25}" if digits else ""


def wwpn(target: str) -> str:
    """The port name that a Fibre Channel target is called by, "" for other names.

    >>> wwpn("21:00:00:24:ff:00:00:01"), wwpn("naa.6001405aabbccddee"), wwpn("iqn.2003-01.org.linux-iscsi.stor1")
    ('21000024ff000001', '', '')
    """
    digits = target.lower().removeprefix("0x").replace(":", "")
    return digits if re.fullmatch(r"[0-9a-f]{16}", digits) else ""


def portal(name: str) -> tuple[str, int] | None:
    """Address and port of a portal; None for what is none.

    >>> portal("192.0.2.9:3260"), portal("[2001:db8::9]:3260"), portal("+iser")
    (('192.0.2.9', 3260), ('2001:db8::9', 3260), None)
    """
    match = re.fullmatch(r"\[?([0-9A-Fa-f.:]+?)\]?:(\d{1,5})", name)
    return (match[1], int(match[2])) if match else None


def nguid(content: str) -> str:
    """The eui identifier that hosts see of a namespace, "" where it has none (all zeros).

    >>> nguid("ef90689c-6c46-d44c-89c1-4067801309a8"), nguid("00000000-0000-0000-0000-000000000000")
    ('eui.ef90689c6c46d44c89c14067801309a8', '')
    """
    digits = content.lower().replace("-", "")
    return f"eui.{digits}" if re.fullmatch(r"[0-9a-f]{32}", digits) and set(digits) != {"0"} else ""


@dataclass(frozen=True, slots=True)
class Nbdkit:
    """A server process. `address` "": every address; `port` None: a socket of this machine. `path`: what its plugin
    `file` serves, "" for other plugins."""

    plugin: str
    address: str
    port: int | None
    path: str
    export: str


def nbdkit(command: bytes) -> Nbdkit | None:
    """A command line of /proc; None when it is not nbdkit serving something.

    >>> nbdkit(b"nbdkit -f -i 127.0.0.1 --port=10810 --filter=log file /dev/sdb cache=none".replace(b" ", b"\\x00"))
    Nbdkit(plugin='file', address='127.0.0.1', port=10810, path='/dev/sdb', export='')
    """
    words = command.decode("utf-8", "replace").rstrip("\0").split("\0")
    if words[0].rpartition("/")[2] != "nbdkit":
        return None
    options: dict[str, str] = {}
    rest = words[1:]
    while rest and rest[0].startswith("-"):
        option, equals, value = rest.pop(0).partition("=")
        name = option.lstrip("-")
        takes_value = (_LONG_WITH_VALUE if option.startswith("--") else _SHORT_WITH_VALUE).fullmatch(name)
        options[name] = rest.pop(0) if takes_value and not equals and rest else value
    if not rest:
        return None

    def told(*names: str) -> str:
        return next((options[name] for name in names if name in options), "")

    plugin, arguments = rest[0].rpartition("/")[2], rest[1:]
    bare = [word for word in arguments if "=" not in word or word.startswith("/")]
    named = [word.partition("=")[2] for word in arguments if word.startswith("file=")]
    local = not options.keys().isdisjoint(("unix", "U", "vsock"))
    port = told("p", "port")
    return Nbdkit(
        plugin,
        told("i", "ipaddr", "ip-addr"),
        None if local else int(port) if port.isdecimal() and len(port) <= 5 else _NBD_PORT,
        next(iter(named or bare), "") if plugin in ("file", "nbdkit-file-plugin.so") else "",
        told("e", "export", "exportname"),
    )


def listening(content: bytes) -> set[tuple[str, int]]:
    """Address and port of the sockets that listen, of /proc/net/tcp or tcp6 on a little-endian machine.

    >>> listening(b"  sl  local_address rem_address   st\\n   0: 0100007F:2A39 00000000:0000 0A 00000000:0 00:0\\n")
    {('127.0.0.1', 10809)}
    """
    found = set()
    for line in content.decode("ascii", "replace").splitlines()[1:]:
        words = line.split()
        if (
            len(words) > 3
            and words[3] == "0A"
            and (match := re.fullmatch(r"([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4})", words[1]))
        ):
            octets = bytes.fromhex(match[1])
            turned = b"".join(octets[at : at + 4][::-1] for at in range(0, len(octets), 4))
            found.add((str(ipaddress.ip_address(turned)), int(match[2], 16)))
    return found


def zvol(path: str) -> str:
    """Pool and name of a ZFS volume by its path, "" for other paths.

    >>> zvol("/dev/zvol/tank/vm/disk1")
    'tank/vm/disk1'
    """
    return path.removeprefix("/dev/zvol/") if path.startswith("/dev/zvol/") else ""

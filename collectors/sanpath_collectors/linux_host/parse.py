"""Files of /proc and /sys → samples and values. No I/O.

A line of /proc/diskstats, major, minor, name and 17 fields, of a virtual disk on Linux 6.18:

    254 0 vda 2560142 8960 26394802 470900 451068 65443 31697336 189595 16 51664 661866 16726 59 1808824 1304 1740 65
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from sanpath.plugin import CollectorError, Failure, Rows
from sanpath_collectors.linux_block.tables import FIELDS, LUN

_FEWEST_FIELDS = 11  # Linux 2.6
_VIRTUAL = re.compile(r"(loop|ram|zram|sr|fd)\d+")
_GIGABIT = re.compile(r"(\d+) Gbit")


def diskstats(content: bytes) -> dict[str, list[int]]:
    """Device name → its fields, the first one at 0. Raises UNREADABLE with the line.

    >>> diskstats(b"8 0 sda 1 2 3 4 5 6 7 8 9 10 11")["sda"][8]
    9
    """
    found = {}
    for line in content.decode("utf-8", "replace").splitlines():
        words = line.split()
        if len(words) < 3 + _FEWEST_FIELDS or not all(word.isdecimal() for word in words[3:]):
            raise CollectorError(Failure.UNREADABLE, "/proc/diskstats: not a name with 11 or more numbers", line)
        found[words[2]] = [int(word) for word in words[3:]]
    return found


def whole_devices(names: Collection[str]) -> list[str]:
    """Devices that are neither a part of another one nor loop, RAM or CD.

    >>> whole_devices(["sda", "sda1", "sdaa", "nvme0n1", "nvme0n1p2", "dm-1", "dm-10", "loop0", "xvda1"])
    ['sda', 'sdaa', 'nvme0n1', 'dm-1', 'dm-10', 'xvda1']
    """
    return [name for name in names if not _VIRTUAL.match(name) and disk_of(name, names) == name]


def disk_of(name: str, names: Collection[str]) -> str:
    """The disk of a partition; the device itself where it is none: a disk of a name with a digit at its end has
    partitions with a "p"."""
    match = re.fullmatch(r"(.*\d)p\d+|(.*\D)\d+", name)
    disk = (match[1] or match[2]) if match else name
    return disk if disk in names else name


def samples(stats: Mapping[str, Sequence[int]], devices: Sequence[str], seen: int) -> Rows:
    """One row a device. Fields that this kernel has not are not in the rows."""
    fields = min((len(stats[device]) for device in devices), default=0)
    return Rows(
        LUN,
        entity=list(devices),
        seen=[seen] * len(devices),
        values={
            metric: [stats[device][field - 1] for device in devices]
            for metric, field in FIELDS.items()
            if field <= fields
        },
    )


def identifiers(wwid: str) -> dict[str, tuple[str, ...]]:
    """Join keys of a device identifier, of SCSI and NVMe devices or of a multipath map; none where it has none.

    >>> identifiers("naa.624a93706c1b16ce1c034d1c00013918")
    {'naa': ('naa.624a93706c1b16ce1c034d1c00013918',)}
    >>> identifiers("mpath-3624a93706c1b16ce1c034d1c00013918")
    {'naa': ('naa.624a93706c1b16ce1c034d1c00013918',)}
    >>> identifiers("eui.006c1b16ce1c034d24a9371c00013918")
    {'eui': ('eui.006c1b16ce1c034d24a9371c00013918',)}
    >>> identifiers("t10.ATA     QEMU HARDDISK")
    {}
    """
    # A SCSI identifier of udev begins with its type: 2 is an EUI-64, 3 an NAA name (SPC-4, 7.8.6).
    written = re.sub(r"^3(?=[0-9a-f]+$)", "naa.", wwid.lower().removeprefix("mpath-"))
    written = re.sub(r"^2(?=[0-9a-f]+$)", "eui.", written)
    match = re.fullmatch(r"(naa|eui)\.(?:[0-9a-f]{16}|[0-9a-f]{32})", written)
    return {match[1]: (written,)} if match else {}


def scheduler(content: str) -> str:
    """The one in use.

    >>> scheduler("none [mq-deadline] kyber bfq")
    'mq-deadline'
    """
    match = re.search(r"\[(.+?)\]", content)
    return match[1] if match else content


def speeds(content: str) -> list[int]:
    """Nominal Fibre Channel speeds in bits per second; none where they are unknown.

    >>> speeds("2 Gbit, 4 Gbit, 8 Gbit")
    [2000000000, 4000000000, 8000000000]
    """
    return [int(number) * 1_000_000_000 for number in _GIGABIT.findall(content)]


def number(content: str) -> int | None:
    """A whole number, None for everything else."""
    return int(content) if content.isdecimal() else None


def setting(content: str, key: str) -> str:
    """The value of a `key=value` line, "" where there is none.

    >>> setting("## comment\\nInitiatorName=iqn.1993-08.org.debian:01:ab", "InitiatorName")
    'iqn.1993-08.org.debian:01:ab'
    """
    match = re.search(rf"^{key}\s*=\s*(\S+)", content, re.MULTILINE)
    return match[1] if match else ""

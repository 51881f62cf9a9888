"""One report of iostat or sar: the values of each device, or of each network interface, in one interval."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field

from sanpath.plugin import Table, complete_sum
from sanpath_collectors.iostat.ports import is_port
from sanpath_collectors.iostat.tables import HBA, LUN
from sanpath_collectors.iostat.times import Stamp

Values = dict[str, float]
"""Column → value; columns without a number are missing."""
_IDLE_STATES = ("idle", "iowait")
VALUE_LIMIT = 1e15
"""Larger values mean that the file is damaged."""

_VIRTUAL = re.compile(r"(?:loop|ram|zram|sr|scd|fd)\d+")
_PARTITION = re.compile(
    r"((?:nvme\d+(?:c\d+)?n|mmcblk|md|nbd|rbd|drbd|bcache|nullb|pmem|cciss.c\d+d)\d+|mpath\w+|3[0-9a-f]{16,32})p\d+"
    r"|((?:sd|vd|xvd|hd|dasd|mpath|emcpower|rssd|fio)[a-z]+|3[0-9a-f]{15,31}[a-f])\d+"
    r"|(.+)-part\d+"
)
"""Partitions of disks by the kernel's names, and of multipath maps by those of kpartx: a logical volume may be called
like another one with a digit behind it."""


@dataclass(slots=True)
class Report:
    """One report.

    `stamp`: end of its interval, None: iostat ran without -t. `node`: its host, "": unknown. `first`: it is the first
    report of an iostat, over the time since boot unless iostat ran with -y. `columns`: columns of each device; a
    device has no value in a column without a number. `processors`: state of the processors → per cent of their time;
    empty: not reported. `cores`: how many there are, None: not reported. `table`: HBA if the devices are network
    interfaces.
    """

    first: bool
    node: str = ""
    stamp: Stamp | None = None
    columns: tuple[str, ...] = ()
    devices: dict[str, Values] = field(default_factory=dict)
    processors: Values = field(default_factory=dict)
    cores: int | None = None
    table: Table = LUN

    @property
    def busy_ratio(self) -> float | None:
        """Share of the time that the processors were busy; they idle while only I/O is waited for. None: unknown."""
        idle_states = map(self.processors.get, _IDLE_STATES)
        idle = complete_sum(p if p is not None and 0 <= p <= 100 else None for p in idle_states)
        return None if idle is None else max(0.0, 1 - idle / 100)

    @property
    def measured(self) -> dict[str, Values]:
        """Devices that are not partitions, and not loop, RAM, CD or floppy devices; or network interfaces that are
        ports."""
        is_measured = is_port if self.table is HBA else _is_storage
        return {name: values for name, values in self.devices.items() if is_measured(name, self.devices)}


def _is_storage(name: str, names: Collection[str]) -> bool:
    return not _VIRTUAL.fullmatch(name) and not _is_partition(name, names)


def _is_partition(name: str, names: Collection[str]) -> bool:
    match = _PARTITION.fullmatch(name)
    return match is not None and any(base in names for base in match.groups())

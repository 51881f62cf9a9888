"""One report of iostat or sar: the values of each device, or of each network interface, in one interval."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from sanpath.plugin import Table, complete_sum
from sanpath_collectors.iostat.ports import is_port
from sanpath_collectors.iostat.tables import HBA, HOST, LUN
from sanpath_collectors.iostat.times import Stamp

Values = dict[str, float]
"""Column → value; columns without a number are missing."""
_IDLE_STATES = ("idle", "iowait", "nice")
"""States in which processors are not busy: they idle while only I/O is waited for, and what is niced gives way."""
_OF_NICED_GUESTS = "gnice"
"""Apart from nice where it is reported (sar -u ALL)."""
_INTERRUPTS = ("irq", "soft")
_ROUNDED_PERCENT = 1.0
"""All states of a processor together may differ from 100 % by their rounding; those of one that is off are all 0."""
VALUE_LIMIT = 1e15
"""Larger values mean that the file is damaged."""

_VIRTUAL = re.compile(r"(?:loop|ram|zram|sr|scd|fd)\d+")
_LOOP = re.compile(r"loop\d+")
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
    interfaces, HOST if they are processors, with their states as values.
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
    def measured(self) -> dict[str, Values]:
        """Devices that are not partitions, and not RAM, CD or floppy devices, and loop devices that are used; or
        network interfaces that are ports; or processors."""
        if self.table is HOST:
            return self.devices
        is_measured = is_port if self.table is HBA else self._is_storage
        return {name: values for name, values in self.devices.items() if is_measured(name, self.devices)}

    def _is_storage(self, name: str, names: Collection[str]) -> bool:
        if _LOOP.fullmatch(name):
            # Since boot, packages and images (snap) have been read as well, and most of them are idle now.
            return not self.first and any(self.devices[name].values())
        return not _VIRTUAL.fullmatch(name) and not _is_partition(name, names)


def busy_ratio(states: Mapping[str, float]) -> float | None:
    """Share of the time that a processor was busy, or all together, by its states in per cent. None: not known.

    >>> busy_ratio({"user": 20.0, "nice": 5.0, "system": 5.0, "iowait": 30.0, "idle": 40.0})
    0.25
    """
    idle = complete_sum(map(states.get, _IDLE_STATES))
    if idle is None or abs(sum(states.values()) - 100) > _ROUNDED_PERCENT:
        return None
    return max(0.0, 1 - (idle + states.get(_OF_NICED_GUESTS, 0.0)) / 100)


def busiest_core(processors: Mapping[str, Values]) -> dict[str, float]:
    """Metric → value of the processor that was busiest, as of `sar -P ALL`. Empty: each one was not reported.

    How long it served interrupts is told by `sar -u ALL`.
    """
    cores = {name: states for name, states in processors.items() if name.isdecimal()}
    busy = {name: ratio for name, states in cores.items() if (ratio := busy_ratio(states)) is not None}
    if not busy:
        return {}
    busiest = max(busy, key=lambda name: busy[name])
    ratios = {"cpu_busiest_core_ratio": busy[busiest]}
    interrupts = {name: complete_sum(map(cores[name].get, _INTERRUPTS)) for name in busy}
    # A kernel that charges interrupts to what they interrupt has none.
    if busy[busiest] > 0 and any(interrupts.values()) and (served := interrupts[busiest]) is not None:
        ratios["cpu_busiest_core_interrupt_ratio"] = min(1.0, served / 100 / busy[busiest])
    return ratios


def _is_partition(name: str, names: Collection[str]) -> bool:
    match = _PARTITION.fullmatch(name)
    return match is not None and any(base in names for base in match.groups())

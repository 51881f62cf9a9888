"""One report of iostat or sar: the values of each device, network interface or processor in one interval."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from sanpath.plugin import Table, complete_sum
from sanpath_collectors.iostat.ports import is_port
from sanpath_collectors.iostat.tables import HBA, HOST, LUN
from sanpath_collectors.iostat.times import Stamp

Values = dict[str, float]
"""Column → value; columns without a number are missing."""
_IDLE_STATES = ("idle", "iowait", "nice")
"""States in which processors are not busy: iowait is idle time while I/O is outstanding, and niced processes give way
to others."""
_GUEST_NICE = "gnice"
"""Time of niced guests, which is not part of nice if it is reported (sar -u ALL)."""
_INTERRUPTS = ("irq", "soft")
_ROUNDING_PERCENT = 1.0
"""The states of a processor may add up to 100 % with this error, because they are rounded. If a processor is offline,
all are 0."""
_ALL_THE_TIME_PERCENT = 99.0
"""%util from which a device had I/Os outstanding for the whole interval, whose length is rounded."""
TOTAL = "tps"
"""Operations of reads, writes and discards together."""
_MAX_TOTAL = 1e15
"""Larger values mean that the file is damaged."""
_LIMIT = 1e9
"""Operations, or KiB, in a second that no device reaches: a billion operations are one in each nanosecond, and a
billion KiB are sixteen times the 64 GB that the widest slot of PCI Express 5.0 moves. Larger values mean that the
file is damaged, or that a driver's counters are wrong."""
_UNITS_KIB = (("MB", 1024.0), ("sec/s", 0.5), ("Blk_", 0.5), ("byt/s", 1 / 1024))
"""Part of the name of a column of bytes → its unit in KiB, unless it is in KiB."""

_VIRTUAL = re.compile(r"(?:loop|ram|zram|sr|scd|fd)\d+")
_LOOP = re.compile(r"loop\d+")
_PARTITION = re.compile(
    r"((?:nvme\d+(?:c\d+)?n|mmcblk|md|nbd|rbd|drbd|bcache|nullb|pmem|cciss.c\d+d)\d+|mpath\w+|3[0-9a-f]{16,32})p\d+"
    r"|((?:sd|vd|xvd|hd|dasd|mpath|emcpower|rssd|fio)[a-z]+|3[0-9a-f]{15,31}[a-f])\d+"
    r"|(.+)-part\d+"
)
"""Partitions of disks by the kernel's names, and of multipath maps by the names that kpartx gives. Other names with a
digit at the end are not partitions: one logical volume may have the name of another and a digit."""


@dataclass(slots=True)
class Report:
    """One report.

    `stamp`: end of its interval; None: iostat ran without -t. `node`: its host; "": unknown. `first`: it is the first
    report of an iostat, which covers the time since boot unless iostat ran with -y. `columns`: columns of each
    device; a device has no value if a column does not contain a number. `processors`: state of the processors → per
    cent of time; empty: not reported. `cores`: number of processors; None: not reported. `table`: kind of the
    devices: LUN, HBA for network interfaces, HOST for processors, whose values are their states. `only_begin`: it has
    no devices, and its stamp is the begin of the next interval.
    """

    first: bool
    node: str = ""
    stamp: Stamp | None = None
    columns: tuple[str, ...] = ()
    devices: dict[str, Values] = field(default_factory=dict)
    processors: Values = field(default_factory=dict)
    cores: int | None = None
    table: Table = LUN
    only_begin: bool = False

    @property
    def used_devices(self) -> dict[str, Values]:
        """The devices that are reported: block devices except partitions, RAM, CD and floppy devices, and idle loop
        devices; network interfaces that are ports; all processors."""
        if self.table is HOST:
            return self.devices
        is_measured = is_port if self.table is HBA else self._is_storage
        return {name: values for name, values in self.devices.items() if is_measured(name, self.devices)}

    def _is_storage(self, name: str, names: Collection[str]) -> bool:
        if _LOOP.fullmatch(name):
            # Most loop devices are of packages (snap), which were read since boot and are idle now.
            return not self.first and any(self.devices[name].values())
        return not _VIRTUAL.fullmatch(name) and not _is_partition(name, names)


def is_possible(column: str, value: float) -> bool:
    """Whether a device can have this value. Totals (`kB_read`) may be those since it was booted.

    >>> [is_possible(*each) for each in (("r/s", 8e8), ("r/s", 2e9), ("rMB/s", 2e6), ("rxbyt/s", 2e10))]
    [True, False, False, True]
    >>> is_possible("kB_read", 5e9)
    True
    """
    unit_kib = next((size for part, size in _UNITS_KIB if part in column), 1.0)
    return 0 <= value < (_LIMIT / unit_kib if column.endswith("/s") or column == TOTAL else _MAX_TOTAL)


def impossible_remark(name: str, column: str, value: float) -> str:
    """What is said of a value that no device has."""
    # An integer of JSON may have more digits than a float has room for.
    return f"{name} has {min(value, sys.float_info.max):.2g} {column}, which no device does: it is left out"


def unanswered(values: Values) -> float:
    """The number of I/Os that a device had outstanding in an interval in which it completed none. 0: it did complete
    some, or had none all the time.

    >>> unanswered({"r/s": 0.0, "w/s": 0.0, "avgqu-sz": 128.0, "%util": 100.0})
    128.0
    """
    outstanding = max((values.get(column, 0.0) for column in ("aqu-sz", "avgqu-sz")), default=0.0)
    completed = [values[column] for column in ("r/s", "w/s", "d/s", "f/s", TOTAL) if column in values]
    is_busy = values.get("%util", values.get("util", 0.0)) >= _ALL_THE_TIME_PERCENT
    return outstanding if outstanding >= 1 and is_busy and completed and not any(completed) else 0.0


def busy_ratio(states: Mapping[str, float]) -> float | None:
    """Share of time that one or all processors were busy. `states`: state → per cent of time. None: not known.

    >>> busy_ratio({"user": 20.0, "nice": 5.0, "system": 5.0, "iowait": 30.0, "idle": 40.0})
    0.25
    """
    idle = complete_sum(map(states.get, _IDLE_STATES))
    if idle is None or abs(sum(states.values()) - 100) > _ROUNDING_PERCENT:
        return None
    return max(0.0, 1 - (idle + states.get(_GUEST_NICE, 0.0)) / 100)


def busiest_core(processors: Mapping[str, Values]) -> dict[str, float]:
    """Metric → value of the busiest processor, from `sar -P ALL`. Empty: single processors were not reported.

    Its share of interrupts is reported by `sar -u ALL`.
    """
    cores = {name: states for name, states in processors.items() if name.isdecimal()}
    busy = {name: ratio for name, states in cores.items() if (ratio := busy_ratio(states)) is not None}
    if not busy:
        return {}
    busiest = max(busy, key=lambda name: busy[name])
    ratios = {"cpu_busiest_core_ratio": busy[busiest]}
    interrupts = {name: complete_sum(map(cores[name].get, _INTERRUPTS)) for name in busy}
    # All are 0 if the kernel accounts the time of interrupts to the interrupted processes.
    if busy[busiest] > 0 and any(interrupts.values()) and (served := interrupts[busiest]) is not None:
        ratios["cpu_busiest_core_interrupt_ratio"] = min(1.0, served / 100 / busy[busiest])
    return ratios


def _is_partition(name: str, names: Collection[str]) -> bool:
    match = _PARTITION.fullmatch(name)
    return match is not None and any(base in names for base in match.groups())

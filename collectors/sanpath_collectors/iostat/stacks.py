"""Finds the devices below md devices, logical volumes and multipath maps by the bytes that they transfer. No I/O.

iostat does not report which devices another one consists of. But in each interval, the bytes of a device are the sum
of the bytes of the devices below it. With mirroring or read-ahead this does not hold, and the devices remain unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise

from sanpath_collectors.iostat.report import Values
from sanpath_collectors.iostat.tables import SOURCES, Rate

_METRICS = ("bytes_read_total", "bytes_write_total")
_KERNEL_DISK = re.compile(
    r"(?:sd|vd|xvd|hd|dasd|emcpower|rssd|fio)[a-z]+\d*"
    r"|(?:nvme\d+(?:c\d+)?n|mmcblk|nbd|rbd|drbd|nullb|pmem|ubiblock|mtdblock)\d+(?:[_p]\d+)?"
)
"""The kernel's names of devices that do not consist of others. Multipath maps and logical volumes have other
names."""
_OTHER_KERNEL_NAME = re.compile(
    r"(?:dm-|md_?|bcache|loop|zd|dev)\d.*|md_.+|(?:cciss|ida|rd)[!/].+|scini[a-z]+|skd.+|rsxx.+"
)
_TOTAL_TOLERANCE_RATIO, _INTERVAL_TOLERANCE_RATIO = 0.01, 0.05
"""Largest ratio by which the bytes of a device and of its parts may differ: in total, and summed over the differences
of single intervals, at whose ends some I/Os are in flight. If another choice of parts also differs by less than the
second ratio, the parts are unknown."""
_MIN_INTERVALS = 4
_MIN_BYTES_PER_SECOND = 1e6
"""Devices with less throughput are ignored: if they are idle, a few blocks would decide."""
_MAX_INTERVALS = 3600
"""Largest number of intervals that are kept in memory: an hour of seconds."""
_MIN_IN_FLIGHT_RATIO = 1.05
"""Ratio of outstanding I/Os above which one of two devices with equal bytes is the upper one."""
_MAX_DISKS = 12
"""Largest number of disks among which the parts of a device are searched. They have 4,096 subsets."""


def is_map(name: str) -> bool:
    """Whether a name is that of a device-mapper map, as iostat -N and sar print it, and not a name of the kernel.

    >>> [is_map(name) for name in ("rhel-root", "mpatha", "sda", "nvme0n1", "dm-0", "md127", "dev8-0")]
    [True, True, False, False, False, False, False]
    """
    return not (_KERNEL_DISK.fullmatch(name) or _OTHER_KERNEL_NAME.fullmatch(name))


class Traffic:
    """The bytes of each device in each interval."""

    def __init__(self) -> None:
        self._bytes: dict[str, dict[int, float]] = {}
        self._in_flight: dict[str, float] = {}
        self._seconds: list[float] = []

    def add(self, devices: Mapping[str, Values], rates: Mapping[str, Rate], seconds: float) -> None:
        """Adds one interval. Intervals above `_MAX_INTERVALS` are ignored."""
        if len(self._seconds) >= _MAX_INTERVALS:
            return
        columns = [rates[metric] for metric in _METRICS if metric in rates]
        in_flight_columns = [rate.column for rate in SOURCES["in_flight_seconds_total"]]
        for name, values in devices.items():
            per_second = sum(values.get(rate.column, 0.0) * rate.factor for rate in columns)
            self._bytes.setdefault(name, {})[len(self._seconds)] = per_second * seconds
            outstanding = next((values[column] for column in in_flight_columns if column in values), 0.0)
            self._in_flight[name] = self._in_flight.get(name, 0.0) + outstanding * seconds
        self._seconds.append(seconds)

    def find_parts(self) -> Iterator[tuple[str, str]]:
        """Yields (lower, upper) for each device whose parts are unambiguous."""
        total_bytes = {name: sum(moved.values()) for name, moved in self._bytes.items()}
        min_bytes = _MIN_BYTES_PER_SECOND * sum(self._seconds)
        names = sorted(name for name, total in total_bytes.items() if total >= min_bytes)
        if len(self._seconds) < _MIN_INTERVALS:
            return
        disks = [name for name in names if _KERNEL_DISK.fullmatch(name)]
        for stack in self._find_stacks([name for name in names if name not in disks]):
            if parts := self._find_parts_of(stack[0], disks):
                yield from ((part, stack[-1]) for part in parts)
                yield from (
                    (lower, upper)
                    for upper, lower in pairwise(stack)
                    if self._in_flight[upper] >= _MIN_IN_FLIGHT_RATIO * self._in_flight[lower]
                )

    def _find_stacks(self, upper_devices: Sequence[str]) -> Iterator[list[str]]:
        """Yields stacks: devices with the same bytes, each of which consists of the next one.

        An I/O that is outstanding at a device is also outstanding at the devices above it. So the top device has the
        most outstanding I/Os.
        """
        remaining = sorted(upper_devices, key=lambda name: -self._in_flight[name])
        while remaining:
            stack = [
                name
                for name in remaining
                if self._interval_difference(remaining[0], [name]) <= _TOTAL_TOLERANCE_RATIO
            ]
            yield stack
            remaining = [name for name in remaining if name not in stack]

    def _find_parts_of(self, device: str, disks: Sequence[str]) -> tuple[str, ...]:
        """Returns the disks whose bytes add up to those of a device. Empty: there are none, or several choices."""
        total = sum(self._bytes[device].values())
        smaller = [
            disk for disk in disks if sum(self._bytes[disk].values()) <= (1 + _INTERVAL_TOLERANCE_RATIO) * total
        ]
        if len(smaller) > _MAX_DISKS:
            smaller = []
        differences = [
            (self._interval_difference(device, parts), parts)
            for count in range(1, len(smaller) + 1)
            for parts in combinations(smaller, count)
        ]
        close = [parts for difference, parts in differences if difference <= _INTERVAL_TOLERANCE_RATIO]
        return (
            close[0] if len(close) == 1 and self._total_difference(device, close[0]) <= _TOTAL_TOLERANCE_RATIO else ()
        )

    def _interval_difference(self, device: str, parts: Sequence[str]) -> float:
        """Returns the sum of the differences between the bytes of a device and of these parts in each interval, as a
        ratio of the device's bytes."""
        moved, whole = self._bytes[device], sum(self._bytes[device].values())
        total_difference = self._total_difference(device, parts)
        if total_difference > _INTERVAL_TOLERANCE_RATIO:
            return total_difference  # A lower bound of the result.
        difference_bytes = sum(
            abs(total - sum(self._bytes[part].get(interval, 0.0) for part in parts))
            for interval, total in moved.items()
        )
        return difference_bytes / whole

    def _total_difference(self, device: str, parts: Sequence[str]) -> float:
        """Returns the difference between the bytes of a device and of these parts, over all intervals, as a ratio."""
        whole = sum(self._bytes[device].values())
        return abs(whole - sum(sum(self._bytes[part].values()) for part in parts)) / whole

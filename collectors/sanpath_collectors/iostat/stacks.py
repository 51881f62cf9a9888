"""Finds the devices below md devices, logical volumes and multipath maps, by the bytes that they move. No I/O.

iostat does not report what a device is made of. Its bytes are those of the devices below it together, interval by
interval; what is mirrored or read ahead does not add up, and stays unknown.
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
"""Devices that are not made of others, by the kernel's names. A multipath map or a logical volume has any other."""
_OTHER_KERNEL_NAME = re.compile(
    r"(?:dm-|md_?|bcache|loop|zd|dev)\d.*|md_.+|(?:cciss|ida|rd)[!/].+|scini[a-z]+|skd.+|rsxx.+"
)
_EQUAL, _CLOSE = 0.01, 0.05
"""Relative difference of bytes up to which devices may be the parts of another one: in all, and interval by interval,
at whose ends some I/Os are on the way. Any other choice of parts has to differ by more than the second, or nothing is
concluded."""
_FEWEST_INTERVALS = 4
_LEAST_BYTES_PER_SECOND = 1e6
"""A device that moves less may be idle: a few blocks would decide."""
_MOST_INTERVALS = 3600
"""An hour of seconds: what follows tells no more, and would be kept in memory."""
_CLEARLY_MORE = 1.05
"""Ratio of the outstanding I/Os from which one of two devices stands above the other."""
_MOST_PARTS = 12
"""Most devices among which parts are sought: there are 4,096 ways to choose from as many."""


def is_map(name: str) -> bool:
    """Whether a name is that of a map of the device mapper, as iostat -N and sar print it, and no name of the kernel.

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
        """Adds one interval. Those after the first hour or so are left out."""
        if len(self._seconds) >= _MOST_INTERVALS:
            return
        columns = [rates[metric] for metric in _METRICS if metric in rates]
        waiting = [rate.column for rate in SOURCES["in_flight_seconds_total"]]
        for name, values in devices.items():
            per_second = sum(values.get(rate.column, 0.0) * rate.factor for rate in columns)
            self._bytes.setdefault(name, {})[len(self._seconds)] = per_second * seconds
            outstanding = next((values[column] for column in waiting if column in values), 0.0)
            self._in_flight[name] = self._in_flight.get(name, 0.0) + outstanding * seconds
        self._seconds.append(seconds)

    def parts(self) -> Iterator[tuple[str, str]]:
        """Yields a device and the one that it is a part of, for each whose parts are clear."""
        busy = {name: sum(moved.values()) for name, moved in self._bytes.items()}
        least = _LEAST_BYTES_PER_SECOND * sum(self._seconds)
        names = sorted(name for name, total in busy.items() if total >= least)
        if len(self._seconds) < _FEWEST_INTERVALS:
            return
        disks = [name for name in names if _KERNEL_DISK.fullmatch(name)]
        for stack in self._stacks([name for name in names if name not in disks]):
            if parts := self._parts_of(stack[0], disks):
                yield from ((part, stack[-1]) for part in parts)
                yield from (
                    (lower, upper)
                    for upper, lower in pairwise(stack)
                    if self._in_flight[upper] >= _CLEARLY_MORE * self._in_flight[lower]
                )

    def _stacks(self, uppers: Sequence[str]) -> Iterator[list[str]]:
        """Yields devices that move the same bytes: each is made of the next one.

        An I/O that is outstanding at a device is outstanding at those above it, so the uppermost has the most."""
        left = sorted(uppers, key=lambda name: -self._in_flight[name])
        while left:
            stack = [name for name in left if self._difference(left[0], [name]) <= _EQUAL]
            yield stack
            left = [name for name in left if name not in stack]

    def _parts_of(self, device: str, disks: Sequence[str]) -> tuple[str, ...]:
        """Returns the disks that move a device's bytes together. Empty: none do, or more than one choice would."""
        total = sum(self._bytes[device].values())
        smaller = [disk for disk in disks if sum(self._bytes[disk].values()) <= (1 + _CLOSE) * total]
        if len(smaller) > _MOST_PARTS:
            smaller = []
        differences = [
            (self._difference(device, parts), parts)
            for count in range(1, len(smaller) + 1)
            for parts in combinations(smaller, count)
        ]
        close = [parts for difference, parts in differences if difference <= _CLOSE]
        return close[0] if len(close) == 1 and self._difference_in_all(device, close[0]) <= _EQUAL else ()

    def _difference(self, device: str, parts: Sequence[str]) -> float:
        """Returns how far the bytes of a device and of these parts differ, interval by interval, as a ratio."""
        moved, whole = self._bytes[device], sum(self._bytes[device].values())
        in_all = self._difference_in_all(device, parts)
        if in_all > _CLOSE:
            return in_all  # The difference interval by interval is no smaller.
        apart = sum(
            abs(total - sum(self._bytes[part].get(interval, 0.0) for part in parts))
            for interval, total in moved.items()
        )
        return apart / whole

    def _difference_in_all(self, device: str, parts: Sequence[str]) -> float:
        """Returns how far the bytes of a device and of these parts differ in all intervals together, as a ratio."""
        whole = sum(self._bytes[device].values())
        return abs(whole - sum(sum(self._bytes[part].values()) for part in parts)) / whole

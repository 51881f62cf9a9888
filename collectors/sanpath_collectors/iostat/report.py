"""One report of iostat: what it says of each device in one interval."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field

from sanpath_collectors.iostat.times import Stamp

Values = dict[str, float]
"""Column → value, where it is a number."""
MOST = 1e15
"""A value from there on is damage."""

_VIRTUAL = re.compile(r"(?:loop|ram|zram|sr|scd|fd)\d+")
_PARTITION = re.compile(r"(.*\d)p\d+|(.*\D)\d+")


@dataclass(slots=True)
class Report:
    """`stamp`: when its interval ended, None without -t. `node`: the host it is from, "": not told.
    `first`: it is the first that an iostat wrote, of the time since the host was booted unless -y was given.
    `columns`: what it tells of each device; of one that is no number in a row, the row has no value."""

    first: bool
    node: str = ""
    stamp: Stamp | None = None
    columns: tuple[str, ...] = ()
    devices: dict[str, Values] = field(default_factory=dict)

    @property
    def whole_devices(self) -> dict[str, Values]:
        """Devices that are neither a part of another one nor loop, RAM, CD or floppy."""
        return {
            name: told
            for name, told in self.devices.items()
            if not _VIRTUAL.fullmatch(name) and not _is_part(name, self.devices)
        }


def _is_part(name: str, names: Collection[str]) -> bool:
    match = _PARTITION.fullmatch(name)
    return match is not None and (match[1] or match[2]) in names

"""Numbers and times as Iometer writes them, and as a spreadsheet writes them again."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

COUNTER_END = 1 << 63

_YEARS = ("1990", "2100")
"""Iometer is of 1998; a host whose clock is farther off tells no time."""
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:[:.,](\d{1,3}))?", re.ASCII)


def number(text: str) -> float | None:
    """A finite number, with a decimal point or comma; None for anything else.

    >>> number("14122,49"), number("-1"), number("")
    (14122.49, -1.0, None)
    """
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def count(text: str) -> int | None:
    """A whole number that fits a counter; None for anything else, -1 (Iometer: "they differ") included.

    >>> count("140006556466"), count("1,40007E+11"), count("-1")
    (140006556466, 140007000000, None)
    """
    try:
        value = int(text)
    except ValueError:
        rounded = number(text)
        if rounded is None:
            return None
        value = round(rounded)
    return value if 0 <= value < COUNTER_END else None


def local_us(text: str) -> int | None:
    """A time stamp, milliseconds after a colon, in microseconds of its own local time; None for anything else.

    >>> local_us("2000-01-01 00:00:01:211")
    946684801211000
    """
    found = _STAMP.fullmatch(text.strip())
    if found is None or not _YEARS[0] <= found[1][:4] < _YEARS[1]:
        return None
    try:
        moment = datetime.fromisoformat(found[1]).replace(tzinfo=UTC)
    except ValueError:
        return None
    return round(moment.timestamp()) * 1_000_000 + int((found[2] or "0").ljust(3, "0")) * 1000

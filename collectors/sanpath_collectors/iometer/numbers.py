"""Numbers and times as written by Iometer, or by a spreadsheet that saved its file."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

from sanpath.plugin import INTEGER_LIMIT

_YEARS = ("1990", "2100")
"""Iometer dates from 1998; times outside these years are ignored."""
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
    """An integer that fits a counter; None for anything else, including -1 (Iometer: "they differ").

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
    return value if 0 <= value < INTEGER_LIMIT else None


def local_us(text: str) -> int | None:
    """A time stamp, with milliseconds after a colon, as microseconds of its local time; None for anything else.

    >>> local_us("2000-01-01 00:00:01:211")
    946684801211000
    """
    match = _STAMP.fullmatch(text.strip())
    if match is None or not _YEARS[0] <= match[1][:4] < _YEARS[1]:
        return None
    try:
        time = datetime.fromisoformat(match[1]).replace(tzinfo=UTC)
    except ValueError:
        return None
    return round(time.timestamp()) * 1_000_000 + int((match[2] or "0").ljust(3, "0")) * 1000

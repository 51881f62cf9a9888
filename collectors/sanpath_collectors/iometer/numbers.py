"""Parses numbers and times as Iometer writes them, or a spreadsheet that saved the file again."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

from sanpath.plugin import INTEGER_LIMIT

_YEARS = ("1990", "2100")
"""Times outside these years are ignored. Iometer exists since 1998."""
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:[:.,](\d{1,3}))?", re.ASCII)


def parse_number(text: str) -> float | None:
    """A finite number, with a decimal point or comma; None for anything else.

    >>> parse_number("14122,49"), parse_number("-1"), parse_number("")
    (14122.49, -1.0, None)
    """
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def parse_count(text: str) -> int | None:
    """An integer that fits a counter; None for anything else, including -1 (Iometer: "they differ").

    >>> parse_count("140006556466"), parse_count("1,40007E+11"), parse_count("-1")
    (140006556466, 140007000000, None)
    """
    try:
        value = int(text)
    except ValueError:
        rounded = parse_number(text)
        if rounded is None:
            return None
        value = round(rounded)
    return value if 0 <= value < INTEGER_LIMIT else None


def parse_local_us(text: str) -> int | None:
    """A time stamp, with milliseconds after a colon, as microseconds of its local time; None for anything else.

    >>> parse_local_us("2000-01-01 00:00:01:211")
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

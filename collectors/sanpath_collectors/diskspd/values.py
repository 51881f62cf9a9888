"""Parses DiskSpd's values: counts, numbers, sizes and the time of its start."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

_MAX_VALUE = 2**60
"""Larger figures mean that the file is damaged. Sums of several figures below it still fit a counter."""
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+\.\d+")
_GROUPED = re.compile(r"[1-9]\d{0,2}(?:[.,'\s]\d{1,3}){0,5}[.,'\s]\d{3}")
_SIZE = re.compile(r"(\d{1,18}(?:[.,]\d{1,6})?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)


def parse_count(text: str | None) -> int | None:
    """An integer that fits a counter; None for anything else. People may have put marks into it.

    >>> parse_count("10712202"), parse_count("10.712.202"), parse_count("10,712,202"), parse_count("834.98")
    (10712202, 10712202, 10712202, None)
    """
    digits = (text or "").strip()
    if _GROUPED.fullmatch(digits):
        digits = re.sub(r"\D", "", digits)
    value = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 20 else _MAX_VALUE
    return value if value < _MAX_VALUE else None


def parse_number(text: str | None) -> float | None:
    """A finite number that is not negative; None for anything else, such as "N/A".

    DiskSpd does not separate thousands. So a single comma, which copies of a result may have, is the decimal mark.

    >>> parse_number("1.987"), parse_number("1,987"), parse_number("1,234.5"), parse_number("1,2,3")
    (1.987, 1.987, 1234.5, None)
    """
    digits = (text or "").strip()
    if _THOUSANDS.fullmatch(digits):
        digits = digits.replace(",", "")
    elif digits.count(",") == 1 and "." not in digits:
        digits = digits.replace(",", ".")
    try:
        value = float(digits)
    except ValueError:
        return None
    return value if math.isfinite(value) and 0 <= value < _MAX_VALUE else None


def parse_ratio(text: str | None) -> float | None:
    """A percentage as a ratio, with or without its sign; None: not a number, or above 100.

    >>> parse_ratio(" 25.00%"), parse_ratio("50.0"), parse_ratio("N/A")
    (0.25, 0.5, None)
    """
    percent = parse_number((text or "").strip().removesuffix("%"))
    return percent / 100 if percent is not None and percent <= 100 else None


def parse_size_bytes(text: str) -> float | None:
    """A size in bytes; None: not a size.

    K, M, G and T are powers of 1024 in every version, although versions until 2.0.17 write "MB".

    >>> [parse_size_bytes(text) for text in ("4096", "4KiB", "1.5MiB", "1024MB", "64K")]
    [4096.0, 4096.0, 1572864.0, 1073741824.0, 65536.0]
    """
    match = _SIZE.fullmatch(text.strip())
    return float(match[1].replace(",", ".")) * 1024.0 ** " KMGT".index(match[2].upper() or " ") if match else None


def parse_time_us(text: str) -> int | None:
    """A time in UTC, microseconds since the epoch; None: not a time in this format.

    >>> parse_time_us("1970/01/01 00:01:00 UTC")
    60000000
    """
    try:
        time = datetime.strptime(text.strip(), "%Y/%m/%d %H:%M:%S UTC").replace(tzinfo=UTC)
    except ValueError:
        return None
    return max(0, int(time.timestamp())) * 1_000_000

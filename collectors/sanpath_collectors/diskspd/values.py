"""Parses DiskSpd's values: counts, numbers, sizes and the time of its start."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

_LIMIT = 2**60
"""Larger figures are damaged; sums of several below it still fit a counter."""
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+\.\d+")
_SIZE = re.compile(r"(\d{1,18}(?:[.,]\d{1,6})?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)


def count(text: str | None) -> int | None:
    """An integer that fits a counter; None for anything else."""
    digits = (text or "").strip()
    value = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 20 else _LIMIT
    return value if value < _LIMIT else None


def number(text: str | None) -> float | None:
    """A finite number that is not negative; None for anything else, such as "N/A".

    DiskSpd separates no thousands: a single comma is that of decimals, which a copy of the result may have.

    >>> number("1.987"), number("1,987"), number("1,234.5"), number("1,2,3")
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
    return value if math.isfinite(value) and 0 <= value < _LIMIT else None


def ratio(text: str | None) -> float | None:
    """A percentage as a ratio, with or without its sign; None: not a number, or above 100.

    >>> ratio(" 25.00%"), ratio("50.0"), ratio("N/A")
    (0.25, 0.5, None)
    """
    percent = number((text or "").strip().removesuffix("%"))
    return percent / 100 if percent is not None and percent <= 100 else None


def size_bytes(text: str) -> float | None:
    """A size in bytes; None: not a size.

    K, M, G and T are powers of 1024 in every version, although versions until 2.0.17 write "MB".

    >>> size_bytes("4096"), size_bytes("4KiB"), size_bytes("1.5MiB"), size_bytes("1024MB"), size_bytes("64K")
    (4096.0, 4096.0, 1572864.0, 1073741824.0, 65536.0)
    """
    match = _SIZE.fullmatch(text.strip())
    return float(match[1].replace(",", ".")) * 1024.0 ** " KMGT".index(match[2].upper() or " ") if match else None


def time_us(text: str) -> int | None:
    """A time in UTC, microseconds since the epoch; None: not a time in this format.

    >>> time_us("1970/01/01 00:01:00 UTC")
    60000000
    """
    try:
        time = datetime.strptime(text.strip(), "%Y/%m/%d %H:%M:%S UTC").replace(tzinfo=UTC)
    except ValueError:
        return None
    return max(0, int(time.timestamp())) * 1_000_000

"""Parses values with their unit: "3-5 ms", "4 x 500 MB/s", "2.4:1", "1,050 USD". Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

_BYTES: Mapping[str, float] = {
    "b": 1.0,
    **{f"{prefix}b": 1000.0**power for power, prefix in enumerate("kmgtp", start=1)},
    **{f"{prefix}ib": 1024.0**power for power, prefix in enumerate("kmgtp", start=1)},
}
UNITS: Mapping[str, tuple[str, float]] = {
    "s": ("seconds", 1.0),
    "ms": ("seconds", 1e-3),
    "us": ("seconds", 1e-6),
    "µs": ("seconds", 1e-6),
    "min": ("seconds", 60.0),
    "iops": ("ops_per_second", 1.0),
    "kiops": ("ops_per_second", 1e3),
    **{name: ("bytes", scale) for name, scale in _BYTES.items()},
    **{f"{name}/s": ("bytes_per_second", scale) for name, scale in _BYTES.items()},
    "kbit/s": ("bytes_per_second", 1e3 / 8),
    "mbit/s": ("bytes_per_second", 1e6 / 8),
    "gbit/s": ("bytes_per_second", 1e9 / 8),
    "%": ("ratio", 0.01),
    ":1": ("ratio", 1.0),
    "": ("count", 1.0),
}
"""Unit in lower case → (its base unit, factor that converts to it)."""
_BITS = re.compile(r"([KMGTP]i?)b/s|([KMGTPkmgtp])bps")
"""Units of bits per second. In lower case, `mb/s` is ambiguous and counts as bytes."""
_MAX_LENGTH = 100
"""Largest number of characters of a value."""
_NUMBER = r"[\d.,]+"
_GROUPED = re.compile(r"[1-9]\d{0,2}(,\d{3})+(\.\d+)?")
_VALUE = re.compile(rf"(?:({_NUMBER})\s*[x×]\s*)?({_NUMBER})\s*(?:(?:-|–|to|\.\.)\s*({_NUMBER}))?\s*(\D.*)?")
_PRICE = re.compile(r"([A-Z]{3})(?:/([KMGTP]i?B))?")
_MAX_ROUNDING = 0.025
"""Largest rounding, as a share of the value: the zeros of 100,000 may be exact."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value in a base unit. `rounding`: half of its last printed digit, at most 2.5 % of it."""

    unit: str
    low: float
    high: float
    rounding: float


def parse_value(text: str) -> Value:
    """Parse a value or a range with its unit, also a product such as "12 x 80 IOPS". Raises ValueError.

    >>> parse_value("12 x 80 IOPS").low
    960.0
    """
    match = _VALUE.fullmatch(text.strip()) if len(text) <= _MAX_LENGTH else None
    unit_and_scale = _parse_unit(re.sub(r"\s", "", match[4] or "")) if match is not None else None
    if match is None or unit_and_scale is None:
        raise ValueError(
            f"value {text[:_MAX_LENGTH]!r}: write a number or a range with its unit: "
            f"{', '.join(sorted(set(UNITS) - {''}))}, or a price such as 100 USD or 0.5 USD/GB"
        )
    unit, scale = unit_and_scale
    factor = (_parse_number(match[1]) if match[1] else 1.0) * scale
    low = _parse_number(match[2]) * factor
    high = _parse_number(match[3]) * factor if match[3] else low
    if not 0 <= low <= high or not math.isfinite(high):
        raise ValueError(f"value {text!r}: the lower bound comes first")
    rounding = 0.0 if match[3] else min(_last_digit_unit(match[2]) / 2 * factor, _MAX_ROUNDING * high)
    return Value(unit, low, high, rounding)


def _parse_unit(text: str) -> tuple[str, float] | None:
    if (price := _PRICE.fullmatch(text)) is not None and text.lower() not in UNITS:
        return (price[1], 1.0) if price[2] is None else (f"{price[1]}/byte", 1 / _BYTES[price[2].lower()])
    if (bits := _BITS.fullmatch(text)) is not None:
        return "bytes_per_second", _BYTES[f"{bits[1] or bits[2]}b".lower()] / 8
    return UNITS.get(text.lower())


def _last_digit_unit(text: str) -> float:
    """Return the unit of the last digit that is not a trailing zero: 10 for 2,930 and 0.1 for 22.4."""
    digits = text.replace(",", "") if _GROUPED.fullmatch(text) else text
    if "." in digits:
        return float(10.0 ** -len(digits.partition(".")[2]))
    return float(10.0 ** (len(digits) - len(digits.rstrip("0"))))


def _parse_number(text: str) -> float:
    """Parse a number such as 6250, 6,250 or 81.9. Raises ValueError."""
    if _GROUPED.fullmatch(text):
        text = text.replace(",", "")
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"value {text!r} is not a number; write a decimal point") from None

"""Parses figures that a person wrote. Pure.

    figures:
      - {entity: "array:fa1", quantity: latency, value: 3-5 ms, direction: read, source: "GUI, screenshot of 14:05"}
      - {entity: "switch_port:sw1/fc1/7", quantity: throughput, value: 392 MB/s, step: t64, source: "port statistics"}
      - {entity: "array:fa1", quantity: ceiling, value: 100000 IOPS, source: "data sheet, 32 KiB"}

or the same as CSV, with these keys in its first line; a spreadsheet may use semicolons as separators.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sanpath.plugin import read_yaml

QUANTITIES: Mapping[str, tuple[str, ...]] = {
    "latency": ("seconds",),
    "throughput": ("bytes_per_second", "ops_per_second"),
    "ceiling": ("bytes_per_second", "ops_per_second"),
}
"""Quantity → its possible base units."""

_UNITS: Mapping[str, tuple[str, float]] = {
    "s": ("seconds", 1.0),
    "ms": ("seconds", 1e-3),
    "us": ("seconds", 1e-6),
    "µs": ("seconds", 1e-6),
    "iops": ("ops_per_second", 1.0),
    "kiops": ("ops_per_second", 1e3),
    "b/s": ("bytes_per_second", 1.0),
    "kb/s": ("bytes_per_second", 1e3),
    "mb/s": ("bytes_per_second", 1e6),
    "gb/s": ("bytes_per_second", 1e9),
    "kib/s": ("bytes_per_second", 1024.0),
    "mib/s": ("bytes_per_second", 1024.0**2),
    "gib/s": ("bytes_per_second", 1024.0**3),
}
_MAX_VALUE_LENGTH = 100
_VALUE = re.compile(r"\s*([\d.,]+)\s*(?:(?:-|–|to|\.\.)\s*([\d.,]+))?\s*(\S+)\s*")
_KEYS = ("entity", "quantity", "value", "direction", "step", "source")


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure. `low` and `high` in `unit`, a base unit; `direction` and `step` None: all of them."""

    entity: str
    quantity: str
    unit: str
    low: float
    high: float
    source: str
    direction: str | None = None
    step: str | None = None


def entries(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """(number from 1, keys and values) of each figure. Raises ValueError: neither YAML nor CSV of figures."""
    if not re.search(r"^figures\s*:", text, re.MULTILINE):
        separator = separator_of(text.partition("\n")[0])
        try:
            yield from enumerate(
                csv.DictReader(io.StringIO(text), delimiter=separator, skipinitialspace=True), start=1
            )
        except csv.Error as error:
            raise ValueError(f"not valid CSV: {error}") from error
        return
    document = read_yaml(text)
    items = document.get("figures") if isinstance(document, dict) else None
    if not isinstance(items, list):
        raise ValueError("`figures` has to be a list")  # noqa: TRY004 - a mistake in a file, not in a program
    yield from ((n, entry if isinstance(entry, dict) else {}) for n, entry in enumerate(items, start=1))


def separator_of(header: str) -> str:
    """The separator of a CSV.

    >>> separator_of("entity;quantity;value;source")
    ';'
    """
    return max(",;\t", key=header.count)


def figure(entry: Mapping[str, Any]) -> Figure:
    """Parses one entry. Raises ValueError with the correction that is needed."""
    if nested := [key for key, value in entry.items() if isinstance(value, list | dict)]:
        raise ValueError(f"{nested[0]}: one value is wanted, no list")
    fields = {str(key).strip(): str(value).strip() for key, value in entry.items() if value not in (None, "")}
    if unknown_keys := fields.keys() - set(_KEYS):
        raise ValueError(f"unknown key {sorted(unknown_keys)[0]!r}; there are: {', '.join(_KEYS)}")
    for key in ("entity", "quantity", "value", "source"):
        if key not in fields:
            raise ValueError(f"{key} is missing")
    if not re.fullmatch(r"[a-z_]+:.+", fields["entity"]):
        raise ValueError(f"entity {fields['entity']!r}: write kind:name as in sanpath topology, e.g. array:fa1")
    if fields["quantity"] not in QUANTITIES:
        raise ValueError(f"quantity {fields['quantity']!r}: one of {', '.join(QUANTITIES)}")
    if fields.get("direction", "read") not in ("read", "write"):
        raise ValueError(f"direction {fields['direction']!r}: read (towards the host) or write")
    unit, low, high = value(fields["value"])
    if unit not in QUANTITIES[fields["quantity"]]:
        raise ValueError(f"value {fields['value']!r} is no {fields['quantity']}")
    return Figure(
        fields["entity"],
        fields["quantity"],
        unit,
        low,
        high,
        fields["source"],
        fields.get("direction"),
        fields.get("step"),
    )


def value(text: str) -> tuple[str, float, float]:
    """Base unit, low and high of "3-5 ms" or "392 MB/s". Raises ValueError."""
    match = _VALUE.fullmatch(text) if len(text) <= _MAX_VALUE_LENGTH else None
    unit_and_scale = _UNITS.get(match[3].lower()) if match is not None else None
    if match is None or unit_and_scale is None:
        raise ValueError(
            f"value {text[:_MAX_VALUE_LENGTH]!r}: write a number or a range with its unit: "
            f"{', '.join(sorted(_UNITS))}"
        )
    unit, scale = unit_and_scale
    low = _number(match[1]) * scale
    high = _number(match[2]) * scale if match[2] else low
    if not 0 <= low <= high or not math.isfinite(high):
        raise ValueError(f"value {text!r}: the lower bound comes first")
    return unit, low, high


def _number(text: str) -> float:
    """6250, 6,250 or 81.9. Raises ValueError."""
    if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", text):
        text = text.replace(",", "")
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"value {text!r} is no number; write a decimal point") from None

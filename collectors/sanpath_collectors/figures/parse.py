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
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sanpath.plugin import read_yaml
from sanpath_collectors.figures.values import Value, parse_value

_PRICE_UNITS = re.compile(r"[A-Z]{3}(/byte)?")
_PRICE = "price"
QUANTITIES: Mapping[str, tuple[str, ...]] = {
    "latency": ("seconds",),
    "latency_limit": ("seconds",),
    "throughput": ("bytes_per_second", "ops_per_second"),
    "achieved_throughput": ("ops_per_second",),
    "transfer": ("bytes",),
    "crossed": ("bytes",),
    "io_size": ("bytes",),
    "share_within": ("ratio",),
    "local_read_share": ("ratio",),
    "ceiling": ("bytes_per_second", "ops_per_second"),
    "drive_ceiling": ("ops_per_second",),
    "miss_ratio": ("ratio",),
    "reduction": ("ratio",),
    "reduction_stage": ("ratio",),
    "capacity": ("bytes",),
    "usable_capacity": ("bytes",),
    "copies": ("count",),
    _PRICE: (),
}
"""Quantity → its possible base units. A price may be in any currency, in total or for each byte."""
_KEYS = ("entity", "quantity", "value", "duration", "within", "direction", "step", "source")


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure. `low` and `high` are in `unit`, a base unit. `direction`, `step` None: all of them.

    `rounding`: half of the last printed digit, in the same unit. `shortest_seconds`, `longest_seconds`: limits of a
    transfer's duration; None: the figure is not a transfer. `within_seconds`: the latency that a share of the I/Os
    does not exceed; None: the figure is not such a share.
    """

    entity: str
    quantity: str
    unit: str
    low: float
    high: float
    source: str
    direction: str | None = None
    step: str | None = None
    rounding: float = 0.0
    shortest_seconds: float | None = None
    longest_seconds: float | None = None
    within_seconds: float | None = None


def parse_entries(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield (number from 1, keys and values) of each figure. Raises ValueError if the text is neither YAML nor CSV of
    figures, DocumentError (a ValueError) for invalid YAML."""
    if not re.search(r"^figures\s*:", text, re.MULTILINE):
        separator = find_separator(text.partition("\n")[0])
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
        raise ValueError("`figures` has to be a list")  # noqa: TRY004 - an error in a file, not in a program
    yield from ((n, entry if isinstance(entry, dict) else {}) for n, entry in enumerate(items, start=1))


def find_separator(header: str) -> str:
    """Find the separator of a CSV, by its header.

    >>> find_separator("entity;quantity;value;source")
    ';'
    """
    return max(",;\t", key=header.count)


def parse_figure(entry: Mapping[str, Any]) -> Figure:
    """Parse one entry. Raises ValueError, with what to correct."""
    if nested := [key for key, value in entry.items() if isinstance(value, list | dict)]:
        raise ValueError(f"{nested[0]}: one value is wanted, no list")
    fields = {str(key).strip(): str(text).strip() for key, text in entry.items() if text not in (None, "")}
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
    quantity = fields["quantity"]
    parsed = parse_value(fields["value"])
    is_possible = _PRICE_UNITS.fullmatch(parsed.unit) if quantity == _PRICE else parsed.unit in QUANTITIES[quantity]
    if not is_possible:
        raise ValueError(f"value {fields['value']!r} is not a {quantity}")
    duration = _parse_time(fields, "duration", "transfer", "37-39 s")
    within = _parse_time(fields, "within", "share_within", "1 ms")
    return Figure(
        fields["entity"],
        quantity,
        parsed.unit,
        parsed.low,
        parsed.high,
        fields["source"],
        fields.get("direction"),
        fields.get("step"),
        parsed.rounding,
        None if duration is None else duration.low,
        None if duration is None else duration.high,
        None if within is None else within.high,
    )


def _parse_time(fields: Mapping[str, str], key: str, quantity: str, example: str) -> Value | None:
    """Parse a time that only this quantity needs. Raises ValueError if it is missing, or given for another
    quantity."""
    if (key in fields) != (fields["quantity"] == quantity):
        raise ValueError(f"{quantity} needs {key}, such as {key}: {example}, and nothing else has it")
    if key not in fields:
        return None
    time = parse_value(fields[key])
    if time.unit != "seconds" or not time.low:
        raise ValueError(f"{key} {fields[key]!r}: write a time, such as {example}")
    return time

"""What a row of the table of links says of the link."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from sanpath.catalogue.capacity import Technology, payload_ratio
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import FactRow, FactTable, number

FULL = 0.95
"""A window counts as full from this share of the utilisation that a full link shows; the limit of the rule
link-full."""
_FULL_WINDOWS = 0.9
"""Share of the windows in which a saturated link is full."""
SLOW_TRANSFER_RATIO = 5.0
"""Ratio of transfer time to wire time from which, on a free link, the transfer waits for something. Less is usual: a
write asks the array for its data first (XFER_RDY, R2T), and arrays round their times to microseconds."""


def filled_ratio(row: FactRow) -> float | None:
    """Return the bytes of a link over those of a full one. None: nobody counts them."""
    if row["utilisation"] is None or not row["full_ratio"]:
        return None
    return number(row, "utilisation") / number(row, "full_ratio")


def is_saturated(row: FactRow) -> bool:
    """Return whether a link is full in the mean and in nearly every window."""
    return (filled_ratio(row) or 0.0) >= FULL and number(row, "full_windows_ratio") >= _FULL_WINDOWS


def with_saturation(rows: Iterable[FactRow]) -> list[FactRow]:
    """Return rows of links with whether the link is saturated in their direction in any of the steps."""
    known = list(rows)
    saturated = {(row["entity"], row["direction"]) for row in known if row["on_loaded_path"] and is_saturated(row)}
    return [{**row, "saturated_in_a_step": (row["entity"], row["direction"]) in saturated} for row in known]


def wire_seconds(links: FactTable, load: LoadFacts, speeds: Mapping[str, float] | None = None) -> float | None:
    """Return the time of one block on the slowest link of the loaded path, frames and gaps included. None: unknown.

    `speeds`: link → data rate in bytes a second, for links that are assumed to run at another speed.
    """
    rows = links.select(step=load.step, direction=load.direction, on_loaded_path=True)
    size, speeds, times = load.operation_bytes, speeds or {}, []
    for row in rows:
        rate = speeds.get(str(row["entity"]), number(row, "capacity_bytes_per_second"))
        if rate and size:
            times.append(size / payload_ratio(cast(Technology, row["technology"]), size) / rate)
    return max(times, default=None)

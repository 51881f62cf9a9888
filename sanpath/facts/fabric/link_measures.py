"""Measures of a link, computed from its row in the table of links."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from sanpath.catalogue.link_capacity import Technology, payload_ratio
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import FactRow, FactTable, number

FULL_RATIO = 0.95
"""Share of a full link's utilisation from which a window counts as full. The rule link-full uses the same limit."""
_MIN_FULL_WINDOWS = 0.9
"""Smallest share of full windows of a saturated link."""
SLOW_TRANSFER_RATIO = 5.0
"""Ratio of transfer time to wire time from which a transfer over a free link includes waiting. A smaller ratio is
usual: a write first waits for the array's permission (XFER_RDY, R2T), and arrays round their times to
microseconds."""


def filled_ratio(row: FactRow) -> float | None:
    """Return the ratio of a link's bytes to those of a full link. None: no source counts them."""
    if row["utilisation"] is None or not row["full_ratio"]:
        return None
    return number(row, "utilisation") / number(row, "full_ratio")


def is_saturated(row: FactRow) -> bool:
    """Return whether a link is full on average and in nearly every window."""
    return (filled_ratio(row) or 0.0) >= FULL_RATIO and number(row, "full_windows_ratio") >= _MIN_FULL_WINDOWS


def with_saturation(rows: Iterable[FactRow]) -> list[FactRow]:
    """Return the rows of links with an additional fact: whether the link is saturated in that direction in any
    step."""
    known = list(rows)
    saturated = {(row["entity"], row["direction"]) for row in known if row["on_loaded_path"] and is_saturated(row)}
    return [{**row, "saturated_in_a_step": (row["entity"], row["direction"]) in saturated} for row in known]


def wire_seconds(links: FactTable, load: LoadFacts, speeds: Mapping[str, float] | None = None) -> float | None:
    """Return the mean time of one block on the slowest stage of the loaded path, including frame headers and gaps.
    None: unknown.

    A stage is one link, or the parallel links of hosts, of arrays or of a trunk: each I/O crosses one of them. If
    their shares are unknown, the fastest link counts. `speeds`: link → data rate in bytes a second, for links that
    are assumed to run at a different speed.
    """
    rows = links.select(step=load.step, direction=load.direction, on_loaded_path=True)
    size, speeds = load.operation_bytes, speeds or {}
    stages: defaultdict[object, list[tuple[float, float | None]]] = defaultdict(list)
    for row in rows:
        rate = speeds.get(str(row["entity"]), number(row, "capacity_bytes_per_second"))
        if rate and size:
            seconds = size / payload_ratio(cast(Technology, row["technology"]), size) / rate
            stage = row["side"] if row["side"] in ("host", "array") else row["trunk"] or row["entity"]
            stages[stage].append((seconds, cast(float | None, row["share"])))
    return max(map(_mean_seconds, stages.values()), default=None)


def _mean_seconds(links: Sequence[tuple[float, float | None]]) -> float:
    """Return the mean time of a block on parallel links. `links`: (seconds, share of the blocks), None: unknown."""
    shares = [share for _, share in links if share is not None]
    if len(shares) < len(links) or not sum(shares):
        return min(seconds for seconds, _ in links)
    return sum(seconds * share for (seconds, _), share in zip(links, shares, strict=True)) / sum(shares)

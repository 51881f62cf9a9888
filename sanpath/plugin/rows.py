"""Samples of one poll as rows of a table."""

from __future__ import annotations

from collections.abc import Mapping

from sanpath.model import Rows, Table

INTEGER_LIMIT = 2**63
"""Figures from this one on are damaged. Smaller ones fit any column, and a sum of two fits a 64-bit counter."""


def rows_of(
    table: Table,
    values: Mapping[str, Mapping[str, int | float | None]],
    seen_us: int,
    device_time_us: int | None = None,
) -> Rows:
    """Return a row for each entity, with the columns that any row has, in the order of the table.

    `values`: entity → metric → value, None or missing: not reported. `device_time_us`: the time of all rows on the
    device's clock, None: it has none, or uses the recorder's.
    """
    reported = {metric for row in values.values() for metric in row}
    metrics = [column.metric for column in table.columns if column.metric in reported]
    return Rows(
        table,
        entity=list(values),
        seen=[seen_us] * len(values),
        values={metric: [row.get(metric) for row in values.values()] for metric in metrics},
        device_time=None if device_time_us is None else [device_time_us] * len(values),
    )

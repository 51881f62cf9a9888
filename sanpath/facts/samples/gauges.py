"""Computes the means of gauges over entire steps in the database.

States are averaged over time, times of operations over operations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from string import Template
from typing import Any

import duckdb

from sanpath.catalogue.load import metrics
from sanpath.model import Column
from sanpath.recording.storage.duck import quoted

_Values = Sequence[float | None]
Means = tuple[str, str, int, _Values, _Values, _Values, _Values]
"""Step, entity, number of its samples; mean and last value of each gauge in its base unit; mean in the first and in
the last quarter of the step, of each gauge that `gauges_by_quarter` names."""
_BY_QUARTER = ("service_seconds_", "queue_seconds_")
"""Times at a device that are also averaged over the first and the last quarter of a step. In a small recording, to
plan the query of one of these costs more than that of all others: so only gauges that some fact needs."""
_QUARTERS = ("early", "late")
# Where a value covers the seconds before its time stamp, all of these have to lie in the step.
_SUMS = Template("""
    SELECT step, entity, count(*), [$sums] FROM (
        SELECT samples.*, steps.name AS step, moment < 0.75e0 * steps."from" + 0.25e0 * steps."to" AS early,
               moment > 0.25e0 * steps."from" + 0.75e0 * steps."to" AS late
        FROM (
            SELECT *, coalesce(covers_seconds, 1) AS weight$operations FROM "timed_$kind"
            WHERE source = $$source $in_range AND ($reported) WINDOW series AS (PARTITION BY entity ORDER BY moment)
        ) AS samples
        JOIN steps ON moment - coalesce(covers_seconds, 0) * 1e6 >= steps."from" AND moment <= steps."to"
    ) GROUP BY step, entity ORDER BY entity, min(moment)
""")


def step_means(
    connection: duckdb.DuckDBPyConnection,
    kind: str,
    source: str,
    gauges: Mapping[str, Column],
    recorded: Mapping[str, Column],
    entity_range: tuple[str, str] | None = None,
) -> list[Means]:
    """Return means of the gauges of one source and entity kind, from the view `timed_<kind>` and the table `steps`.

    `recorded`: all columns that the source reports of the kind. `entity_range`: first entity name, and the name
    before which the range ends; None: all entities.
    """
    operations = _operations(kind, gauges, recorded)
    quartered = set(gauges_by_quarter(kind, gauges, recorded))
    counts = {column: f"operations{number}" for number, column in enumerate(sorted(set(operations.values())))}
    query = _SUMS.substitute(
        kind=kind,
        # Sums are divided in Python: DuckDB takes longer to plan many divisions than to add up an hour of samples.
        sums=", ".join(_sums(name, counts.get(operations.get(name, "")), name in quartered) for name in gauges),
        operations="".join(f", {_operation_count(column)} AS {name}" for column, name in counts.items()),
        in_range="AND entity >= $first AND entity < $before" if entity_range is not None else "",
        reported=" OR ".join(f"{quoted(name)} IS NOT NULL" for name in gauges),
    )
    bounds = {"first": entity_range[0], "before": entity_range[1]} if entity_range is not None else {}
    rows = connection.execute(query, {"source": source, **bounds}).fetchall()
    scales = [(column.scale, name in operations, name in quartered) for name, column in gauges.items()]
    return [_divided(scales, *row) for row in rows]


def gauges_by_quarter(kind: str, gauges: Mapping[str, Column], recorded: Mapping[str, Column]) -> list[str]:
    """The gauges that are also averaged by quarter of a step: a device's times that are means over operations."""
    return [name for name in _operations(kind, gauges, recorded) if name.startswith(_BY_QUARTER)]


def _operations(kind: str, gauges: Mapping[str, Column], recorded: Mapping[str, Column]) -> dict[str, str]:
    """Gauge → the column that counts the operations it is a mean of, where the source reports that column."""
    catalogue = metrics().get(kind, {})
    mean_over = {name: catalogue[name].mean_over for name in gauges if name in catalogue}
    return {name: column for name, column in mean_over.items() if column in recorded}


def _operation_count(column: str) -> str:
    """SQL of the operations that a sample is a mean of: the counter's growth, or the rate times its seconds.

    NULL where there were none, or the counter was reset."""
    count = (
        f"{quoted(column)} - lag({quoted(column)}) OVER series"
        if column.endswith("_total")
        else f"{quoted(column)} * weight"
    )
    return f"CASE WHEN {count} > 0 THEN ({count})::DOUBLE END"


def _sums(name: str, operations: str | None, quartered: bool) -> str:
    """SQL of a gauge's last value and of pairs (sum, divisor): over time; over operations, where these are reported;
    and over operations of the first and of the last quarter."""
    reported = f"CASE WHEN {quoted(name)} IS NOT NULL THEN"
    over_operations = (
        [(f"{quoted(name)} * {operations}", f"{reported} {operations} END")] if operations is not None else []
    )
    pairs = [(f"{quoted(name)} * weight", f"{reported} weight END"), *over_operations]
    for quarter in _QUARTERS if quartered else ():
        pairs += [
            (f"CASE WHEN {quarter} THEN {value} END", f"CASE WHEN {quarter} THEN {divisor} END")
            for value, divisor in over_operations
        ]
    return ", ".join(
        [f"arg_max({quoted(name)}, moment)", *(f"sum({value}), sum({divisor})" for value, divisor in pairs)]
    )


def _divided(
    scales: Sequence[tuple[float, bool, bool]], step: str, entity: str, count: int, sums: Sequence[Any]
) -> Means:
    """Divide the sums of one row. `scales`: for each gauge the factor to its base unit, whether there are sums over
    operations, and whether there are sums by quarter."""
    values: Iterator[Any] = iter(sums)
    means, lasts, first, last = list[float | None](), list[float | None](), list[float | None](), list[float | None]()

    def mean(scale: float) -> float | None:
        value, divisor = next(values), next(values)
        return value / divisor * scale if value is not None and divisor else None

    for scale, by_operations, is_quartered in scales:
        latest = next(values)
        lasts.append(latest * scale if latest is not None else None)
        by_time = mean(scale)
        over_operations = mean(scale) if by_operations else None
        means.append(over_operations if over_operations is not None else by_time)
        if is_quartered:
            first.append(mean(scale))
            last.append(mean(scale))
    return step, entity, count, means, lasts, first, last

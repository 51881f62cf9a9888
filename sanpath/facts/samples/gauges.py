"""Gauges → their means over whole steps, summed up in the database: of states over time, of times over operations."""

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
"""Step, entity, number of its samples, mean and last value of each gauge in its base unit; and of those of `followed`
the mean in the first quarter of the step and in the last."""
_FOLLOWED = ("service_seconds_", "queue_seconds_")
"""Times at a device whose course within a step is looked at. Each costs more than all others of a small recording to
plan: not what nobody asks for."""
_QUARTERS = ("early", "late")
# A value that covers the seconds before its time stamp has to lie in the step with all of them.
_SUMS = Template("""
    SELECT step, entity, count(*), [$sums] FROM (
        SELECT own.*, steps.name AS step, moment < 0.75e0 * steps."from" + 0.25e0 * steps."to" AS early,
               moment > 0.25e0 * steps."from" + 0.75e0 * steps."to" AS late
        FROM (
            SELECT *, coalesce(covers_seconds, 1) AS weight$done FROM "timed_$kind"
            WHERE source = $$source $some AND ($told) WINDOW one AS (PARTITION BY entity ORDER BY moment)
        ) AS own
        JOIN steps ON moment - coalesce(covers_seconds, 0) * 1e6 >= steps."from" AND moment <= steps."to"
    ) GROUP BY step, entity ORDER BY entity, min(moment)
""")


def step_means(
    connection: duckdb.DuckDBPyConnection,
    kind: str,
    source: str,
    gauges: Mapping[str, Column],
    recorded: Mapping[str, Column],
    between: tuple[str, str] | None = None,
) -> list[Means]:
    """The gauges of one source and entity kind, over the view `timed_<kind>` and the table `steps`.

    `recorded`: all that the source tells of the kind; `between`: the names from which and before which the entities
    lie, None: all of them.
    """
    over = _operations(kind, gauges, recorded)
    followed = set(followed_of(kind, gauges, recorded))
    counts = {column: f"did{number}" for number, column in enumerate(sorted(set(over.values())))}
    query = _SUMS.substitute(
        kind=kind,
        # Sums are divided here, not there: DuckDB takes longer to plan many divisions than to add up an hour.
        sums=", ".join(_sums(name, counts.get(over.get(name, "")), name in followed) for name in gauges),
        done="".join(f", {_done(column)} AS {name}" for column, name in counts.items()),
        some="AND entity >= $first AND entity < $before" if between is not None else "",
        told=" OR ".join(f"{quoted(name)} IS NOT NULL" for name in gauges),
    )
    bounds = {"first": between[0], "before": between[1]} if between is not None else {}
    rows = connection.execute(query, {"source": source, **bounds}).fetchall()
    scales = [(column.scale, name in over, name in followed) for name, column in gauges.items()]
    return [_divided(scales, *row) for row in rows]


def followed_of(kind: str, gauges: Mapping[str, Column], recorded: Mapping[str, Column]) -> list[str]:
    """The gauges whose course within a step is told: times over operations, of a device."""
    return [name for name in _operations(kind, gauges, recorded) if name.startswith(_FOLLOWED)]


def _operations(kind: str, gauges: Mapping[str, Column], recorded: Mapping[str, Column]) -> dict[str, str]:
    """Gauge → the column that tells over how many operations it is the mean, where the source gives that."""
    known = metrics().get(kind, {})
    over = {name: known[name].mean_over for name in gauges if name in known}
    return {name: column for name, column in over.items() if column in recorded}


def _done(column: str) -> str:
    """SQL of the operations that a sample is the mean of: what the counter grew by, or the rate times its seconds.
    NULL where there were none, or the counter was reset."""
    did = (
        f"{quoted(column)} - lag({quoted(column)}) OVER one"
        if column.endswith("_total")
        else f"{quoted(column)} * weight"
    )
    return f"CASE WHEN {did} > 0 THEN ({did})::DOUBLE END"


def _sums(name: str, did: str | None, followed: bool) -> str:
    """SQL of a gauge's last value and of pairs of sums, each with what it is to be divided by: over time; over
    operations, where they are known; and these in the first and in the last quarter."""
    known = f"CASE WHEN {quoted(name)} IS NOT NULL THEN"
    over = [(f"{quoted(name)} * {did}", f"{known} {did} END")] if did is not None else []
    pairs = [(f"{quoted(name)} * weight", f"{known} weight END"), *over]
    for when in _QUARTERS if followed else ():
        pairs += [(f"CASE WHEN {when} THEN {value} END", f"CASE WHEN {when} THEN {by} END") for value, by in over]
    return ", ".join([f"arg_max({quoted(name)}, moment)", *(f"sum({value}), sum({by})" for value, by in pairs)])


def _divided(
    scales: Sequence[tuple[float, bool, bool]], step: str, entity: str, count: int, sums: Sequence[Any]
) -> Means:
    """What comes of a row. `scales`: of each gauge the factor to its base unit, and which sums there are of it."""
    told: Iterator[Any] = iter(sums)
    means, lasts, first, last = list[float | None](), list[float | None](), list[float | None](), list[float | None]()

    def mean(scale: float) -> float | None:
        value, by = next(told), next(told)
        return value / by * scale if value is not None and by else None

    for scale, by_operations, is_followed in scales:
        newest = next(told)
        lasts.append(newest * scale if newest is not None else None)
        by_time = mean(scale)
        over_operations = mean(scale) if by_operations else None
        means.append(over_operations if over_operations is not None else by_time)
        if is_followed:
            first.append(mean(scale))
            last.append(mean(scale))
    return step, entity, count, means, lasts, first, last

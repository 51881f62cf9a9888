"""Gauges → their means over whole steps, computed in the database: of a state over time, of times over operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb

from sanpath.catalogue.load import metrics
from sanpath.model import Column

_Values = Sequence[float | None]
Means = tuple[str, str, int, _Values, _Values, _Values, _Values]
"""Step, entity, number of its samples, mean and last value of each gauge in its base unit; and of those of `followed`
the mean in the first quarter of the step and in the last."""
_FOLLOWED = ("service_seconds_", "queue_seconds_")
"""Times at a device whose course within a step is looked at. Each costs more than all others of a small recording to
plan: not what nobody asks for."""
_QUARTERS = (
    'moment < 0.75e0 * steps."from" + 0.25e0 * steps."to"',
    'moment > 0.25e0 * steps."from" + 0.75e0 * steps."to"',
)
"""SQL: in the first quarter of a step, and in the last."""


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
    names, followed = list(gauges), followed_of(kind, gauges, recorded)
    over = _operations(kind, gauges, recorded)
    did = "".join(f', {_done(column)} AS "did {column}"' for column in sorted(set(over.values())))
    means = ", ".join(f"{_mean(n, over.get(n))} * {gauges[n].scale}" for n in names)
    lasts = ", ".join(f'arg_max("{n}", moment) * {gauges[n].scale}' for n in names)
    first, last = (
        ", ".join(f"{_over_operations(n, over[n], when)} * {gauges[n].scale}" for n in followed) for when in _QUARTERS
    )
    told = " OR ".join(f'"{n}" IS NOT NULL' for n in names)
    some = "AND entity >= $first AND entity < $before" if between is not None else ""
    # A value that covers the seconds before its time stamp has to lie in the step with all of them.
    query = f"""
        SELECT steps.name, entity, count(*), [{means}], [{lasts}], [{first}], [{last}]
        FROM (
            SELECT *, coalesce(covers_seconds, 1) AS weight{did} FROM "timed_{kind}"
            WHERE source = $source {some} AND ({told}) WINDOW one AS (PARTITION BY entity ORDER BY moment)
        )
        JOIN steps ON moment - coalesce(covers_seconds, 0) * 1e6 >= steps."from" AND moment <= steps."to"
        GROUP BY steps.name, entity ORDER BY entity, min(moment)
    """  # noqa: S608 - names of the catalogue, quoted
    bounds = {"first": between[0], "before": between[1]} if between is not None else {}
    return connection.execute(query, {"source": source, **bounds}).fetchall()


def followed_of(kind: str, gauges: Mapping[str, Column], recorded: Mapping[str, Column]) -> list[str]:
    """The gauges whose course within a step is told: times over operations, of a device."""
    return [name for name in _operations(kind, gauges, recorded) if name.startswith(_FOLLOWED)]


def _operations(kind: str, gauges: Mapping[str, Column], recorded: Mapping[str, Column]) -> dict[str, str]:
    """Gauge → the column that tells over how many operations it is the mean, where the source gives that."""
    known = metrics().get(kind, {})
    over = {name: known[name].mean_over for name in gauges if name in known}
    return {name: column for name, column in over.items() if column in recorded}


def _done(column: str) -> str:
    """SQL of the operations that a sample is the mean of: what the counter grew by, or the rate times its seconds."""
    return f'"{column}" - lag("{column}") OVER one' if column.endswith("_total") else f'"{column}" * weight'


def _mean(name: str, over: str | None) -> str:
    """SQL of a gauge's mean over a step."""
    known = f'FILTER (WHERE "{name}" IS NOT NULL)'
    by_time = f'sum("{name}" * weight) {known} / sum(weight) {known}'
    return by_time if over is None else f"coalesce({_over_operations(name, over)}, {by_time})"


def _over_operations(name: str, over: str, when: str = "true") -> str:
    """SQL of a gauge's mean over operations, in the part of a step in which a condition holds."""
    known = f'FILTER (WHERE "{name}" IS NOT NULL AND "did {over}" > 0 AND {when})'
    return f'sum("{name}" * "did {over}") {known} / sum("did {over}") {known}'

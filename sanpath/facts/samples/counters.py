"""Counters → rates, computed in the database: the windows between samples, one by one or summed over whole steps.

Rules of a counter (RFC 2578 section 7.1.6; what others got wrong is why they are strict):
- it grew: the difference counts;
- a 32-bit counter fell and its difference modulo 2^32 stays below half the range: it wrapped once;
- any other fall is a reset: the window is left out. A 64-bit counter never wraps.
Agents answer from a cache. A poll round in which no counter of the agent has moved is no news: it is left out and its
time goes to the window that ends with the next round that has news; an agent without news for longer than any cache
lasts is idle. Windows above line rate are merged the same way; dropping them would bias the mean low.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from string import Template
from typing import Any

import duckdb
import numpy as np

from sanpath.model import Column
from sanpath.recording.reading.tail import ROUND_US
from sanpath.recording.storage.duck import quoted

CACHE_US = 15_000_000
"""Agents refresh their counters at least this often (net-snmp: 3 s, measured);
without news for longer they are idle."""

Sums = tuple[str, str, int, float, Sequence[float | None]]
"""Step, entity, number of its windows, their length in seconds together, mean rate of each counter."""
Windows = tuple[str, str, list[float], list[int], list[list[float | None]]]
"""Step, entity; of each of its windows in turn the length in seconds and the end on the recorder's clock; of each
counter the rate in each window."""

_OWN = Template('SELECT * FROM "timed_$kind" WHERE source = $$source AND ($told)')
_COUNT = Template("SELECT entity, count(*) FROM ($own) GROUP BY entity ORDER BY entity")
# Segments are sorted by entity: a range is what the statistics of Parquet can leave out parts by.
_RANGE = Template("$own AND entity >= $$first AND entity < $$before")
_CHOSEN = Template("$own AND entity BETWEEN $$first AND $$last AND entity IN (SELECT entity FROM chosen)")
_NEWS = Template("SELECT own.* FROM ($own) own ASOF JOIN rounds ON own.seen >= rounds.begin WHERE rounds.told")
_ROUNDS = Template("""
    CREATE OR REPLACE TEMP TABLE rounds AS
    WITH own AS ($own),
    noted AS (
        SELECT seen, ($moved) AS moved,
               sum(CASE WHEN gap > $together THEN 1 ELSE 0 END) OVER (ORDER BY seen) AS round
        FROM (SELECT *, seen - lag(seen) OVER (ORDER BY seen) AS gap FROM own)
        WINDOW one AS (PARTITION BY entity ORDER BY moment)
    ),
    rounds AS (
        SELECT round, bool_or(moved) AS moved, min(seen) AS first, max(seen) AS last FROM noted GROUP BY round
    )
    SELECT coalesce((first + lag(last) OVER (ORDER BY round)) // 2, -(2::BIGINT ** 62)::BIGINT) AS begin,
           coalesce(moved OR first - max(first) FILTER (WHERE moved) OVER (
               ORDER BY round ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) >= $cache, false) AS told
    FROM rounds
""")
# Over the whole of what is in order DuckDB has the row before at hand: a partition for each entity takes half as long
# again (measured). What lies in no step is part of no window within one.
_WINDOWS = Template("""
    SELECT steps.name AS step, steps."from" AS since, entity, began, ended, $names
    FROM (
        SELECT entity, lag(entity) OVER () AS previous, lag(moment) OVER () AS began, moment AS ended, $deltas
        FROM (
            SELECT * FROM (SELECT entity, moment, $columns FROM ($news))
            WHERE EXISTS (SELECT 1 FROM steps WHERE moment BETWEEN steps."from" AND steps."to")
            ORDER BY entity, moment
        )
    ) JOIN steps ON began >= steps."from" AND ended <= steps."to"
    WHERE previous = entity AND ended > began
""")
_IN_ORDER = Template("""
    SELECT dense_rank() OVER (ORDER BY entity, since, step) AS place, entity, step, (ended - began) / 1e6 AS seconds,
           ended, $rates
    FROM ($windows) ORDER BY place, ended
""")
_SUMS = Template("""
    SELECT step, entity, count(*), sum(ended - began) / 1e6, [$rates] FROM ($windows) GROUP BY step, entity
""")
# Hardly a window tells nothing: to take those away costs less than to add up the others, counter by counter. What a
# step counts is far below 2^53: as a DOUBLE it is exact.
_RATE = Template("""
    sum($name::DOUBLE) * $scale
    / nullif((sum(ended - began) - coalesce(sum(ended - began) FILTER (WHERE $name IS NULL), 0)) / 1e6, 0)
""")

Rounds = Sequence[tuple[int, bool]]
"""When each poll round of an agent began, and whether it told anything new."""


class CounterRates:
    """The counters of one source and entity kind, over the view `timed_<kind>` and the table `steps`."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, kind: str, source: str, counters: Mapping[str, Column]
    ) -> None:
        self._connection, self._source, self._counters = connection, source, counters
        told = " OR ".join(f"{quoted(name)} IS NOT NULL" for name in counters)
        self._own = _OWN.substitute(kind=kind, told=told)
        self._stale = False

    def rows(self) -> dict[str, int]:
        """Entity → number of its samples, in the order of their names."""
        return dict(self._ask(_COUNT.substitute(own=self._own)))

    def find_rounds(self, witnesses: Sequence[str] | None = None) -> Rounds:
        """The poll rounds by the news of all entities, or of some: a round with news that these miss is joined to the
        next, which makes longer windows and the same rates. Empty: every round had news."""
        own, bounds = (self._own, {}) if witnesses is None else self._of(witnesses)
        moved = " OR ".join(
            f"{quoted(name)} IS DISTINCT FROM lag({quoted(name)}) OVER one" for name in self._counters
        )
        self._ask(_ROUNDS.substitute(own=own, moved=moved, together=ROUND_US, cache=CACHE_US), bounds)
        rounds = self._connection.execute("SELECT begin, told FROM rounds ORDER BY begin").fetchall()
        self._stale = not all(told for _, told in rounds)
        return rounds if self._stale else ()

    def use_rounds(self, rounds: Rounds) -> None:
        """Rounds that were found elsewhere."""
        self._connection.execute("CREATE OR REPLACE TEMP TABLE rounds (begin BIGINT, told BOOLEAN)")
        self._stale = bool(rounds)
        if rounds:
            self._connection.execute(
                "INSERT INTO rounds SELECT unnest(?), unnest(?)", [*map(list, zip(*rounds, strict=True))]
            )

    def windows(self, entities: Sequence[str] | None = None) -> Iterator[Windows]:
        """Every whole window of some entities, None: of all; an entity after the other, each in the order of time."""
        own, bounds = (self._own, {}) if entities is None else self._of(entities)
        rates = ", ".join(
            f"{quoted(name)}::DOUBLE * {column.scale} / seconds AS {quoted(name)}"
            for name, column in self._counters.items()
        )
        query = _IN_ORDER.substitute(windows=self._windows(own), rates=rates)
        # By columns: a list made of each row of a large recording takes as long as the query.
        told = self._run(query, bounds).fetchnumpy()
        limits = [*np.flatnonzero(np.diff(told["place"], prepend=-1)).tolist(), len(told["place"])]
        for first, before in pairwise(limits):
            seconds, ended, *each = (
                told[name][first:before].tolist() for name in ("seconds", "ended", *self._counters)
            )
            yield told["step"][first], told["entity"][first], seconds, ended, each

    def sums(self, first: str, before: str) -> list[Sums]:
        """Whole steps of the entities from `first` to `before`, by name, each with the mean rate of every counter."""
        rates = ", ".join(
            _RATE.substitute(name=quoted(name), scale=column.scale) for name, column in self._counters.items()
        )
        query = _SUMS.substitute(windows=self._windows(_RANGE.substitute(own=self._own)), rates=rates)
        return self._ask(query, {"first": first, "before": before})

    def _windows(self, own: str) -> str:
        columns = [quoted(name) for name in self._counters]
        narrow = [
            f"max({quoted(name)}) OVER (PARTITION BY entity) < {2**32} AS {quoted('narrow ' + name)}"
            for name, column in self._counters.items()
            if column.bits == 32
        ]
        return _WINDOWS.substitute(
            names=", ".join(columns),
            columns=", ".join([*columns, *narrow]),
            deltas=", ".join(
                f"{_difference(name, column)} AS {quoted(name)}" for name, column in self._counters.items()
            ),
            news=_NEWS.substitute(own=own) if self._stale else own,
        )

    def _of(self, entities: Sequence[str]) -> tuple[str, Mapping[str, str]]:
        """SQL of the samples of some entities, and its parameters."""
        self._connection.execute(
            "CREATE OR REPLACE TEMP TABLE chosen AS SELECT unnest(?) AS entity", [list(entities)]
        )
        bounds = {"first": min(entities, default=""), "last": max(entities, default="")}
        return _CHOSEN.substitute(own=self._own), bounds

    def _ask(self, query: str, more: Mapping[str, str] | None = None) -> list[Any]:
        return self._run(query, more).fetchall()

    def _run(self, query: str, more: Mapping[str, str] | None = None) -> duckdb.DuckDBPyConnection:
        return self._connection.execute(query, {"source": self._source, **(more or {})})


def _difference(name: str, column: Column) -> str:
    """SQL of the difference to the sample before; NULL where the counter was reset. Unsigned: never below zero."""
    now, before = quoted(name), f"lag({quoted(name)}) OVER ()"
    # A source may declare the narrowest width of its ports: a counter that has been beyond 32 bits never wraps.
    once = f"WHEN {quoted('narrow ' + name)} AND {before} - {now} > {2**31} THEN {2**32} - ({before} - {now})"
    wrapped = once if column.bits == 32 else ""
    return f"CASE WHEN {now} >= {before} THEN {now} - {before} {wrapped} END"

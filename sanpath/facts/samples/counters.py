"""Computes the rates of counters in the database: window by window, or summed over entire steps.

A window lies between two samples. Rules of a counter (RFC 2578 section 7.1.6; strict, because other tools got them
wrong):
- a counter that grew: its difference counts;
- a 32-bit counter fell and its difference modulo 2^32 is below half the range: it wrapped once;
- any other fall is a reset: the window is left out. A 64-bit counter never wraps.

Agents answer from a cache. A poll round in which no counter of the agent has moved has no news: it is left out, and
its time goes to the window that ends with the next round that has news. An agent without news for longer than any
cache lasts is idle. Windows above line rate are merged the same way; dropping them would bias the mean low.
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
"""Step, entity, number of its windows, their total length in seconds, mean rate of each counter."""
Windows = tuple[str, str, list[float], list[int], list[list[float | None]]]
"""Step, entity; for each window its length in seconds, then for each window its end on the recorder's clock in
microseconds; for each counter its rate in each window."""

_SAMPLES = Template('SELECT * FROM "timed_$kind" WHERE source = $$source AND ($reported)')
_COUNT = Template("SELECT entity, count(*) FROM ($samples) GROUP BY entity ORDER BY entity")
# Segments are sorted by entity: by a range, Parquet's statistics can skip row groups.
_RANGE = Template("$samples AND entity >= $$first AND entity < $$before")
_SELECTED = Template("$samples AND entity BETWEEN $$first AND $$last AND entity IN (SELECT entity FROM selected)")
_NEWS = Template(
    "SELECT samples.* FROM ($samples) samples ASOF JOIN rounds ON samples.seen >= rounds.begin WHERE rounds.has_news"
)
_ROUNDS = Template("""
    CREATE OR REPLACE TEMP TABLE rounds AS
    WITH samples AS ($samples),
    noted AS (
        SELECT seen, ($moved) AS moved,
               sum(CASE WHEN gap > $together_us THEN 1 ELSE 0 END) OVER (ORDER BY seen) AS round
        FROM (SELECT *, seen - lag(seen) OVER (ORDER BY seen) AS gap FROM samples)
        WINDOW series AS (PARTITION BY entity ORDER BY moment)
    ),
    rounds AS (
        SELECT round, bool_or(moved) AS moved, min(seen) AS first, max(seen) AS last FROM noted GROUP BY round
    )
    SELECT coalesce((first + lag(last) OVER (ORDER BY round)) // 2, -(2::BIGINT ** 62)::BIGINT) AS begin,
           coalesce(moved OR first - max(first) FILTER (WHERE moved) OVER (
               ORDER BY round ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) >= $cache_us, false) AS has_news
    FROM rounds
""")
# lag() runs over all sorted rows and not over a partition for each entity: partitions take half as long again
# (measured). A sample outside all steps belongs to no window inside one.
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
# Few windows have no value: to subtract their time costs less than to add up that of all others, counter by counter.
# What a counter counts in a step is far below 2^53: as a DOUBLE it is exact.
_RATE = Template("""
    sum($name::DOUBLE) * $scale
    / nullif((sum(ended - began) - coalesce(sum(ended - began) FILTER (WHERE $name IS NULL), 0)) / 1e6, 0)
""")

Rounds = Sequence[tuple[int, bool]]
"""When each poll round of an agent began, microseconds on the recorder's clock, and whether it had news."""


class CounterRates:
    """The counters of one source and entity kind, over the view `timed_<kind>` and the table `steps`."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, kind: str, source: str, counters: Mapping[str, Column]
    ) -> None:
        self._connection, self._source, self._counters = connection, source, counters
        reported = " OR ".join(f"{quoted(name)} IS NOT NULL" for name in counters)
        self._samples = _SAMPLES.substitute(kind=kind, reported=reported)
        self._stale = False

    def rows(self) -> dict[str, int]:
        """Entity → number of its samples, in the order of entity names."""
        return dict(self._fetch(_COUNT.substitute(samples=self._samples)))

    def find_rounds(self, entities: Sequence[str] | None = None) -> Rounds:
        """Find the poll rounds and which of them had news, by all entities or by a few of them.

        Where a few miss the news of a round, it is joined to the next: windows are longer, rates the same. Empty:
        every round had news."""
        samples, bounds = (self._samples, {}) if entities is None else self._select(entities)
        moved = " OR ".join(
            f"{quoted(name)} IS DISTINCT FROM lag({quoted(name)}) OVER series" for name in self._counters
        )
        self._fetch(_ROUNDS.substitute(samples=samples, moved=moved, together_us=ROUND_US, cache_us=CACHE_US), bounds)
        rounds = self._connection.execute("SELECT begin, has_news FROM rounds ORDER BY begin").fetchall()
        self._stale = not all(has_news for _, has_news in rounds)
        return rounds if self._stale else ()

    def use_rounds(self, rounds: Rounds) -> None:
        """Use rounds that another process or connection has found."""
        self._connection.execute("CREATE OR REPLACE TEMP TABLE rounds (begin BIGINT, has_news BOOLEAN)")
        self._stale = bool(rounds)
        if rounds:
            self._connection.execute(
                "INSERT INTO rounds SELECT unnest(?), unnest(?)", [*map(list, zip(*rounds, strict=True))]
            )

    def windows(self, entities: Sequence[str] | None = None) -> Iterator[Windows]:
        """Yield the windows of some entities, None: of all; entity by entity, each in the order of time."""
        samples, bounds = (self._samples, {}) if entities is None else self._select(entities)
        rates = ", ".join(
            f"{quoted(name)}::DOUBLE * {column.scale} / seconds AS {quoted(name)}"
            for name, column in self._counters.items()
        )
        query = _IN_ORDER.substitute(windows=self._windows(samples), rates=rates)
        # Fetched by columns: to make a list of each row of a large recording takes as long as the query.
        columns = self._execute(query, bounds).fetchnumpy()
        limits = [*np.flatnonzero(np.diff(columns["place"], prepend=-1)).tolist(), len(columns["place"])]
        for first, before in pairwise(limits):
            seconds, ended_us, *window_rates = (
                columns[name][first:before].tolist() for name in ("seconds", "ended", *self._counters)
            )
            yield columns["step"][first], columns["entity"][first], seconds, ended_us, window_rates

    def sums(self, first: str, before: str) -> list[Sums]:
        """Return the mean rates over entire steps of the entities whose names lie in [`first`, `before`)."""
        rates = ", ".join(
            _RATE.substitute(name=quoted(name), scale=column.scale) for name, column in self._counters.items()
        )
        query = _SUMS.substitute(windows=self._windows(_RANGE.substitute(samples=self._samples)), rates=rates)
        return self._fetch(query, {"first": first, "before": before})

    def _windows(self, samples: str) -> str:
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
            news=_NEWS.substitute(samples=samples) if self._stale else samples,
        )

    def _select(self, entities: Sequence[str]) -> tuple[str, Mapping[str, str]]:
        """SQL that selects the samples of some entities, and its parameters."""
        self._connection.execute(
            "CREATE OR REPLACE TEMP TABLE selected AS SELECT unnest(?) AS entity", [list(entities)]
        )
        bounds = {"first": min(entities, default=""), "last": max(entities, default="")}
        return _SELECTED.substitute(samples=self._samples), bounds

    def _fetch(self, query: str, parameters: Mapping[str, str] | None = None) -> list[Any]:
        return self._execute(query, parameters).fetchall()

    def _execute(self, query: str, parameters: Mapping[str, str] | None = None) -> duckdb.DuckDBPyConnection:
        return self._connection.execute(query, {"source": self._source, **(parameters or {})})


def _difference(name: str, column: Column) -> str:
    """SQL of the difference to the previous sample; NULL where the counter was reset. Never negative."""
    current, previous = quoted(name), f"lag({quoted(name)}) OVER ()"
    # A source may declare the narrowest width among its ports: a counter that has exceeded 32 bits never wraps.
    fall = f"{previous} - {current}"
    wrap_once = f"WHEN {quoted('narrow ' + name)} AND {fall} > {2**31} THEN {2**32} - ({fall})"
    wrap = wrap_once if column.bits == 32 else ""
    return f"CASE WHEN {current} >= {previous} THEN {current} - {previous} {wrap} END"

"""Counters → rates, computed in the database: every window of what is looked at closely, of all else one a step.

Rules of a counter (RFC 2578 section 7.1.6; what others got wrong is why they are strict):
- it grew: the difference counts;
- a 32-bit counter fell and its difference modulo 2^32 stays below half the range: it wrapped once;
- any other fall is a reset: the window is left out. A 64-bit counter never wraps.
Agents answer from a cache. A poll round in which no counter of the agent has moved is no news: it is left out and its
time goes to the window that ends with the next round that has news; an agent without news for longer than any cache
lasts is idle. Windows above line rate are merged the same way; dropping them would bias the mean low.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from string import Template
from typing import Any

import duckdb

from sanpath.model import Column

_ROUND_US = 300_000
"""Samples of one source that were seen closer together than this belong to one poll round."""
_CACHE_US = 15_000_000
"""Agents refresh their counters at least this often (net-snmp: 3 s, measured);
without news for longer they are idle."""
_CLOSELY = 256
"""Entities of a source whose windows are kept one by one: the loaded path, and beyond it those that move most."""
_WITNESSES = 64
"""Entities that tell whether a poll round of an agent with very many has news."""
_PART = 6_000_000
"""Samples (rows times counters) that are differenced at once: 0.5 GB of memory (measured with DuckDB 2.0)."""

Window = tuple[str, str, float, int, Sequence[float | None]]
"""Step, entity, length in seconds, end on the recorder's clock, difference of each counter."""


@dataclass(frozen=True, slots=True)
class Overall:
    """Counters of one entity over a whole step: number and length of its windows, and each counter's mean rate."""

    windows: int
    seconds: float
    rates: Mapping[str, float | None]


_OWN = Template('SELECT * FROM "timed_$kind" WHERE source = $$source AND ($told)')
_COUNT = Template("SELECT entity, count(*) FROM ($own) GROUP BY entity ORDER BY entity")
_SOME = Template("$own AND entity BETWEEN $$first AND $$last AND entity IN (SELECT entity FROM chosen)")
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
_WINDOWS = Template("""
    SELECT steps.name AS step, entity, began, ended, $names
    FROM (
        SELECT entity, lag(moment) OVER one AS began, moment AS ended, $deltas
        FROM ($news) WINDOW one AS (PARTITION BY entity ORDER BY moment)
    ) JOIN steps ON began >= steps."from" AND ended <= steps."to"
    WHERE ended > began
""")
_IN_ORDER = Template("SELECT * FROM ($windows) ORDER BY entity, ended")
_SUMS = Template(
    "SELECT step, entity, count(*), sum(ended - began) / 1e6, $sums FROM ($windows) GROUP BY step, entity"
)
_SUM = Template('sum("$name")::DOUBLE, sum(ended - began) FILTER (WHERE "$name" IS NOT NULL) / 1e6')


class CounterRates:
    """The counters of one source and entity kind, over the view `timed_<kind>` and the table `steps`.

    `closely`: entities whose windows are wanted whatever they move; None: all, however many there are.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        kind: str,
        source: str,
        counters: Mapping[str, Column],
        closely: Collection[str] | None,
    ) -> None:
        self._connection, self._source, self._counters = connection, source, counters
        told = " OR ".join(f'"{name}" IS NOT NULL' for name in counters)
        self._own = _OWN.substitute(kind=kind, told=told)
        self._rows: dict[str, int] = dict(self._ask(_COUNT.substitute(own=self._own)))
        self._many = closely is not None and len(self._rows) > _CLOSELY
        self._closely = [entity for entity in self._rows if not self._many or entity in (closely or ())]
        self._stale = False
        self._find_rounds()

    def overall(self) -> Iterator[tuple[str, str, Overall]]:
        """(step, entity, figures) of every entity, where there are too many to keep all windows."""
        if not self._many:
            return
        sums = ", ".join(_SUM.substitute(name=name) for name in self._counters)
        busy: dict[str, float] = {}
        for part in self._parts():
            for step, entity, windows, seconds, *told in self._over(part, _SUMS, sums=sums):
                rates = {
                    name: None if value is None or not length else value * column.scale / length
                    for (name, column), value, length in zip(
                        self._counters.items(), told[::2], told[1::2], strict=True
                    )
                }
                moved = sum(rate or 0.0 for name, rate in rates.items() if name.startswith("bytes_"))
                busy[entity] = max(moved, busy.get(entity, 0.0))
                yield step, entity, Overall(windows, seconds, rates)
        busiest = sorted(busy, key=lambda entity: -busy[entity])[:_CLOSELY]
        self._closely = sorted({*self._closely, *busiest})

    def windows(self) -> Iterator[Window]:
        """Every whole window of what is looked at closely, in the order of time; after `overall` that includes the
        busiest."""
        for step, entity, began, ended, *differences in self._over(self._closely, _IN_ORDER):
            yield step, entity, (ended - began) / 1e6, int(ended), differences

    def _over(self, entities: Sequence[str], query: Template, **parts: str) -> list[Any]:
        """What a query says of the windows of some entities."""
        own, bounds = self._of(entities)
        windows = _WINDOWS.substitute(
            names=", ".join(f'"{name}"' for name in self._counters),
            deltas=", ".join(f'{_difference(name, column)} AS "{name}"' for name, column in self._counters.items()),
            news=_NEWS.substitute(own=own) if self._stale else own,
        )
        return self._ask(query.substitute(windows=windows, **parts), bounds)

    def _of(self, entities: Sequence[str]) -> tuple[str, Mapping[str, str]]:
        """SQL of the samples of some entities, in the order of their names, and its parameters."""
        if len(entities) == len(self._rows):
            return self._own, {}
        self._connection.execute(
            "CREATE OR REPLACE TEMP TABLE chosen AS SELECT unnest(?) AS entity", [list(entities)]
        )
        # Segments are sorted by entity: a range is what the statistics of Parquet can leave out parts by.
        bounds = {"first": min(entities, default=""), "last": max(entities, default="")}
        return _SOME.substitute(own=self._own), bounds

    def _find_rounds(self) -> None:
        """The table `rounds`: when each poll round began, and whether it told anything new.

        Where there are very many entities some of them are witnesses. A round with news that they miss is joined to
        the next: longer windows, the same rates.
        """
        own, bounds = self._of((self._closely or list(self._rows)[:_WITNESSES]) if self._many else list(self._rows))
        moved = " OR ".join(f'"{name}" IS DISTINCT FROM lag("{name}") OVER one' for name in self._counters)
        self._ask(_ROUNDS.substitute(own=own, moved=moved, together=_ROUND_US, cache=_CACHE_US), bounds)
        self._stale = bool(self._connection.execute("SELECT 1 FROM rounds WHERE NOT told").fetchall())

    def _parts(self) -> Iterator[Sequence[str]]:
        """The entities, in parts whose windows the database can hold."""
        entities = list(self._rows)
        parts = ceil(sum(self._rows.values()) * len(self._counters) / _PART)
        length = ceil(len(entities) / parts)
        return (entities[at : at + length] for at in range(0, len(entities), length))

    def _ask(self, query: str, more: Mapping[str, str] | None = None) -> list[Any]:
        return self._connection.execute(query, {"source": self._source, **(more or {})}).fetchall()


def _difference(name: str, column: Column) -> str:
    """SQL of the difference to the sample before; NULL where the counter was reset."""
    now, before = f'"{name}"::HUGEINT', f'(lag("{name}") OVER one)::HUGEINT'
    # A source may declare the narrowest width of its ports: a counter that has been beyond 32 bits never wraps.
    narrow = f'max("{name}") OVER (PARTITION BY entity) < {2**32}'
    once = f"WHEN {narrow} AND {before} - {now} > {2**31} THEN {now} - {before} + {2**32}"
    wrapped = once if column.bits == 32 else ""
    return f"CASE WHEN {now} >= {before} THEN {now} - {before} {wrapped} END"

"""Samples → rates of counters and means of gauges, a step each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import duckdb

from sanpath.catalogue.load import metrics
from sanpath.facts.clocks import ClockOffset, clock_offsets
from sanpath.facts.rates import CounterRates, Overall
from sanpath.model import Column, Step
from sanpath.recording.read import Recording


@dataclass(slots=True)
class StepSamples:
    """What one source said of one entity in one step.

    `rates`: counter → its rate in each window, base unit a second; `seconds`: length of each window; `ended`: its end
    on the recorder's clock. Where a source has very many entities, those that are not looked at closely have none of
    these, but `overall`. `means`: gauge → its mean: of a state over time; of times of operations over operations, so
    that a second with ten of them does not outweigh one with ten thousand. `lasts`: gauge → last value. None and a
    missing key: not known. `resolutions`: gauge → by how much its true value may lie above, where the source cuts it
    off. `by_hand`: a person read it, no source did.
    """

    source: str
    entity: str
    step: str
    seconds: list[float] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    rates: dict[str, list[float | None]] = field(default_factory=dict)
    means: dict[str, float | None] = field(default_factory=dict)
    lasts: dict[str, float | None] = field(default_factory=dict)
    resolutions: dict[str, float] = field(default_factory=dict)
    overall: Overall | None = None
    samples: int = 0
    by_hand: bool = False

    @property
    def windows(self) -> int:
        """Whole windows of counters, else samples of gauges, inside the step."""
        counted = self.overall.windows if self.overall is not None else len(self.seconds)
        return 1 if self.by_hand else counted or self.samples

    @property
    def length_seconds(self) -> float:
        """All windows together."""
        return self.overall.seconds if self.overall is not None and not self.seconds else sum(self.seconds)

    def rate(self, counter: str) -> float | None:
        """Mean rate over the step: sum of differences over sum of times. None: no window told."""
        if counter not in self.rates and self.overall is not None:
            return self.overall.rates.get(counter)
        told = [(r, s) for r, s in zip(self.rates.get(counter, ()), self.seconds, strict=False) if r is not None]
        total = sum(s for _, s in told)
        return sum(r * s for r, s in told) / total if total else None


def told(sample: StepSamples, gauge: str, *counters: str) -> float | None:
    """A rate that a source tells by itself, or that its counters tell together. None: neither."""
    if (rate := sample.means.get(gauge)) is not None:
        return rate
    rates = [rate for counter in counters if (rate := sample.rate(counter)) is not None]
    return sum(rates) if rates else None


def step_samples(
    recording: Recording,
    connection: duckdb.DuckDBPyConnection,
    kind: str,
    steps: Sequence[Step],
    closely: Mapping[str, Collection[str]] | None = None,
) -> list[StepSamples]:
    """Rates and means of every entity of a kind in every step. Windows that reach over a step's edge are left out.

    `closely`: source → entities whose windows are wanted one by one, should the source have very many; None: all are.
    """
    recorded = timed_view(recording, connection, kind)
    if not recorded or not steps:
        return []
    declared = recording.columns(kind)
    _step_table(connection, steps)
    found: dict[tuple[str, str, str], StepSamples] = {}
    for source, columns in declared.items():
        here = {name: column for name, column in columns.items() if name in recorded}
        counters = {name: column for name, column in here.items() if column.bits}
        gauges = {name: column for name, column in here.items() if not column.bits}
        if counters:
            near = None if closely is None else closely.get(source, ())
            _add_rates(CounterRates(connection, kind, source, counters, near), source, counters, found)
        if gauges:
            _add_means(connection, kind, source, gauges, here, found)
    return list(found.values())


def place(
    connection: duckdb.DuckDBPyConnection, offsets: Mapping[str, ClockOffset], late: Mapping[str, float] | None = None
) -> None:
    """Say where samples belong in time. `offsets`: of the sources that date their samples themselves; `late`: source
    → seconds by which all that it says was placed too late."""
    connection.execute("CREATE OR REPLACE TEMP TABLE clock_offsets (of VARCHAR, behind BIGINT, late BIGINT)")
    for source in {*offsets, *(late or {})}:
        behind = offsets[source].seconds if source in offsets else 0.0
        told = (source, round(behind * 1e6), round((late or {}).get(source, 0.0) * 1e6))
        connection.execute("INSERT INTO clock_offsets VALUES (?, ?, ?)", told)


def timed_view(recording: Recording, connection: duckdb.DuckDBPyConnection, kind: str) -> list[str]:
    """Make the view `timed_<kind>`: the samples of a kind with the `moment` at which they were true, the device's own
    time where it has one, brought to the recorder's clock. Returns its metrics, [] without samples.

    The offset is that of the source: samples that come late, as a minute's worth of averages, would tell a wrong one.
    """
    metrics = recording.view(connection, kind)
    if not metrics:
        return []
    known = connection.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'clock_offsets'").fetchone()
    if known is None:  # Once a connection: they are of all kinds.
        place(connection, clock_offsets(recording, connection))
        recording.view(connection, kind)
    connection.execute(
        f'CREATE OR REPLACE TEMP VIEW "timed_{kind}" AS '  # noqa: S608 - a kind of ours
        f"SELECT * EXCLUDE (of, behind, late), coalesce(device_time - behind, seen) - coalesce(late, 0) AS moment "
        f'FROM "samples_{kind}" LEFT JOIN clock_offsets ON source = of'
    )
    return metrics


def _step_table(connection: duckdb.DuckDBPyConnection, steps: Sequence[Step]) -> None:
    connection.execute('CREATE OR REPLACE TEMP TABLE steps (name VARCHAR, "from" BIGINT, "to" BIGINT)')
    connection.executemany("INSERT INTO steps VALUES (?, ?, ?)", [(s.name, s.start, s.end) for s in steps])


def _add_rates(
    told: CounterRates, source: str, counters: Mapping[str, Column], found: dict[tuple[str, str, str], StepSamples]
) -> None:
    for step, entity, overall in told.overall():
        found.setdefault((source, entity, step), StepSamples(source, entity, step)).overall = overall
    for step, entity, seconds, ended, differences in told.windows():
        samples = found.setdefault((source, entity, step), StepSamples(source, entity, step))
        samples.seconds.append(seconds)
        samples.ended.append(ended)
        for (name, column), value in zip(counters.items(), differences, strict=True):
            rate = None if value is None else float(value) * column.scale / seconds
            samples.rates.setdefault(name, []).append(rate)


def _add_means(
    connection: duckdb.DuckDBPyConnection,
    kind: str,
    source: str,
    gauges: Mapping[str, Column],
    recorded: Mapping[str, Column],
    found: dict[tuple[str, str, str], StepSamples],
) -> None:
    names = list(gauges)
    over = _operations(kind, gauges, recorded)
    did = "".join(f', {_done(column)} AS "did {column}"' for column in sorted(set(over.values())))
    means = ", ".join(f'{_mean(n, over.get(n))}, arg_max("{n}", moment)' for n in names)
    told = " OR ".join(f'"{n}" IS NOT NULL' for n in names)
    # A value that covers the seconds before its time stamp has to lie in the step with all of them.
    query = f"""
        SELECT steps.name, entity, count(*), {means}
        FROM (
            SELECT *, coalesce(covers_seconds, 1) AS weight{did} FROM "timed_{kind}"
            WHERE source = $source AND ({told}) WINDOW one AS (PARTITION BY entity ORDER BY moment)
        )
        JOIN steps ON moment - coalesce(covers_seconds, 0) * 1e6 >= steps."from" AND moment <= steps."to"
        GROUP BY steps.name, entity ORDER BY entity, min(moment)
    """  # noqa: S608 - names of the catalogue, quoted
    for step, entity, count, *values in connection.execute(query, {"source": source}).fetchall():
        samples = found.setdefault((source, entity, step), StepSamples(source, entity, step))
        samples.samples = count
        for name, mean, last in zip(names, values[::2], values[1::2], strict=True):
            scale = gauges[name].scale
            samples.means[name] = None if mean is None else mean * scale
            samples.lasts[name] = None if last is None else last * scale
            if gauges[name].resolution:
                samples.resolutions[name] = gauges[name].resolution


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
    if over is None:
        return by_time
    known = f'FILTER (WHERE "{name}" IS NOT NULL AND "did {over}" > 0)'
    return f'coalesce(sum("{name}" * "did {over}") {known} / sum("did {over}") {known}, {by_time})'

"""What a recording says over time, down-sampled for charts: throughput, latencies of load and array, busy links."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import duckdb
import numpy as np
import numpy.typing as npt

from sanpath.catalogue.capacity import Technology, link_capacity
from sanpath.facts.compute import CHART_KINDS, Samples
from sanpath.facts.samples.step_samples import ENTIRE_RECORDING, StepSamples, step_samples
from sanpath.facts.samples.step_views import timed_view
from sanpath.facts.time.placement import place_in_time
from sanpath.facts.time.steps import load_steps
from sanpath.facts.time.unmarked_steps import find_unmarked_steps
from sanpath.model import DIRECTIONS, Direction, Step
from sanpath.recording.reading.recording import Recording
from sanpath.recording.storage.duck import quoted
from sanpath.topology.identity import Topology
from sanpath.topology.paths import cables, io_paths, machine_of, on_paths, targets_of

Quantity = Literal["payload", "load_latency", "device_latency", "array_latency", "utilisation"]
Values = tuple[float | None, ...]
_Numbers = npt.NDArray[np.float64]
Window = tuple[int, float, float]
"""Its end on the recorder's clock, microseconds; its length, seconds; the value in it."""

_POINTS = 300
_SHORTEST = 1.0
"""Seconds between two points of a line, at least."""
_LINES = 6
"""Most lines of links: more of them in one chart cannot be told apart."""
_IDLE = 0.01
"""A link that was never busier is not drawn."""
_KNOWN = 0.5
"""Of an interval of which a smaller part is known nothing is said."""
_SPEED = "link_speed_bits_per_second"
_GAUGES = {"lun": ("device_seconds_mean",), "volume": ("service_seconds", "queue_seconds")}
_GAUGES["array"] = _GAUGES["volume"]
"""Kind → gauges, without their direction, whose sum is the mean time of an I/O from there on."""


@dataclass(frozen=True, slots=True)
class Line:
    """One quantity of an entity in one direction. Bytes a second, seconds or a ratio; None: nothing was told."""

    quantity: Quantity
    entity: str
    direction: Direction
    values: Values


@dataclass(frozen=True, slots=True)
class Series:
    """Lines over the same moments. `start`: the recorder's clock, microseconds; `moments` and the limits of `steps`
    (name, from, to) are seconds after it."""

    start: int
    moments: tuple[float, ...]
    steps: tuple[tuple[str, float, float], ...]
    lines: tuple[Line, ...]

    def of(self, quantity: Quantity) -> list[Line]:
        """The lines of a quantity."""
        return [line for line in self.lines if line.quantity == quantity]


@dataclass(frozen=True, slots=True)
class _Grid:
    """The points in time of a chart: limits of intervals, microseconds on the recorder's clock."""

    edges: _Numbers

    def totals(self, windows: Sequence[Window]) -> tuple[_Numbers, _Numbers]:
        """Value x time, and the time in which there is a value, of one entity in each interval."""
        ended, seconds, values = np.array(sorted(windows), dtype=np.float64).T
        began = np.maximum(ended - 1e6 * seconds, np.concatenate(([-np.inf], ended[:-1])))
        limits = np.column_stack((began, ended)).ravel()
        # Up to each limit: value x time, and time. Both stand still where nothing was told.
        sums, times = (
            np.diff(np.interp(self.edges, limits, np.cumsum(np.column_stack((np.zeros_like(ended), grown)).ravel())))
            for grown in ((ended - began) * values, ended - began)
        )
        return sums, times

    def means(self, *entities: Sequence[Window]) -> Values:
        """What the entities do together in each interval. Before its first and after its last window one does
        nothing; a gap between them says nothing, of it or of the sum."""
        told = [windows for windows in entities if windows]
        if not told:
            return (None,) * (len(self.edges) - 1)
        length = np.diff(self.edges)
        enough = np.full(length.shape, True)
        seen, rates = np.zeros_like(length), np.zeros_like(length)
        for windows in told:
            sums, times = self.totals(windows)
            known = times + self._outside(windows)
            enough &= known >= _KNOWN * length
            seen += times
            rates += sums / np.maximum(known, 1.0)
        enough &= seen >= _KNOWN * length
        return tuple(float(rate) if known else None for rate, known in zip(rates, enough, strict=True))

    def _outside(self, windows: Sequence[Window]) -> _Numbers:
        """The part of each interval that lies before the first window, or after the next one that may still come."""
        first, last = min(ended - 1e6 * seconds for ended, seconds, _ in windows), max(windows)
        inside = np.diff(np.clip(self.edges, first, last[0] + 1e6 * last[1]))
        return np.asarray(np.diff(self.edges) - inside)


def series(recording: Recording, topology: Topology, over_time: Samples | None = None) -> Series:
    """The lines of a recording, finished or still growing; without lines where it has no samples over time.
    `over_time`: what `Facts` says of it; what it does not is read here."""
    connection = recording.connect()
    try:
        known = place_in_time(recording, connection)
        near, there = on_paths(topology), over_time or {}
        whole = {
            kind: list(there[kind]) if kind in there else _whole(recording, connection, kind, near.get(kind, {}))
            for kind in CHART_KINDS
        }
        windows = [w for samples in whole.values() for s in samples for w in zip(s.ended_us, s.seconds, strict=True)]
        if not windows:
            return Series(recording.started_us, (), (), ())
        first, last = min(ended - 1e6 * seconds for ended, seconds in windows), max(ended for ended, _ in windows)
        points = max(2, min(_POINTS, int((last - first) / 1e6 / _SHORTEST)))
        grid = _Grid(np.linspace(first, last, points + 1))
        steps = find_unmarked_steps(recording, connection, topology, load_steps(known.events, round(first), last))
        loads = [s for s in whole["load"] if _is_named(s, steps)]
        lines = [*_load_lines(grid, loads), *_time_lines(recording, connection, topology, grid, whole)]
        lines += _busiest(_link_lines(topology, grid, whole["switch_port"]))
    finally:
        connection.close()
    middles = (grid.edges[:-1] + grid.edges[1:]) / 2
    return Series(
        round(first),
        tuple(round(float(m - first) / 1e6, 3) for m in middles),
        tuple((s.name, max(0.0, (s.start - first) / 1e6), (s.end - first) / 1e6) for s in steps),
        tuple(line for line in lines if any(value is not None for value in line.values)),
    )


def _whole(
    recording: Recording, connection: duckdb.DuckDBPyConnection, kind: str, near: Mapping[str, Collection[str]]
) -> list[StepSamples]:
    """Of a source with very many entities only those on the loaded paths are drawn."""
    there = kind in recording.sample_kinds()
    if not there:
        return []
    return step_samples(
        recording, connection, kind, [ENTIRE_RECORDING], near, include_others=False, gauge_names={_SPEED}
    )


def _is_named(sample: StepSamples, steps: Sequence[Step]) -> bool:
    """Whether a load is one of those that ran in the steps: its source may count a sum of them as well."""
    named = {(load.source, entity) for step in steps for load in step.loads for entity in load.entities}
    return sample.source not in {source for source, _ in named} or (sample.source, sample.entity) in named


def _windows(sample: StepSamples, counter: str, beside: str = "") -> list[Window]:
    """The windows in which a counter told, and the one beside it as well."""
    rates, more_rates = sample.rates.get(counter, ()), sample.rates.get(beside or counter, ())
    told = zip(sample.ended_us, sample.seconds, rates, more_rates, strict=False)
    return [(ended, seconds, rate) for ended, seconds, rate, other in told if rate is not None and other is not None]


def _latency(grid: _Grid, samples: Sequence[StepSamples], direction: Direction) -> Values:
    """Mean time of an I/O, by counters."""
    counters = (f"latency_seconds_{direction}_total", f"ops_{direction}_total")
    waited, done = (
        grid.means(*(_windows(sample, counter, beside) for sample in samples))
        for counter, beside in (counters, counters[::-1])
    )
    return tuple(w / d if w is not None and d else None for w, d in zip(waited, done, strict=True))


def _load_lines(grid: _Grid, loads: Sequence[StepSamples]) -> Iterator[Line]:
    for direction in DIRECTIONS:
        if any(grid.means(*(_windows(load, f"ops_{direction}_total") for load in loads))):
            moved = grid.means(*(_windows(load, f"bytes_{direction}_total") for load in loads))
            yield Line("payload", "load", direction, moved)
            yield Line("load_latency", "load", direction, _latency(grid, loads, direction))


def _time_lines(
    recording: Recording,
    connection: duckdb.DuckDBPyConnection,
    topology: Topology,
    grid: _Grid,
    whole: dict[str, list[StepSamples]],
) -> Iterator[Line]:
    """What the devices below the load say of the time that an I/O takes from there on."""
    _, volumes = targets_of(topology, *_roots(topology))
    arrays = {array for v in volumes for array in topology.related(v, "member_of", "array")}
    luns = {lun for v in volumes for lun in topology.related(v, "backed_by", "lun")}
    luns |= {lun for root in _roots(topology) for lun in topology.related(root, "targets", "lun")}
    for kind, entities in (("lun", luns), ("volume", volumes), ("array", arrays)):
        quantity: Quantity = "device_latency" if kind == "lun" else "array_latency"
        gauges = _gauges(recording, connection, kind) if entities else {}
        for entity in sorted(entities):
            known = topology.entities[entity].known_as
            for direction in DIRECTIONS:
                for sample in [s for s in whole[kind] if (s.source, s.entity) in known]:
                    yield Line(quantity, entity, direction, _latency(grid, [sample], direction))
                for local in known:
                    if windows := gauges.get((*local, direction)):
                        yield Line(quantity, entity, direction, grid.means(windows))


def _gauges(
    recording: Recording, connection: duckdb.DuckDBPyConnection, kind: str
) -> dict[tuple[str, str, Direction], list[Window]]:
    """(source, its own id, direction) → mean time of an I/O, where the device tells a mean; idle time left out."""
    there = timed_view(recording, connection, kind)
    found: dict[tuple[str, str, Direction], list[Window]] = {}
    for source, columns in recording.columns(kind).items():
        for direction in DIRECTIONS:
            names = [f"{name}_{direction}" for name in _GAUGES[kind]]
            names = [name for name in names if name in there and name in columns]
            if not names:
                continue
            total = " + ".join(f"coalesce({quoted(name)}, 0) * {columns[name].scale}" for name in names)
            query = f"""
                SELECT entity, moment, coalesce(covers_seconds, (moment - lag(moment) OVER one) / 1e6, 1), {total}
                FROM "timed_{kind}" WHERE source = $source AND {quoted(names[0])} IS NOT NULL
                WINDOW one AS (PARTITION BY entity ORDER BY moment)
            """  # noqa: S608 - names of the catalogue, quoted
            for entity, moment, seconds, value in connection.execute(query, {"source": source}).fetchall():
                if value:
                    found.setdefault((source, entity, direction), []).append((moment, seconds, value))
    return found


def _roots(topology: Topology) -> list[str]:
    return [load.id for load in topology.of_kind("load") if machine_of(topology, load.id)]


def _link_lines(topology: Topology, grid: _Grid, ports: Sequence[StepSamples]) -> Iterator[Line]:
    between = {c.id: c for path in io_paths(topology, *_roots(topology)) for c in path.cables if c.side == "switch"}
    by_local = {(sample.source, sample.entity): sample for sample in ports}
    for cable in [*cables(topology), *between.values()]:
        entity = topology.entities[cable.switch_port]
        sample = next((by_local[local] for local in entity.known_as if local in by_local), None)
        speed = sample.last_values.get(_SPEED) if sample else None
        technology = cast(Technology, entity.attributes.get("technology") or "ethernet")
        capacity = link_capacity(technology, speed) if speed else None
        if sample is None or capacity is None:
            continue
        for direction in DIRECTIONS:
            rates = grid.means(_windows(sample, f"bytes_{cable.counter(direction)}_total"))
            used = tuple(None if rate is None else rate / capacity.data_bytes_per_second for rate in rates)
            yield Line("utilisation", cable.id, direction, used)


def _busiest(lines: Iterable[Line]) -> list[Line]:
    """The lines with the highest peaks, and only what was ever busy."""
    peaks = [(max((v for v in line.values if v is not None), default=0.0), line) for line in lines]
    ranked = sorted((pair for pair in peaks if pair[0] >= _IDLE), key=lambda pair: (-pair[0], pair[1].entity))
    return [line for _, line in ranked[:_LINES]]

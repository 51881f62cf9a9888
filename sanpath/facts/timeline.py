"""Down-samples a recording over time for charts: throughput, latencies of load and array, busy links."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import duckdb
import numpy as np
import numpy.typing as npt

from sanpath.catalogue.capacity import Technology, link_capacity
from sanpath.facts.compute import CHART_KINDS, Facts
from sanpath.facts.samples.step_samples import ENTIRE_RECORDING, StepSamples, step_samples
from sanpath.facts.samples.timed_samples import timed_samples
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
"""(end on the recorder's clock in microseconds, length in seconds, value)."""

_MAX_POINTS = 300
_MIN_POINT_SECONDS = 1.0
"""Shortest time between two points of a line."""
_MAX_LINES = 6
"""Most lines of links in a chart: more cannot be distinguished."""
_MIN_UTILISATION = 0.01
"""A link whose utilisation never exceeds this ratio is not drawn."""
_MIN_KNOWN_RATIO = 0.5
"""An interval has no value if less than this share of it is known."""
_SPEED = "link_speed_bits_per_second"
_GAUGES = {"lun": ("device_seconds_mean",), "volume": ("service_seconds", "queue_seconds")}
_GAUGES["array"] = _GAUGES["volume"]
"""Kind → gauges, without their direction, whose sum is the mean time of an I/O at and below the entity."""


@dataclass(frozen=True, slots=True)
class Line:
    """One quantity of an entity in one direction: bytes a second, seconds or a ratio. None: not reported."""

    quantity: Quantity
    entity: str
    direction: Direction
    values: Values


@dataclass(frozen=True, slots=True)
class Series:
    """Lines over the same moments. `start_us`: begin on the recorder's clock.

    `moments` and the limits of `steps` (name, from, to) are in seconds after it."""

    start_us: int
    moments: tuple[float, ...]
    steps: tuple[tuple[str, float, float], ...]
    lines: tuple[Line, ...]

    def lines_of(self, quantity: Quantity) -> list[Line]:
        """Return the lines of a quantity."""
        return [line for line in self.lines if line.quantity == quantity]


@dataclass(frozen=True, slots=True)
class _Grid:
    """The intervals of a chart. `edges`: their limits, microseconds on the recorder's clock."""

    edges: _Numbers

    def totals(self, windows: Sequence[Window]) -> tuple[_Numbers, _Numbers]:
        """Return value x time, and the time with a value, of one entity in each interval."""
        ended_us, seconds, values = np.array(sorted(windows), dtype=np.float64).T
        began_us = np.maximum(ended_us - 1e6 * seconds, np.concatenate(([-np.inf], ended_us[:-1])))
        limits = np.column_stack((began_us, ended_us)).ravel()
        # Up to each limit: value x time, and time. Both are constant where nothing was reported.
        sums, times = (
            np.diff(
                np.interp(self.edges, limits, np.cumsum(np.column_stack((np.zeros_like(ended_us), grown)).ravel()))
            )
            for grown in ((ended_us - began_us) * values, ended_us - began_us)
        )
        return sums, times

    def means(self, *entities: Sequence[Window]) -> Values:
        """Return the sum over entities in each interval; None: not known.

        Before its first and after its last window an entity counts as idle. In a gap between windows its value, and
        so the sum, is not known."""
        reported = [windows for windows in entities if windows]
        if not reported:
            return (None,) * (len(self.edges) - 1)
        length = np.diff(self.edges)
        enough = np.full(length.shape, True)
        reported_time, rates = np.zeros_like(length), np.zeros_like(length)
        for windows in reported:
            sums, times = self.totals(windows)
            known_time = times + self._outside(windows)
            enough &= known_time >= _MIN_KNOWN_RATIO * length
            reported_time += times
            rates += sums / np.maximum(known_time, 1.0)
        enough &= reported_time >= _MIN_KNOWN_RATIO * length
        return tuple(float(rate) if is_known else None for rate, is_known in zip(rates, enough, strict=True))

    def _outside(self, windows: Sequence[Window]) -> _Numbers:
        """Return how much of each interval lies before the first window, or after the next one that is still
        possible."""
        first, last = min(ended - 1e6 * seconds for ended, seconds, _ in windows), max(windows)
        inside = np.diff(np.clip(self.edges, first, last[0] + 1e6 * last[1]))
        return np.asarray(np.diff(self.edges) - inside)


def series(recording: Recording, topology: Topology, facts: Facts | None = None) -> Series:
    """Return the lines of a recording, finished or still growing. There are none without samples over time.

    `facts`: those that were computed from the same reading; None: everything is read from the recording."""
    connection = recording.connect()
    try:
        events = place_in_time(recording, connection).events if facts is None else facts.events
        loaded_entities, available = on_paths(topology), facts.over_time if facts is not None else {}
        samples_by_kind = {
            kind: list(available[kind])
            if kind in available
            else _samples_over_time(recording, connection, kind, loaded_entities.get(kind, {}))
            for kind in CHART_KINDS
        }
        windows = [
            window
            for samples in samples_by_kind.values()
            for sample in samples
            for window in zip(sample.ended_us, sample.seconds, strict=True)
        ]
        if not windows:
            return Series(recording.started_us, (), (), ())
        first, last = (
            min(ended_us - 1e6 * seconds for ended_us, seconds in windows),
            max(ended_us for ended_us, _ in windows),
        )
        points = max(2, min(_MAX_POINTS, int((last - first) / 1e6 / _MIN_POINT_SECONDS)))
        grid = _Grid(np.linspace(first, last, points + 1))
        steps = find_unmarked_steps(recording, connection, topology, load_steps(events, round(first), last))
        loads = [sample for sample in samples_by_kind["load"] if _is_named(sample, steps)]
        lines = [*_load_lines(grid, loads), *_time_lines(recording, connection, topology, grid, samples_by_kind)]
        lines += _busiest(_link_lines(topology, grid, samples_by_kind["switch_port"]))
    finally:
        connection.close()
    middles = (grid.edges[:-1] + grid.edges[1:]) / 2
    return Series(
        round(first),
        tuple(round(float(middle - first) / 1e6, 3) for middle in middles),
        tuple((sample.name, max(0.0, (sample.start - first) / 1e6), (sample.end - first) / 1e6) for sample in steps),
        tuple(line for line in lines if any(value is not None for value in line.values)),
    )


def _samples_over_time(
    recording: Recording,
    connection: duckdb.DuckDBPyConnection,
    kind: str,
    loaded_entities: Mapping[str, Collection[str]],
) -> list[StepSamples]:
    """Read samples over the entire recording. Of a source with very many entities, only those of the loaded paths."""
    is_recorded = kind in recording.sample_kinds()
    if not is_recorded:
        return []
    return step_samples(
        recording, connection, kind, [ENTIRE_RECORDING], loaded_entities, include_others=False, gauge_names={_SPEED}
    )


def _is_named(sample: StepSamples, steps: Sequence[Step]) -> bool:
    """Return whether a load is one of those that ran in the steps. Its source may report their sum as another
    load."""
    named = {(load.source, entity) for step in steps for load in step.loads for entity in load.entities}
    return sample.source not in {source for source, _ in named} or (sample.source, sample.entity) in named


def _windows(sample: StepSamples, counter: str, other_counter: str = "") -> list[Window]:
    """Return the windows in which a counter has a rate, and another counter has one too."""
    rates, other_rates = sample.rates.get(counter, ()), sample.rates.get(other_counter or counter, ())
    windows = zip(sample.ended_us, sample.seconds, rates, other_rates, strict=False)
    return [
        (ended_us, seconds, rate)
        for ended_us, seconds, rate, other_rate in windows
        if rate is not None and other_rate is not None
    ]


def _latency(grid: _Grid, samples: Sequence[StepSamples], direction: Direction) -> Values:
    """Return the mean time of an I/O in each interval, seconds, by counters."""
    counters = (f"latency_seconds_{direction}_total", f"ops_{direction}_total")
    wait_means, operations = (
        grid.means(*(_windows(sample, counter, other_counter) for sample in samples))
        for counter, other_counter in (counters, counters[::-1])
    )
    return tuple(
        wait / count if wait is not None and count else None
        for wait, count in zip(wait_means, operations, strict=True)
    )


def _load_lines(grid: _Grid, loads: Sequence[StepSamples]) -> Iterator[Line]:
    for direction in DIRECTIONS:
        if any(grid.means(*(_windows(load, f"ops_{direction}_total") for load in loads))):
            byte_rates = grid.means(*(_windows(load, f"bytes_{direction}_total") for load in loads))
            yield Line("payload", "load", direction, byte_rates)
            yield Line("load_latency", "load", direction, _latency(grid, loads, direction))


def _time_lines(
    recording: Recording,
    connection: duckdb.DuckDBPyConnection,
    topology: Topology,
    grid: _Grid,
    samples_by_kind: dict[str, list[StepSamples]],
) -> Iterator[Line]:
    """Yield the time of an I/O at and below each device of the load, as the device reports it."""
    _, volumes = targets_of(topology, *_roots(topology))
    arrays = {array for volume in volumes for array in topology.related(volume, "member_of", "array")}
    luns = {lun for volume in volumes for lun in topology.related(volume, "backed_by", "lun")}
    luns |= {lun for root in _roots(topology) for lun in topology.related(root, "targets", "lun")}
    for kind, entities in (("lun", luns), ("volume", volumes), ("array", arrays)):
        quantity: Quantity = "device_latency" if kind == "lun" else "array_latency"
        gauges = _gauges(recording, connection, kind) if entities else {}
        for entity in sorted(entities):
            source_ids = topology.entities[entity].known_as
            for direction in DIRECTIONS:
                for sample in [
                    sample for sample in samples_by_kind[kind] if (sample.source, sample.entity) in source_ids
                ]:
                    yield Line(quantity, entity, direction, _latency(grid, [sample], direction))
                for source_id in source_ids:
                    if windows := gauges.get((*source_id, direction)):
                        yield Line(quantity, entity, direction, grid.means(windows))


def _gauges(
    recording: Recording, connection: duckdb.DuckDBPyConnection, kind: str
) -> dict[tuple[str, str, Direction], list[Window]]:
    """Return (source, its own id, direction) → mean time of an I/O, for devices that report a mean; without idle
    time."""
    timed, recorded = timed_samples(recording, connection, kind)
    windows: dict[tuple[str, str, Direction], list[Window]] = {}
    for source, columns in recording.columns(kind).items():
        for direction in DIRECTIONS:
            names = [f"{name}_{direction}" for name in _GAUGES[kind]]
            names = [name for name in names if name in recorded and name in columns]
            if not names:
                continue
            total = " + ".join(f"coalesce({quoted(name)}, 0) * {columns[name].scale}" for name in names)
            query = f"""
                SELECT entity, moment, coalesce(covers_seconds, (moment - lag(moment) OVER series) / 1e6, 1), {total}
                FROM {timed} WHERE source = $source AND {quoted(names[0])} IS NOT NULL
                WINDOW series AS (PARTITION BY entity ORDER BY moment)
            """  # noqa: S608 - names of the catalogue, quoted
            for entity, moment, seconds, value in connection.execute(query, {"source": source}).fetchall():
                if value:
                    windows.setdefault((source, entity, direction), []).append((moment, seconds, value))
    return windows


def _roots(topology: Topology) -> list[str]:
    return [load.id for load in topology.of_kind("load") if machine_of(topology, load.id)]


def _link_lines(topology: Topology, grid: _Grid, ports: Sequence[StepSamples]) -> Iterator[Line]:
    isls = {
        cable.id: cable
        for path in io_paths(topology, *_roots(topology))
        for cable in path.cables
        if cable.side == "switch"
    }
    by_source_id = {(sample.source, sample.entity): sample for sample in ports}
    for cable in [*cables(topology), *isls.values()]:
        entity = topology.entities[cable.switch_port]
        sample = next((by_source_id[source_id] for source_id in entity.known_as if source_id in by_source_id), None)
        speed = sample.last_values.get(_SPEED) if sample else None
        technology = cast(Technology, entity.attributes.get("technology") or "ethernet")
        capacity = link_capacity(technology, speed) if speed else None
        if sample is None or capacity is None:
            continue
        for direction in DIRECTIONS:
            rates = grid.means(_windows(sample, f"bytes_{cable.counter(direction)}_total"))
            utilisations = tuple(None if rate is None else rate / capacity.data_bytes_per_second for rate in rates)
            yield Line("utilisation", cable.id, direction, utilisations)


def _busiest(lines: Iterable[Line]) -> list[Line]:
    """Return the lines with the highest peaks, without links that were never busy."""
    peaks = [(max((v for v in line.values if v is not None), default=0.0), line) for line in lines]
    ranked = sorted(
        (pair for pair in peaks if pair[0] >= _MIN_UTILISATION), key=lambda pair: (-pair[0], pair[1].entity)
    )
    return [line for _, line in ranked[:_MAX_LINES]]

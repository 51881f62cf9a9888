"""Down-samples a recording over time for charts: throughput, latencies of load and array, busy links."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import duckdb
import numpy as np

from sanpath.facts.chart_windows import Grid, Values, counter_windows
from sanpath.facts.fabric.links import ABOVE_LINE_RATE_RATIO, SampledPort, counts_too_much, sampled_port
from sanpath.facts.facts import CHART_KINDS, Facts
from sanpath.facts.hop_utilisation import HopUtilisation, hop_utilisation
from sanpath.facts.samples.gauge_windows import Window, gauge_windows
from sanpath.facts.samples.step_samples import ENTIRE_RECORDING, StepSamples, step_samples
from sanpath.facts.time.placement import place_in_time
from sanpath.facts.time.steps import load_steps
from sanpath.facts.time.unmarked_steps import find_unmarked_steps
from sanpath.model import DIRECTIONS, Direction, Step
from sanpath.recording.reading.recording import Recording
from sanpath.topology.paths import cables, entities_on_paths, io_paths, loads_with_machine, luns_of, targets_of
from sanpath.topology.topology import Topology

Quantity = Literal["payload", "load_latency", "device_latency", "array_latency", "utilisation"]

_MAX_POINTS = 300
"""Largest number of points of a line: sanpath's own choice, because more cannot be distinguished."""
_MIN_POINT_SECONDS = 1.0
"""Shortest time between two points of a line."""
_MAX_LINES = 6
"""Largest number of link lines in a chart: more cannot be distinguished."""
_MIN_UTILISATION = 0.01
"""A link whose utilisation never exceeds this ratio is not drawn."""
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
    """Lines over the same moments. `start_us`: begin on the recorder's clock. `moments` and the limits of `steps`
    (name, from, to) are in seconds after it. `hops`: of the requested path, in its order."""

    start_us: int
    moments: tuple[float, ...]
    steps: tuple[tuple[str, float, float], ...]
    lines: tuple[Line, ...]
    hops: tuple[HopUtilisation, ...] = ()

    def lines_of(self, quantity: Quantity) -> list[Line]:
        """Return the lines of a quantity."""
        return [line for line in self.lines if line.quantity == quantity]


def series(recording: Recording, topology: Topology, facts: Facts | None = None, path: Sequence[str] = ()) -> Series:
    """Return the lines of a recording, finished or still growing. There are none without samples over time.

    `facts`: those that were computed from the same reading; None: everything is read from the recording. `path`:
    entities from load to volume whose utilisation is wanted hop by hop."""
    connection = recording.connect()
    try:
        events = place_in_time(recording, connection).events if facts is None else facts.events
        loaded_entities, available = entities_on_paths(topology), facts.over_time if facts is not None else {}
        samples_by_kind = {
            kind: list(available[kind])
            if kind in available
            else _samples_over_time(recording, connection, kind, loaded_entities.get(kind, {}))
            for kind in CHART_KINDS
        }
        reported = [sample for samples in samples_by_kind.values() for sample in samples if sample.ended_us]
        if not reported:
            return Series(recording.started_us, (), (), ())
        # The windows of a sample follow each other.
        first = min(sample.ended_us[0] - 1e6 * sample.seconds[0] for sample in reported)
        last = max(sample.ended_us[-1] for sample in reported)
        points = max(2, min(_MAX_POINTS, int((last - first) / 1e6 / _MIN_POINT_SECONDS)))
        grid = Grid(np.linspace(first, last, points + 1))
        steps = find_unmarked_steps(recording, connection, topology, load_steps(events, round(first), last))
        loads = [sample for sample in samples_by_kind["load"] if _is_named(sample, steps)]
        lines = [*_load_lines(grid, loads), *_time_lines(recording, connection, topology, grid, samples_by_kind)]
        links = list(_link_lines(topology, grid, samples_by_kind["switch_port"], steps))
        lines += _busiest(links)
        by_link = {(line.entity, line.direction): line.values for line in links}
        hops = hop_utilisation(recording, connection, topology, grid, by_link, path) if path else ()
    finally:
        connection.close()
    middles = (grid.edges[:-1] + grid.edges[1:]) / 2
    return Series(
        round(first),
        tuple(round(float(middle - first) / 1e6, 3) for middle in middles),
        tuple((sample.name, max(0.0, (sample.start - first) / 1e6), (sample.end - first) / 1e6) for sample in steps),
        tuple(line for line in lines if any(value is not None for value in line.values)),
        hops,
    )


def _samples_over_time(
    recording: Recording,
    connection: duckdb.DuckDBPyConnection,
    kind: str,
    loaded_entities: Mapping[str, Collection[str]],
) -> list[StepSamples]:
    """Read samples over the entire recording. For a source with very many entities, read only those of the loaded
    paths."""
    is_recorded = kind in recording.sample_kinds()
    if not is_recorded:
        return []
    return step_samples(
        recording, connection, kind, [ENTIRE_RECORDING], loaded_entities, include_others=False, gauge_names={_SPEED}
    )


def _is_named(sample: StepSamples, steps: Sequence[Step]) -> bool:
    """Return whether a load is one of those that ran in the steps. A source may also report their sum as an
    additional load."""
    named = {(load.source, entity) for step in steps for load in step.loads for entity in load.entities}
    return sample.source not in {source for source, _ in named} or (sample.source, sample.entity) in named


def _latency(grid: Grid, samples: Sequence[StepSamples], direction: Direction) -> Values:
    """Return the mean time of an I/O in each interval, seconds, by counters."""
    counters = (f"latency_seconds_{direction}_total", f"ops_{direction}_total")
    wait_means, operations = (
        grid.means(*(counter_windows(sample, counter, other_counter) for sample in samples))
        for counter, other_counter in (counters, counters[::-1])
    )
    return tuple(
        wait / count if wait is not None and count else None
        for wait, count in zip(wait_means, operations, strict=True)
    )


def _load_lines(grid: Grid, loads: Sequence[StepSamples]) -> Iterator[Line]:
    for direction in DIRECTIONS:
        if any(grid.means(*(counter_windows(load, f"ops_{direction}_total") for load in loads))):
            byte_rates = grid.means(*(counter_windows(load, f"bytes_{direction}_total") for load in loads))
            yield Line("payload", "load", direction, byte_rates)
            yield Line("load_latency", "load", direction, _latency(grid, loads, direction))


def _time_lines(
    recording: Recording,
    connection: duckdb.DuckDBPyConnection,
    topology: Topology,
    grid: Grid,
    samples_by_kind: dict[str, list[StepSamples]],
) -> Iterator[Line]:
    """Yield the time of an I/O at and below each device of the load, as the device reports it."""
    _, volumes = targets_of(topology, *loads_with_machine(topology))
    arrays = {array for volume in volumes for array in topology.related(volume, "member_of", "array")}
    luns = {lun for volume in volumes for lun in topology.related(volume, "backed_by", "lun")}
    luns |= {lun for root in loads_with_machine(topology) for lun in luns_of(topology, root)}
    for kind, entities in (("lun", luns), ("volume", volumes), ("array", arrays)):
        quantity: Quantity = "device_latency" if kind == "lun" else "array_latency"
        ids = {source_id for entity in entities for source_id in topology.entities[entity].known_as}
        gauges = _gauges(recording, connection, kind, ids) if entities else {}
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
    recording: Recording, connection: duckdb.DuckDBPyConnection, kind: str, source_ids: Collection[tuple[str, str]]
) -> dict[tuple[str, str, Direction], list[Window]]:
    """Return (source, its own id, direction) → mean time of an I/O, for devices that report a mean; without idle
    time."""
    windows: dict[tuple[str, str, Direction], list[Window]] = {}
    for direction in DIRECTIONS:
        names = [f"{name}_{direction}" for name in _GAUGES[kind]]
        for (source, entity), reported in gauge_windows(recording, connection, kind, names, source_ids).items():
            windows[source, entity, direction] = [window for window in reported if window[2]]
    return windows


def _link_lines(
    topology: Topology, grid: Grid, ports: Sequence[StepSamples], steps: Sequence[Step]
) -> Iterator[Line]:
    """Yield the utilisation of each link with a known speed, by the port and the speed that its facts have."""
    isls = {
        cable.id: cable
        for path in io_paths(topology, *loads_with_machine(topology))
        for cable in path.cables
        if cable.side == "switch"
    }
    samples = {(ENTIRE_RECORDING.name, sample.source, sample.entity): sample for sample in ports}
    for cable in [*cables(topology), *isls.values()]:
        port = sampled_port(topology, cable, ENTIRE_RECORDING, samples)
        if port is not None and (port.capacity is None or _counts_too_much_in_a_step(port, steps)):
            port = port.at_higher_speed
        if port is None or port.capacity is None or _counts_too_much_in_a_step(port, steps):
            continue
        for direction in DIRECTIONS:
            rates = grid.means(counter_windows(port.sample, f"bytes_{port.cable.counter(direction)}_total"))
            full = port.capacity.data_bytes_per_second
            utilisations = tuple(None if rate is None else rate / full for rate in rates)
            yield Line("utilisation", cable.id, direction, utilisations)


def _counts_too_much_in_a_step(port: SampledPort, steps: Sequence[Step]) -> bool:
    """Return whether a port counts more than its speed allows in any step: over the entire recording, pauses may hide
    it."""
    if port.capacity is None:
        return False
    busiest = max((rate for direction in DIRECTIONS for rate, _ in port.windows(direction)), default=0.0)
    if busiest <= ABOVE_LINE_RATE_RATIO * port.capacity.data_bytes_per_second:
        return False
    return any(counts_too_much(replace(port, sample=_in_step(port.sample, step))) for step in steps)


def _in_step(sample: StepSamples, step: Step) -> StepSamples:
    """Return the windows of a sample that lie within a step."""
    first, last = bisect_left(sample.ended_us, step.start), bisect_right(sample.ended_us, step.end)
    if first < last and sample.ended_us[first] - 1e6 * sample.seconds[first] < step.start:
        first += 1
    return replace(
        sample,
        step=step.name,
        seconds=sample.seconds[first:last],
        ended_us=sample.ended_us[first:last],
        rates={counter: rates[first:last] for counter, rates in sample.rates.items()},
        overall=None,
        mean_rates={},
    )


def _busiest(lines: Iterable[Line]) -> list[Line]:
    """Return the lines with the highest peaks, without links that were never busy."""
    peaks = [(max((v for v in line.values if v is not None), default=0.0), line) for line in lines]
    ranked = sorted(
        (pair for pair in peaks if pair[0] >= _MIN_UTILISATION), key=lambda pair: (-pair[0], pair[1].entity)
    )
    return [line for _, line in ranked[:_MAX_LINES]]

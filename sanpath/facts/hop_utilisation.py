"""Utilisation over time of each hop of an I/O path: processors, queues of devices, links, controllers of arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import duckdb

from sanpath.facts.chart_windows import Grid, Values, counter_windows
from sanpath.facts.samples.gauge_windows import Window, gauge_windows
from sanpath.facts.samples.step_samples import ENTIRE_RECORDING, StepSamples, step_samples
from sanpath.model import DIRECTIONS, Direction
from sanpath.recording.reading.recording import Recording
from sanpath.topology.paths import load_of_job
from sanpath.topology.topology import Topology

Measure = Literal["cpu", "queue", "data_rate"]
_MIN_UTILISATION_RATIO = 0.001
"""Utilisation that one direction of a link must exceed to have a row, if the other direction has one."""


@dataclass(frozen=True, slots=True)
class HopUtilisation:
    """Utilisation of a hop over time, as ratios. None: not measured.

    `measure`: busy share of the processors, I/Os in flight over queue depth, or bytes over the data rate of the link.
    `direction`: of a link; None: the hop has none.
    """

    entity: str
    measure: Measure
    direction: Direction | None
    values: Values

    @property
    def is_measured(self) -> bool:
        """Whether any value is known."""
        return any(value is not None for value in self.values)


LinkValues = Mapping[tuple[str, Direction], Values]
"""(Link, direction) → its utilisation over time."""


@dataclass(slots=True)
class _Reader:
    """Reads the values of single entities on the grid. Samples of an entity are read once."""

    recording: Recording
    connection: duckdb.DuckDBPyConnection
    topology: Topology
    grid: Grid
    _samples: dict[str, list[StepSamples]] = field(default_factory=dict)

    def gauge(self, entity: str, *names: str) -> Values | None:
        """The sum of gauges. None: no source reports the first one."""
        kind = entity.partition(":")[0]
        ids = self.topology.entities[entity].known_as
        reported = gauge_windows(self.recording, self.connection, kind, names, ids)
        return self.grid.means(next(iter(reported.values()))) if reported else None

    def rate(self, entity: str, *counters: str) -> Values | None:
        """The sum of the rates of counters, as one source reports them. None: no source reports the first one."""
        for sample in self.samples_of(entity):
            windows: list[Sequence[Window]] = [counter_windows(sample, name, counters[0]) for name in counters]
            if windows[0]:
                return self.grid.means(*windows)
        return None

    def last_value(self, entity: str, gauge: str) -> float | None:
        """The last value of a gauge, else the attribute of that name. None: no source reports it."""
        values = [sample.last_values.get(gauge) for sample in self.samples_of(entity)]
        attribute = self.topology.entities[entity].attributes.get(gauge)
        number = float(attribute) if isinstance(attribute, int | float) else None
        return next((value for value in values if value is not None), number)

    def samples_of(self, entity: str) -> list[StepSamples]:
        """The samples of an entity over the entire recording, one for each source."""
        if entity not in self._samples:
            ids = self.topology.entities[entity].known_as
            by_source: dict[str, set[str]] = {}
            for source, name in ids:
                by_source.setdefault(source, set()).add(name)
            kind = entity.partition(":")[0]
            read: list[StepSamples] = []
            if by_source and kind in self.recording.sample_kinds():
                read = step_samples(
                    self.recording,
                    self.connection,
                    kind,
                    [ENTIRE_RECORDING],
                    by_source,
                    include_others=False,
                    gauge_names={"queue_depth"},
                )
            self._samples[entity] = [sample for sample in read if (sample.source, sample.entity) in ids]
        return self._samples[entity]


def hop_utilisation(
    recording: Recording,
    connection: duckdb.DuckDBPyConnection,
    topology: Topology,
    grid: Grid,
    links: LinkValues,
    path: Sequence[str],
) -> tuple[HopUtilisation, ...]:
    """Return the utilisation of each hop, in the order of the path; hops that nothing measures are left out.

    Initiators, switches and ports have no utilisation except that of their links. `path`: entities from load to
    volume.
    """
    reader = _Reader(recording, connection, topology, grid)
    unknown = (None,) * (len(grid.edges) - 1)
    hops: list[HopUtilisation] = []
    for entity in _with_devices(topology, path):
        kind = entity.partition(":")[0]
        if kind == "link":
            hops += _link(entity, links, unknown)
        elif kind in ("load", "host"):
            hops.append(HopUtilisation(entity, "cpu", None, _cpu(reader, entity) or unknown))
        elif kind == "lun":
            hops.append(HopUtilisation(entity, "queue", None, _queue(reader, entity) or unknown))
        elif kind == "array":
            controllers = topology.related(entity, "member_of", "controller")
            hops += [HopUtilisation(c, "cpu", None, _cpu(reader, c) or unknown) for c in sorted(controllers)]
    return tuple(hops)


def _with_devices(topology: Topology, path: Sequence[str]) -> Iterator[str]:
    """The path with the block devices that the load addresses, each after the machine that has it."""
    luns = {
        lun
        for entity in path
        if entity in topology.entities
        for relation in ("targets", "backed_by")
        for lun in topology.related(entity, relation, "lun")
    } - set(path)
    for entity in path:
        yield entity
        if entity.partition(":")[0] in ("vm", "host"):
            yield from sorted(luns & set(topology.related(entity, "attached_to", "lun")))


def _link(entity: str, links: LinkValues, unknown: Values) -> list[HopUtilisation]:
    """A row for each direction that carries anything; one without values if nothing was counted."""
    directions: list[Direction] = [
        direction
        for direction in DIRECTIONS
        if any(value is not None and value > _MIN_UTILISATION_RATIO for value in links.get((entity, direction), ()))
    ]
    if directions:
        return [HopUtilisation(entity, "data_rate", d, links[entity, d]) for d in directions]
    measured = next((links[entity, direction] for direction in DIRECTIONS if (entity, direction) in links), unknown)
    return [HopUtilisation(entity, "data_rate", None, measured)]


def _cpu(reader: _Reader, entity: str) -> Values | None:
    """Busy share of all cores together; of a load, of one core by its busiest process. None: not reported."""
    if entity not in reader.topology.entities:
        return None
    if entity.startswith("load:"):
        own, loads = (
            [entity, *reader.topology.members(entity, "load")],
            [e.id for e in reader.topology.of_kind("load")],
        )
        others = {load_of_job(reader.topology, load) for load in loads} - {entity}
        if any(map(reader.samples_of, own)) or len(others) != 1:
            return _busiest_process(reader, own)
        # A load without samples that only the configuration names is the only other load, which has the samples.
        return _busiest_process(reader, loads)
    busy, passed = (reader.rate(entity, f"cpu_{name}seconds_total") for name in ("busy_", ""))
    if busy is None or passed is None:
        return reader.gauge(entity, "cpu_busy_ratio")
    return tuple(b / p if b is not None and p else None for b, p in zip(busy, passed, strict=True))


def _busiest_process(reader: _Reader, loads: Sequence[str]) -> Values | None:
    reported = [values for load in loads if (values := reader.gauge(load, "cpu_ratio")) is not None]
    if not reported:
        return None
    return tuple(max((v for v in each if v is not None), default=None) for each in zip(*reported, strict=True))


def _queue(reader: _Reader, entity: str) -> Values | None:
    """I/Os in flight over the depth of the device's queue. None: one of them is not reported.

    In flight: counted over time, else by Little's law as the sum of all response times a second, else as sampled.
    """
    depth = reader.last_value(entity, "queue_depth")
    if not depth:
        return None
    in_flight = (
        reader.rate(entity, "in_flight_seconds_total")
        or reader.rate(entity, "latency_seconds_read_total", "latency_seconds_write_total")
        or reader.gauge(entity, "in_flight")
        or reader.gauge(entity, "in_flight_read", "in_flight_write")
    )
    return None if in_flight is None else tuple(None if value is None else value / depth for value in in_flight)

"""Derives the load from an array's counts per host or per volume, for a test of which only the array is read, or the
array and the fabric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import duckdb

from sanpath.facts.load.host_loads import ARRAY_TIMES, in_flight_of, summed_loads
from sanpath.facts.load.load_events import SourceEvents, has_generator
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.absent_entities import over_whole_steps
from sanpath.facts.samples.gauge_windows import gauge_windows
from sanpath.facts.samples.step_samples import StepSamples, step_samples
from sanpath.model import DIRECTIONS, Direction, Step
from sanpath.recording.reading.recording import Recording
from sanpath.topology.paths import hosts_of, loads_with_machine
from sanpath.topology.topology import Topology

_KINDS = ("host", "volume")
"""Entities for which an array counts I/Os, best evidence of their origin first."""


_CLOSER_KINDS = ("load", "lun", "vdisk")
"""Entities that count I/Os closer to the load. Even if they are idle, they are tested, not other users of the
array."""


def only_arrays_count(recording: Recording, events: SourceEvents) -> bool:
    """Whether only arrays count I/Os, and no readable generator was started."""
    return set(recording.sample_kinds()).isdisjoint(_CLOSER_KINDS) and not has_generator(events)


def array_loads(topology: Topology, samples: Mapping[str, Sequence[StepSamples]]) -> list[LoadFacts]:
    """Return one entry for each step and direction with I/O: the sum over the busiest hosts, or volumes where no
    array counts hosts. A volume that one host may use stands for that host. `samples`: entity kind → its samples.
    """
    of_kinds = (
        list(summed_loads(_with_machine(topology, kind, over_whole_steps(samples.get(kind, ()))), seen_at_array=True))
        for kind in _KINDS
    )
    return next(filter(None, of_kinds), [])


def _with_machine(topology: Topology, kind: str, samples: Sequence[StepSamples]) -> list[tuple[StepSamples, str]]:
    """Samples in which the array counts I/Os, each with its host, or itself where that is not known.

    They are those of the hosts on which a load is known to run; all, where there are none."""
    result = []
    for sample in samples:
        entity = topology.known_as.get((sample.source, kind, sample.entity))
        if entity is not None and any(in_flight_of([sample], direction) for direction in DIRECTIONS):
            hosts = [entity] if kind == "host" else topology.related(entity, "presents", "host")
            result.append((sample, hosts[0] if len(hosts) == 1 else entity))
    tested = {host for load in loads_with_machine(topology) for host in hosts_of(topology, load)}
    return [(sample, machine) for sample, machine in result if machine in tested] or result


def busiest_at_array(
    recording: Recording, connection: duckdb.DuckDBPyConnection, topology: Topology, steps: Sequence[Step]
) -> list[StepSamples]:
    """Return the array's counts for its busiest host, or volume, window by window, in a list; [] if it counts none.
    Gauges appear as the rates of the counters that they are means of."""
    for kind in _KINDS:
        samples = [
            each for each, _ in _with_machine(topology, kind, step_samples(recording, connection, kind, steps))
        ]
        if samples:
            most = max(samples, key=lambda each: sum(in_flight_of([each], direction) for direction in DIRECTIONS))
            return [most if most.rates else _by_gauges(recording, connection, kind, most)]
    return []


def _by_gauges(
    recording: Recording, connection: duckdb.DuckDBPyConnection, kind: str, sample: StepSamples
) -> StepSamples:
    """Return the same sample with the windows of its gauges."""
    source_id = sample.source, sample.entity

    def windows(*names: str) -> dict[int, tuple[float, float]]:
        found = gauge_windows(recording, connection, kind, names, [source_id]).get(source_id, [])
        return {ended_us: (seconds, value) for ended_us, seconds, value in found}

    def rates(direction: Direction) -> dict[int, tuple[float, float, float]]:
        times = windows(*(f"{part}_seconds_{direction}" for part in ARRAY_TIMES))
        times = times or windows(f"response_seconds_{direction}")
        ops = windows(f"ops_per_second_{direction}")
        return {
            ended: (length, rate, rate * times.get(ended, (0.0, 0.0))[1]) for ended, (length, rate) in ops.items()
        }

    of_both = {direction: rates(direction) for direction in DIRECTIONS}
    ends = sorted({ended for of_one in of_both.values() for ended in of_one})
    idle = (0.0, 0.0, 0.0)
    return replace(
        sample,
        ended_us=ends,
        seconds=[max(of_one.get(ended, idle)[0] for of_one in of_both.values()) for ended in ends],
        rates={
            f"{quantity}_{direction}_total": [of_one.get(ended, idle)[index] for ended in ends]
            for direction, of_one in of_both.items()
            for index, quantity in ((1, "ops"), (2, "latency_seconds"))
        },
    )

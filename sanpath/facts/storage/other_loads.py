"""The I/O of other hosts on the arrays' volumes in an interval of a growing recording."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sanpath.facts.samples.step_samples import step_samples
from sanpath.facts.storage.arrays import array_rows
from sanpath.facts.table import FactRow, FactTable, number
from sanpath.facts.time.placement import place_in_time
from sanpath.model import Step
from sanpath.recording.reading.recording import Recording
from sanpath.topology.paths import targets_of
from sanpath.topology.resolve import resolve
from sanpath.topology.topology import Topology

MIN_OPS_PER_SECOND = 5.0
"""I/Os a second of other hosts from which their latency counts: a mean over fewer is chance."""


@dataclass(frozen=True, slots=True)
class OtherLoad:
    """The I/O of other hosts on one volume: I/Os a second, and their mean latency in seconds. It is the latency in
    the array plus, if the array times it, that of the transfer over its ports."""

    ops_per_second: float
    latency_seconds: float


def volumes_of_others(recording: Recording, begin_us: int, end_us: int) -> Mapping[str, OtherLoad]:
    """Volume → what other hosts do on it, of the volumes that no load uses.

    Times are in microseconds of the recorder's clock. Volumes without I/O, or without whole windows in the interval,
    are left out.
    """
    topology = resolve(recording.inventory())
    connection = recording.connect()
    try:
        place_in_time(recording, connection)
        samples = step_samples(recording, connection, "volume", [Step("now", begin_us, end_us, "found", (), None)])
    finally:
        connection.close()
    return loads_of_others(topology, array_rows(topology, "volume", (), FactTable(()), samples))


def loads_of_others(topology: Topology, rows: Iterable[FactRow]) -> dict[str, OtherLoad]:
    """Volume → what other hosts do on it. `rows`: those of volumes, of one step."""
    tested = targets_of(topology, *(load.id for load in topology.of_kind("load")))[1]
    totals: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for row in rows:
        entity = str(row["entity"])
        if entity not in tested and row["array_seconds"] is not None:
            ops = number(row, "ops_per_second")
            totals[entity][0] += ops
            totals[entity][1] += ops * (number(row, "array_seconds") + number(row, "san_seconds"))
    return {entity: OtherLoad(ops, wait_seconds / ops) for entity, (ops, wait_seconds) in totals.items() if ops}

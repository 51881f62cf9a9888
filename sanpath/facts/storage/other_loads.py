"""What other hosts do on the volumes of the arrays in an interval, while a recording grows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from sanpath.facts.samples.step_samples import step_samples
from sanpath.facts.storage.arrays import array_rows
from sanpath.facts.table import FactTable, number
from sanpath.facts.time.placement import place_in_time
from sanpath.model import Step
from sanpath.recording.reading.recording import Recording
from sanpath.topology.identity import resolve
from sanpath.topology.paths import targets_of


def volumes_of_others(recording: Recording, begin_us: int, end_us: int) -> Mapping[str, tuple[float, float]]:
    """Volume → (I/Os a second, mean latency at the array in seconds), of the volumes that no load uses.

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
    tested = targets_of(topology, *(load.id for load in topology.of_kind("load")))[1]
    totals: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for row in array_rows(topology, "volume", (), FactTable("link", ()), samples):
        entity = str(row["entity"])
        if entity not in tested and row["array_seconds"] is not None:
            ops = number(row, "ops_per_second")
            totals[entity][0] += ops
            totals[entity][1] += ops * number(row, "array_seconds")
    return {entity: (ops, wait_seconds / ops) for entity, (ops, wait_seconds) in totals.items() if ops}

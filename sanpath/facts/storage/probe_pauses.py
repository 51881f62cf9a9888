"""The I/O of other hosts while a probe pauses its load: on the arrays' volumes, and on the links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sanpath.facts.fabric.links import link_rows
from sanpath.facts.load.load_events import SourceEvents
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.step_samples import step_samples
from sanpath.facts.storage.arrays import array_rows
from sanpath.facts.storage.other_loads import OtherLoad, loads_of_others
from sanpath.facts.table import FactTable, number
from sanpath.model import PAUSE, Step
from sanpath.recording.reading.recording import Recording
from sanpath.sweep.progress import PROBE_PAUSE
from sanpath.topology.topology import Topology

_KINDS = ("volume", "switch_port")


@dataclass(frozen=True, slots=True)
class ProbePause:
    """A pause of the load. `volumes`: those that other hosts use. `links`: (link, direction) → its utilisation."""

    step: Step
    volumes: Mapping[str, OtherLoad]
    links: Mapping[tuple[str, str], float]


def probe_pauses(
    recording: Recording, topology: Topology, loads: Sequence[LoadFacts], events: SourceEvents
) -> tuple[ProbePause, ...]:
    """The pauses of a probe, in their order, with values from whole windows only. The recording must have been placed
    in time. `loads`: those of its steps, whose links are of interest.
    """
    marks = [event for _, event in events if event.name == PROBE_PAUSE]
    steps = [
        Step(
            str(mark.detail.get("step", "")),
            int(began_us),
            mark.seen,
            "marks",
            (),
            None,
            experiment=PAUSE,
            why=str(mark.detail.get("why") or ""),
        )
        for mark in marks
        if isinstance(began_us := mark.detail.get("began_us"), int | float) and 0 <= began_us < mark.seen
    ]
    if not steps:
        return ()
    connection = recording.connect()
    try:
        kinds = [kind for kind in recording.sample_kinds() if kind in _KINDS]
        samples = {kind: step_samples(recording, connection, kind, steps) for kind in kinds}
    finally:
        connection.close()
    volumes = list(array_rows(topology, "volume", (), FactTable(()), samples.get("volume", ())))
    links = list(link_rows(topology, steps, loads, samples))
    return tuple(
        ProbePause(
            step,
            loads_of_others(topology, [row for row in volumes if row["step"] == step.name]),
            {
                (str(row["entity"]), str(row["direction"])): number(row, "utilisation")
                for row in links
                if row["step"] == step.name and row["utilisation"] is not None
            },
        )
        for step in steps
    )

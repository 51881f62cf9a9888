"""All fact tables of a recording: the one function that offline diagnosis and live view share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace

import duckdb

from sanpath.facts.fabric.links import link_rows
from sanpath.facts.fabric.neighbours import among_neighbours
from sanpath.facts.fabric.switch_ports import switch_port_rows
from sanpath.facts.host.block_devices import device_rows
from sanpath.facts.host.machines import host_rows, initiator_rows
from sanpath.facts.host.multipath import multipath_rows
from sanpath.facts.host.planes import plane_rows
from sanpath.facts.host.under_test import under_test
from sanpath.facts.host.virtual_disks import virtual_disk_rows
from sanpath.facts.host.vm_placement import VmPlacement, vm_placements
from sanpath.facts.load.host_loads import host_loads
from sanpath.facts.load.load_events import Histogram, SourceEvents, histograms
from sanpath.facts.load.loads import LoadFacts, load_facts
from sanpath.facts.load.manual_figures import ByHand, figures_by_hand
from sanpath.facts.load_table import load_rows
from sanpath.facts.samples.clock_offsets import ClockOffset
from sanpath.facts.samples.step_samples import ALWAYS, StepSamples, step_samples
from sanpath.facts.sources import source_rows
from sanpath.facts.storage.array_ports import array_port_rows, front_end_rows
from sanpath.facts.storage.arrays import array_rows
from sanpath.facts.storage.clusters import media_rows, node_rows
from sanpath.facts.storage.controllers import controller_rows
from sanpath.facts.storage.load_volumes import path_pair_rows
from sanpath.facts.table import FactTable
from sanpath.facts.time.load_edges import Unplaced
from sanpath.facts.time.placement import placed
from sanpath.facts.time.recorder_coverage import Absence, Presence, absences, deaths, presences
from sanpath.facts.time.steps import load_steps
from sanpath.facts.time.unmarked_steps import unmarked
from sanpath.model import Step
from sanpath.recording.reading.recording import Recording
from sanpath.topology.identity import Topology, resolve
from sanpath.topology.paths import on_paths

CHARTED = ("load", "lun", "volume", "array", "switch_port")
"""Kinds of which charts are drawn."""
Samples = Mapping[str, Sequence[StepSamples]]
"""Entity kind → what was sampled of that kind, a step and source and entity each."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a recording says, ready to be judged.

    `loads` are the totals of each step, both directions; `clocks`: source → its offset, where one is known;
    `unplaced`: imported files whose time could not be checked.
    `histograms`: (step, direction) → latency distribution. `events`: everything that sources said has happened.
    `by_hand`: figures that a person read. `vm_placements`: where the virtual machines ran, one row a place;
    `topology` is that of the end. `recorders`: who recorded, and `absences` when they did not. `over_time`: what was
    sampled over the whole recording, for charts; without the kinds of which there is very much, and {} where it was
    not asked for.
    """

    steps: tuple[Step, ...]
    topology: Topology
    tables: Mapping[str, FactTable]
    loads: Sequence[LoadFacts]
    clocks: Mapping[str, ClockOffset]
    unplaced: Sequence[Unplaced]
    histograms: Mapping[tuple[str, str], Histogram]
    events: SourceEvents
    by_hand: ByHand
    vm_placements: Sequence[VmPlacement] = ()
    recorders: Sequence[Presence] = ()
    absences: Sequence[Absence] = ()
    over_time: Samples = field(default_factory=dict)

    def at(self, step: str) -> Facts:
        """The facts as they are in a step, where virtual machines have moved between hosts: its topology, and the
        loads of the steps in which they ran in the same place. What ran elsewhere is not compared."""
        here = next(
            (placement for placement in self.vm_placements if any(own.name == step for own in placement.steps)), None
        )
        if here is None or len(self.vm_placements) == 1:
            return self
        names = {own.name for own in here.steps}
        return replace(self, topology=here.topology, loads=[load for load in self.loads if load.step in names])

    def load(self, step: str, direction: str) -> LoadFacts | None:
        """The load of one step and direction. None: no I/O in it."""
        return next((f for f in self.loads if f.step == step and f.direction == direction), None)


def compute(recording: Recording, executor: Executor | None = None, over_time: bool = False) -> Facts:
    """Read a recording and compute every fact of it. `executor`: see step_samples; `over_time`: see Facts."""
    told = recording.inventory()
    topology = resolve(told)
    connection = recording.connect()
    try:
        known = placed(recording, connection)
        events = known.events
        steps = load_steps(events, *_span(recording, connection), deaths(recording))
        steps = unmarked(recording, connection, topology, steps)
        near = on_paths(topology)
        # What charts are drawn from is asked for with the steps: each question costs more than its answer.
        asked = [*steps, ALWAYS] if over_time else steps
        found = {
            kind: step_samples(
                recording, connection, kind, asked if kind in CHARTED else steps, near.get(kind, {}), executor
            )
            for kind in recording.sample_kinds()
        }
        summaries = _summaries(recording, connection, steps)
    finally:
        connection.close()
    whole = {
        kind: [one for one in told if one.step == ALWAYS.name]
        for kind, told in found.items()
        if over_time and kind in CHARTED and all(one.overall is None for one in told)
    }
    samples: Samples = {kind: [one for one in told if one.step != ALWAYS.name] for kind, told in found.items()}
    loads = load_facts(topology, steps, [*_series(steps, samples.get("load", ())), *summaries])
    loads = loads or list(host_loads(topology, samples.get("lun", ())))
    by_hand = figures_by_hand(topology, steps, loads, samples, events)
    samples = {**samples, **by_hand.samples}
    clocks = {kind: recording.planes(kind) for kind in ("lun", "vdisk")}
    where = vm_placements(told, topology, steps)
    tables = _joined([_tables(stay, loads, samples, clocks, events) for stay in where])
    tables |= {
        "controller": FactTable("controller", tuple(controller_rows(topology, events))),
        "source": FactTable("source", tuple(source_rows(recording, steps, samples, known.clocks, events))),
    }
    distributions = histograms(steps, events)
    return Facts(
        tuple(steps),
        topology,
        tables,
        loads,
        known.clocks,
        known.unplaced,
        distributions,
        events,
        by_hand,
        where,
        presences(recording),
        absences(recording, steps),
        whole,
    )


def _tables(
    placement: VmPlacement,
    all_loads: Sequence[LoadFacts],
    all_samples: Samples,
    clocks: Mapping[str, Mapping[str, str | None]],
    events: SourceEvents,
) -> dict[str, FactTable]:
    """The tables of the steps in which every virtual machine ran in the same place."""
    topology, steps, names = placement.topology, placement.steps, {step.name for step in placement.steps}
    loads = [load for load in all_loads if load.step in names]
    samples = {kind: [one for one in told if one.step in names] for kind, told in all_samples.items()}
    tables = {
        "plane": FactTable("plane", tuple(plane_rows(topology, samples, clocks))),
        "link": FactTable("link", tuple(among_neighbours(link_rows(topology, steps, loads, samples)))),
    }
    for kind in ("array", "volume"):
        rows = array_rows(topology, kind, loads, tables["link"], samples.get(kind, ()), samples.get("controller", ()))
        tables[kind] = FactTable(kind, tuple(rows))
    tables["load"] = FactTable("load", tuple(load_rows(topology, loads, tables)))
    tables["path_pair"] = FactTable("path_pair", tuple(path_pair_rows(topology, loads, tables)))
    tables |= {
        "switch_port": FactTable(
            "switch_port", tuple(switch_port_rows(topology, steps, tables["link"], samples.get("switch_port", ())))
        ),
        "array_port": FactTable("array_port", tuple(array_port_rows(topology, steps, samples.get("array_port", ())))),
        "array_front": FactTable("array_front", tuple(front_end_rows(topology, steps, loads, tables["link"]))),
    }
    at_host = under_test(topology, loads, samples, tables["link"])
    tables |= {
        "device": FactTable("device", tuple(device_rows(topology, at_host))),
        "multipath": FactTable("multipath", tuple(multipath_rows(topology, at_host, events))),
        "host": FactTable("host", tuple(host_rows(topology, at_host))),
        "initiator": FactTable("initiator", tuple(initiator_rows(topology, at_host))),
        "virtual_disk": FactTable("virtual_disk", tuple(virtual_disk_rows(topology, at_host))),
        "cluster_node": FactTable("cluster_node", tuple(node_rows(topology, at_host))),
        "media": FactTable("media", tuple(media_rows(topology, at_host))),
    }
    return tables


def _joined(parts: Sequence[Mapping[str, FactTable]]) -> dict[str, FactTable]:
    kinds = dict.fromkeys(kind for part in parts for kind in part)
    return {kind: FactTable(kind, tuple(row for part in parts for row in part[kind])) for kind in kinds}


def _series(steps: Sequence[Step], samples: Sequence[StepSamples]) -> list[StepSamples]:
    """Samples of the loads that give a series."""
    whole = {(step.name, load.source) for step in steps for load in step.loads if load.summary_window is not None}
    return [sample for sample in samples if (sample.step, sample.source) not in whole]


def _summaries(
    recording: Recording, connection: duckdb.DuckDBPyConnection, steps: Sequence[Step]
) -> list[StepSamples]:
    """Samples of the loads that give one figure: over the whole of what it is for, booked to the step."""
    found = []
    for step in steps:
        for load in step.loads:
            if load.summary_window is not None:
                own = replace(step, start=load.summary_window[0], end=load.summary_window[1], loads=(load,))
                samples = step_samples(recording, connection, "load", [own])
                found += [sample for sample in samples if sample.source == load.source]
    return found


def _span(recording: Recording, connection: duckdb.DuckDBPyConnection) -> tuple[int, int]:
    """The recorder's clock at the first and last thing that was recorded."""
    moments = list(recording.polled() or ())
    for kind in recording.sample_kinds():
        if recording.view(connection, kind):
            seen = connection.execute(f'SELECT min(seen), max(seen) FROM "samples_{kind}"').fetchone()  # noqa: S608
            moments += [moment for moment in seen or () if moment is not None]
    return min(moments, default=recording.started_us), max(moments, default=recording.started_us)

"""Computes all fact tables of a recording. Offline diagnosis and live view share this one function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial

import duckdb

from sanpath.facts.fabric.links import link_rows
from sanpath.facts.fabric.neighbours import with_neighbour_facts
from sanpath.facts.fabric.switch_ports import switch_port_rows
from sanpath.facts.fabric.tcp_connections import tcp_connection_rows
from sanpath.facts.facts import CHART_KINDS, Facts, Samples
from sanpath.facts.figures.comparison import figure_comparisons, figure_rows
from sanpath.facts.figures.measured import Measurements
from sanpath.facts.host.block_devices import device_rows
from sanpath.facts.host.control_groups import control_group_rows
from sanpath.facts.host.device_series import with_device_series
from sanpath.facts.host.machines import host_rows, initiator_rows
from sanpath.facts.host.multipath import multipath_rows
from sanpath.facts.host.plane_rows import plane_rows
from sanpath.facts.host.split_directions import split_by_devices
from sanpath.facts.host.tested_machines import under_test
from sanpath.facts.host.virtual_disks import virtual_disk_rows
from sanpath.facts.host.vm_placement import VmPlacement, vm_placements
from sanpath.facts.load.array_loads import array_loads, only_arrays_count
from sanpath.facts.load.beginnings import beginnings, with_beginnings
from sanpath.facts.load.host_loads import host_loads
from sanpath.facts.load.hosts_by_traffic import hosts_by_traffic
from sanpath.facts.load.load_events import SourceEvents, has_generator, histograms, histograms_of_loads
from sanpath.facts.load.load_parts import load_parts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.load.loads_from_samples import load_facts, runs_in
from sanpath.facts.load.machines_by_traffic import machines_by_traffic
from sanpath.facts.load.manual_figures import manual_figures
from sanpath.facts.load.untimed_devices import untimed_device
from sanpath.facts.load_table import load_rows
from sanpath.facts.part import facts_of_part
from sanpath.facts.peers.peer_rows import compared, peer_rows
from sanpath.facts.samples.step_samples import ENTIRE_RECORDING, StepSamples, step_samples
from sanpath.facts.sources import source_rows
from sanpath.facts.storage.array_ports import array_port_rows, front_end_rows
from sanpath.facts.storage.arrays import array_rows
from sanpath.facts.storage.clusters import local_read_shares, media_rows, node_rows
from sanpath.facts.storage.controllers import controller_rows
from sanpath.facts.storage.idle_arrays import KINDS as IDLE_KINDS
from sanpath.facts.storage.idle_arrays import before_load, idle_arrays
from sanpath.facts.storage.load_volumes import path_pair_rows
from sanpath.facts.storage.pauses import pauses
from sanpath.facts.table import FactRow, FactTable
from sanpath.facts.time.placement import PlacedInTime, place_in_time
from sanpath.facts.time.recorder_coverage import absences, deaths, presences
from sanpath.facts.time.slow_periods import SlowPeriods, slow_periods
from sanpath.facts.time.steps import load_steps
from sanpath.facts.time.unmarked_steps import find_unmarked_steps, last_busy_us
from sanpath.model import Step
from sanpath.recording.reading.recording import Recording
from sanpath.topology.paths import on_paths
from sanpath.topology.resolve import resolve
from sanpath.topology.topology import Topology
from sanpath.topology.vm_moves import Report

_MOST_LOADS_OF_PARTS = 320
"""Loads of parts, one for each step and direction, beyond which all parts are judged together alone: the time of a
diagnosis grows by 10 to 20 ms with each. sanpath's own choice: 20 hosts in 16 steps."""


@dataclass(frozen=True, slots=True)
class _Sampled:
    """The samples of a recording. `inventory` and `topology` have the machines that were inferred from traffic.

    `samples`: entity kind → its samples in the steps; `load_samples`: those of loads, single figures included;
    `over_time`: as of Facts; `at_beginning`: those of loads before steps begin, as of `beginnings`;
    `before_load`: those of arrays before the load begins;
    `in_slow_periods`: those in the slow periods of steps, None: no step has any.
    """

    inventory: Sequence[Report]
    topology: Topology
    timed: PlacedInTime
    steps: Sequence[Step]
    samples: dict[str, list[StepSamples]]
    load_samples: Sequence[StepSamples]
    over_time: Samples
    at_beginning: Sequence[StepSamples]
    before_load: Samples
    slow_periods: Sequence[SlowPeriods] = ()
    in_slow_periods: _Sampled | None = None


def compute(recording: Recording, executor: Executor | None = None, over_time: bool = False) -> Facts:
    """Compute every fact of a recording. `executor`: see step_samples. `over_time`: whether to fill
    Facts.over_time."""
    sampled = _sampled(recording, executor, over_time)
    facts = _facts(recording, sampled)
    if sampled.in_slow_periods is None:
        return facts
    in_all = {(load.step, load.direction): load for load in facts.loads}
    slowed = _facts(recording, sampled.in_slow_periods)
    loads = [replace(load, in_all=in_all.get((load.step, load.direction))) for load in slowed.loads]
    slowed = replace(slowed, loads=loads)
    return replace(facts, slow_periods=sampled.slow_periods, slowed=slowed)


def _facts(recording: Recording, sampled: _Sampled) -> Facts:
    """Compute the facts of samples in their steps."""
    topology, steps, samples, load_samples = sampled.topology, sampled.steps, sampled.samples, sampled.load_samples
    events = sampled.timed.events
    loads = with_beginnings(load_facts(topology, steps, load_samples), topology, steps, sampled.at_beginning)
    # A generator that is read and reported no I/O has done none, unless its host has at least one outstanding.
    loads = loads or host_loads(topology, samples, 1.0 if has_generator(events) else 0.0)
    if not loads and only_arrays_count(recording, events):
        loads = array_loads(topology, samples)
    distributions_of_loads = histograms_of_loads(steps, events)
    shares = local_read_shares(topology, samples.get("cluster_node", ()))
    clocks = {kind: recording.planes(kind) for kind in ("lun", "vdisk")}
    loads = _by_their_devices(topology, loads, samples, clocks)
    measurements = Measurements(topology, steps, load_samples, loads, distributions_of_loads, shares)
    figures = figure_comparisons(events, measurements)
    by_hand = manual_figures(topology, steps, loads, samples, events)
    known: Samples = {**samples, **by_hand.samples}
    placements = vm_placements(sampled.inventory, topology, steps)
    tables = _joined([_tables(placement, loads, known, clocks, events) for placement in placements])
    tables |= {
        "controller": FactTable(
            "controller",
            tuple(controller_rows(topology, events, known.get("controller", ()), compared(tables["peer"].rows))),
        ),
        "source": FactTable("source", tuple(source_rows(recording, steps, known, sampled.timed.clocks, events))),
        "figure": FactTable("figure", tuple(figure_rows(figures))),
    }
    distributions = histograms(steps, events)
    facts = Facts(
        steps=tuple(steps),
        topology=topology,
        tables=tables,
        loads=loads,
        clocks=sampled.timed.clocks,
        unplaced=sampled.timed.unplaced,
        histograms=distributions,
        events=events,
        by_hand=by_hand,
        vm_placements=placements,
        recorders=presences(recording),
        absences=absences(recording, steps),
        over_time=sampled.over_time,
        figures=figures,
        pauses=pauses(recording, topology, loads, events),
        idle_arrays=idle_arrays(topology, sampled.before_load),
        load_windows=max((sample.windows for sample in load_samples), default=0),
        untimed=None if loads else untimed_device(topology, samples.get("lun", ())),
    )
    # A machine that moves between hosts has no part of its own on either of them.
    parts = load_parts(topology, steps, load_samples, samples, loads) if len(placements) == 1 else []
    if sum(len(part.loads) for part in parts) > _MOST_LOADS_OF_PARTS:
        return replace(facts, parts_left_out=len(parts))
    by_devices = (replace(p, loads=_by_their_devices(topology, p.loads, samples, clocks)) for p in parts)
    return replace(facts, parts=[facts_of_part(facts, part, known) for part in by_devices])


def _by_their_devices(
    topology: Topology, loads: Sequence[LoadFacts], samples: Samples, clocks: Mapping[str, Mapping[str, str | None]]
) -> list[LoadFacts]:
    """Return the loads, with what they do not report themselves by the block devices that do their I/O."""
    if any(load.is_mean_of_both for load in loads):
        planes = FactTable("plane", tuple(plane_rows(topology, samples, clocks)))
        loads = list(split_by_devices(topology, loads, planes))
    return list(with_device_series(topology, loads, samples.get("lun", ())))


def _sampled(recording: Recording, executor: Executor | None, over_time: bool) -> _Sampled:
    """Read the samples of a recording, and infer from them where its loads run."""
    inventory = recording.inventory()
    topology = recording.remembered("topology", inventory, lambda: resolve(inventory))
    connection = recording.connect()
    try:
        timed = place_in_time(recording, connection)
        first_us, last_us = _span(recording, timed.received_us)
        busy_until = partial(_busy_until, recording, connection, last_us)
        steps = load_steps(timed.events, first_us, last_us, deaths(recording), busy_until)
        steps = find_unmarked_steps(recording, connection, topology, steps)
        # Samples for charts are queried along with those of the steps: a query costs more than its result.
        with_recording = [*steps, ENTIRE_RECORDING] if over_time else steps

        def read(kind: str, topology: Topology) -> list[StepSamples]:
            of_kind, loaded = with_recording if kind in CHART_KINDS else steps, on_paths(topology).get(kind, {})
            return step_samples(recording, connection, kind, of_kind, loaded, executor)

        summaries = _summaries(recording, connection, steps, "load")
        machines = _summaries(recording, connection, steps, "host")
        devices = _summaries(recording, connection, steps, "lun")
        all_samples = {"load": read("load", topology)}
        at_beginning = step_samples(recording, connection, "load", beginnings(steps))
        load_series = [*_series(steps, all_samples["load"]), *summaries]
        for by_traffic, kind in ((machines_by_traffic, "lun"), (hosts_by_traffic, "volume")):
            if inferred := by_traffic(topology, steps, load_series, partial(read, kind, topology)):
                inventory = [*inventory, *inferred]
                topology = recording.remembered(f"topology by {kind}s", inventory, partial(resolve, inventory))
        all_samples |= {kind: read(kind, topology) for kind in recording.sample_kinds() if kind != "load"}
        idle = before_load(timed.events, recording.started_us)
        idle_samples = {
            kind: step_samples(recording, connection, kind, [idle])
            for kind in (IDLE_KINDS if idle is not None and "controller" in all_samples else ())
            if idle is not None and kind in all_samples
        }
        slow = _slow_periods(steps, all_samples["load"])
        periods = [period for each in slow for period in each.periods]
        in_periods = {
            kind: step_samples(recording, connection, kind, periods, on_paths(topology).get(kind, {}), executor)
            for kind in (all_samples if periods else ())
        }
        slow = [each for each in slow if _sources_in(each.step, all_samples) <= _sources_in(each.step, in_periods)]
    finally:
        connection.close()
    samples_over_time = {
        kind: [sample for sample in entity_samples if sample.step == ENTIRE_RECORDING.name]
        for kind, entity_samples in all_samples.items()
        if over_time and kind in CHART_KINDS
    }
    samples: dict[str, list[StepSamples]] = {
        kind: [sample for sample in entity_samples if sample.step != ENTIRE_RECORDING.name]
        for kind, entity_samples in all_samples.items()
    }
    load_samples = [*_series(steps, samples.get("load", ())), *summaries]
    samples["host"] = [*_series(steps, samples.get("host", ())), *machines]
    samples["lun"] = [*samples.get("lun", ()), *_read_by_no_other(topology, devices, samples.get("lun", ()))]
    slow_steps = [each.step for each in slow]
    slowed = _Sampled(inventory, topology, timed, slow_steps, in_periods, in_periods.get("load", []), {}, (), {})
    return _Sampled(
        inventory,
        topology,
        timed,
        steps,
        samples,
        load_samples,
        samples_over_time,
        at_beginning,
        idle_samples,
        slow,
        slowed if slow else None,
    )


def _sources_in(step: Step, samples: Samples) -> set[tuple[str, str]]:
    """Return the sources that were read in a step, each with the kinds of entities that it told of."""
    return {(kind, each.source) for kind, of_kind in samples.items() for each in of_kind if each.step == step.name}


def _slow_periods(steps: Sequence[Step], loads: Sequence[StepSamples]) -> list[SlowPeriods]:
    """Return those of the steps whose loads all report a series."""
    series = [step for step in steps if all(load.summary_window is None for load in step.loads)]
    found = (slow_periods(s, [each for each in loads if each.step == s.name and runs_in(each, s)]) for s in series)
    return [periods for periods in found if periods is not None]


def _tables(
    placement: VmPlacement,
    all_loads: Sequence[LoadFacts],
    all_samples: Samples,
    clocks: Mapping[str, Mapping[str, str | None]],
    events: SourceEvents,
) -> dict[str, FactTable]:
    """Compute the tables of the steps in which every virtual machine ran on the same host."""
    topology, steps, names = placement.topology, placement.steps, {step.name for step in placement.steps}
    loads = [load for load in all_loads if load.step in names]
    samples = {
        kind: [sample for sample in entity_samples if sample.step in names]
        for kind, entity_samples in all_samples.items()
    }
    planes = FactTable("plane", tuple(plane_rows(topology, samples, clocks)))
    links = FactTable("link", tuple(with_neighbour_facts(link_rows(topology, steps, loads, samples))))
    tested = under_test(topology, loads, samples, links)
    groups = FactTable("control_group", tuple(control_group_rows(topology, tested)))
    tables = {"plane": planes, "link": links, "control_group": groups}
    controllers = samples.get("controller", ())
    for kind in ("array", "volume"):
        rows_of_kind = array_rows(topology, kind, loads, links, samples.get(kind, ()), controllers)
        tables[kind] = FactTable(kind, tuple(rows_of_kind))
    rows: dict[str, Iterable[FactRow]] = {
        "load": load_rows(topology, loads, tables, tested),
        "path_pair": path_pair_rows(topology, loads, tables),
        "switch_port": switch_port_rows(topology, steps, links, samples.get("switch_port", ())),
        "tcp_connection": tcp_connection_rows(topology, loads, samples.get("tcp_connection", ())),
        "array_port": array_port_rows(topology, steps, samples.get("array_port", ())),
        "array_front": front_end_rows(topology, steps, loads, links),
        "device": device_rows(topology, tested),
        "multipath": multipath_rows(topology, tested, events, {step.name: step for step in steps}),
        "host": host_rows(topology, tested),
        "initiator": initiator_rows(topology, tested),
        "virtual_disk": virtual_disk_rows(topology, tested),
        "cluster_node": node_rows(topology, tested),
        "media": media_rows(topology, tested),
        "peer": peer_rows(topology, tested),
    }
    return tables | {kind: FactTable(kind, tuple(found)) for kind, found in rows.items()}


def _joined(tables: Sequence[Mapping[str, FactTable]]) -> dict[str, FactTable]:
    kinds = dict.fromkeys(kind for table in tables for kind in table)
    return {kind: FactTable(kind, tuple(row for table in tables for row in table[kind])) for kind in kinds}


def _series(steps: Sequence[Step], samples: Sequence[StepSamples]) -> list[StepSamples]:
    """Return the samples of sources whose loads report a series in the step."""
    single = {(step.name, load.source) for step in steps for load in step.loads if load.summary_window is not None}
    return [sample for sample in samples if (sample.step, sample.source) not in single]


def _summaries(
    recording: Recording, connection: duckdb.DuckDBPyConnection, steps: Sequence[Step], kind: str
) -> list[StepSamples]:
    """Return samples of sources whose loads report a single figure: over the entire time it covers, booked to the
    step."""
    result = []
    sources = recording.columns(kind).keys()
    for step in steps:
        for load in step.loads:
            if load.summary_window is not None and load.source in sources:
                covered = replace(step, start=load.summary_window[0], end=load.summary_window[1], loads=(load,))
                samples = step_samples(recording, connection, kind, [covered])
                result += [sample for sample in samples if sample.source == load.source]
    return result


def _read_by_no_other(
    topology: Topology, summaries: Sequence[StepSamples], samples: Sequence[StepSamples]
) -> list[StepSamples]:
    """Return what results say of block devices in steps in which no other source has read these."""

    def place(sample: StepSamples) -> tuple[str, str | None]:
        return sample.step, topology.known_as.get((sample.source, "lun", sample.entity))

    read = {place(sample) for sample in samples}
    return [summary for summary in summaries if place(summary) not in read]


def _busy_until(
    recording: Recording, connection: duckdb.DuckDBPyConnection, last_us: int, sources: Set[str], began_us: int
) -> int | None:
    """Return when loads of these sources were last busy, see load_steps. `last_us`: the end of the recording."""
    until_now = Step("", began_us, last_us, "marks", (), None)
    samples = [s for s in step_samples(recording, connection, "load", [until_now]) if s.source in sources]
    return last_busy_us(until_now, samples) if {sample.source for sample in samples} == sources else None


def _span(recording: Recording, received_us: tuple[int, int] | None) -> tuple[int, int]:
    """Return the times of the first and the last poll or sample, microseconds on the recorder's clock."""
    moments = [*(recording.polled() or ()), *(received_us or ())]
    return min(moments, default=recording.started_us), max(moments, default=recording.started_us)

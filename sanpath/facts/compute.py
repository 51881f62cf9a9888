"""Computes all fact tables of a recording. Offline diagnosis and live view share this one function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from concurrent.futures import Executor
from dataclasses import replace

from sanpath.facts.devices.block_devices import device_rows
from sanpath.facts.devices.device_series import with_device_series
from sanpath.facts.devices.multipath import multipath_rows
from sanpath.facts.devices.plane_rows import plane_rows
from sanpath.facts.devices.queue_depths import set_depths
from sanpath.facts.devices.split_joint_latency import split_by_devices
from sanpath.facts.fabric.link_measures import with_saturation
from sanpath.facts.fabric.links import link_rows
from sanpath.facts.fabric.neighbours import with_neighbour_facts
from sanpath.facts.fabric.switch_ports import switch_port_rows
from sanpath.facts.fabric.tcp_connections import tcp_connection_rows
from sanpath.facts.facts import Facts, Samples
from sanpath.facts.figures.comparison import figure_comparisons, figure_rows
from sanpath.facts.figures.manual_figures import manual_figures
from sanpath.facts.figures.measured import Measurements
from sanpath.facts.host.control_groups import control_group_rows
from sanpath.facts.host.machines import host_rows, initiator_rows
from sanpath.facts.host.port_units import correct_port_units
from sanpath.facts.host.tested_machines import under_test
from sanpath.facts.host.virtual_disks import virtual_disk_rows
from sanpath.facts.host.vm_placement import VmPlacement, vm_placements
from sanpath.facts.inputs import FactInputs, SampledSteps, read_inputs
from sanpath.facts.load.array_loads import array_loads, only_arrays_count
from sanpath.facts.load.beginnings import with_beginnings
from sanpath.facts.load.busiest_device import busiest_device
from sanpath.facts.load.host_loads import host_loads
from sanpath.facts.load.load_events import SourceEvents, has_generator, histograms, histograms_of_loads
from sanpath.facts.load.load_parts import load_parts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.load.loads_from_samples import load_facts
from sanpath.facts.load_part_facts import facts_of_part
from sanpath.facts.load_table import failed_rows, load_rows
from sanpath.facts.peers.peer_rows import compared, peer_rows
from sanpath.facts.sources import source_rows
from sanpath.facts.storage.array_ports import array_port_rows, front_end_rows, with_ports_in_paths
from sanpath.facts.storage.arrays import array_rows
from sanpath.facts.storage.clusters import local_read_shares, media_rows, node_rows
from sanpath.facts.storage.controllers import controller_rows
from sanpath.facts.storage.idle_arrays import idle_arrays
from sanpath.facts.storage.load_volumes import judged_sides, path_pair_rows
from sanpath.facts.storage.other_hosts import with_other_hosts
from sanpath.facts.storage.probe_pauses import probe_pauses
from sanpath.facts.table import FactRow, FactTable
from sanpath.facts.time.recorder_coverage import absences, presences
from sanpath.recording.reading.recording import Recording
from sanpath.topology.topology import Topology

_MAX_LOADS_OF_PARTS = 320
"""Largest number of loads of parts (one for each step and direction) that are judged separately: each adds 10 to 20
ms to a diagnosis. sanpath's own choice: 20 hosts in 16 steps."""


def compute(recording: Recording, executor: Executor | None = None, over_time: bool = False) -> Facts:
    """Compute every fact of a recording. `executor`: see step_samples. `over_time`: whether to fill
    Facts.over_time."""
    inputs = read_inputs(recording, executor, over_time)
    facts = _facts(recording, inputs, inputs.in_steps)
    if inputs.in_slow_periods is None:
        return facts
    whole_steps = {(load.step, load.direction): load for load in facts.loads}
    slowed = _facts(recording, inputs, inputs.in_slow_periods)
    loads = [replace(load, whole_step=whole_steps.get((load.step, load.direction))) for load in slowed.loads]
    slowed = replace(slowed, loads=loads)
    return replace(facts, slow_periods=inputs.slow_periods, slowed=slowed)


def _facts(recording: Recording, inputs: FactInputs, sampled_steps: SampledSteps) -> Facts:
    """Compute the facts of some steps."""
    topology, events = inputs.topology, inputs.timed.events
    steps, load_samples = sampled_steps.steps, sampled_steps.load_samples
    samples: Samples = correct_port_units(topology, sampled_steps.samples)
    loads = with_beginnings(load_facts(topology, steps, load_samples), topology, steps, sampled_steps.at_beginning)
    # A generator that was read and reported no I/O did no I/O, unless its host keeps at least one outstanding.
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
    placements = vm_placements(inputs.inventory, topology, steps)
    set_to = set_depths(inputs.inventory, topology)
    tables = _joined([_tables(placement, loads, known, clocks, events, set_to) for placement in placements])
    judged = judged_sides(topology, loads, tables)
    tables |= {
        "controller": FactTable(
            tuple(controller_rows(topology, events, known.get("controller", ()), compared(tables["peer"].rows)))
        ),
        "source": FactTable(
            tuple(source_rows(recording, steps, known, inputs.timed, judged, loads, inputs.device_stalls)),
        ),
        "figure": FactTable(tuple(figure_rows(figures))),
    }
    distributions = histograms(steps, events)
    facts = Facts(
        steps=tuple(steps),
        topology=topology,
        tables=tables,
        loads=loads,
        clocks=inputs.timed.clocks,
        unplaced=inputs.timed.unplaced,
        histograms=distributions,
        events=events,
        by_hand=by_hand,
        vm_placements=placements,
        recorders=presences(recording),
        absences=absences(recording, steps),
        over_time=inputs.over_time,
        figures=figures,
        pauses=probe_pauses(recording, topology, loads, events),
        idle_arrays=idle_arrays(topology, inputs.without_load),
        load_windows=max((sample.windows for sample in load_samples), default=0),
        busiest_device=None if loads else busiest_device(topology, samples.get("lun", ())),
    )
    # A machine that moves between hosts is not a part of either host's load.
    parts = load_parts(topology, steps, load_samples, samples, loads) if len(placements) == 1 else []
    if sum(len(part.loads) for part in parts) > _MAX_LOADS_OF_PARTS:
        return replace(facts, parts_left_out=len(parts))
    by_devices = (replace(p, loads=_by_their_devices(topology, p.loads, samples, clocks)) for p in parts)
    return replace(facts, parts=[facts_of_part(facts, part, known) for part in by_devices])


def _by_their_devices(
    topology: Topology, loads: Sequence[LoadFacts], samples: Samples, clocks: Mapping[str, Mapping[str, str | None]]
) -> list[LoadFacts]:
    """Return the loads; figures that they do not report themselves come from the block devices that do their I/O."""
    if any(load.is_mean_of_both for load in loads):
        planes = FactTable(tuple(plane_rows(topology, samples, clocks)))
        loads = list(split_by_devices(topology, loads, planes))
    return list(with_device_series(topology, loads, samples.get("lun", ())))


def _tables(
    placement: VmPlacement,
    all_loads: Sequence[LoadFacts],
    all_samples: Samples,
    clocks: Mapping[str, Mapping[str, str | None]],
    events: SourceEvents,
    set_to: Mapping[str, Set[float]],
) -> dict[str, FactTable]:
    """Compute the tables of the steps in which every virtual machine ran on the same host. `set_to`: see
    `set_depths`."""
    topology, steps, names = placement.topology, placement.steps, {step.name for step in placement.steps}
    loads = [load for load in all_loads if load.step in names]
    samples = {
        kind: [sample for sample in entity_samples if sample.step in names]
        for kind, entity_samples in all_samples.items()
    }
    planes = FactTable(tuple(plane_rows(topology, samples, clocks)))
    links = FactTable(tuple(with_saturation(with_neighbour_facts(link_rows(topology, steps, loads, samples)))))
    tested = under_test(topology, loads, samples, links)
    groups = FactTable(tuple(control_group_rows(topology, tested)))
    tables = {"plane": planes, "link": links, "control_group": groups}
    controllers = samples.get("controller", ())
    for kind in ("array", "volume"):
        rows_of_kind = array_rows(topology, kind, loads, links, samples.get(kind, ()), controllers)
        tables[kind] = FactTable(tuple(with_other_hosts(topology, rows_of_kind, tested)))
    multipath = tuple(multipath_rows(topology, tested, events, {step.name: step for step in steps}))
    rows: dict[str, Iterable[FactRow]] = {
        "load": (*load_rows(topology, steps, loads, tables, tested), *failed_rows(steps, loads, events)),
        "path_pair": path_pair_rows(topology, loads, tables),
        "switch_port": switch_port_rows(topology, steps, links, samples.get("switch_port", ())),
        "tcp_connection": tcp_connection_rows(topology, loads, samples.get("tcp_connection", ())),
        "array_port": array_port_rows(topology, steps, samples.get("array_port", ())),
        "array_front": with_ports_in_paths(front_end_rows(topology, steps, loads, links), multipath),
        "device": device_rows(topology, tested, set_to),
        "multipath": multipath,
        "host": host_rows(topology, tested),
        "initiator": initiator_rows(topology, tested),
        "virtual_disk": virtual_disk_rows(topology, tested),
        "cluster_node": node_rows(topology, tested),
        "media": media_rows(topology, tested),
        "peer": peer_rows(topology, tested),
    }
    return tables | {kind: FactTable(tuple(found)) for kind, found in rows.items()}


def _joined(tables: Sequence[Mapping[str, FactTable]]) -> dict[str, FactTable]:
    kinds = dict.fromkeys(kind for table in tables for kind in table)
    return {kind: FactTable(tuple(row for table in tables for row in table[kind])) for kind in kinds}

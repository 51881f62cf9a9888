"""Reads the samples of a recording in its steps, and the other inputs of the facts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from math import inf

import duckdb

from sanpath.facts.facts import CHART_KINDS, Samples
from sanpath.facts.load.beginnings import beginnings
from sanpath.facts.load.hosts_by_traffic import hosts_by_traffic
from sanpath.facts.load.loads_from_samples import runs_in
from sanpath.facts.load.machines_by_traffic import machines_by_traffic
from sanpath.facts.load.tested_devices import devices_under_test
from sanpath.facts.load.unread_volumes import unread_volumes
from sanpath.facts.samples.sample_arrays import covered_times
from sanpath.facts.samples.stalled_devices import DeviceStall, device_stalls, with_stalled_ios
from sanpath.facts.samples.step_samples import ENTIRE_RECORDING, StepSamples, step_samples
from sanpath.facts.storage.idle_arrays import KINDS as IDLE_KINDS
from sanpath.facts.storage.idle_arrays import IdleSamples, idle_windows, times_without_load
from sanpath.facts.time.placement import PlacedInTime, place_in_time
from sanpath.facts.time.recorder_coverage import deaths
from sanpath.facts.time.slow_periods import SlowPeriods, slow_periods
from sanpath.facts.time.steps import load_steps
from sanpath.facts.time.unmarked_steps import find_unmarked_steps, last_busy_us
from sanpath.model import Step
from sanpath.recording.reading.recording import Recording
from sanpath.topology.paths import entities_on_paths
from sanpath.topology.resolve import resolve
from sanpath.topology.topology import Topology
from sanpath.topology.vm_moves import Report


@dataclass(frozen=True, slots=True)
class SampledSteps:
    """The samples of some steps. `samples`: entity kind → its samples; `load_samples`: those of loads, single figures
    included; `at_beginning`: those of loads before the steps begin, as in `beginnings`."""

    steps: Sequence[Step]
    samples: dict[str, list[StepSamples]]
    load_samples: Sequence[StepSamples]
    at_beginning: Sequence[StepSamples] = ()


@dataclass(frozen=True, slots=True)
class FactInputs:
    """The samples of a recording. `inventory` and `topology` have the machines that were inferred from traffic.

    `in_slow_periods`: samples in the slow periods of those steps that have any, as if these were the steps; None: no
    step has any. `without_load`: those of arrays while no load runs. `device_stalls`: when block devices answered
    nothing. `over_time`: as in Facts.
    """

    inventory: Sequence[Report]
    topology: Topology
    timed: PlacedInTime
    in_steps: SampledSteps
    slow_periods: Sequence[SlowPeriods]
    in_slow_periods: SampledSteps | None
    without_load: Sequence[IdleSamples]
    device_stalls: Sequence[DeviceStall]
    over_time: Samples


def read_inputs(recording: Recording, executor: Executor | None, over_time: bool) -> FactInputs:
    """Read the samples of a recording, and infer from them where its loads run. See compute."""
    connection = recording.connect()
    try:
        return _sampled(_Reader(recording, connection, executor), over_time)
    finally:
        connection.close()


@dataclass(frozen=True, slots=True)
class _Reader:
    recording: Recording
    connection: duckdb.DuckDBPyConnection
    executor: Executor | None

    def samples(
        self,
        kind: str,
        intervals: Sequence[Step],
        topology: Topology | None = None,
        sources: Collection[str] | None = None,
    ) -> list[StepSamples]:
        """Return the samples in some intervals, in more detail for what `topology` has on the loaded paths. Only
        of `sources`; None: of all."""
        loaded = entities_on_paths(topology).get(kind, {}) if topology is not None else {}
        return step_samples(self.recording, self.connection, kind, intervals, loaded, self.executor, sources=sources)

    def summaries(self, kind: str, steps: Sequence[Step]) -> list[StepSamples]:
        """Return samples of sources whose loads report a single figure: over the entire time it covers, booked to the
        step. Loads that a source runs at the same time have figures of their own; what they share is read once."""
        result: dict[tuple[str, str, str], StepSamples] = {}
        of_kind = self.recording.columns(kind).keys()
        for step in steps:
            for load in step.loads:
                if load.summary_window is not None and load.source in of_kind:
                    covered = replace(step, start=load.summary_window[0], end=load.summary_window[1], loads=(load,))
                    for each in self.samples(kind, [covered], sources={load.source}):
                        if kind != "load" or runs_in(each, covered):
                            result.setdefault((each.step, each.source, each.entity), each)
        return list(result.values())

    def busy_until(self, last_us: int, sources: Set[str], began_us: int) -> int | None:
        """Return when loads of these sources were last busy, see load_steps. `last_us`: the end of the recording."""
        until_now = Step("", began_us, last_us, "marks", (), None)
        samples = [each for each in self.samples("load", [until_now]) if each.source in sources]
        return last_busy_us(until_now, samples) if {each.source for each in samples} == sources else None


def _sampled(reader: _Reader, over_time: bool) -> FactInputs:
    recording = reader.recording
    inventory = recording.inventory()
    topology = recording.remembered("topology", inventory, lambda: resolve(inventory))
    timed = place_in_time(recording, reader.connection)
    steps = _steps(reader, timed, topology)
    # Samples for charts are queried with those of the steps: a query costs more than its result.
    with_recording = [*steps, ENTIRE_RECORDING] if over_time else steps

    def read(kind: str, topology: Topology) -> list[StepSamples]:
        return reader.samples(kind, with_recording if kind in CHART_KINDS else steps, topology)

    summaries = {kind: reader.summaries(kind, steps) for kind in ("load", "host", "lun")}
    of_loads = read("load", topology)
    load_samples = [*_series(steps, _in_steps(of_loads)), *summaries["load"]]
    inferences = ((machines_by_traffic, "lun"), (hosts_by_traffic, "volume"), (unread_volumes, "volume"))
    for by_traffic, kind in inferences:
        if inferred := by_traffic(topology, steps, load_samples, partial(read, kind, topology)):
            inventory = [*inventory, *inferred]
            topology = recording.remembered(
                f"topology by {by_traffic.__name__}", inventory, partial(resolve, inventory)
            )
    kinds = [kind for kind in recording.sample_kinds() if kind != "load"]
    everything = {"load": of_loads} | {kind: read(kind, topology) for kind in kinds}
    samples = {kind: _in_steps(of_kind) for kind, of_kind in everything.items()}
    slow, in_slow_periods = _slow_periods(reader, steps, samples, topology)
    samples["host"] = [*_series(steps, samples.get("host", ())), *summaries["host"]]
    stalls = device_stalls(recording, reader.connection, devices_under_test(topology), _loaded_us(timed))
    devices = with_stalled_ios(samples.get("lun", []), stalls, topology.known_as)
    samples["lun"] = [*devices, *_read_by_no_other(topology, summaries["lun"], devices)]
    return FactInputs(
        inventory,
        topology,
        timed,
        SampledSteps(steps, samples, load_samples, reader.samples("load", beginnings(steps))),
        slow,
        in_slow_periods,
        list(_without_load(reader, timed, load_samples, everything)),
        stalls,
        {kind: _in_recording(everything[kind]) for kind in everything if over_time and kind in CHART_KINDS},
    )


def _steps(reader: _Reader, timed: PlacedInTime, topology: Topology) -> list[Step]:
    recording = reader.recording
    moments = [*(recording.polled() or ()), *(timed.received_us or ())]  # on the recorder's clock
    first_us, last_us = (limit(moments, default=recording.started_us) for limit in (min, max))
    steps = load_steps(timed.events, first_us, last_us, deaths(recording), partial(reader.busy_until, last_us))
    return find_unmarked_steps(recording, reader.connection, topology, steps)


def _slow_periods(
    reader: _Reader, steps: Sequence[Step], samples: Samples, topology: Topology
) -> tuple[list[SlowPeriods], SampledSteps | None]:
    """Return the slow periods of steps whose loads all report a series, and what every source reported in them."""
    series = [step for step in steps if all(load.summary_window is None for load in step.loads)]
    loads = [(step, [each for each in samples["load"] if each.step == step.name]) for step in series]
    found = (slow_periods(step, [each for each in of_step if runs_in(each, step)]) for step, of_step in loads)
    slow = [periods for periods in found if periods is not None]
    intervals = [period for each in slow for period in each.periods]
    if not intervals:
        return [], None
    in_periods = {kind: reader.samples(kind, intervals, topology) for kind in samples}
    slow = [each for each in slow if _sources_in(each.step, samples) <= _sources_in(each.step, in_periods)]
    if not slow:
        return [], None
    return slow, SampledSteps([each.step for each in slow], in_periods, in_periods["load"])


def _loaded_us(timed: PlacedInTime) -> tuple[float, float]:
    """Return when the first load began and the last one ended; without marks of it, any time."""
    began = [event.seen for _, event in timed.events if event.name in ("load-started", "step-begin")]
    started, ended = (
        [event.seen for _, event in timed.events if event.name == name] for name in ("load-started", "load-ended")
    )
    have_all_ended = ended and len(ended) >= len(started)
    return min(began, default=0), max(ended) if have_all_ended else inf


def _without_load(
    reader: _Reader, timed: PlacedInTime, load_samples: Sequence[StepSamples], samples: Samples
) -> Iterator[IdleSamples]:
    """Yield each controller source's samples while no load ran. For a load that writes, only the time before it
    counts: afterwards, an array may be busy with the written data."""
    if "controller" not in samples:
        return
    began_us = reader.recording.started_us
    free = times_without_load(timed.events, began_us)
    if any(each.rate("ops_write_total") for each in load_samples):
        free = [(since_us, until_us) for since_us, until_us in free if since_us == began_us]
    uncertain_us = {shift.source: shift.uncertainty_us for shift in reader.recording.shifts or ()}
    for source in reader.recording.columns("controller") if free else ():
        windows, means = covered_times(reader.recording, reader.connection, "controller", source)
        steps, loaded_ratio = idle_windows(windows, free, uncertain_us.get(source, 0), means)
        if steps:
            read = {kind: reader.samples(kind, steps) for kind in IDLE_KINDS if kind in samples}
            of_source = {kind: [each for each in read[kind] if each.source == source] for kind in read}
            yield IdleSamples(of_source, loaded_ratio)


def _in_steps(samples: Sequence[StepSamples]) -> list[StepSamples]:
    return [each for each in samples if each.step != ENTIRE_RECORDING.name]


def _in_recording(samples: Sequence[StepSamples]) -> list[StepSamples]:
    return [each for each in samples if each.step == ENTIRE_RECORDING.name]


def _sources_in(step: Step, samples: Mapping[str, Sequence[StepSamples]]) -> set[tuple[str, str]]:
    """Return the sources that were read in a step, each with the kinds of entities that it reported."""
    return {(kind, each.source) for kind, of_kind in samples.items() for each in of_kind if each.step == step.name}


def _series(steps: Sequence[Step], samples: Sequence[StepSamples]) -> list[StepSamples]:
    """Return the samples of sources whose loads report a series in the step."""
    single = {(step.name, load.source) for step in steps for load in step.loads if load.summary_window is not None}
    return [each for each in samples if (each.step, each.source) not in single]


def _read_by_no_other(
    topology: Topology, summaries: Sequence[StepSamples], samples: Sequence[StepSamples]
) -> list[StepSamples]:
    """Return the block-device samples of result files, in steps in which no other source has read these devices."""

    def place(each: StepSamples) -> tuple[str, str | None]:
        return each.step, topology.known_as.get((each.source, "lun", each.entity))

    read = {place(each) for each in samples}
    return [summary for summary in summaries if place(summary) not in read]

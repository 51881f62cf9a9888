"""Places a recording in time: shifts events, and sets the shifts by which samples are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import duckdb

from sanpath.facts.load.load_events import SourceEvents
from sanpath.facts.samples.clock_offsets import ClockOffset, clock_offsets, sample_times, shifts
from sanpath.facts.samples.sample_arrays import timed_samples
from sanpath.facts.samples.step_samples import ENTIRE_RECORDING, StepSamples, step_samples
from sanpath.facts.time.load_edges import Unplaced, edge_offsets, is_significant
from sanpath.facts.time.recorder_coverage import sources_with_uncertain_clock
from sanpath.model import Event
from sanpath.recording.reading.recording import Recording
from sanpath.recording.storage.duck import quoted
from sanpath.topology.keys import Local
from sanpath.topology.paths import luns_of
from sanpath.topology.resolve import resolve

UNKNOWN_CLOCK = (
    "its clock was not compared with that of the load, and the edges of the load do not place it: recorder"
)

_MARKS = frozenset(("step-begin", "ramp-end", "step-end"))
_MAX_DELAY_US = 5_000_000
"""A status reaches the recorder within this time, also from a busy machine over a slow network."""


@dataclass(frozen=True, slots=True)
class PlacedInTime:
    """`events`: all events of sources, on the recorder's clock. `clocks`: source → its offset, where one is known.
    `received_us`: see SampleTimes. `unplaced`: files and sources whose time could not be checked."""

    events: SourceEvents
    clocks: Mapping[str, ClockOffset]
    received_us: tuple[int, int] | None
    unplaced: Sequence[Unplaced] = ()


def place_in_time(recording: Recording, connection: duckdb.DuckDBPyConnection) -> PlacedInTime:
    """Bring all events and samples to the recorder's clock.

    Imported files, and sources of a recorder with an uncertain clock, are placed by the edges of the load. Where
    these do not place a source of such a recorder, its samples are left out."""
    events = recording.events()
    times = sample_times(recording, connection)
    clocks = clock_offsets(recording, connection, events, times)
    recording.shifts = shifts(clocks)
    events = _by_own_clocks(events, clocks)
    imported = list(dict.fromkeys(source for source, event in events if event.name == "imported"))
    uncertain = sources_with_uncertain_clock(recording)
    if not imported and not uncertain:
        return PlacedInTime(events, clocks, times.received_us)

    @cache
    def samples(kind: str) -> Sequence[StepSamples]:
        counted = step_samples(recording, connection, kind, [ENTIRE_RECORDING])
        return [*counted, *_averaged_rates(recording, connection, kind)]

    offsets, unplaced = edge_offsets([*imported, *uncertain], samples, recording.sample_kinds(), _targets(recording))
    late_seconds = {source: offset.seconds for source, offset in offsets.items() if is_significant(offset)}
    not_placed = [source for source in uncertain if source not in offsets]
    unplaced = [
        *(item for item in unplaced if item.source not in not_placed),
        *(Unplaced(source, f"{UNKNOWN_CLOCK} {uncertain[source]}", left_out=True) for source in not_placed),
    ]
    recording.shifts = shifts(clocks, {**late_seconds, **dict.fromkeys(not_placed)})
    late_us = {source: round(1e6 * seconds) for source, seconds in late_seconds.items()}
    moved = [(source, replace(event, seen=event.seen - late_us.get(source, 0))) for source, event in events]
    events = sorted(moved, key=lambda offset: offset[1].seen)
    return PlacedInTime(events, {**clocks, **offsets}, times.received_us, unplaced)


def _targets(recording: Recording) -> set[Local]:
    """Return what loads name as their targets, as each source calls it."""
    inventory = recording.inventory()
    topology = recording.remembered("topology", inventory, lambda: resolve(inventory))
    loads = [load.id for load in topology.of_kind("load")]
    targets = {target for load in loads for target in (*topology.related(load, "targets"), *luns_of(topology, load))}
    return {local for local, entity in topology.known_as.items() if entity in targets}


def _by_own_clocks(events: Iterable[tuple[str, Event]], clocks: Mapping[str, ClockOffset]) -> list[tuple[str, Event]]:
    """Place the marks of steps that a load dates itself by the clock of its samples.

    A mark is seen later than it was set, by a varying time: the sample at the very edge would fall out of the step. A
    mark that this would move by seconds is from before or after the clock was set: it counts as seen.
    """

    def placed(source: str, event: Event) -> Event:
        device_time, clock = event.detail.get("device_time"), clocks.get(source)
        if event.name not in _MARKS or device_time is None:
            return event
        if isinstance(device_time, int) and clock is not None:
            seen = device_time - round(1e6 * clock.seconds)
            if abs(event.seen - seen) <= _MAX_DELAY_US:
                return replace(event, seen=seen)
        return replace(event, detail={**event.detail, "device_time": None})

    return sorted(((source, placed(source, event)) for source, event in events), key=lambda item: item[1].seen)


def _averaged_rates(recording: Recording, connection: duckdb.DuckDBPyConnection, kind: str) -> list[StepSamples]:
    """Return operations a second of entities that report averages, in the form of a counter's rates."""
    samples: dict[tuple[str, str], StepSamples] = {}
    timed, recorded = timed_samples(recording, connection, kind)
    metrics = [name for name in recorded if name.startswith("ops_per_second_")]
    for source, columns in recording.columns(kind).items():
        names = [name for name in metrics if name in columns]
        if not names:
            continue
        total = " + ".join(f"coalesce({quoted(name)}, 0) * {columns[name].scale}" for name in names)
        query = f"""
            SELECT entity, moment, covers_seconds, {total} FROM {timed}
            WHERE source = $source AND covers_seconds > 0 ORDER BY moment
        """  # noqa: S608 - names of the catalogue, quoted
        for entity, moment, seconds, operations in connection.execute(query, {"source": source}).fetchall():
            sample = samples.setdefault((source, entity), StepSamples(source, entity, ENTIRE_RECORDING.name))
            sample.ended_us.append(int(moment))
            sample.seconds.append(seconds)
            sample.rates.setdefault("ops_read_total", []).append(operations)
    return list(samples.values())

"""What a recording says, with everything in its place in time: events moved, samples ready to be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import duckdb

from sanpath.facts.load.load_events import SourceEvents
from sanpath.facts.samples.clock_offsets import ClockOffset, clock_offsets
from sanpath.facts.samples.step_samples import ALWAYS, StepSamples, step_samples
from sanpath.facts.samples.step_views import place, timed_view
from sanpath.facts.time.load_edges import Unplaced, edge_offsets, moves
from sanpath.facts.time.recorder_coverage import read_by_strangers
from sanpath.recording.reading.recording import Recording
from sanpath.recording.storage.duck import quoted

UNKNOWN_CLOCK = "how its clock lies to that of the load is not known, and neither do edges of the load tell: recorder"


@dataclass(frozen=True, slots=True)
class Placed:
    """`events`: everything that sources said has happened, by the recorder's clock; `clocks`: source → its offset,
    where one is known; `unplaced`: files whose time could not be checked."""

    events: SourceEvents
    clocks: Mapping[str, ClockOffset]
    unplaced: Sequence[Unplaced] = ()


def placed(recording: Recording, connection: duckdb.DuckDBPyConnection) -> Placed:
    """Bring what sources dated to the recorder's clock; and imported files, and what a recorder of an unknown clock
    has read, to where the load's edges say. What they do not tell of such a recorder is left out."""
    events = recording.events()
    clocks = clock_offsets(recording, connection, events)
    place(connection, clocks)
    imported = list(dict.fromkeys(source for source, event in events if event.name == "imported"))
    strangers = read_by_strangers(recording)
    if not imported and not strangers:
        return Placed(events, clocks)

    @cache
    def samples(kind: str) -> Sequence[StepSamples]:
        counted = step_samples(recording, connection, kind, [ALWAYS])
        return [*counted, *_told(recording, connection, kind)]

    edges, unplaced = edge_offsets([*imported, *strangers], samples, recording.sample_kinds())
    late = {source: told.seconds for source, told in edges.items() if moves(told)}
    nowhere = [source for source in strangers if source not in edges]
    unplaced = [
        *(one for one in unplaced if one.source not in nowhere),
        *(Unplaced(source, f"{UNKNOWN_CLOCK} {strangers[source]}", left_out=True) for source in nowhere),
    ]
    place(connection, clocks, {**late, **dict.fromkeys(nowhere)})
    shifts = {source: round(1e6 * seconds) for source, seconds in late.items()}
    moved = [(source, replace(event, seen=event.seen - shifts.get(source, 0))) for source, event in events]
    return Placed(sorted(moved, key=lambda told: told[1].seen), {**clocks, **edges}, unplaced)


def _told(recording: Recording, connection: duckdb.DuckDBPyConnection, kind: str) -> list[StepSamples]:
    """Operations a second of what tells its own averages, as if it had counted them."""
    found: dict[tuple[str, str], StepSamples] = {}
    there = [name for name in timed_view(recording, connection, kind) if name.startswith("ops_per_second_")]
    for source, columns in recording.columns(kind).items():
        names = [name for name in there if name in columns]
        if not names:
            continue
        total = " + ".join(f"coalesce({quoted(name)}, 0) * {columns[name].scale}" for name in names)
        query = f"""
            SELECT entity, moment, covers_seconds, {total} FROM "timed_{kind}"
            WHERE source = $source AND covers_seconds > 0 ORDER BY moment
        """  # noqa: S608 - names of the catalogue, quoted
        for entity, moment, seconds, operations in connection.execute(query, {"source": source}).fetchall():
            sample = found.setdefault((source, entity), StepSamples(source, entity, ALWAYS.name))
            sample.ended.append(int(moment))
            sample.seconds.append(seconds)
            sample.rates.setdefault("ops_read_total", []).append(operations)
    return list(found.values())

"""A recording told again in the order in which it was recorded, to whoever watches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

from sanpath.model import Rows
from sanpath.pulse.newest import METRICS
from sanpath.recording.reading.recording import Recording
from sanpath.recording.reading.tail import merge_tables
from sanpath.recording.viewer_protocol import LiveItem


def judged_again(recording: Recording, every_kind: bool = False) -> list[tuple[int, str, LiveItem]]:
    """(recorder's clock, source, what it said), by time; of all kinds, or of those of a pulse."""
    kinds = recording.sample_kinds() if every_kind else ("load", *METRICS)
    found: list[tuple[int, str, LiveItem]] = [(event.seen, source, event) for source, event in recording.events()]
    found += [(poll.ended, poll.source, poll) for poll in recording.polls()]
    found += [(rows.seen[-1], source, rows) for kind in kinds for source, rows in _samples(recording, kind)]
    return sorted(found, key=lambda result: result[0])


def _samples(recording: Recording, kind: str) -> Iterator[tuple[str, Rows]]:
    declared = {d.name: merge_tables(d.tables, kind) for d in recording.declarations}
    with closing(recording.connect()) as connection:
        metrics = recording.view(connection, kind)
        if not metrics:
            return
        columns = ", ".join(["source, seen, device_time, covers_seconds, entity", *metrics])
        query = f'SELECT {columns} FROM "samples_{kind}" ORDER BY seen, entity'
        polls = defaultdict(list)
        for source, seen, dated, covers, entity, *values in connection.execute(query).fetchall():
            polls[source, seen, dated, covers].append((entity, values))
    for (source, seen, dated, covers), result in polls.items():
        columns = tuple(c for c in declared[source].columns if c.metric in metrics)
        yield (
            source,
            Rows(
                replace(declared[source], columns=columns),
                [entity for entity, _ in result],
                [seen] * len(result),
                {c.metric: [values[metrics.index(c.metric)] for _, values in result] for c in columns},
                None if dated is None else [dated] * len(result),
                None if covers is None else [covers] * len(result),
            ),
        )

"""By how much the clock of each source differs from the recorder's, how that is known, and how surely.

A sample is placed by the recorder's own clock when it was asked for. Only what a device dated itself has to be moved:
by the clocks that were compared in its protocol, else by its newest sample, which cannot be from the future. What was
imported was never asked for; the edges of the load tell where it belongs (`facts.edges`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import duckdb

from sanpath.model import Event
from sanpath.recording.reading.recording import Recording

COMPARED = "clock"
"""The event of a source that has compared its clock with ours: `offset_seconds`, its clock minus ours, and
`uncertainty_seconds`."""
_FUTURE_SECONDS = 1.0
"""A sample further in the future than this, by the clocks that were compared, was dated by another clock."""


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """`seconds`: a source's clock minus the recorder's, give or take `uncertainty_seconds`.

    `compared_by`: `protocol`, the two clocks were compared; `newest_sample`, the uncertainty is then how far the ages
    of newest samples scatter, and an age that all have in common is not seen; `load_edges`, where its throughput
    begins and ends beside the load's.
    """

    seconds: float
    uncertainty_seconds: float
    compared_by: Literal["protocol", "newest_sample", "load_edges"]


def clock_offsets(
    recording: Recording, connection: duckdb.DuckDBPyConnection, events: Iterable[tuple[str, Event]] | None = None
) -> dict[str, ClockOffset]:
    """The offsets of the sources that date their samples themselves. `events`: of the recording, None: read here."""
    compared = _compared(recording.events() if events is None else events)
    offsets: dict[str, ClockOffset] = {}
    for source, (newest, scatter) in _newest_samples(recording, connection).items():
        protocol = compared.get(source)
        if protocol is not None and newest <= protocol.seconds + protocol.uncertainty_seconds + _FUTURE_SECONDS:
            offsets[source] = protocol
        else:
            offsets[source] = ClockOffset(newest, scatter, "newest_sample")
    return offsets


def _compared(events: Iterable[tuple[str, Event]]) -> dict[str, ClockOffset]:
    """What all comparisons of a source agree on; its clock was set between two that do not: then the later counts."""
    found: dict[str, tuple[float, float]] = {}
    for source, event in events:
        offset, within = event.detail.get("offset_seconds"), event.detail.get("uncertainty_seconds")
        if event.name != COMPARED or not isinstance(offset, int | float) or not isinstance(within, int | float):
            continue
        low, high = offset - within, offset + within
        before = found.get(source, (low, high))
        both = max(low, before[0]), min(high, before[1])
        found[source] = both if both[0] <= both[1] else (low, high)
    return {s: ClockOffset((low + high) / 2, (high - low) / 2, "protocol") for s, (low, high) in found.items()}


def _newest_samples(recording: Recording, connection: duckdb.DuckDBPyConnection) -> Mapping[str, tuple[float, float]]:
    """Source → the largest difference of a sample's own time and when it was seen, and how far below the newest
    samples of the middle poll are; seconds."""
    found: dict[str, tuple[float, float]] = {}
    for kind in recording.sample_kinds():
        if not recording.view(connection, kind):
            continue
        rows = connection.execute(
            f"""SELECT source, max(ahead) / 1e6, (max(ahead) - median(ahead)) / 1e6
            FROM (SELECT source, max(device_time - seen) AS ahead FROM "samples_{kind}"
                  WHERE device_time IS NOT NULL GROUP BY source, seen)
            GROUP BY source"""  # noqa: S608 - a kind of ours
        ).fetchall()
        for source, ahead, scatter in rows:
            found[source] = max((ahead, scatter), found.get(source, (ahead, scatter)))
    return found

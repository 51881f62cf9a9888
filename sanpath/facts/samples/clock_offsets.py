"""Estimates how far the clock of each source differs from the recorder's, and with what uncertainty.

A sample is placed at the time of its request on the recorder's own clock. Only samples with a device's own time have
to be shifted: by the clock comparison of their protocol, else by the newest sample, which cannot be from the future.
Imported samples were never requested; the edges of the load date them (`facts.time.load_edges`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import duckdb
import numpy as np

from sanpath.model import Event
from sanpath.recording.reading.recording import Recording, Shift
from sanpath.recording.reading.sample_cache import CachedSamples

COMPARED = "clock"
"""The event in which a source reports that clocks were compared: `offset_seconds`, its clock minus the recorder's,
and `uncertainty_seconds`."""
_FUTURE_SECONDS = 1.0
"""Seconds in the future, by the compared clocks, from which a sample was dated by another clock."""


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """`seconds`: a source's clock minus the recorder's, give or take `uncertainty_seconds`.

    `compared_by`: `protocol`, the protocol compared the two clocks. `newest_sample`: by the age of the newest sample
    of each poll; the uncertainty is the scatter of these ages, and an age that all have in common goes unnoticed.
    `load_edges`: from the times at which the source's throughput begins and ends, compared with the load's.
    """

    seconds: float
    uncertainty_seconds: float
    compared_by: Literal["protocol", "newest_sample", "load_edges"]


@dataclass(frozen=True, slots=True)
class SampleTimes:
    """`received_us`: when the first and the last sample were received, None: there is none.

    `newest_seconds`: source that dates its samples → the most by which its newest samples are dated ahead of the time
    they were received, and how far the median poll lies below that."""

    received_us: tuple[int, int] | None
    newest_seconds: Mapping[str, tuple[float, float]]


def clock_offsets(
    recording: Recording,
    connection: duckdb.DuckDBPyConnection,
    events: Iterable[tuple[str, Event]] | None = None,
    times: SampleTimes | None = None,
) -> dict[str, ClockOffset]:
    """Return the offsets of the sources that date their samples.

    `events`, `times`: those of the recording; None: read from it."""
    compared = _compared(recording.events() if events is None else events)
    times = sample_times(recording, connection) if times is None else times
    offsets: dict[str, ClockOffset] = {}
    for source, (newest, scatter) in times.newest_seconds.items():
        protocol = compared.get(source)
        if protocol is not None and newest <= protocol.seconds + protocol.uncertainty_seconds + _FUTURE_SECONDS:
            offsets[source] = protocol
        else:
            offsets[source] = ClockOffset(newest, scatter, "newest_sample")
    return offsets


def shifts(
    offsets: Mapping[str, ClockOffset], late_seconds: Mapping[str, float | None] | None = None
) -> tuple[Shift, ...]:
    """Return the time shifts of the sources' samples. `offsets`: of the sources that date their samples themselves.
    `late_seconds`: source → by how much all its samples were placed too late, None: not known."""
    ahead_us = {source: round(1e6 * offset.seconds) for source, offset in offsets.items()}
    late_us = {
        source: seconds if seconds is None else round(1e6 * seconds)
        for source, seconds in (late_seconds or {}).items()
    }
    # Neither the scatter of the newest samples nor the edges of the load bound the error of a single sample.
    uncertainty_us = {
        source: round(1e6 * offset.uncertainty_seconds)
        for source, offset in offsets.items()
        if offset.compared_by == "protocol"
    }
    return tuple(
        Shift(source, ahead_us.get(source, 0), late_us.get(source, 0), uncertainty_us.get(source, 0))
        for source in sorted({*ahead_us, *late_us})
    )


def _compared(events: Iterable[tuple[str, Event]]) -> dict[str, ClockOffset]:
    """Return the interval common to all comparisons of a source. If two intervals do not overlap, the source's clock
    was set between them: then the later one counts."""
    intervals: dict[str, tuple[float, float]] = {}
    for source, event in events:
        offset, uncertainty = event.detail.get("offset_seconds"), event.detail.get("uncertainty_seconds")
        if event.name != COMPARED or not isinstance(offset, int | float) or not isinstance(uncertainty, int | float):
            continue
        low, high = offset - uncertainty, offset + uncertainty
        previous = intervals.get(source, (low, high))
        shared = max(low, previous[0]), min(high, previous[1])
        intervals[source] = shared if shared[0] <= shared[1] else (low, high)
    return {
        source: ClockOffset((low + high) / 2, (high - low) / 2, "protocol")
        for source, (low, high) in intervals.items()
    }


def sample_times(recording: Recording, connection: duckdb.DuckDBPyConnection) -> SampleTimes:
    """Return when the samples of all sources were received, and how far ahead their own times are."""
    times: list[_Times] = []
    in_files = []
    for kind in recording.sample_kinds():
        cached = recording.cached(kind)
        if cached is not None:
            key = cached, recording.since_us
            times += recording.remembered(f"times of {kind}", key, partial(_cached_times, *key))
        elif samples := recording.samples(kind)[0]:
            in_files.append(samples)
    times += _times(connection, in_files)
    newest: dict[str, tuple[float, float]] = {}
    for source, ahead, scatter, *_ in times:
        if ahead is not None and scatter is not None:
            newest[source] = max((ahead, scatter), newest.get(source, (ahead, scatter)))
    received_us = (min(row[3] for row in times), max(row[4] for row in times)) if times else None
    return SampleTimes(received_us, newest)


_Times = tuple[str, float | None, float | None, int, int]
"""Of the samples of a source and kind: the source; by how many seconds the newest ones are at most ahead of the time
they were received, and by how many the median poll is below that, None: they have no time of their own; when the
first and the last was received."""


def _times(connection: duckdb.DuckDBPyConnection, recorded: Sequence[str]) -> list[_Times]:
    """`recorded`: SQL of the samples of each kind."""
    times = " UNION ALL ".join(
        f"SELECT {number} AS kind, source, seen, device_time FROM {samples}"  # noqa: S608 - quoted
        for number, samples in enumerate(recorded)
    )
    if not times:
        return []
    return connection.execute(
        f"""SELECT source, max(ahead) / 1e6, (max(ahead) - median(ahead)) / 1e6, min(seen), max(seen)
        FROM (SELECT kind, source, seen, max(device_time - seen) AS ahead FROM ({times}) GROUP BY kind, source, seen)
        GROUP BY kind, source"""  # noqa: S608 - quoted
    ).fetchall()


def _cached_times(cached: CachedSamples, since_us: int | None) -> list[_Times]:
    columns = cached.columns
    names = list(cached.names)
    is_needed = cached.is_in_time(since_us)
    times: list[_Times] = []
    for number in np.unique(columns["source"].numbers[is_needed]).tolist():
        is_of_source = is_needed & (columns["source"].numbers == number)
        seen, device_time = columns["seen"].numbers[is_of_source], columns["device_time"][is_of_source]
        received_us = int(seen.min()), int(seen.max())
        dated = device_time.is_known()
        if not dated.any():
            times.append((names[number], None, None, *received_us))
            continue
        _, poll = np.unique(seen[dated], return_inverse=True)
        ahead_us = np.full(int(poll.max()) + 1, np.iinfo(np.int64).min)
        np.maximum.at(ahead_us, poll, device_time.numbers[dated] - seen[dated])
        most = int(ahead_us.max())
        scatter = (most - float(np.median(ahead_us))) / 1e6
        times.append((names[number], most / 1e6, scatter, *received_us))
    return times

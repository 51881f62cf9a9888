"""SQL of samples placed in time, which every query of facts starts from."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb

from sanpath.facts.samples.clock_offsets import ClockOffset, clock_offsets
from sanpath.recording.reading.recording import Recording, Shift
from sanpath.recording.storage.duck import literal


def shifts(
    offsets: Mapping[str, ClockOffset], late_seconds: Mapping[str, float | None] | None = None
) -> tuple[Shift, ...]:
    """Return by how much the samples of sources are shifted in time.

    `offsets`: those of the sources that date their samples themselves. `late_seconds`: source → by how much all of
    its samples were placed too late, None: not known."""
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


def timed_samples(recording: Recording, connection: duckdb.DuckDBPyConnection, kind: str) -> tuple[str, list[str]]:
    """Return SQL of the samples of a kind with the `moment` at which each was true, and their metrics.

    The moment is the device's own time stamp where there is one, converted to the recorder's clock. Both are empty
    without samples. The offset is that of the source and not estimated from these samples: samples that arrive late,
    such as a minute of averages at once, would give a wrong offset.
    """
    samples, metrics = recording.samples(kind)
    if not metrics:
        return "", []
    if recording.shifts is None:
        recording.shifts = shifts(clock_offsets(recording, connection))
    ahead = "".join(f" WHEN {literal(s.source)} THEN {s.ahead_us}" for s in recording.shifts if s.ahead_us)
    late = "".join(f" WHEN {literal(s.source)} THEN {s.late_us}" for s in recording.shifts if s.late_us)
    unplaced = ", ".join(literal(shift.source) for shift in recording.shifts if shift.late_us is None)
    moment = f"device_time - CASE source {ahead} ELSE 0 END" if ahead else "device_time"
    moment = f"coalesce({moment}, seen)"
    moment = f"{moment} - CASE source {late} ELSE 0 END" if late else moment
    placed = f" WHERE source NOT IN ({unplaced})" if unplaced else ""
    timed = f"SELECT *, {moment} AS moment FROM {samples}{placed}"  # noqa: S608 - quoted
    return f"({timed})", metrics

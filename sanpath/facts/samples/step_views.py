"""Creates the view and the tables that every query of facts starts from: samples and steps, placed in time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import duckdb

from sanpath.facts.samples.clock_offsets import ClockOffset, clock_offsets
from sanpath.model import Step
from sanpath.recording.reading.recording import Recording

Shift = tuple[str, int, int | None]
"""Source; by how much its clock is ahead of the recorder's; by how much all of its samples were placed too late. Both
in microseconds. None: that is not known, and its samples are left out."""


def set_shifts(
    connection: duckdb.DuckDBPyConnection,
    offsets: Mapping[str, ClockOffset],
    late_seconds: Mapping[str, float | None] | None = None,
) -> None:
    """Set by how much the samples of sources are shifted in time.

    `offsets`: those of the sources that date their samples themselves. `late_seconds`: source → by how much all of
    its samples were placed too late, None: not known."""
    ahead_us = {source: round(1e6 * offset.seconds) for source, offset in offsets.items()}
    late_us = {
        source: seconds if seconds is None else round(1e6 * seconds)
        for source, seconds in (late_seconds or {}).items()
    }
    sources = sorted({*ahead_us, *late_us})
    create_shift_table(connection, [(source, ahead_us.get(source, 0), late_us.get(source, 0)) for source in sources])


def create_shift_table(connection: duckdb.DuckDBPyConnection, shifts: Iterable[Shift]) -> None:
    """Create the table of shifts, which `timed_view` reads."""
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE clock_offsets (shifted_source VARCHAR, ahead_us BIGINT, late_us BIGINT)"
    )
    for values in shifts:
        connection.execute("INSERT INTO clock_offsets VALUES (?, ?, ?)", values)


def shifts_of_source(connection: duckdb.DuckDBPyConnection, source: str) -> list[Shift]:
    """Return the shifts of a source. A view has to exist."""
    return connection.execute(
        "SELECT shifted_source, ahead_us, late_us FROM clock_offsets WHERE shifted_source = ?", [source]
    ).fetchall()


def timed_view(recording: Recording, connection: duckdb.DuckDBPyConnection, kind: str) -> list[str]:
    """Create the view `timed_<kind>`: the samples of a kind, and the `moment` at which each was true.

    That is the device's own time where there is one, on the recorder's clock. Returns the metrics of the view; []
    where there are no samples. The offset is the source's, not estimated from these samples: those that arrive late,
    as a minute of averages at once, would give a wrong one.
    """
    metrics = recording.view(connection, kind)
    if not metrics:
        return []
    has_shifts = connection.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'clock_offsets'").fetchone()
    if has_shifts is None:  # Once a connection: the offsets hold for all kinds.
        set_shifts(connection, clock_offsets(recording, connection))
        recording.view(connection, kind)
    connection.execute(
        f'CREATE OR REPLACE TEMP VIEW "timed_{kind}" AS '  # noqa: S608 - a kind of ours
        "SELECT * EXCLUDE (shifted_source, ahead_us, late_us), "
        "coalesce(device_time - ahead_us, seen) - coalesce(late_us, 0) AS moment "
        f'FROM "samples_{kind}" LEFT JOIN clock_offsets ON source = shifted_source '
        "WHERE shifted_source IS NULL OR late_us IS NOT NULL"
    )
    return metrics


def step_table(connection: duckdb.DuckDBPyConnection, steps: Sequence[Step]) -> None:
    """Create the table `steps`; its times are microseconds of the recorder's clock."""
    connection.execute(
        'CREATE OR REPLACE TEMP TABLE steps AS SELECT unnest($names) AS name, unnest($starts) AS "from", '
        'unnest($ends) AS "to"',
        {
            "names": [step.name for step in steps],
            "starts": [step.start for step in steps],
            "ends": [step.end for step in steps],
        },
    )

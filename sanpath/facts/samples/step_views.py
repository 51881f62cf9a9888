"""Where samples and steps belong in time: the view and the tables that every query of facts starts from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import duckdb

from sanpath.facts.samples.clock_offsets import ClockOffset, clock_offsets
from sanpath.model import Step
from sanpath.recording.reading.recording import Recording

Shift = tuple[str, int, int | None]
"""Source, by how much its clock is ahead of the recorder's, by how much all it says was placed too late; in
microseconds. None: that is not known, and its samples are left out."""


def place(
    connection: duckdb.DuckDBPyConnection,
    offsets: Mapping[str, ClockOffset],
    late: Mapping[str, float | None] | None = None,
) -> None:
    """Say where samples belong in time. `offsets`: of the sources that date their samples themselves; `late`: source
    → seconds by which all that it says was placed too late, None: not known."""
    behind = {source: round(1e6 * offset.seconds) for source, offset in offsets.items()}
    too_late = {source: s if s is None else round(1e6 * s) for source, s in (late or {}).items()}
    sources = sorted({*behind, *too_late})
    shift(connection, [(source, behind.get(source, 0), too_late.get(source, 0)) for source in sources])


def shift(connection: duckdb.DuckDBPyConnection, shifts: Iterable[Shift]) -> None:
    """Say by how much the samples of sources have to be moved."""
    connection.execute("CREATE OR REPLACE TEMP TABLE clock_offsets (of VARCHAR, behind BIGINT, late BIGINT)")
    for told in shifts:
        connection.execute("INSERT INTO clock_offsets VALUES (?, ?, ?)", told)


def shift_of(connection: duckdb.DuckDBPyConnection, source: str) -> list[Shift]:
    """What was said of a source, once a view has been made."""
    return connection.execute("SELECT of, behind, late FROM clock_offsets WHERE of = ?", [source]).fetchall()


def timed_view(recording: Recording, connection: duckdb.DuckDBPyConnection, kind: str) -> list[str]:
    """Make the view `timed_<kind>`: the samples of a kind with the `moment` at which they were true, the device's own
    time where it has one, brought to the recorder's clock. Returns its metrics, [] without samples.

    The offset is that of the source: samples that come late, as a minute's worth of averages, would tell a wrong one.
    """
    metrics = recording.view(connection, kind)
    if not metrics:
        return []
    known = connection.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'clock_offsets'").fetchone()
    if known is None:  # Once a connection: they are of all kinds.
        place(connection, clock_offsets(recording, connection))
        recording.view(connection, kind)
    connection.execute(
        f'CREATE OR REPLACE TEMP VIEW "timed_{kind}" AS '  # noqa: S608 - a kind of ours
        f"SELECT * EXCLUDE (of, behind, late), coalesce(device_time - behind, seen) - coalesce(late, 0) AS moment "
        f'FROM "samples_{kind}" LEFT JOIN clock_offsets ON source = of WHERE of IS NULL OR late IS NOT NULL'
    )
    return metrics


def step_table(connection: duckdb.DuckDBPyConnection, steps: Sequence[Step]) -> None:
    """Make the table `steps`, on the recorder's clock."""
    connection.execute(
        'CREATE OR REPLACE TEMP TABLE steps AS SELECT unnest($names) AS name, unnest($starts) AS "from", '
        'unnest($ends) AS "to"',
        {
            "names": [step.name for step in steps],
            "starts": [step.start for step in steps],
            "ends": [step.end for step in steps],
        },
    )

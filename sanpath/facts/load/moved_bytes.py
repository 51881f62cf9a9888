"""The bytes that all loads of a recording have moved so far, by their own reports."""

from __future__ import annotations

from sanpath.recording.reading.recording import Recording

_COUNTERS = ("bytes_read_total", "bytes_write_total")


def moved_bytes(recording: Recording) -> float:
    """The increments of the loads' byte counters. A counter that starts anew starts at zero. Warm-ups
    that a load does not report are missing."""
    connection = recording.connect()
    try:
        counters = [name for name in _COUNTERS if name in recording.view(connection, "load")]
        found = [connection.execute(_query(name)).fetchone() for name in counters]
        return sum(float(row[0] or 0.0) for row in found if row)
    finally:
        connection.close()


def _query(counter: str) -> str:
    return f"""
        WITH ordered AS (
            SELECT {counter} AS value, lag({counter}) OVER (PARTITION BY source, entity ORDER BY seen) AS before
            FROM samples_load WHERE {counter} IS NOT NULL
        )
        SELECT sum(CASE WHEN before IS NULL OR value < before THEN value ELSE value - before END) FROM ordered
    """  # noqa: S608 - the names are those above

"""A recording that numbers its rows, so that a lost and a doubled one are seen."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from sanpath.model import Column, Event, Poll, Rows, SourceEntity, Table
from sanpath.recording.format import compaction
from sanpath.recording.reading.recording import Recording
from sanpath.recording.storage.store import Location
from sanpath.recording.writing.writer import Writer

ROOT = Path(__file__).parents[2]
PORT = Table("switch_port", (Column("bytes_rx_total", 64), Column("errors_rx_total", 32), Column("link_up")))


def flush(writer: Writer, number: int) -> None:
    """One flush: a row a table, each with this number."""
    writer.samples("s", Rows(PORT, ["p"], [number], {"link_up": [number]}))
    writer.event("s", Event(number, "e"))
    writer.poll(Poll("s", number, number, number, "ok"))
    writer.inventory("s", number, SourceEntity("switch_port", str(number)))
    writer.flush()


def numbers(recording: Recording) -> Iterator[list[int]]:
    """The rows that are there, in the order in which they were written, table by table."""
    yield [event.seen for _, event in recording.events()]
    yield [poll.due for poll in recording.polls()]
    yield [seen for _, seen, _ in recording.inventory()]
    connection = recording.connect()
    try:
        if recording.view(connection, "switch_port"):
            rows = connection.execute("SELECT seen FROM samples_switch_port ORDER BY seen").fetchall()
            yield [seen for (seen,) in rows]
    finally:
        connection.close()


def files(folder: Path, table: str = "samples/switch_port") -> list[str]:
    """Names of the segments of a table."""
    return sorted(path.name for path in (folder / table).glob("*.parquet"))


def write_for_ever(folder: Location, name: str, compacted: int) -> None:
    """Flush as fast as it goes, compact so many segments and keep none of them; print the number of each flush."""
    compaction.COMPACTED_SEGMENTS = compacted
    writer, number = Writer(folder, name, keep_seconds=0), 0
    while True:
        number += 1
        flush(writer, number)
        os.write(1, b"%d\n" % number)


if __name__ == "__main__":
    write_for_ever(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))

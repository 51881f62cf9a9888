"""Splits a recording into one of several recorders, each with its own sources and its own clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from duckdb import connect

from sanpath.model import Event
from sanpath.recording.format import layout
from sanpath.recording.format.layout import Segment
from sanpath.recording.reading.recording import Recording
from sanpath.recording.storage import checksum
from sanpath.recording.storage.store import store_at
from sanpath.recording.writing.writer import Writer

WITHIN_SECONDS = 0.05
"""Uncertainty of the comparison of each clock with the store's clock, which is correct."""
_TIMES = {"polls": ("due", "started", "ended")}


@dataclass(frozen=True)
class Life:
    """One run of a recorder, `since` and `until` in seconds after the start of the test. `ended`: it ended
    normally."""

    since: float = -1e6
    until: float = 1e6
    ended: bool = True


@dataclass(frozen=True)
class Site:
    """A recorder. `ahead`: seconds by which its clock is ahead. `compares`: it compares its clock with the store's.
    `load`: it runs the load."""

    name: str
    sources: tuple[str, ...]
    ahead: float = 0.0
    lives: Sequence[Life] = (Life(),)
    compares: bool = True
    load: bool = False


def split(recording: Recording, folder: Path, *sites: Site) -> Recording:
    """Write a recording again, as if these sites had written it."""
    layout.create(folder)
    start_us = recording.started_us
    last_us = max(last for _, last in recording.signs_of_life.values())
    for site in sites:
        for number, life in enumerate(site.lives):
            since_us = max(start_us, start_us + round(life.since * 1e6))
            until_us = min(last_us, start_us + round(life.until * 1e6))
            _write(recording, folder, site, f"{site.name}.{number}", (since_us, until_us), life.ended)
    return Recording(folder)


def _write(recording: Recording, folder: Path, site: Site, name: str, limits: tuple[int, int], ended: bool) -> None:
    ahead_us = round(site.ahead * 1e6)
    store, copy = store_at(recording.folder), store_at(folder)
    kinds = [f"samples/{kind}" for kind in recording.sample_kinds()]
    connection = connect()
    names = ", ".join(f"'{source}'" for source in site.sources)
    for table in (*kinds, "inventory", "events", "polls"):
        times = _TIMES.get(table, ("seen",))
        moved = ", ".join(f"{time} + {ahead_us} AS {time}" for time in times)
        files = ", ".join(f"'{store.url(segment.name)}'" for segment in layout.segments(store, table))
        first, last = (0, 2**62) if table == "inventory" else limits
        where = f"source IN ({names}) AND {times[-1]} BETWEEN {first} AND {last}"
        query = f"SELECT * REPLACE ({moved}) FROM read_parquet([{files}], union_by_name = true) WHERE {where}"
        if files and connection.execute(f"SELECT count(*) FROM ({query})").fetchall()[0][0]:
            # The first flush is that of the comparison of clocks.
            with copy.writing(Segment(table, name, 2, 2).name) as path:
                connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet, {checksum.OPTION})")
                copy.seal(path)
    connection.close()
    writer = Writer(folder, name)
    writer.header(
        {
            "writer": name,
            "run_id": layout.read_manifest(folder).run_id,
            "host": f"host-of-{site.name}",
            "recorder": site.name,
            "started_us": limits[0] + ahead_us,
            "load_command": ["fio"] if site.load else [],
            "sources": [d for d in recording.declarations if d.name in site.sources],
        }
    )
    if site.compares:
        result = {"offset_seconds": 0.02 - site.ahead, "uncertainty_seconds": WITHIN_SECONDS}
        writer.event("recorder", Event(limits[0] + ahead_us, "store-clock", result))
    if ended:
        writer.end({"ended_us": limits[1] + ahead_us, "load_exit_code": None, "recorder_cpu_seconds": 0.0})
    else:
        writer.flush()
        writer.close()

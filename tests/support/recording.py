"""Writes a real recording from synthetic samples. All times are seconds after the start of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Literal, cast

from sanpath.model import Event, Poll, Rows, Scalar, SourceEntity, SourceLink, Table
from sanpath.plugin import Item
from sanpath.recording.format import layout
from sanpath.recording.reading.recording import Recording
from sanpath.recording.writing.writer import Writer

START_US = 1_800_000_000_000_000
"""The recorder's clock when the run begins."""

Number = int | float | None
_Key = tuple[str, frozenset[str]]
"""Entity kind and metrics of samples."""


def microseconds(seconds: float) -> int:
    """A time of the run on the recorder's clock, in microseconds."""
    return START_US + round(seconds * 1e6)


class RecordingBuilder:
    """A recording in the making; `write` ends it. Values are raw: what the device said, before a column's scale.

    `imported`: source → by how many seconds its file was placed too late; such a source has no clock of its own.
    """

    def __init__(self, folder: Path, writer: str = "test.1", imported: Mapping[str, float] | None = None) -> None:
        self._imported = imported or {}
        self._manifest = layout.create(folder)
        self._folder = folder
        self._writer = Writer(folder, writer)
        self._sources: dict[str, tuple[str, float, list[Table]]] = {}
        self._last = 0.0
        self._pending: dict[_Key, _Polls | None] = {}

    def source(self, name: str, collector: str, *tables: Table, every: float = 1.0) -> None:
        """Declare a source with its tables. `every`: its poll interval in seconds."""
        self._sources[name] = (collector, every, list(tables))

    def entity(
        self,
        source: str,
        kind: str,
        local_id: str,
        label: str = "",
        ids: Mapping[str, tuple[str, ...]] | None = None,
        attributes: Mapping[str, Scalar] | None = None,
    ) -> None:
        """Record an entity as one source reports it, at the start."""
        item = SourceEntity(kind, local_id, label or local_id, ids or {}, attributes or {})
        self._writer.inventory(source, START_US, item)

    def link(
        self,
        source: str,
        relation: str,
        ends: tuple[tuple[str, str], tuple[str, str]],
        evidence: str = "test",
        at: float = 0.0,
    ) -> None:
        """Record a link as one source reports it, at `at` seconds."""
        self._writer.inventory(source, microseconds(at), SourceLink(relation, *ends, evidence))

    def configure_link(self, sentence: str) -> None:
        """Record a link of the configuration, written as "kind:name relation kind:name"."""
        first, relation, second = sentence.split()
        ends = _end(first), _end(second)
        self.link("config", relation, ends, f"sanpath.yaml: {sentence}")

    def event(self, source: str, at: float, name: str, **detail: Scalar) -> None:
        """Record an event at `at` seconds."""
        late = self._imported.get(source, 0.0)
        self._writer.event(source, Event(microseconds(at + late), name, detail))

    def poll(
        self,
        source: str,
        at: float,
        outcome: Literal["ok", "partial", "failed", "skipped"] = "ok",
        message: str = "",
    ) -> None:
        """Record one poll, without its rows."""
        moment = microseconds(at)
        self._last = max(self._last, at)
        self._writer.poll(Poll(source, moment, moment, moment + 1000, outcome, message=message, requests=1))

    def samples(
        self,
        source: str,
        table: Table,
        at: float,
        values: Mapping[str, Mapping[str, Number]],
        device_at: float | None = None,
        covers: float | None = None,
    ) -> None:
        """Record the samples of one poll. `values`: entity → metric → value. `device_at`: time of the device's own
        clock; None: it has none. `covers`: length of the interval of averages, in seconds."""
        if source in self._imported:
            at, device_at = at + self._imported[source], None
        entities = list(values)
        metrics = dict.fromkeys(metric for sample in values.values() for metric in sample)
        count = len(entities)
        rows = Rows(
            table,
            entities,
            [microseconds(at)] * count,
            {metric: [values[entity].get(metric) for entity in entities] for metric in metrics},
            None if device_at is None else [microseconds(device_at)] * count,
            None if covers is None else [covers] * count,
        )
        self._collect(source, rows)
        self._last = max(self._last, at)

    def item(self, source: str, item: Item) -> None:
        """Record an item that a reader or collector yielded."""
        match item:
            case Rows():
                self._collect(source, item)
                self._last = max(self._last, (max(item.seen) - START_US) / 1e6)
            case Event():
                self._writer.event(source, item)
            case SourceEntity() | SourceLink():
                self._writer.inventory(source, START_US, item)

    def _collect(self, source: str, rows: Rows) -> None:
        """Collect the samples of a poll. Polls of one source are written together, which takes less time.

        The first poll of a table is written at once, because it determines the order of the segments of tables.
        """
        key = rows.table.kind, frozenset(rows.values)
        if key not in self._pending:
            self._writer.samples(source, rows)
            self._pending[key] = None
            return
        pending = self._pending[key]
        if pending is None or pending.source != source or pending.table is not rows.table:
            self._flush(key)
            pending = self._pending[key] = _Polls(source, rows.table, {metric: [] for metric in rows.values})
        pending.add(rows)

    def _flush(self, key: _Key) -> None:
        """Write the pending polls."""
        pending = self._pending[key]
        if pending is not None:
            self._writer.samples(pending.source, pending.rows())
            self._pending[key] = None

    def counter(
        self, source: str, table: Table, entity: str, metric: str, series: Sequence[tuple[float, Number]]
    ) -> None:
        """Record one counter or gauge of one entity. `series`: (time, value) of each poll."""
        for at, value in series:
            self.samples(source, table, at, {entity: {metric: value}})

    def write(self, ended: bool = True, exit_code: int | None = 0) -> Recording:
        """End the recording. `ended` False: as if the recorder had been killed after its last flush."""
        for key in self._pending:
            self._flush(key)
        for source in self._imported:
            self.event(source, self._last, "imported", file=f"{source}.csv")
        declared = [
            {
                "name": name,
                "collector": collector,
                "every_seconds": every,
                "tables": [_table(table) for table in tables],
            }
            for name, (collector, every, tables) in self._sources.items()
        ]
        self._writer.header(
            {"writer": self._writer.name, "started_us": START_US, "load_command": [], "sources": declared}
        )
        if ended:
            ending = {
                "ended_us": microseconds(self._last),
                "load_exit_code": exit_code,
                "recorder_cpu_seconds": 0.1,
            }
            self._writer.end(ending)
        else:
            self._writer.flush()
            self._writer.close()
        return Recording(self._folder)


class _Polls:
    """The samples of several polls of a source."""

    def __init__(self, source: str, table: Table, values: dict[str, list[Number]]) -> None:
        self.source, self.table = source, table
        self._entities: list[str] = []
        self._seen: list[int] = []
        self._values = values
        self._device_time: list[int | None] = []
        self._covers_seconds: list[float | None] = []

    def add(self, rows: Rows) -> None:
        """Add the samples of a poll."""
        count = len(rows.entity)
        self._entities += rows.entity
        self._seen += rows.seen
        self._device_time += rows.device_time or [None] * count
        self._covers_seconds += rows.covers_seconds or [None] * count
        for metric, values in rows.values.items():
            self._values[metric] += values

    def rows(self) -> Rows:
        """Return all samples."""
        device_time = cast(Sequence[int], self._device_time)  # The writer takes None for a time that is not known.
        covers_seconds = cast(Sequence[float], self._covers_seconds)
        values = cast(dict[str, Sequence[Number]], self._values)
        return Rows(self.table, self._entities, self._seen, values, device_time, covers_seconds)


def _table(table: Table) -> dict[str, object]:
    columns = [asdict(column) for column in table.columns]
    return {"kind": table.kind, "rollup": table.rollup, "plane": table.plane, "columns": columns}


def _end(text: str) -> tuple[str, str]:
    kind, _, name = text.partition(":")
    return kind, name

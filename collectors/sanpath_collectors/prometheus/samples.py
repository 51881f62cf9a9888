"""Series → rows: each sample at the time it was scraped, counters as whole numbers. No I/O."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from sanpath.plugin import Column, Rows, Table
from sanpath_collectors.prometheus.devices import Devices, Entity
from sanpath_collectors.prometheus.doubts import Doubts
from sanpath_collectors.prometheus.parse import Point, Series
from sanpath_collectors.prometheus.profile import Part, Profile, Source

Number = int | float | None
_TOGETHER_US = 1_000_000
"""Samples closer than this are of one scrape, where the time between scrapes is not known yet."""


@dataclass(slots=True)
class _Known:
    """What is known of an entity. `newest`: time of its last row; `spacing_us`: time between its rows."""

    newest: int = 0
    spacing_us: int | None = None


@dataclass(slots=True)
class _Wrapping:
    """A counter that begins anew: its last sample, and what it has counted before it last began."""

    time: int = 0
    last: float = 0.0
    before: float = 0.0


@dataclass(slots=True)
class _Found:
    """Series of an entity by metric, with what is meant by them."""

    entity: Entity
    part: Part
    metrics: dict[str, list[tuple[Source, Series]]] = field(default_factory=dict)


class Samples:
    """Makes rows of what one exporter told, each sample once. `step_seconds`: length of the shortest load step."""

    def __init__(self, profile: Profile, devices: Devices, doubts: Doubts, step_seconds: float) -> None:
        self._devices, self._doubts, self._step_seconds = devices, doubts, step_seconds
        self._known: dict[tuple[str, str], _Known] = defaultdict(_Known)
        self._wrapping: dict[str, _Wrapping] = defaultdict(_Wrapping)
        self._chosen: dict[tuple[str, str, str], str] = {}
        self._uses: dict[str, list[tuple[Part, str, Source]]] = defaultdict(list)
        for part in profile.parts:
            for metric, source in part.sources.items():
                for name in source.series:
                    self._uses[name].append((part, metric, source))

    def rows(self, answer: Iterable[Series], ahead_us: int) -> Iterator[tuple[str, Rows]]:
        """Rows that are newer than all before, each with the name of its device. `ahead_us`: the server's clock minus
        ours."""
        tables: dict[tuple[str, Table, tuple[str, ...]], list[tuple[Entity, dict[str, dict[int, Number]], list[int]]]]
        tables = {}
        for found in self._found(answer):
            columns, times = self._columns(found)
            if times:
                key = (found.entity.device, found.part.table, tuple(columns))
                tables.setdefault(key, []).append((found.entity, columns, times))
        for (device, table, _), entities in tables.items():
            averaged = next((e.part.averaged_seconds for e, _, _ in entities), None)
            yield device, _rows(table, entities, averaged, ahead_us)

    def look(self, answer: Iterable[Series]) -> None:
        """Find out what there is, without its samples."""
        for _ in self._found(answer):
            pass

    def _found(self, answer: Iterable[Series]) -> Iterator[_Found]:
        found: dict[tuple[str, str], _Found] = {}
        for series in answer:
            for part, metric, source in self._uses.get(series.name, ()):
                where = source.where.items()
                if not all(pattern.fullmatch(series.labels.get(label, "")) for label, pattern in where):
                    continue
                if (entity := self._devices.find(part, series.labels)) is not None:
                    one = found.setdefault((part.kind, entity.local_id), _Found(entity, part))
                    one.metrics.setdefault(metric, []).append((source, series))
        yield from found.values()

    def _columns(self, found: _Found) -> tuple[dict[str, dict[int, Number]], list[int]]:
        """Metric → time → value, and the times of the rows: those of the first metric. What was scraped apart, within
        half the time between two scrapes, belongs to the row."""
        known = self._known[found.part.kind, found.entity.local_id]
        declared = {column.metric: column for column in found.part.table.columns}
        order = [metric for metric in declared if metric in found.metrics]
        points = {m: self._metric(found.entity, declared[m], found.metrics[m], known.newest) for m in order}
        times = sorted(next((points[metric] for metric in order if points[metric]), {}))
        if not times:
            return {}, []
        self._space(found.entity, known, times)
        near = _TOGETHER_US if known.spacing_us is None else known.spacing_us // 2
        columns = {metric: _placed(of, times, near) for metric, of in points.items()}
        known.newest = times[-1]
        self._look_at_speed(found.entity, columns)
        return columns, times

    def _space(self, entity: Entity, known: _Known, times: Sequence[int]) -> None:
        moments = [known.newest, *times] if known.newest else times
        gaps = [after - before for before, after in pairwise(moments)]
        if gaps:
            known.spacing_us = round(median(gaps))
            self._doubts.spacing(entity.device, round(known.spacing_us / 1e6, 1), self._step_seconds)

    def _metric(
        self, entity: Entity, column: Column, told: Sequence[tuple[Source, Series]], after: int
    ) -> dict[int, Number]:
        best = min(source.series.index(series.name) for source, series in told)
        chosen = [(source, series) for source, series in told if source.series.index(series.name) == best]
        source = chosen[0][0]
        if source.total:
            return _totals(source, column, [[p for p in series.points if p[0] > after] for _, series in chosen])
        series = self._one(entity, column.metric, [series for _, series in chosen])
        points = [point for point in series.points if point[0] > after]
        self._look_at_points(series, points)
        if source.wraps_at is not None:
            points = self._continued(series, points, source.wraps_at)
        return {time: _recorded(source, column, value) for time, value in points}

    def _one(self, entity: Entity, metric: str, told: Sequence[Series]) -> Series:
        """The series that is read, always the same one as long as it is there."""
        if len(told) == 1:
            return told[0]
        by_text = {series.written: series for series in sorted(told, key=lambda s: s.written)}
        if len(by_text) > 1:
            self._doubts.duplicates(metric, entity.local_id, list(by_text))
        key = (entity.kind, entity.local_id, metric)
        if self._chosen.get(key) not in by_text:
            self._chosen[key] = next(iter(by_text))
        return by_text[self._chosen[key]]

    def _continued(self, series: Series, points: Iterable[Point], wraps_at: float) -> list[Point]:
        """A counter that goes on where it began anew; a fall by less than half of its range is a restart."""
        state = self._wrapping[series.written]
        continued = []
        for time, value in points:
            if time <= state.time:  # it came with the poll before, but after the last row
                before = state.before - wraps_at if value > state.last and state.before else state.before
                continued.append((time, value + before))
                continue
            if not math.isnan(value):
                if state.last - value > wraps_at / 2:
                    state.before += wraps_at
                elif value < state.last:
                    state.before = 0.0
                state.time, state.last = time, value
            continued.append((time, value + state.before))
        return continued

    def _look_at_points(self, series: Series, points: Sequence[Point]) -> None:
        if unknown := sum(math.isnan(value) for _, value in points):
            text = f"{unknown} of {len(points)} samples of {series.written} are no numbers: taken for not known"
            self._doubts.say("not-a-number", text, about=series.name)

    def _look_at_speed(self, entity: Entity, columns: Mapping[str, Mapping[int, Number]]) -> None:
        speeds = [speed for speed in columns.get("link_speed_bits_per_second", {}).values() if speed]
        speed = max(speeds) if speeds else self._devices.capable(entity)
        for way in ("rx", "tx"):
            counted = [(t, value) for t, value in columns.get(f"bytes_{way}_total", {}).items() if value is not None]
            if len(counted) > 1 and counted[-1][1] > counted[0][1]:
                seconds = (counted[-1][0] - counted[0][0]) / 1e6
                self._doubts.throughput(entity.local_id, (counted[-1][1] - counted[0][1]) / seconds, speed)
            for value in columns.get(f"bytes_per_second_{way}", {}).values():
                self._doubts.throughput(entity.local_id, value or 0.0, speed)


def _placed(told: Mapping[int, Number], times: Sequence[int], near: int) -> dict[int, Number]:
    if all(time in told for time in times):
        return {time: told[time] for time in times}
    known = sorted(told)
    placed: dict[int, Number] = {}
    for time in times:
        at = bisect_left(known, time)
        closest = min(known[max(0, at - 1) : at + 1], key=lambda moment: abs(moment - time), default=None)
        placed[time] = None if closest is None or abs(closest - time) > near else told[closest]
    return placed


def _totals(source: Source, column: Column, parts: Sequence[Sequence[Point]]) -> dict[int, Number]:
    """The sums at the times at which all parts are told."""
    sums: dict[int, float] = defaultdict(float)
    counts: dict[int, int] = defaultdict(int)
    for points in parts:
        for time, value in points:
            sums[time] += value
            counts[time] += 1
    return {
        time: _recorded(source, column, total) if counts[time] == len(parts) else None for time, total in sums.items()
    }


def _recorded(source: Source, column: Column, value: float) -> Number:
    """A sample as it is recorded: of a counter a whole number of what its column counts."""
    if math.isnan(value) or (source.above_zero and value <= 0):
        return None
    if source.equals is not None:
        return int(value == source.equals)
    number = value * source.unit
    return round(number / column.scale) if column.bits else number


def _rows(
    table: Table,
    entities: Sequence[tuple[Entity, Mapping[str, Mapping[int, Number]], Sequence[int]]],
    averaged: float | None,
    ahead_us: int,
) -> Rows:
    asked = entities[0][1]
    order = sorted((time, entity.local_id, columns) for entity, columns, times in entities for time in times)
    return Rows(
        table,
        entity=[entity for _, entity, _ in order],
        seen=[time - ahead_us for time, _, _ in order],
        values={metric: [columns[metric][time] for time, _, columns in order] for metric in asked},
        device_time=[time for time, _, _ in order],
        covers_seconds=[averaged] * len(order) if averaged else None,
    )

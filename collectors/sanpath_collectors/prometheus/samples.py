"""Conversion of series to rows: each sample at its scrape time, counters as integers. No I/O."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from sanpath.plugin import Column, Rows, Table
from sanpath_collectors.prometheus.devices import Devices, Entity
from sanpath_collectors.prometheus.parse import Point, Series
from sanpath_collectors.prometheus.plausibility import Number, Plausibility
from sanpath_collectors.prometheus.profile import EntityProfile, Profile, Source
from sanpath_collectors.prometheus.updates import Updates, covered_seconds
from sanpath_collectors.prometheus.warnings import Remarks

_SAME_SCRAPE_US = 1_000_000
"""Samples closer together belong to one scrape, as long as the scrape interval is unknown."""
_JITTER_RATIO = 0.01
"""Share of the scrape interval by which scrapes may be early or late; Prometheus itself is exact."""


@dataclass(slots=True)
class _EntityState:
    """The state of an entity. `newest`: time of its last row; `spacing_us`: time between its rows, None: unknown."""

    newest: int = 0
    spacing_us: int | None = None


@dataclass(slots=True)
class _Wrapping:
    """The state of a counter that wraps: its last sample, and the sum of its values before the last wrap."""

    time: int = 0
    last: float = 0.0
    previous: float = 0.0


@dataclass(slots=True)
class _EntitySeries:
    """The series of an entity by metric, each with its source in the profile."""

    entity: Entity
    profile: EntityProfile
    metrics: dict[str, list[tuple[Source, Series]]] = field(default_factory=dict)


_EntityColumns = tuple[Entity, Mapping[str, Mapping[int, Number]], Sequence[int]]
"""An entity, {metric: {time: value}} and the times of its rows."""


@dataclass(frozen=True, slots=True)
class _EntityRows:
    """The new rows of an entity: {metric: {time: value}}, their times, and the seconds that each of them covers."""

    entity: Entity
    table: Table
    columns: Mapping[str, Mapping[int, Number]]
    times: Sequence[int]
    covers_seconds: float | None


class Samples:
    """Converts the series of one exporter to rows, each sample once. `step_seconds`: length of the shortest step."""

    def __init__(self, profile: Profile, devices: Devices, remarks: Remarks, step_seconds: float) -> None:
        self._devices, self._remarks, self._step_seconds = devices, remarks, step_seconds
        self._states: dict[tuple[str, str], _EntityState] = defaultdict(_EntityState)
        self._wrapping: dict[str, _Wrapping] = defaultdict(_Wrapping)
        self._chosen: dict[tuple[str, str, str], str] = {}
        self._last_of_part: dict[tuple[str, str], Point] = {}
        self._plausibility, self._updates = Plausibility(remarks), Updates()
        remarks.averaged(max(p.covered_seconds or 0.0 for p in profile.entities), step_seconds)
        self._uses: dict[str, list[tuple[EntityProfile, str, Source]]] = defaultdict(list)
        for entity_profile in profile.entities:
            for metric, source in entity_profile.sources.items():
                for name in source.series:
                    self._uses[name].append((entity_profile, metric, source))

    def rows(self, answer: Iterable[Series], offset_us: int) -> Iterator[tuple[str, Rows]]:
        """Yield rows newer than all previous ones, each with the name of its device.

        `offset_us`: the server's clock minus the recorder's.
        """
        tables: dict[tuple[str, Table, tuple[str, ...], float | None], list[_EntityRows]] = defaultdict(list)
        for item in self._new_rows(answer):
            key = (item.entity.device, item.table, tuple(item.columns), item.covers_seconds)
            tables[key].append(item)
        for (device, table, metrics, covers), entities in tables.items():
            yield device, _rows(table, metrics, covers, entities, offset_us)

    def _new_rows(self, answer: Iterable[Series]) -> Iterator[_EntityRows]:
        """Yield the new rows of each entity, without values that the exporter only repeats."""
        by_kind: dict[tuple[str, int], list[_EntityColumns]] = {}
        profiles: dict[int, EntityProfile] = {}
        for entity_series in self._group_by_entity(answer):
            columns, times = self._columns(entity_series)
            if times:
                profile = entity_series.profile
                profiles[id(profile)] = profile
                key = (entity_series.entity.device, id(profile))
                by_kind.setdefault(key, []).append((entity_series.entity, columns, times))
        averaged = [
            (device, profiles[key], entities)
            for (device, key), entities in by_kind.items()
            if profiles[key].averaged_seconds is not None
        ]
        changed = {
            (device, id(profile)): self._updates.observe(device, profile.kind, _values(entities))
            for device, profile, entities in averaged
        }
        for (device, profile_id), entities in by_kind.items():
            profile = profiles[profile_id]
            news, covers = None, None
            if (device, profile_id) in changed:
                news, covers = self._find_news(device, profile, entities, changed[device, profile_id])
            for entity, entity_columns, entity_times in entities:
                new_times = entity_times if news is None else [time for time in entity_times if time in news]
                if new_times:
                    yield _EntityRows(entity, profile.table, entity_columns, new_times, covers)

    def _find_news(
        self, device: str, profile: EntityProfile, entities: Sequence[_EntityColumns], changed: Set[int]
    ) -> tuple[set[int], float | None]:
        """Return the times of the scrapes with new values, and the seconds before a scrape that its values cover."""
        spacings = [self._states[entity.kind, entity.local_id].spacing_us for entity, _, _ in entities]
        spacing_us = max((spacing for spacing in spacings if spacing is not None), default=None)
        interval_us = self._updates.interval_us(device, profile.kind, spacing_us)
        if interval_us is not None:
            self._remarks.cached(device, profile.kind, round(interval_us / 1e6, 1), self._step_seconds)
        all_times = {time for _, _, times in entities for time in times}
        news = self._updates.news(device, profile.kind, all_times, changed, interval_us)
        return news, covered_seconds(profile.covered_seconds, interval_us, spacing_us)

    def discover(self, answer: Iterable[Series]) -> None:
        """Register the entities of an answer, without its samples."""
        for _ in self._group_by_entity(answer):
            pass

    def _group_by_entity(self, answer: Iterable[Series]) -> Iterator[_EntitySeries]:
        by_entity: dict[tuple[str, str], _EntitySeries] = {}
        for series in answer:
            for profile, metric, source in self._uses.get(series.name, ()):
                patterns = source.label_patterns.items()
                if not all(pattern.fullmatch(series.labels.get(label, "")) for label, pattern in patterns):
                    continue
                if (entity := self._devices.find(profile, series.labels)) is not None:
                    key = (profile.kind, entity.local_id)
                    entity_series = by_entity.setdefault(key, _EntitySeries(entity, profile))
                    entity_series.metrics.setdefault(metric, []).append((source, series))
        yield from by_entity.values()

    def _columns(self, entity_series: _EntitySeries) -> tuple[dict[str, dict[int, Number]], list[int]]:
        """Return {metric: {time: value}} and the times of the rows, which are those of the first metric.

        Values of other series belong to the row if their time is within half a scrape interval.
        """
        state = self._states[entity_series.profile.kind, entity_series.entity.local_id]
        declared = {column.metric: column for column in entity_series.profile.table.columns}
        order = [metric for metric in declared if metric in entity_series.metrics]
        points = {
            m: self._metric(entity_series.entity, declared[m], entity_series.metrics[m], state.newest) for m in order
        }
        times = sorted(next((points[metric] for metric in order if points[metric]), {}))
        if not times:
            return {}, []
        self._update_spacing(entity_series.entity, state, times)
        max_distance_us = _SAME_SCRAPE_US if state.spacing_us is None else state.spacing_us // 2
        aligned = {metric: _align(values, times, max_distance_us) for metric, values in points.items()}
        columns = self._plausibility.checked(entity_series.profile.kind, entity_series.entity.local_id, aligned)
        state.newest = times[-1]
        self._check_throughput(entity_series.entity, columns)
        return columns, times

    def _update_spacing(self, entity: Entity, state: _EntityState, times: Sequence[int]) -> None:
        times_us = [state.newest, *times] if state.newest else times
        gaps = [after_us - previous for previous, after_us in pairwise(times_us)]
        if gaps:
            state.spacing_us = round(median(gaps))
            self._remarks.spacing(entity.device, round(state.spacing_us / 1e6, 1), self._step_seconds)

    def _metric(
        self, entity: Entity, column: Column, candidates: Sequence[tuple[Source, Series]], after_us: int
    ) -> dict[int, Number]:
        best = min(source.series.index(series.name) for source, series in candidates)
        chosen = [(source, series) for source, series in candidates if source.series.index(series.name) == best]
        source = chosen[0][0]
        if source.total or source.largest:
            # The first one gives the times of the rows: it must be the same at each poll.
            parts = sorted((series for _, series in chosen), key=lambda series: series.selector_text)
            spacing_us = self._states[entity.kind, entity.local_id].spacing_us
            parts_points = [self._prepend_last(column, part) for part in parts]
            return _combine(source, column, parts_points, after_us, spacing_us)
        series = self._select_series(entity, column.metric, [series for _, series in chosen])
        points = [point for point in series.points if point[0] > after_us]
        self._check_points(series, points)
        if source.wraps_at is not None:
            points = self._unwrap(series, points, source.wraps_at)
        return {time: _to_column_value(source, column, value) for time, value in points}

    def _prepend_last(self, column: Column, part: Series) -> Sequence[Point]:
        """Return the samples of a part of a sum, with the last one of the previous answer."""
        key, points = (column.metric, part.selector_text), part.points
        last = self._last_of_part.get(key)
        if points:
            self._last_of_part[key] = points[-1]
        return [last, *points] if last is not None and points and last[0] < points[0][0] else points

    def _select_series(self, entity: Entity, metric: str, candidates: Sequence[Series]) -> Series:
        """Select one of several candidates, always the same one as long as it exists."""
        if len(candidates) == 1:
            return candidates[0]
        by_text = {series.selector_text: series for series in sorted(candidates, key=lambda s: s.selector_text)}
        if len(by_text) > 1:
            self._remarks.duplicates(metric, entity.local_id, list(by_text))
        key = (entity.kind, entity.local_id, metric)
        if self._chosen.get(key) not in by_text:
            self._chosen[key] = next(iter(by_text))
        return by_text[self._chosen[key]]

    def _unwrap(self, series: Series, points: Iterable[Point], wraps_at: float) -> list[Point]:
        """Continue a counter beyond its wraps; a fall by less than half of its range is a restart."""
        state = self._wrapping[series.selector_text]
        continuous = []
        for time, value in points:
            if time <= state.time:  # it was in the previous poll's answer, but after the last row
                previous = state.previous - wraps_at if value > state.last and state.previous else state.previous
                continuous.append((time, value + previous))
                continue
            if not math.isnan(value):
                if state.last - value > wraps_at / 2:
                    state.previous += wraps_at
                elif value < state.last:
                    state.previous = 0.0
                state.time, state.last = time, value
            continuous.append((time, value + state.previous))
        return continuous

    def _check_points(self, series: Series, points: Sequence[Point]) -> None:
        if unknown := sum(math.isnan(value) for _, value in points):
            text = f"{unknown} of {len(points)} samples of {series.selector_text} are no numbers: not measured"
            self._remarks.add("not-a-number", text, subject=series.name)

    def _check_throughput(self, entity: Entity, columns: Mapping[str, Mapping[int, Number]]) -> None:
        speeds = [speed for speed in columns.get("link_speed_bits_per_second", {}).values() if speed]
        speed = max(speeds) if speeds else self._devices.capable_bits_per_second(entity)
        for direction in ("rx", "tx"):
            counted = [
                (t, value) for t, value in columns.get(f"bytes_{direction}_total", {}).items() if value is not None
            ]
            if len(counted) > 1 and counted[-1][1] > counted[0][1]:
                seconds = (counted[-1][0] - counted[0][0]) / 1e6
                self._remarks.throughput(entity.local_id, (counted[-1][1] - counted[0][1]) / seconds, speed)
            for value in columns.get(f"bytes_per_second_{direction}", {}).values():
                self._remarks.throughput(entity.local_id, value or 0.0, speed)


def _values(entities: Iterable[_EntityColumns]) -> dict[str, dict[int, tuple[Number, ...]]]:
    """Return the values of each entity at each time, by the entity's id."""
    return {
        entity.local_id: {time: tuple(column[time] for column in columns.values()) for time in times}
        for entity, columns, times in entities
    }


def _align(values: Mapping[int, Number], times: Sequence[int], max_distance_us: int) -> dict[int, Number]:
    if all(time in values for time in times):
        return {time: values[time] for time in times}
    candidate_times = sorted(values)
    aligned: dict[int, Number] = {}
    for time in times:
        index = bisect_left(candidate_times, time)
        neighbours = candidate_times[max(0, index - 1) : index + 1]
        closest = min(neighbours, key=lambda time_us: abs(time_us - time), default=None)
        aligned[time] = None if closest is None or abs(closest - time) > max_distance_us else values[closest]
    return aligned


def _combine(
    source: Source, column: Column, parts: Sequence[Sequence[Point]], after_us: int, spacing_us: int | None
) -> dict[int, Number]:
    """Return the sum or the maximum at the times of the first part.

    Targets are scraped at different times: for each part the last sample before that time counts. If it has none in
    the preceding scrape interval, the sum is unknown.
    """
    first_times = [time for time, _ in parts[0]]
    gaps = [after - before for before, after in pairwise(first_times)]
    interval_us = round(median(gaps)) if gaps else spacing_us or _SAME_SCRAPE_US
    times = [time for time in first_times if time > after_us]
    latest = [_latest(points, times, interval_us) for points in parts]
    combine = max if source.largest else sum
    combined: dict[int, Number] = {}
    for time, values in zip(times, zip(*latest, strict=True), strict=True):
        known = [value for value in values if value is not None]
        combined[time] = _to_column_value(source, column, combine(known)) if len(known) == len(values) else None
    return combined


def _latest(points: Sequence[Point], times: Sequence[int], interval_us: int) -> list[float | None]:
    """Return the last sample up to each time; None: it is from an earlier scrape interval."""
    by_time = dict(points)
    sample_times = list(by_time)
    jitter_us = round(interval_us * _JITTER_RATIO)
    values: list[float | None] = []
    for time in times:
        if (value := by_time.get(time)) is None:
            index = bisect_right(sample_times, time + jitter_us) - 1
            is_recent = index >= 0 and sample_times[index] > time + jitter_us - interval_us
            value = by_time[sample_times[index]] if is_recent else None
        values.append(value)
    return values


def _to_column_value(source: Source, column: Column, value: float) -> Number:
    """Return a sample in its recorded form: a counter as an integer in the unit of its column."""
    if math.isnan(value) or (source.above_zero and value <= 0):
        return None
    if source.equals is not None:
        return int(value == source.equals)
    number = value * source.unit
    return round(number / column.scale) if column.bits else number


def _rows(
    table: Table, metrics: Sequence[str], covers: float | None, entities: Sequence[_EntityRows], offset_us: int
) -> Rows:
    """Return the rows of entities with the same metrics, in the order of time."""
    order = sorted(
        ((time, item.entity.local_id, item.columns) for item in entities for time in item.times),
        key=lambda row: row[:2],
    )
    return Rows(
        table,
        entity=[local_id for _, local_id, _ in order],
        seen=[time - offset_us for time, _, _ in order],
        values={metric: [columns[metric][time] for time, _, columns in order] for metric in metrics},
        device_time=[time for time, _, _ in order],
        covers_seconds=[covers] * len(order) if covers else None,
    )

"""Joins the logs of one run. The logs of one job become one load.

One log of a job contains its operations, another their mean latency, a third its bytes. Their windows do not end at
the same millisecond, so counters are interpolated. Logs with a line for each I/O all count the same I/Os, so each
figure is taken from only one of them.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sanpath.model import DIRECTIONS
from sanpath.plugin import (
    CollectorError,
    Event,
    Failure,
    Item,
    LoadStep,
    ResultClock,
    ResultFile,
    Rows,
    SourceEntity,
    SourceLink,
    warning,
)
from sanpath_collectors.fio.logs.log import GAUGE_BY_KIND, Kind, Log, partial_log_warning
from sanpath_collectors.fio.tables import LOAD, LOG

_ORDER: Sequence[Kind] = ("lat", "iops", "bw", "clat", "slat", "clat_hist")
"""A counter is taken from the first log in this order that has it. A `lat` log with a line for each I/O has all."""
_OPS = tuple(f"ops_{direction}_total" for direction in DIRECTIONS)
_LATENCIES = tuple(f"latency_seconds_{direction}_total" for direction in DIRECTIONS)
_SAME_BEGIN_RATIO = 0.5
"""Jobs began together if the difference of their begins is at most this share of the shortest job. Begins are
imprecise, because they are computed from the time when a log was written, some time after the end of its job."""

_CHUNK_ROWS = 10_000
"""Rows that are yielded together, so that memory does not grow with the log."""

Series = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Times in microseconds, and values."""
_Arrays = tuple["array[float]", "array[float]"]
"""The same, as they grow."""


@dataclass(slots=True)
class _Part:
    """The contents of one log. Times are in microseconds on its clock. `counters`, `means`: metric → series.
    `statistics`: metric → (time, value). `covers`: metric → how many seconds each mean covers."""

    job: str
    kind: Kind
    clock: ResultClock
    modified_us: int
    begin_us: int = 0
    end_us: int = 0
    counters: dict[str, Series] = field(default_factory=dict)
    statistics: dict[str, list[tuple[int, int | float]]] = field(default_factory=lambda: defaultdict(list))
    means: dict[str, Series] = field(default_factory=dict)
    covers: dict[str, array[float]] = field(default_factory=lambda: defaultdict(lambda: array("d")))
    inventory: list[SourceEntity | SourceLink] = field(default_factory=list)
    distributions: list[Event] = field(default_factory=list)
    warnings: list[Event] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class JobSeries:
    """The counters in the logs of one job. `counters`: metric → series."""

    clock: ResultClock
    counters: Mapping[str, Series]

    def shifted(self, by_us: int) -> Mapping[str, Series]:
        """The counters, with `by_us` added to all times."""
        return {metric: (times + by_us, values) for metric, (times, values) in self.counters.items()}


def read_job_series(logs: Sequence[tuple[Log, ResultFile]]) -> Sequence[JobSeries]:
    """Reads the counters of each job of a run, in the order of the jobs. Raises CollectorError if a log cannot be
    read."""
    jobs: dict[str, list[_Part]] = defaultdict(list)
    for log, file in logs:
        jobs[log.job].append(_read_part(log, file))
    numbered = sorted(jobs, key=lambda job: (len(job), job))
    return [JobSeries(jobs[job][0].clock, _merge_counters(jobs[job])) for job in numbered]


def read_joined_logs(logs: Sequence[tuple[Log, ResultFile]]) -> Iterator[tuple[ResultClock, Item]]:
    """Yields the items of the logs of one run, with their clock. Raises CollectorError if none holds an I/O."""
    jobs: dict[str, list[_Part]] = defaultdict(list)
    failures: list[CollectorError] = []
    for log, file in logs:
        try:
            jobs[log.load].append(_read_part(log, file))
        except CollectorError as error:
            failures.append(error)
    parts = [part for job_parts in jobs.values() for part in job_parts]
    if not parts:
        raise failures[0] if failures else CollectorError(Failure.UNREADABLE, "no log")
    clock = parts[0].clock
    joined = {load: [part for part in job_parts if part.clock == clock] for load, job_parts in jobs.items()}
    begins = _begin_times_us({load: job_parts for load, job_parts in joined.items() if job_parts}, clock)
    remarks = [str(error) for error in failures]
    if len(begins) > 1 and clock == "elapsed":
        how = "each ended when its logs were written" if any(begins.values()) else "they began together"
        remarks.append(f"the logs do not tell when each of the {len(begins)} jobs began: it is assumed that {how}")
    if left_out := len(parts) - sum(map(len, joined.values())):
        others = "without" if clock == "utc" else "with"
        remarks.append(f"{left_out} logs {others} the time of day cannot be joined to the others, and are left out")
    for number, (load, begin_us) in enumerate(begins.items()):
        for item in _job_items(load, number, joined[load], remarks if number == 0 else ()):
            yield clock, _shift(item, begin_us)


def _read_part(log: Log, file: ResultFile) -> _Part:
    counters: dict[str, _Arrays] = defaultdict(_new_arrays)
    means: dict[str, _Arrays] = defaultdict(_new_arrays)
    part = _Part(log.job, log.kind, log.clock, file.modified_us)
    for item in log.read(file):
        match item:
            case Rows():
                for metric, column in item.values.items():
                    is_mean = item.table is LOG
                    for number, value in enumerate(column):
                        if value is None:
                            continue
                        if not is_mean and not metric.endswith("_total"):
                            part.statistics[metric].append((item.seen[number], value))
                            continue
                        times, values = (means if is_mean else counters)[metric]
                        times.append(item.seen[number])
                        values.append(value)
                        if is_mean and item.covers_seconds is not None:
                            part.covers[metric].append(item.covers_seconds[number])
            case SourceEntity() | SourceLink():
                part.inventory.append(item)
            case Event(name="step-begin"):
                part.begin_us = item.seen
            case Event(name="step-end"):
                part.end_us = item.seen
            case Event(name="data-warning"):
                part.warnings.append(item)
            case Event():
                part.distributions.append(item)
    part.clock = log.clock
    part.counters, part.means = (
        {metric: (np.asarray(times), np.asarray(values)) for metric, (times, values) in each.items()}
        for each in (counters, means)
    )
    return part


def _new_arrays() -> _Arrays:
    return array("d"), array("d")


def _begin_times_us(jobs: Mapping[str, Sequence[_Part]], clock: ResultClock) -> Mapping[str, int]:
    """Begin of each job, in microseconds after the begin of the first job."""
    if clock == "utc":
        return dict.fromkeys(jobs, 0)
    ends = {load: max(part.end_us for part in parts) for load, parts in jobs.items()}
    began = {load: max(part.modified_us for part in parts) - ends[load] for load, parts in jobs.items()}
    first_us, begins = 0, {}
    for number, load in enumerate(sorted(began, key=lambda load: began[load])):
        if not number or began[load] - first_us > _SAME_BEGIN_RATIO * min(ends.values()):
            first_us = began[load]
        begins[load] = first_us
    return {load: begins[load] - min(begins.values()) for load in jobs}


def _shift(item: Item, by_us: int) -> Item:
    match item:
        case Rows():
            return Rows(
                item.table,
                item.entity,
                [seen_us + by_us for seen_us in item.seen],
                item.values,
                covers_seconds=item.covers_seconds,
            )
        case Event():
            return Event(item.seen + by_us, item.name, item.detail)
        case _:
            return item


def _job_items(load: str, number: int, parts: Sequence[_Part], remarks: Sequence[str]) -> Iterator[Item]:
    """Yields the items of one job."""
    parts = sorted(parts, key=lambda part: _ORDER.index(part.kind))
    begin_us, end_us = min(part.begin_us for part in parts), max(part.end_us for part in parts)
    step = LoadStep(name=parts[0].job, loads=(load,), offered=None, group=number)
    yield from parts[0].inventory
    yield step.event("step-begin", begin_us)
    counters = _merge_counters(parts)
    is_complete = any(ops in counters and wait in counters for ops, wait in zip(_OPS, _LATENCIES, strict=True))
    for part in parts:
        yield from _mean_rows(load, part) if not is_complete or part.kind != "lat" else ()
    yield from _counter_rows(load, counters, [part.statistics for part in parts])
    yield from (distribution for part in parts for distribution in part.distributions)
    warnings = {str(event.detail["text"]): event for part in parts for event in part.warnings}
    yield from (event for event in warnings.values() if event.detail["code"] != "partial-log")
    for text in remarks:
        yield warning(begin_us, "several-logs", text)
    if not is_complete:
        yield partial_log_warning(end_us, [part.kind for part in parts])
    yield step.event("step-end", end_us)


def _merge_counters(parts: Sequence[_Part]) -> Mapping[str, Series]:
    """The counters of a job: metric → series. If no log has sums of latencies, they are computed from means."""
    parts = sorted(parts, key=lambda part: _ORDER.index(part.kind))
    counters = {metric: part.counters[metric] for part in reversed(parts) for metric in part.counters}
    means = {metric: part.means[metric] for part in reversed(parts) for metric in part.means}
    if not any(metric in counters for metric in _LATENCIES):
        counters |= _latency_sums(counters, means)
    return counters


def _latency_sums(counters: Mapping[str, Series], means: Mapping[str, Series]) -> Iterator[tuple[str, Series]]:
    """Yields (metric, series) of the sums of latencies: operations of each window times their mean latency."""
    for direction, ops, latency in zip(DIRECTIONS, _OPS, _LATENCIES, strict=True):
        lat, clat, slat = (f"{GAUGE_BY_KIND[kind]}_{direction}" for kind in ("lat", "clat", "slat"))
        added = [means[lat]] if lat in means else [means[part] for part in (clat, slat) if part in means]
        if ops not in counters or not added or (lat not in means and len(added) < 2):
            continue
        times, totals = counters[ops]
        edges = np.unique(np.concatenate([times, *(mean_times for mean_times, _ in added)]))
        mean = sum(_mean_until(series, edges[1:]) for series in added)
        waits = np.diff(np.interp(edges, times, totals)) * mean
        sums = np.concatenate([[0.0], np.cumsum(waits)])
        yield latency, (times, np.interp(times, edges, sums))


def _mean_until(series: Series, ends: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean that holds at each of these ends of intervals. After the last window, its mean is used."""
    times, values = series
    return values[np.minimum(np.searchsorted(times, ends), len(values) - 1)]


def _counter_rows(
    load: str, counters: Mapping[str, Series], statistics: Sequence[Mapping[str, Sequence[tuple[int, int | float]]]]
) -> Iterator[Rows]:
    """Yields rows with all counters at the times of the first counter, and percentiles at the nearest such time."""
    grid = next((counters[metric][0] for metric in (*_OPS, *counters) if metric in counters), None)
    if grid is None:
        return
    found = {metric: samples for metrics in reversed(statistics) for metric, samples in metrics.items()}
    nearest = {
        metric: {int(np.argmin(np.abs(grid - seen_us))): value for seen_us, value in samples}
        for metric, samples in found.items()
    }
    for start in range(0, len(grid), _CHUNK_ROWS):
        times = grid[start : start + _CHUNK_ROWS]
        columns: dict[str, Sequence[int | float | None]] = {
            metric: np.rint(np.interp(times, *series)).astype(np.int64).tolist()
            for metric, series in counters.items()
        }
        columns |= {
            metric: [values.get(number) for number in range(start, start + len(times))]
            for metric, values in nearest.items()
        }
        yield Rows(LOAD, [load] * len(times), times.astype(np.int64).tolist(), columns)


def _mean_rows(load: str, part: _Part) -> Iterator[Rows]:
    """Yields the means of a log as they were written."""
    for metric, (times, values) in part.means.items():
        covers = part.covers[metric]
        for start in range(0, len(times), _CHUNK_ROWS):
            chunk = slice(start, start + _CHUNK_ROWS)
            seen = times[chunk].astype(np.int64).tolist()
            yield Rows(
                LOG, [load] * len(seen), seen, {metric: values[chunk].tolist()}, covers_seconds=list(covers[chunk])
            )

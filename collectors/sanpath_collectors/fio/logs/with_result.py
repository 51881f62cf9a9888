"""Joins the logs of a run with its result. Both count the same I/Os.

The result contains the totals, the time and the settings, but only one figure for each job. The logs contain the
course over time, but neither the date nor the settings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sanpath.model import DIRECTIONS
from sanpath.plugin import LOAD_COUNTERS, CollectorError, Event, Item, Rows, SourceEntity, warning
from sanpath_collectors.fio.logs.join import JobSeries, Series
from sanpath_collectors.fio.tables import LOAD, rows

_PREFIX = re.compile(r'"write_(?:bw|iops|lat|hist)_log"\s*:\s*"([^"]+)"')
_COUNTERS = tuple(column.metric for column in LOAD_COUNTERS)
_OPERATIONS, _BYTES = ([f"{what}_{direction}_total" for direction in DIRECTIONS] for what in ("ops", "bytes"))
_TOLERANCE = 0.02
"""Ratio by which length and counters of a log may differ from those of its result. With fio 3.33, sums over the
windows differ by 0.01 %."""
_TOLERANCE_US = 1_000_000
"""fio prints its result some time after the end of the jobs."""
_LOST_WINDOWS = 2.0
"""Number of windows at the end that may be missing in a log: one that had not ended with its job, and one before."""

_Sample = tuple[str, int, Mapping[str, int | float | None]]
"""Load, time in microseconds, and metric → value."""


def find_log_prefix(head: str) -> str:
    """The prefix of a run's logs, from its JSON. "": the run has no logs, or its jobs have different prefixes.

    >>> find_log_prefix('{"job options" : {"write_bw_log" : "/tmp/db", "write_lat_log" : "/tmp/db"}}')
    'db'
    """
    prefixes = {re.split(r"[/\\\\]", prefix)[-1].replace(",", ";") for prefix in _PREFIX.findall(head)}
    return prefixes.pop() if len(prefixes) == 1 else ""


class ResultWithLogs:
    """Adds the counters of the logs to the items of a result.

    `load`: local id of the load of all jobs. `read_jobs`: function that returns the counters of each job's logs,
    given the versions of fio.
    """

    def __init__(self, load: str, read_jobs: Callable[[frozenset[str]], Sequence[JobSeries]]) -> None:
        self._load, self._read_jobs = load, read_jobs
        self._loads: list[str] = []
        self._versions: frozenset[str] = frozenset()
        self._series: Mapping[str, Sequence[JobSeries]] | None = None
        self._left_out = ""

    def join(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yields the items of the result, with a sample for each window of the logs."""
        begin: Event | None = None
        seen_us = 0
        for item in items:
            if begin is not None:
                yield from self._step_items(begin, item)
                begin = None
            elif isinstance(item, Event) and item.name == "step-begin":
                if item.detail.get("summary"):
                    begin = item
                    continue
                self._left_out = "it has figures over time itself"
                yield item
            else:
                if isinstance(item, SourceEntity) and item.kind == "load":
                    self._note_load(item)
                yield item
            seen_us = max(seen_us, item.seen) if isinstance(item, Event) else seen_us
        if self._left_out:
            text = f"the logs that lie beside this result are not counted: {self._left_out}"
            yield warning(seen_us, "logs-left-out", text)

    def _note_load(self, load: SourceEntity) -> None:
        if load.local_id != self._load:
            self._loads.append(load.local_id)
        if version := load.attributes.get("engine_version"):
            self._versions |= {str(version)}

    def _step_items(self, begin: Event, item: Item) -> Iterator[Item]:
        """Yields the begin of a step and the item after it, which contains its totals."""
        if self._series is None:
            self._series = self._series_of_loads()
        if isinstance(item, Rows) and item.table is LOAD:
            with_windows = self._add_windows(item, self._series)
            if len(with_windows.entity) > len(item.entity):
                # The step is no summary any more. But its disks still have a single figure for all of it, so a ramp-
                # end event at its begin prevents that any part is left out as a ramp.
                detail = {key: value for key, value in begin.detail.items() if key != "summary"}
                yield Event(begin.seen, begin.name, detail)
                begin, item = Event(begin.seen, "ramp-end", detail), with_windows
        yield begin
        yield item

    def _series_of_loads(self) -> Mapping[str, Sequence[JobSeries]]:
        """Load → the jobs that it consists of. fio numbers the logs in the order of the jobs."""
        try:
            jobs = self._read_jobs(self._versions)
        except CollectorError as error:
            self._left_out = str(error)
            return {}
        if len(self._loads) == 1:
            return {self._loads[0]: jobs}
        if len(self._loads) == len(jobs):
            return {load: [job] for load, job in zip(self._loads, jobs, strict=True)}
        self._left_out = f"it has {len(self._loads)} jobs, and there are logs of {len(jobs)}"
        return {}

    def _add_windows(self, result: Rows, series: Mapping[str, Sequence[JobSeries]]) -> Rows:
        samples: list[_Sample] = []
        for load in dict.fromkeys(result.entity):
            load_samples: list[_Sample] = [
                (load, result.seen[number], {metric: column[number] for metric, column in result.values.items()})
                for number, entity in enumerate(result.entity)
                if entity == load
            ]
            if load in series and len(load_samples) == 2:
                load_samples[1:1] = self._windows(load_samples[0], load_samples[1], series[load])
            samples += load_samples
        return rows(LOAD, samples)

    def _windows(self, first: _Sample, last: _Sample, jobs: Sequence[JobSeries]) -> Iterator[_Sample]:
        """Yields a sample at the end of each window between the two of the result; none if the logs do not fit."""
        load, begin_us, at_begin = first
        _, end_us, at_end = last
        totals = {metric: float(total) for metric in _COUNTERS if (total := at_end.get(metric))}
        counted = _merge_counters([job.shifted(0 if job.clock == "utc" else begin_us) for job in jobs], totals)
        fitting = {metric: each for metric, each in counted.items() if _fits(each, totals[metric], begin_us, end_us)}
        name = load.rpartition("/")[2]
        if not totals.keys() & set(_OPERATIONS) <= counted.keys():
            self._left_out = f"those of {name} have no operations; those of iops, or of bw, have"
            return
        # A sum of latencies may be missing: its means have other windows than the operations.
        if (counted.keys() - fitting.keys()) & {*_OPERATIONS, *_BYTES}:
            self._left_out = f"those of {name} have other figures, or ran at another time or for longer"
            return
        times = fitting[next(metric for metric in _OPERATIONS if metric in fitting)][0][0]
        window_us = float(np.median(np.diff(times)))
        within = times[(times > begin_us) & (times < end_us - window_us / 2)]
        columns = {metric: _sum_at(each, within, totals[metric]) for metric, each in fitting.items()}
        zeros = {metric: value for metric, value in at_begin.items() if metric not in totals}
        for number, time_us in enumerate(within.tolist()):
            yield load, round(time_us), {**zeros, **{metric: column[number] for metric, column in columns.items()}}


def _merge_counters(
    jobs: Sequence[Mapping[str, Series]], totals: Mapping[str, float]
) -> Mapping[str, Sequence[Series]]:
    """The counters that the logs of all jobs contain. If they contain only the bytes of a direction, its operations
    are computed with the mean I/O size."""
    counted = {metric: [job[metric] for job in jobs] for metric in totals if all(metric in job for job in jobs)}
    for operations, moved in zip(_OPERATIONS, _BYTES, strict=True):
        if operations in totals and operations not in counted and moved in counted:
            share = totals[operations] / totals[moved]
            counted[operations] = [(times, share * values) for times, values in counted[moved]]
    return counted


def _fits(series: Sequence[Series], total: float, begin_us: int, end_us: int) -> bool:
    """Whether the counters of a load's jobs match its result, except for the last windows."""
    times = [times for times, _ in series]
    if any(len(each) < 2 for each in times):
        return False
    tolerance_us = _TOLERANCE_US + _TOLERANCE * (end_us - begin_us)
    lost_us = _LOST_WINDOWS * max(float(np.median(np.diff(each))) for each in times)
    first_us, last_us = min(each[0] for each in times), max(each[-1] for each in times)
    if abs(first_us - begin_us) > tolerance_us or not -tolerance_us <= end_us - last_us <= lost_us + tolerance_us:
        return False
    counted = sum(float(values[-1]) for _, values in series)
    rate = counted / max(1.0, last_us - first_us)
    missing = max(0.0, end_us - last_us) * rate
    return bool((1 - _TOLERANCE) * counted <= total <= (1 + _TOLERANCE) * (counted + 2 * missing))


def _sum_at(series: Sequence[Series], times: NDArray[np.float64], total: float) -> list[int]:
    """The counters of all jobs, summed up at these times."""
    sums = sum((np.interp(times, *each) for each in series), np.zeros(len(times)))
    return [round(value) for value in np.minimum(sums, total).tolist()]

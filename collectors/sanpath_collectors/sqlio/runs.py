"""Converts SQLIO's runs to entities, samples and steps. They follow one another, because the output has no times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sanpath.model import DIRECTIONS, Scalar
from sanpath.plugin import INTEGER_LIMIT, Item, LoadStep, Rows, SourceEntity, SourceLink, histogram, warning
from sanpath_collectors.sqlio.parse import KIB, Run, histogram_buckets
from sanpath_collectors.sqlio.tables import LOAD

_GAP_US = 1
"""Gap between two runs, so that the last sample of one run is not the first of the next."""
_TOLERANCE_RATIO = 0.02
"""Largest ratio by which two printed figures may differ because of rounding."""


class Runs:
    """Converts runs to items. `started`, `finished`: number of started and finished runs so far."""

    def __init__(self, load: str) -> None:
        self._load = load
        self._begin_us = 0
        self._attributes: Mapping[str, Scalar] = {}
        self.finished = 0
        self.started = 0

    @property
    def now_us(self) -> int:
        """The time at which the next run would begin."""
        return self._begin_us

    def items(self, run: Run) -> Iterator[Item]:
        """Yield the items of one run. If it has not finished or cannot be read, only a warning is yielded."""
        self.started += 1
        if not run.has_result:
            yield warning(
                self._begin_us,
                "not-finished",
                f"run {self.started} has no CUMULATIVE DATA: it was stopped, or the file was copied while it ran",
            )
            return
        rows = self._rows(run)
        if rows is None:
            yield warning(
                self._begin_us,
                "run-unreadable",
                f"run {self.started} is left out: its threads, its I/O size or its IOs/sec are missing or damaged",
            )
            return
        yield from self._entities(run)
        step = LoadStep(
            name=run.name,
            loads=(self._local_id(run),),
            offered=run.in_flight,
            block_bytes=run.block_bytes,
            group=self.finished,
            summary=True,
        )
        begin, end = rows.seen
        yield step.event("step-begin", begin)
        yield rows
        yield from self._histogram(run, end)
        yield from self._check_sums(run, end)
        yield step.event("step-end", end)
        self.finished += 1
        self._begin_us = end + _GAP_US

    def _entities(self, run: Run) -> Iterator[Item]:
        """Yield the run as a separate load, and the load of the file with the attributes that all its runs share."""
        attributes = run.profile.attributes
        common = (
            attributes if not self.finished else {k: v for k, v in self._attributes.items() if attributes.get(k) == v}
        )
        if not self.finished or common != self._attributes:
            self._attributes = common
            yield SourceEntity("load", self._load, self._load, {"name": (self._load,)}, common)
        local_id = self._local_id(run)
        yield SourceEntity("load", local_id, local_id, {"name": (local_id,)}, attributes)
        yield SourceLink("member_of", ("load", local_id), ("load", self._load), "run of SQLIO")

    def _local_id(self, run: Run) -> str:
        """The id of a run's load. Commas are replaced, because they separate the loads of a step."""
        return f"{self._load}/{run.name.replace(',', ';')}#{self.finished + 1}"

    def _rows(self, run: Run) -> Rows | None:
        if run.direction is None or not run.seconds or run.block_bytes is None or run.ops_per_second is None:
            return None
        operations = round(run.ops_per_second * run.seconds)
        if operations * run.block_bytes >= INTEGER_LIMIT:
            return None
        values: dict[str, list[int | float | None]] = {column.metric: [None, None] for column in LOAD.columns}
        for direction in DIRECTIONS:
            completed = operations if direction == run.direction else 0
            values[f"ops_{direction}_total"] = [0, completed]
            values[f"bytes_{direction}_total"] = [0, completed * run.block_bytes]
        values[f"latency_seconds_mean_{run.direction}"] = [None, run.mean_ms]
        values[f"latency_seconds_max_{run.direction}"] = [None, run.max_ms]
        values["in_flight_configured"] = [run.in_flight, run.in_flight]
        end = self._begin_us + run.seconds * 1_000_000
        return Rows(LOAD, [self._local_id(run)] * 2, [self._begin_us, end], {**values})

    def _histogram(self, run: Run, seen_us: int) -> Iterator[Item]:
        buckets = histogram_buckets(run)
        if buckets is not None and run.direction is not None:
            yield histogram(seen_us, self._local_id(run), run.direction, buckets)
        elif run.percents:
            text = f"the histogram of run {self.started} is left out: its shares do not add up, or it is cut"
            yield warning(seen_us, "histogram-damaged", text)

    def _check_sums(self, run: Run, seen_us: int) -> Iterator[Item]:
        if run.mib_per_second is None or run.ops_per_second is None or run.block_kib is None:
            return
        expected = run.ops_per_second * run.block_kib / KIB
        # MBs/sec is truncated after its second decimal.
        if abs(run.mib_per_second - expected) > max(_TOLERANCE_RATIO * expected, 0.01):
            yield warning(
                seen_us,
                "sums-differ",
                f"run {self.started}: {run.ops_per_second:.6g} IOs/sec of {run.block_kib} KiB "
                f"are {expected:.6g} MiB/s, but MBs/sec says {run.mib_per_second:.6g}; "
                "bytes are counted from IOs/sec",
            )

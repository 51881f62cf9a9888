"""The runs (RD) of one file. Each is a separate load and a step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from sanpath.model import Direction, Scalar
from sanpath.plugin import (
    INTEGER_LIMIT,
    CollectorError,
    Event,
    Failure,
    Item,
    LoadStep,
    Rows,
    SourceEntity,
    SourceLink,
    Totals,
    rows_of,
    warning,
)
from sanpath_collectors.vdbench.columns import Figures, Flow
from sanpath_collectors.vdbench.run_header import ENGINE, TOLERANCE_RATIO, RunSettings, is_preparation, local_id
from sanpath_collectors.vdbench.tables import HOST, LOAD

_NS = 1e-9
_ROUNDING_RATIO = 0.02
"""Largest difference between the mean of the intervals and the printed average, as a ratio. Both are rounded."""
_MAX_STORED_INTERVALS = 10_000
"""Largest number of stored interval ends. They are needed for a warm-up of more than one interval."""


@dataclass(slots=True)
class _Run:
    """The current run. `ends`: number of an interval → (its end, sum of the rates until then).

    `interval` and `seen_us`: number and end of the last interval; `first`: number and end of the first interval.
    `damaged`: number of unreadable rows since the last interval. `described`: attributes of its load in the file of
    parameters. `is_copy`: the file holds it before.
    """

    name: str
    local_id: str
    group: int
    begin_us: int
    settings: RunSettings
    seen_us: int
    interval: int = 0
    ends: dict[int, tuple[int, float]] = field(default_factory=dict)
    rates: float = 0.0
    first: tuple[int, int] = (0, 0)
    damaged: int = 0
    in_flight: float | None = None
    described: Mapping[str, Scalar] = field(default_factory=dict)
    measuring: bool = False
    is_copy: bool = False
    step: LoadStep | None = None
    totals: Totals = field(default_factory=Totals)
    metadata_ops: float = 0.0
    metadata_seconds: float = 0.0
    max_seconds: dict[Direction, float | None] = field(default_factory=lambda: {"read": None, "write": None})

    def add(self, figures: Figures, seconds: float) -> None:
        """Add figures that apply to a duration."""
        flows: tuple[tuple[Direction, Flow], ...] = (("read", figures.reads), ("write", figures.writes))
        for direction, flow in flows:
            self.totals.add(direction, flow.ops * seconds, flow.bytes * seconds, flow.latency_seconds)
            if flow.max_seconds is not None and flow.ops:
                self.max_seconds[direction] = max(flow.max_seconds, self.max_seconds[direction] or 0.0)
        self.metadata_ops += figures.metadata.ops * seconds
        self.metadata_seconds += figures.metadata.ops * (figures.metadata.latency_seconds or 0.0) * seconds

    @property
    def row(self) -> Rows:
        """A row with the current counters."""
        values: dict[str, int | float | None] = {
            **self.totals.values,
            "ops_metadata_total": round(self.metadata_ops) if self.settings.files else None,
            "latency_seconds_metadata_total": round(self.metadata_seconds / _NS) if self.settings.files else None,
            "latency_seconds_max_read": _nanoseconds(self.max_seconds["read"]),
            "latency_seconds_max_write": _nanoseconds(self.max_seconds["write"]),
            "in_flight_configured": self.in_flight,
        }
        cells = {name: value if value is None or value < INTEGER_LIMIT else None for name, value in values.items()}
        return rows_of(LOAD, {self.local_id: cells}, self.seen_us)


class Runs:
    """Converts the runs of a file to items. All times are microseconds on the file's clock.

    `has_several_hosts`: the figures of processors are means over several machines, so they are not used.
    """

    def __init__(self, load: str) -> None:
        self.has_several_hosts = False
        self._load = load
        self._names: Counter[str] = Counter()
        self._run: _Run | None = None
        self._preparation = ""
        self._warned: set[str] = set()
        self._has_rows = False
        self._begun: set[tuple[str, int]] = set()

    @property
    def has_runs(self) -> bool:
        """Whether a run has started in the file."""
        return bool(self._names)

    def require(self, text: str) -> None:
        """Raise CollectorError if no run has started, or none has an interval. `text`: why no run has started, unless
        vdbench was still preparing the test."""
        if self.has_runs and not self._has_rows:
            raise CollectorError(
                Failure.UNREADABLE,
                "it has no interval of a run: the run was interrupted in its first one, or there is something in "
                "front of its lines; remove it",
            )
        if not self.has_runs:
            only = f"only the preparation of the test was recorded ({self._preparation}): its runs had not begun"
            raise CollectorError(Failure.UNREADABLE, only if self._preparation else text)

    def continues(self, name: str, interval: int) -> bool:
        """Whether a row belongs to the same run as the previous row."""
        if self._run is None:
            return name == self._preparation
        return self._run.name == name and interval > self._run.interval

    def start(
        self,
        name: str,
        seen_us: int,
        settings: RunSettings,
        described: Mapping[str, Mapping[str, Scalar]] = MappingProxyType({}),
    ) -> Iterator[Item]:
        """Yield the items for the beginning of a run. A run that only prepares the test is left out.

        `described`: local id → attributes of the loads in the file of parameters.
        """
        yield from self.end()
        self._run = None
        if is_preparation(name):
            self._preparation = name
            return
        if (name, seen_us) in self._begun:
            self._run = _Run(name, "", 0, seen_us, settings, seen_us, is_copy=True)
            yield from self.warn(seen_us, "run-twice", f"{name}: the file holds it twice: it counts once")
            return
        self._begun.add((name, seen_us))
        if not self._names:
            yield SourceEntity("load", self._load, self._load, {"name": (self._load,)}, ENGINE)
        self._names[name] += 1
        load_id = local_id(self._load, name, self._names[name])
        self._run = _Run(name, load_id, self._names.total(), seen_us, settings, seen_us)
        self._run.ends[0] = seen_us, 0.0
        self._run.described = described.get(local_id(self._load, name, 1), {})

    def interval(self, number: int, seen_us: int, figures: Figures) -> Iterator[Item]:
        """Yield the items for the end of an interval. The first interval is warm-up."""
        run, self._has_rows = self._run, True
        if run is None or number <= run.interval:
            return
        if run.is_copy:
            run.interval = number
            return
        if run.interval and seen_us <= run.seen_us:
            yield from self.warn(seen_us, "time-stands-still", f"{run.name}: interval {number} ends before it begins")
            return
        run.rates += figures.ops
        if len(run.ends) < _MAX_STORED_INTERVALS:
            run.ends[number] = seen_us, run.rates
        if run.interval:
            if not run.measuring:
                yield from self._start_measuring(run, figures, summary=False)
            seconds = (seen_us - run.seen_us) / 1e6
            if number > run.interval + 1 + run.damaged:
                # vdbench skips rows if it cannot write reports fast enough. The next row covers only its own
                # interval.
                first, first_us = run.first
                seconds = min(seconds, (seen_us - first_us) / 1e6 / (number - first) * (1 + run.damaged))
                text = (
                    f"{run.name}: intervals {run.interval + 1} to {number - 1} are missing: their I/Os do not count"
                )
                yield from self.warn(seen_us, "intervals-missing", text)
            run.add(figures, seconds)
            yield from self._host_rows(figures, seen_us, seconds)
        else:
            run.first = number, seen_us
        run.damaged = 0
        run.interval, run.seen_us = number, seen_us
        if run.measuring:
            yield run.row

    def average(self, first: int, last: int, seen_us: int, average: Figures) -> Iterator[Item]:
        """Yield the items for the last row of a run, the average of its intervals from `first` on."""
        run, self._has_rows = self._run, True
        if run is None or run.is_copy:
            self._run = None
            return
        if not run.interval:  # Only the averages were copied, or it is a copy of totals.html.
            yield from self.summary(first, last, seen_us, average)
            return
        yield from self._check_average(run, seen_us, average)
        warm_up_end = run.ends.get(first - 1)
        if not run.measuring:
            text = f"{run.name}: has no interval beside its warm-up; let it run longer (elapsed=)"
            yield from self.warn(seen_us, "only-warm-up", text)
        elif warm_up_end is not None and first <= last == run.interval:
            if run.step is not None and first > 2:
                yield run.step.event("ramp-end", warm_up_end[0], final=True)
            mean = (run.rates - warm_up_end[1]) / (last - first + 1)
            if abs(mean - average.ops) > _ROUNDING_RATIO * average.ops + 0.1:
                text = f"{run.name}: its intervals have {mean:.1f} operations/s, their average {average.ops:.1f}"
                yield from self.warn(seen_us, "average-disagrees", text)
        yield from self._end_step(run)

    def summary(self, first: int, last: int, seen_us: int, average: Figures) -> Iterator[Item]:
        """Yield the items for the average of a run without rows of its intervals."""
        run, self._has_rows = self._run, True
        if run is None or run.is_copy or run.measuring or not 1 <= first <= last or seen_us <= run.begin_us:
            return
        yield from self._check_average(run, seen_us, average)
        run.seen_us = run.begin_us + (seen_us - run.begin_us) * (first - 1) // last
        yield from self._start_measuring(run, average, summary=True)
        run.add(average, (seen_us - run.seen_us) / 1e6)
        yield from self._host_rows(average, seen_us, (seen_us - run.seen_us) / 1e6)
        run.seen_us = seen_us
        yield run.row
        yield from self._end_step(run)

    def end(self) -> Iterator[Item]:
        """Yield the items for the end of the file, or of a run."""
        run = self._run
        if run is not None and run.measuring:
            text = f"{run.name}: ends without its average: it was still running, or was interrupted"
            yield from self.warn(run.seen_us, "run-without-end", text)
            yield from self._end_step(run)

    def warn(self, seen_us: int, code: str, text: str) -> Iterator[Event]:
        """Yield a warning, once for each code in a file."""
        if code not in self._warned:
            self._warned.add(code)
            yield warning(seen_us, code, text)

    def damaged_row(self, seen_us: int, row: str) -> Iterator[Item]:
        """Yield a warning of a row that cannot be read. The next row is used for its interval, too."""
        if self._run is not None:
            self._run.damaged += 1
        yield from self.warn(seen_us, "damaged-row", f"a row is damaged or cut and left out: {row} ...")

    def _start_measuring(self, run: _Run, figures: Figures, summary: bool) -> Iterator[Item]:
        """Yield the items for the end of the warm-up at `run.seen_us`. `figures`: the first after the warm-up."""
        settings, run.measuring = run.settings, True
        run.in_flight = settings.in_flight(figures.in_flight) or settings.in_flight_by_parameters(run.described)
        attributes = settings.attributes(run.in_flight)
        yield SourceEntity("load", run.local_id, run.local_id, {"name": (run.local_id,)}, attributes)
        yield SourceLink("member_of", ("load", run.local_id), ("load", self._load), f"RD={run.name}")
        yield run.row
        offered, is_rate_limited = run.in_flight, settings.is_rate_limited(figures.ops)
        estimated = settings.estimate_in_flight(figures.in_flight)
        if offered is None and not is_rate_limited and estimated is not None:
            offered = estimated
            sds = "the number of its SDs" if settings.storage_definitions is None else "which SDs it uses"
            multiple = f"the multiple of its {settings.threads:g} threads that fits what was measured"
            text = f"{run.name}: {sds} is not given: {offered:g} outstanding I/Os are {multiple}"
            yield from self.warn(run.seen_us, "in-flight-as-measured", text)
        run.step = LoadStep(
            name=run.name,
            loads=(run.local_id,),
            offered=offered,
            block_bytes=settings.block_bytes,
            rate_limited=is_rate_limited,
            group=run.group,
            summary=summary,
        )
        yield run.step.event("step-begin", run.begin_us)
        yield run.step.event("ramp-end", run.seen_us)
        if figures.reads.ops and figures.writes.ops and figures.reads.latency_seconds is None:
            text = "this version reports one response time for reads and writes together: that of each is not known"
            yield from self.warn(run.seen_us, "latency-not-told-apart", text)

    def _host_rows(self, figures: Figures, seen_us: int, seconds: float) -> Iterator[Rows]:
        """Yield the utilisation of the machine's processors. No report names the machine."""
        if figures.busy_ratio is not None and not self.has_several_hosts:
            values: dict[str, Sequence[int | float | None]] = {"cpu_busy_ratio": [figures.busy_ratio]}
            yield Rows(HOST, [self._load], [seen_us], values, covers_seconds=[seconds])

    def _check_average(self, run: _Run, seen_us: int, average: Figures) -> Iterator[Item]:
        """Yield warnings if the figures of an average contradict each other."""
        flows = (average.reads, average.writes)
        if (
            average.in_flight is not None
            and not run.settings.files
            and None not in (flow.latency_seconds for flow in flows)
        ):
            in_flight = sum(flow.ops * (flow.latency_seconds or 0.0) for flow in flows)
            # summary.html prints the queue depth with one decimal.
            if abs(in_flight - average.in_flight) > TOLERANCE_RATIO * average.in_flight + 0.05:
                text = f"{run.name}: rate x response time is {in_flight:.2f}, its queue depth {average.in_flight:.2f}"
                yield from self.warn(seen_us, "queue-depth-disagrees", text)
        bytes_rate = average.reads.bytes + average.writes.bytes
        if (
            average.bytes_printed is not None
            and abs(bytes_rate - average.bytes_printed) > TOLERANCE_RATIO * bytes_rate + 10_000
        ):
            text = f"{run.name}: rate x bytes are {bytes_rate:,.0f} bytes/s, printed are {average.bytes_printed:,.0f}"
            yield from self.warn(seen_us, "bytes-disagree", text)

    def _end_step(self, run: _Run) -> Iterator[Item]:
        if run.step is not None:
            yield run.step.event("step-end", run.seen_us)
        self._run = None


def _nanoseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds / _NS)

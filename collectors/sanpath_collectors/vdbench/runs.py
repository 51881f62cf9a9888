"""The runs (RD) of one file, one after the other: each is a load of its own, and a step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sanpath.model import Direction
from sanpath.plugin import Event, Item, LoadStep, Rows, SourceEntity, SourceLink, Totals, warning
from sanpath_collectors.vdbench.columns import Figures, Flow
from sanpath_collectors.vdbench.tables import LOAD
from sanpath_collectors.vdbench.told import CLOSE, ENGINE, Told, is_preparation, local_id

_NS = 1e-9
_LARGEST = 2**63
_AGREES = 0.02
"""What the intervals add up to and what their average says may differ by rounding, not by more than this share."""
_WARM_UP_INTERVALS = 10_000
"""Of so many intervals the end is remembered, for a warm-up of more than one."""


@dataclass(slots=True)
class _Run:
    """`ends`: interval → when it ended, and the sum of the rates until then. `interval`, `seen`: the last one."""

    name: str
    local_id: str
    group: int
    begun: int
    told: Told
    seen: int
    interval: int = 0
    ends: dict[int, tuple[int, float]] = field(default_factory=dict)
    rates: float = 0.0
    in_flight: float | None = None
    measuring: bool = False
    step: LoadStep | None = None
    totals: Totals = field(default_factory=Totals)
    metadata_ops: float = 0.0
    metadata_seconds: float = 0.0
    longest: dict[Direction, float | None] = field(default_factory=lambda: {"read": None, "write": None})

    def add(self, figures: Figures, seconds: float) -> None:
        """Figures that hold for so many seconds."""
        flows: tuple[tuple[Direction, Flow], ...] = (("read", figures.reads), ("write", figures.writes))
        for direction, flow in flows:
            self.totals.add(direction, flow.ops * seconds, flow.bytes * seconds, flow.latency)
            if flow.longest is not None and flow.ops:
                self.longest[direction] = max(flow.longest, self.longest[direction] or 0.0)
        self.metadata_ops += figures.metadata.ops * seconds
        self.metadata_seconds += figures.metadata.ops * (figures.metadata.latency or 0.0) * seconds

    @property
    def row(self) -> Rows:
        """Its counters now."""
        values: dict[str, int | float | None] = {
            **self.totals.values,
            "ops_metadata_total": round(self.metadata_ops) if self.told.files else None,
            "latency_seconds_metadata_total": round(self.metadata_seconds / _NS) if self.told.files else None,
            "latency_seconds_max_read": _nanoseconds(self.longest["read"]),
            "latency_seconds_max_write": _nanoseconds(self.longest["write"]),
            "in_flight_configured": self.in_flight,
        }
        cells: dict[str, Sequence[int | float | None]] = {
            name: [value if value is None or value < _LARGEST else None] for name, value in values.items()
        }
        return Rows(LOAD, [self.local_id], [self.seen], cells)


class Runs:
    """Items of the runs of a file. `seen` is microseconds on the file's clock everywhere."""

    def __init__(self, load: str) -> None:
        self._load = load
        self._names: Counter[str] = Counter()
        self._run: _Run | None = None
        self._warned: set[str] = set()

    @property
    def begun(self) -> bool:
        """Whether the file has told of a run."""
        return bool(self._names)

    def continues(self, name: str, interval: int) -> bool:
        """Whether a row belongs to the run of the row before."""
        return self._run is not None and self._run.name == name and interval > self._run.interval

    def start(self, name: str, seen: int, told: Told) -> Iterator[Item]:
        """A run begins."""
        yield from self.end()
        if not self._names:
            yield SourceEntity("load", self._load, self._load, {"name": (self._load,)}, ENGINE)
        self._names[name] += 1
        called = local_id(self._load, name, self._names[name])
        self._run = _Run(name, called, self._names.total(), seen, told, seen)
        self._run.ends[0] = seen, 0.0

    def interval(self, number: int, seen: int, figures: Figures) -> Iterator[Item]:
        """An interval has ended. The first one is warm-up."""
        run = self._run
        if run is None or number <= run.interval:
            return
        if run.interval and seen <= run.seen:
            yield from self.warn(seen, "time-stands-still", f"{run.name}: interval {number} ends before it begins")
            return
        run.rates += figures.ops
        if len(run.ends) < _WARM_UP_INTERVALS:
            run.ends[number] = seen, run.rates
        if run.interval:
            if not run.measuring:
                yield from self._measured(run, figures, summary=False)
            run.add(figures, (seen - run.seen) / 1e6)
        run.interval, run.seen = number, seen
        if run.measuring:
            yield run.row

    def average(self, first: int, last: int, seen: int, average: Figures) -> Iterator[Item]:
        """The last row of a run: the average of its intervals from `first` on."""
        run = self._run
        if run is None:
            return
        yield from self._check(run, seen, average)
        warmed_up = run.ends.get(first - 1)
        if not run.measuring and not is_preparation(run.name):
            text = f"{run.name}: has no interval beside its warm-up; let it run longer (elapsed=)"
            yield from self.warn(seen, "only-warm-up", text)
        elif warmed_up is not None and first <= last == run.interval:
            if run.step is not None and first > 2:
                yield run.step.event("ramp-end", warmed_up[0])
            mean = (run.rates - warmed_up[1]) / (last - first + 1)
            if abs(mean - average.ops) > _AGREES * average.ops + 0.1:
                text = f"{run.name}: its intervals have {mean:.1f} operations/s, their average {average.ops:.1f}"
                yield from self.warn(seen, "average-disagrees", text)
        yield from self._ended(run)

    def summary(self, first: int, last: int, seen: int, average: Figures) -> Iterator[Item]:
        """The average of a run whose intervals are not told."""
        run = self._run
        if run is None or run.measuring or not 1 <= first <= last or seen <= run.begun:
            return
        yield from self._check(run, seen, average)
        run.seen = run.begun + (seen - run.begun) * (first - 1) // last
        yield from self._measured(run, average, summary=True)
        run.add(average, (seen - run.seen) / 1e6)
        run.seen = seen
        yield run.row
        yield from self._ended(run)

    def end(self) -> Iterator[Item]:
        """The file, or the run, has ended."""
        run = self._run
        if run is not None and run.measuring:
            text = f"{run.name}: ends without its average: it was still running, or was broken off"
            yield from self.warn(run.seen, "run-without-end", text)
            yield from self._ended(run)

    def warn(self, seen: int, code: str, text: str) -> Iterator[Event]:
        """Each kind of warning once a file."""
        if code not in self._warned:
            self._warned.add(code)
            yield warning(seen, code, text)

    def _measured(self, run: _Run, figures: Figures, summary: bool) -> Iterator[Item]:
        """The warm-up ended at `run.seen`. `figures`: the first that count."""
        told, run.measuring = run.told, True
        run.in_flight = told.in_flight(figures.in_flight)
        attributes = told.attributes(run.in_flight)
        yield SourceEntity("load", run.local_id, run.local_id, {"name": (run.local_id,)}, attributes)
        yield SourceLink("member_of", ("load", run.local_id), ("load", self._load), f"RD={run.name}")
        yield run.row
        if is_preparation(run.name):
            return
        offered, held_back = run.in_flight, told.held_back(figures.ops)
        if offered is None and not held_back and not told.files and figures.in_flight is not None:
            offered = round(figures.in_flight, 4)
            text = f"{run.name}: how many SDs it uses is not told: {offered:.1f} I/Os in flight as it measured them"
            yield from self.warn(run.seen, "in-flight-as-measured", text)
        run.step = LoadStep(
            name=run.name,
            loads=(run.local_id,),
            offered=offered,
            block_bytes=told.block_bytes,
            rate_limited=held_back,
            group=run.group,
            summary=summary,
        )
        yield run.step.event("step-begin", run.begun)
        yield run.step.event("ramp-end", run.seen)
        if figures.reads.ops and figures.writes.ops and figures.reads.latency is None:
            text = "this version tells one response time for reads and writes together: that of each is not known"
            yield from self.warn(run.seen, "latency-not-told-apart", text)

    def _check(self, run: _Run, seen: int, average: Figures) -> Iterator[Item]:
        """Whether an average agrees with itself."""
        told = (average.reads, average.writes)
        if average.in_flight is not None and not run.told.files and None not in (flow.latency for flow in told):
            waiting = sum(flow.ops * (flow.latency or 0.0) for flow in told)
            # summary.html prints the queue depth with one decimal.
            if abs(waiting - average.in_flight) > CLOSE * average.in_flight + 0.05:
                text = f"{run.name}: rate x response time is {waiting:.2f}, its queue depth {average.in_flight:.2f}"
                yield from self.warn(seen, "queue-depth-disagrees", text)
        moved = average.reads.bytes + average.writes.bytes
        if average.bytes_printed is not None and abs(moved - average.bytes_printed) > CLOSE * moved + 10_000:
            text = f"{run.name}: rate x bytes are {moved:,.0f} bytes/s, printed are {average.bytes_printed:,.0f}"
            yield from self.warn(seen, "bytes-disagree", text)

    def _ended(self, run: _Run) -> Iterator[Item]:
        if run.step is not None:
            yield run.step.event("step-end", run.seen)
        self._run = None


def _nanoseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds / _NS)

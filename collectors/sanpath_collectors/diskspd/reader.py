"""A DiskSpd result as things, steps and samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sanpath.model import Scalar
from sanpath.plugin import (
    CollectorError,
    Decoder,
    Failure,
    Item,
    LoadStep,
    ResultReader,
    Rows,
    SourceEntity,
    SourceLink,
    Totals,
    histogram,
    text_of,
    warning,
)
from sanpath_collectors.diskspd.doubts import doubts, useless
from sanpath_collectors.diskspd.forms import Forms, recognised
from sanpath_collectors.diskspd.outcome import WHOLE, Head, Load, SpanOutcome, TargetOutcome
from sanpath_collectors.diskspd.samples import buckets, rows
from sanpath_collectors.diskspd.series import Timeline, timeline

_PROCESS_START = "the start told is that of the process: all times are too early by what it took to create the files"


class DiskSpdResult(ResultReader):
    """Reads a result, or several that follow each other. Where a timespan has several targets each is a load."""

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._decoder = Decoder()
        self._forms = Forms()
        self._head: Head | None = None
        self._end = -1
        self._cooldown_us = 0
        self._steps = 0
        self._attributes: dict[str, dict[str, Scalar]] = {}
        self._trouble = "it has neither a timespan nor <Results>: look at what DiskSpd wrote to its standard error"

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """By the sections that only DiskSpd writes; an empty file by its name."""
        return recognised(text_of(head)[0]) if head else "diskspd" in name.lower()

    def feed(self, added: bytes) -> Iterable[Item]:
        """Timespans that are complete now."""
        for span in self._forms.feed(self._decoder.feed(added)):
            yield from self._span(span)

    def finish(self) -> Iterable[Item]:
        """The last timespan. Raises UNREADABLE when none has results."""
        for part in (self._forms.feed(self._decoder.feed(b"", last=True)), self._forms.finish()):
            for span in part:
                yield from self._span(span)
        yield from self._notes(max(0, self._end))
        if not self._steps:
            raise CollectorError(Failure.UNREADABLE, f"no results of DiskSpd in it: {self._trouble}")

    def _span(self, span: SpanOutcome) -> Iterator[Item]:
        anew, begin = span.head is not self._head, self._begin(span)
        yield from self._notes(begin)
        if (why := useless(span)) is not None:
            self._trouble, self._end = why[1], begin
            yield warning(begin, *why)
            return
        loads = self._loads(span)
        yield from self._things(span, loads)
        yield from self._step(span, loads, begin, anew)

    def _begin(self, span: SpanOutcome) -> int:
        """When the measured part began, as near as the file tells. The first one sets the clock."""
        first, anew, started = self._head is None, span.head is not self._head, span.head.started_us
        self._head = span.head
        if first:
            self.clock = "elapsed" if started is None else "utc"
        warmup_us = round((span.settings.warmup_seconds or 0.0) * 1e6)
        if anew and started is not None and self.clock == "utc":
            begin = started + warmup_us
        else:
            begin = 0 if first else self._end + self._cooldown_us + warmup_us
        return max(begin, self._end + 1)

    def _notes(self, seen: int) -> Iterator[Item]:
        notes, self._forms.notes = self._forms.notes, []
        for code, text in notes:
            self._trouble = text
            yield warning(seen, code, text)

    def _loads(self, span: SpanOutcome) -> list[Load]:
        if len(span.targets) > 1 and span.adds_up:
            # A comma separates the loads of a step.
            ids = {path: f"{self.load}/{path.replace(',', ';')}" for path in span.targets}
            return [Load(ids[path], path, span.profile(path), target) for path, target in span.targets.items()]
        whole = TargetOutcome(figures=span.totals or span.sums)
        if len(span.targets) == 1:
            whole.intervals = next(iter(span.targets.values())).intervals
        return [Load(self.load, WHOLE, span.profile(), whole)]

    def _things(self, span: SpanOutcome, loads: Sequence[Load]) -> Iterator[Item]:
        yield from self._thing(self.load, dict(span.profile().attributes) | {"computer_name": span.head.computer})
        for load in loads:
            if load.path != WHOLE and (new := list(self._thing(load.local_id, dict(load.profile.attributes)))):
                yield from new
                yield SourceLink("member_of", ("load", load.local_id), ("load", self.load), "target of the timespan")

    def _thing(self, local_id: str, told: dict[str, Scalar]) -> Iterator[SourceEntity]:
        """With what is the same in all timespans so far; nothing when that has been said."""
        before = self._attributes.get(local_id, told)
        agreed: dict[str, Scalar] = {
            name: value for name, value in told.items() if value is not None and before.get(name) == value
        }
        if self._attributes.get(local_id) != agreed:
            self._attributes[local_id] = agreed
            yield SourceEntity("load", local_id, local_id, {"name": (local_id,)}, agreed)

    def _step(self, span: SpanOutcome, loads: Sequence[Load], begin: int, anew: bool) -> Iterator[Item]:
        whole, done = span.profile(), timeline([load.outcome for load in loads], span.seconds or 0.0)
        self._steps += 1
        self._end = begin + max(done)
        self._cooldown_us = round(span.settings.cooldown_seconds * 1e6)
        step = LoadStep(
            name=f"timespan {span.number}",
            loads=tuple(load.local_id for load in loads),
            offered=whole.in_flight,
            block_bytes=whole.block_bytes,
            rate_limited=whole.rate_limited,
            group=self._steps,
            summary=len(done) == 1,
        )
        yield step.event("step-begin", begin)
        if span.settings.warmup_seconds:
            yield step.event("ramp-end", begin)  # DiskSpd has left it out of its figures
        if anew and span.head.started_us is not None:
            yield warning(begin, "start-is-process-start", _PROCESS_START)
        for doubt in doubts(span):
            yield warning(begin, *doubt)
        yield from self._samples(span, loads, begin, done)
        for direction, told in span.percentiles.get(WHOLE, {}).items():
            yield histogram(self._end, self.load, direction, buckets(told))
        yield step.event("step-end", self._end)

    def _samples(self, span: SpanOutcome, loads: Sequence[Load], begin: int, done: Timeline) -> Iterator[Rows]:
        totals = [Totals() for _ in loads]
        yield rows(loads, totals, begin, {})
        for after_us, interval in done.items():
            for total, parts in zip(totals, interval, strict=True):
                for part in parts:
                    total.add(part.direction, part.ops, part.bytes, part.mean_seconds)
            last = begin + after_us == self._end
            yield rows(loads, totals, begin + after_us, span.percentiles if last else {})

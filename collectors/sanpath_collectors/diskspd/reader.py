"""Turns a DiskSpd result into entities, steps and samples."""

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
from sanpath_collectors.diskspd.outcome import ALL_TARGETS, Head, Load, SpanOutcome, TargetOutcome
from sanpath_collectors.diskspd.plausibility import reason_without_results, span_remarks
from sanpath_collectors.diskspd.result_parser import ResultParser, is_result
from sanpath_collectors.diskspd.samples import host_rows, load_rows, percentile_buckets
from sanpath_collectors.diskspd.series import Timeline, build_timeline

_PROCESS_START = (
    "the reported start is that of the process: all times are too early by the time it took to create the files"
)


class DiskSpdResult(ResultReader):
    """Reads a file of one or more results. If a timespan has several targets, each is a load."""

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._decoder = Decoder()
        self._parser = ResultParser()
        self._head: Head | None = None
        self._end_us = -1
        self._steps = 0
        self._attributes: dict[str, dict[str, Scalar]] = {}
        self._computers: set[str] = set()
        self._reason = "it has neither a timespan nor <Results>: look at what DiskSpd wrote to its standard error"

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """Whether a file is a result. It is recognised by sections that only DiskSpd writes, an empty file by its
        name."""
        return is_result(text_of(head)[0]) if head else "diskspd" in name.lower()

    def feed(self, added: bytes) -> Iterable[Item]:
        """Yields the items of timespans that are complete now."""
        for span in self._parser.feed(self._decoder.feed(added)):
            yield from self._add_span(span)

    def finish(self) -> Iterable[Item]:
        """Yields the items of the last timespan. Raises UNREADABLE when no timespan has results."""
        for spans in (self._parser.feed(self._decoder.feed(b"", last=True)), self._parser.finish()):
            for span in spans:
                yield from self._add_span(span)
        yield from self._remarks(max(0, self._end_us))
        if not self._steps:
            raise CollectorError(Failure.UNREADABLE, f"it contains no results of DiskSpd: {self._reason}")

    def _add_span(self, span: SpanOutcome) -> Iterator[Item]:
        is_new_run, begin_us = span.head is not self._head, self._begin_us(span)
        yield from self._remarks(begin_us)
        if (reason := reason_without_results(span)) is not None:
            self._reason, self._end_us = reason[1], begin_us
            yield warning(begin_us, *reason)
            return
        loads = self._create_loads(span)
        yield from self._new_entities(span, loads)
        yield from self._step_items(span, loads, begin_us, is_new_run)

    def _begin_us(self, span: SpanOutcome) -> int:
        """Begin of the measurement in microseconds, as exactly as possible. The first timespan sets the clock."""
        first, is_new_run, started = self._head is None, span.head is not self._head, span.head.started_us
        self._head = span.head
        if first:
            self.clock = "elapsed" if started is None else "utc"
        warmup_us = round((span.settings.warmup_seconds or 0.0) * 1e6)
        if is_new_run and started is not None and self.clock == "utc":
            begin_us = started + warmup_us
        else:
            begin_us = 0 if first else self._end_us + self.idle_end_us + warmup_us
        return max(begin_us, self._end_us + 1)

    def _remarks(self, seen_us: int) -> Iterator[Item]:
        pending, self._parser.remarks = self._parser.remarks, []
        for code, text in pending:
            self._reason = text
            yield warning(seen_us, code, text)

    def _create_loads(self, span: SpanOutcome) -> list[Load]:
        if len(span.targets) > 1 and span.adds_up:
            # A comma separates the loads of a step.
            ids = {path: f"{self.load}/{path.replace(',', ';')}" for path in span.targets}
            return [Load(ids[path], path, span.profile(path), target) for path, target in span.targets.items()]
        total = TargetOutcome(figures=span.totals or span.sums)
        if len(span.targets) == 1:
            total.intervals = next(iter(span.targets.values())).intervals
        return [Load(self.load, ALL_TARGETS, span.profile(), total)]

    def _new_entities(self, span: SpanOutcome, loads: Sequence[Load]) -> Iterator[Item]:
        yield from self._load_entity(
            self.load, dict(span.profile().attributes) | {"computer_name": span.head.computer}
        )
        if (computer := span.head.computer) is not None and computer not in self._computers:
            self._computers.add(computer)
            yield SourceEntity(
                "host",
                computer,
                computer,
                {"name": (computer,)},
                {"os": "Windows", "cores": len(span.core_ratios) or None},
            )
            yield SourceLink("runs_on", ("load", self.load), ("host", computer), "computer name in the result")
        for load in loads:
            if load.path != ALL_TARGETS and (
                new := list(self._load_entity(load.local_id, dict(load.profile.attributes)))
            ):
                yield from new
                yield SourceLink("member_of", ("load", load.local_id), ("load", self.load), "target of the timespan")

    def _load_entity(self, local_id: str, attributes: dict[str, Scalar]) -> Iterator[SourceEntity]:
        """Yields a load with the attributes that are equal in all timespans so far, if that changes it."""
        previous = self._attributes.get(local_id, attributes)
        common: dict[str, Scalar] = {
            name: value for name, value in attributes.items() if value is not None and previous.get(name) == value
        }
        if self._attributes.get(local_id) != common:
            self._attributes[local_id] = common
            yield SourceEntity("load", local_id, local_id, {"name": (local_id,)}, common)

    def _step_items(
        self, span: SpanOutcome, loads: Sequence[Load], begin_us: int, is_new_run: bool
    ) -> Iterator[Item]:
        profile, intervals = span.profile(), build_timeline([load.outcome for load in loads], span.seconds or 0.0)
        self._steps += 1
        self._end_us = begin_us + max(intervals)
        self.idle_end_us = 0 if span.interrupted_early else round(span.settings.cooldown_seconds * 1e6)
        step = LoadStep(
            name=f"timespan {span.number}",
            loads=tuple(load.local_id for load in loads),
            offered=profile.in_flight,
            block_bytes=profile.block_bytes,
            rate_limited=bool(profile.rate_limited),
            group=self._steps,
            summary=len(intervals) == 1,
            random_ratio=profile.random_ratio,
            read_ratio=profile.read_ratio,
        )
        yield step.event("step-begin", begin_us)
        if span.settings.warmup_seconds:
            yield step.event("ramp-end", begin_us)  # DiskSpd's figures do not contain the warm-up.
        if is_new_run and span.head.started_us is not None:
            yield warning(begin_us, "start-is-process-start", _PROCESS_START)
        for remark in span_remarks(span):
            yield warning(begin_us, *remark)
        yield from self._sample_rows(span, loads, begin_us, intervals)
        if (machine := host_rows(span, span.head.computer or self.load, self._end_us)) is not None:
            yield machine
        for direction, percentiles in span.percentiles.get(ALL_TARGETS, {}).items():
            yield histogram(self._end_us, self.load, direction, percentile_buckets(percentiles))
        yield step.event("step-end", self._end_us)

    def _sample_rows(
        self, span: SpanOutcome, loads: Sequence[Load], begin_us: int, intervals: Timeline
    ) -> Iterator[Rows]:
        totals = [Totals() for _ in loads]
        yield load_rows(loads, totals, begin_us, {})
        for after_us, interval in intervals.items():
            for total, load_figures in zip(totals, interval, strict=True):
                for figures in load_figures:
                    total.add(figures.direction, figures.ops, figures.bytes, figures.mean_seconds)
            last = begin_us + after_us == self._end_us
            yield load_rows(loads, totals, begin_us + after_us, span.percentiles if last else {})

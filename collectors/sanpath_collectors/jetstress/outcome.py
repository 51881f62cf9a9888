"""Converts a report to the loads of a test, its one step, and warnings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sanpath.model import DIRECTIONS
from sanpath.plugin import (
    INTEGER_LIMIT,
    Item,
    LoadProfile,
    LoadStep,
    ResultClock,
    Rows,
    SourceEntity,
    SourceLink,
    Totals,
    warning,
    without_none,
)
from sanpath_collectors.jetstress.dates import parse_file_name_time_us, parse_time_us
from sanpath_collectors.jetstress.document import Document
from sanpath_collectors.jetstress.instances import Instance, parse_instances
from sanpath_collectors.jetstress.parse import find_decimal_mark, fold, parse_number
from sanpath_collectors.jetstress.tables import LOAD

_ASSUMED_DURATION_US = 60_000_000
"""Length of the step, if the report has no duration."""
_MAX_SECONDS = 1e7
"""Longer tests mean that the file is damaged."""
_ROUNDING_RATIO = 0.02
"""Largest ratio by which a sum may differ because of rounding to three decimals."""
_TYPE = re.compile(r"\b(Performance|Stress|Database ?Backup|Streaming ?Backup|Soft[- ]?Recovery)\b", re.IGNORECASE)
_ACHIEVED = ("achievedtransactionaliopersecond", "achievediopersecond")
_TARGET = ("targettransactionaliopersecond", "targetiopersecond")


@dataclass(frozen=True, slots=True)
class Times:
    """Times of the load in microseconds on `clock`: its begin, the begin of its measurement, and the end of both.

    `has_duration`: the report contains the duration; otherwise it is assumed.
    """

    clock: ResultClock
    begin_us: int
    measurement_us: int
    end_us: int
    has_duration: bool

    @property
    def measured_seconds(self) -> float:
        """Length of the measurement."""
        return (self.end_us - self.measurement_us) / 1e6


class Outcome:
    """The items of one report. `name`: name of the file; "" if unknown."""

    def __init__(self, load: str, document: Document, name: str) -> None:
        self._load, self._document, self._name = load, document, name
        document.order.add_file_name(name)
        self._order, self._order_is_certain = document.order.decide()
        self._instances, self._mark_is_certain = parse_instances(document.rows)
        self._values = document.values
        self.times = self._find_times()

    @property
    def clock(self) -> ResultClock:
        """The clock of the times of all items."""
        return self.times.clock

    @property
    def has_result(self) -> bool:
        """Whether the report has figures or a result."""
        return bool(self._instances or self._passed is not None or self._has_checksums)

    def items(self) -> Iterator[Item]:
        """Yield the entities and links, the warnings, and the step with its samples."""
        yield from self._entities()
        yield from self._warnings()
        if self._instances:
            yield from self._samples()

    def _entities(self) -> Iterator[Item]:
        yield SourceEntity("load", self._load, self._load, {"name": (self._load,)}, self._attributes())
        machine = self._values.get("machinename", "").strip()
        if machine:
            system = " ".join(self._values.get("operatingsystem", "").split())
            yield SourceEntity("host", machine, machine, {"name": (machine,)}, {"os": system} if system else {})
            yield SourceLink("runs_on", ("load", self._load), ("host", machine), "Machine Name of the report")
        for instance in self._instances:
            local_id = f"{self._load}/{instance.local_id}"
            yield SourceEntity("load", local_id, local_id, {"name": (local_id,)}, {"engine": "Jetstress"})
            yield SourceLink("member_of", ("load", local_id), ("load", self._load), "row of the report")

    def _attributes(self) -> dict[str, str | int | float | bool | None]:
        values = self._values
        threads = parse_number(values.get("threadcount", "").partition("(")[0])
        is_per_database = "per" in fold(values.get("threadcount", "").partition("(")[2])
        databases = len({instance.name for instance in self._instances if not instance.is_log})
        files = self._first_number("databasefilescount", "databasefiles")
        profile = LoadProfile(
            engine="Jetstress",
            engine_version=values.get("jetstressversion"),
            threads=None if threads is None else round(threads) * (max(databases, 1) if is_per_database else 1),
            files=None if files is None else round(files),
            working_set_bytes=self._first_number("initialdatabasesizebytes", "initialdatabasesize"),
            seconds=self.times.measured_seconds if self.times.has_duration and self._instances else None,
        )
        details = {
            "passed": self._passed,
            "achieved_ops_per_second": self._find_number(*_ACHIEVED),
            "target_ops_per_second": self._find_number(*_TARGET),
            "description": " ".join(values.get("testdescription", "").split()) or None,
        }
        return {**profile.attributes, **without_none(details)}

    @property
    def _passed(self) -> bool | None:
        return {"pass": True, "fail": False}.get(fold(self._values.get("overalltestresult", ""))[:4])

    def _find_number(self, *labels: str) -> float | None:
        text = next((self._values[label] for label in labels if label in self._values), "")
        mark, _ = find_decimal_mark([text, *(cell for row in self._document.rows for cell in row.cells.values())])
        return parse_number(text, mark)

    def _first_number(self, *labels: str) -> float | None:
        return next((parse_number(self._values[label]) for label in labels if label in self._values), None)

    def _warnings(self) -> Iterator[Item]:
        begin_us = self.times.begin_us
        if self._passed is False:
            yield warning(
                begin_us, "test-failed", "Jetstress reports that the test has failed; its log has the reason"
            )
        for database, pages in self._find_bad_pages():
            yield warning(
                begin_us, "bad-pages", f"{database}: {pages}: the storage returned data that had not been written"
            )
        for date, text in self._document.phases.errors:
            yield warning(self._time_us(date) or begin_us, "told-by-jetstress", text)
        if self.clock != "elapsed" and not self._order_is_certain:
            text = f"the date {self._dates()[0]} may be read in two ways: it is taken for month/day/year"
            yield warning(begin_us, "date-order-assumed", text)
        if not self._mark_is_certain:
            yield warning(begin_us, "decimal-comma-assumed", "its figures have commas only: taken for decimal commas")
        if not self._instances and not self._has_checksums:
            yield warning(begin_us, "no-figures", "the report has no figures of database instances")
        elif self._instances and not self.times.has_duration:
            text = "the report gives no duration: its figures, which are means, are assigned to a step of one minute"
            yield warning(begin_us, "no-duration", text)
        achieved = self._find_number(*_ACHIEVED)
        total = sum(instance.ops_per_second for instance in self._instances if not instance.is_log)
        if achieved and total and abs(total - achieved) > _ROUNDING_RATIO * achieved:
            text = (
                f"its databases have {total:.1f} I/Os a second together, but the report says {achieved:.1f} achieved"
            )
            yield warning(begin_us, "sum-disagrees", text)

    @property
    def _has_checksums(self) -> bool:
        return any("badpages" in row.cells for row in self._document.rows)

    def _find_bad_pages(self) -> list[tuple[str, str]]:
        """Return (database, numbers as text) for databases in which the checksum test found bad pages."""
        remarks = []
        for row in self._document.rows:
            kinds = {"badpages": "bad", "correctablepages": "correctable", "wrongpagenumberpages": "misplaced"}
            counts = {kind: parse_number(row.cells.get(column, "")) for column, kind in kinds.items()}
            texts = [f"{count:.0f} {kind} pages" for kind, count in counts.items() if count]
            if texts and "sum" not in fold(row.name):
                remarks.append((row.name, ", ".join(texts)))
        return remarks

    def _samples(self) -> Iterator[Item]:
        times = self.times
        step = LoadStep(
            name=self._find_test_type(),
            loads=tuple(f"{self._load}/{instance.local_id}" for instance in self._instances),
            offered=None,
            summary=True,
        )
        yield step.event("step-begin", times.begin_us)
        yield step.event("ramp-end", times.measurement_us)
        yield self._rows(times.measurement_us, 0.0)
        yield self._rows(times.end_us, times.measured_seconds)
        yield step.event("step-end", times.end_us)

    def _rows(self, time_us: int, seconds: float) -> Rows:
        """Return the counters of all instances after `seconds` of the measurement."""
        rows = [_counters(instance, seconds) for instance in self._instances]
        return Rows(
            LOAD,
            [f"{self._load}/{instance.local_id}" for instance in self._instances],
            [time_us] * len(rows),
            {column.metric: [row[column.metric] for row in rows] for column in LOAD.columns},
        )

    def _find_test_type(self) -> str:
        for text in (*self._document.headings, self._name):
            if (match := _TYPE.search(text.replace("_", " "))) is not None:
                return match[1]
        return "Jetstress"

    def _dates(self) -> list[str]:
        phases, values = self._document.phases, self._values
        texts = (values.get("teststarttime"), phases.begin, phases.first)
        return [text for text in texts if text]

    def _time_us(self, text: str | None) -> int | None:
        return parse_time_us(text, self._order) if text else None

    def _first_time_us(self, *texts: str | None) -> int | None:
        return next((us for text in texts if (us := self._time_us(text)) is not None), None)

    def _find_times(self) -> Times:
        values, phases = self._values, self._document.phases
        begin_us = self._first_time_us(*self._dates())
        if begin_us is None:
            begin_us = parse_file_name_time_us(self._name)
        measurement_us = self._first_time_us(values.get("collectionstarttime"), phases.measurement_begin)
        end_us = self._first_time_us(
            values.get("collectionendtime"), phases.end, values.get("testendtime"), phases.last
        )
        clock: ResultClock = "elapsed" if begin_us is None else "local"
        begin_us = begin_us or 0
        measurement_us = max(begin_us, measurement_us or begin_us)
        elapsed_seconds = max(
            (parse_number(row.cells.get("elapsedseconds", "")) or 0.0 for row in self._document.rows), default=0.0
        )
        if end_us is None and elapsed_seconds:
            end_us = begin_us + round(min(elapsed_seconds, _MAX_SECONDS) * 1e6)
            return Times(clock, begin_us, begin_us, end_us, has_duration=True)
        if clock == "elapsed" or end_us is None or end_us <= measurement_us:
            return Times(clock, begin_us, begin_us, begin_us + _ASSUMED_DURATION_US, has_duration=False)
        return Times(clock, begin_us, measurement_us, end_us, has_duration=True)


def _counters(instance: Instance, seconds: float) -> dict[str, int | float | None]:
    totals = Totals()
    for direction in DIRECTIONS:
        flow = instance.flows[direction]
        ops = flow.ops_per_second * seconds
        totals.add(direction, ops, ops * (flow.bytes_per_op or 0.0), flow.latency_seconds)
    unknown = {
        f"bytes_{direction}_total"
        for direction, flow in instance.flows.items()
        if flow.ops_per_second and flow.bytes_per_op is None
    }
    return {
        metric: None if metric in unknown or (value is not None and value >= INTEGER_LIMIT) else value
        for metric, value in totals.values.items()
    }

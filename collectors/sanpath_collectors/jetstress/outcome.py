"""A report → the loads of a test, the step that it is, and what a person should know of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sanpath.model import DIRECTIONS
from sanpath.plugin import (
    Item,
    LoadProfile,
    LoadStep,
    ResultClock,
    Rows,
    SourceEntity,
    SourceLink,
    Totals,
    warning,
)
from sanpath_collectors.jetstress.dates import moment, moment_in_name
from sanpath_collectors.jetstress.document import Document
from sanpath_collectors.jetstress.instances import Part, parts
from sanpath_collectors.jetstress.parse import decimal_mark, folded, number
from sanpath_collectors.jetstress.tables import LOAD

_UNTOLD_US = 60_000_000
"""How long the step of a report is that does not tell how long it ran."""
_LONGEST_SECONDS = 1e7
"""No test is longer; what is comes from a damaged file."""
_LARGEST_COUNTER = 2**63
"""More does not fit into a recording; it comes from a damaged file."""
_AGREES = 0.02
"""Sums of figures with three decimals differ by rounding, not by more than this share."""
_TYPE = re.compile(r"\b(Performance|Stress|Database ?Backup|Streaming ?Backup|Soft[- ]?Recovery)\b", re.IGNORECASE)
_ACHIEVED = ("achievedtransactionaliopersecond", "achievediopersecond")
_TARGET = ("targettransactionaliopersecond", "targetiopersecond")


@dataclass(frozen=True, slots=True)
class Times:
    """When the load began, its measurement began, and both ended, on `clock`. `told`: how long it ran is known."""

    clock: ResultClock
    begun: int
    measured: int
    ended: int
    told: bool


class Outcome:
    """Items of one report. `name`: what the file is called, "" where that is not known."""

    def __init__(self, load: str, document: Document, name: str) -> None:
        self._load, self._document, self._name = load, document, name
        document.order.see_name(name)
        self._order, self._order_is_certain = document.order.decide()
        self._parts, self._mark_is_certain = parts(document.rows)
        self._values = document.values
        self.times = self._times()

    @property
    def clock(self) -> ResultClock:
        """Of all items."""
        return self.times.clock

    @property
    def has_result(self) -> bool:
        """Whether it has figures, or a result."""
        return bool(self._parts or self._passed is not None or self._checksummed)

    def items(self) -> Iterator[Item]:
        """All there is to say."""
        yield from self._things()
        yield from self._warnings()
        if self._parts:
            yield from self._samples()

    def _things(self) -> Iterator[Item]:
        yield SourceEntity("load", self._load, self._load, {"name": (self._load,)}, self._attributes())
        machine = self._values.get("machinename", "").strip()
        if machine:
            yield SourceEntity("host", machine, machine, {"name": (machine,)})
            yield SourceLink("runs_on", ("load", self._load), ("host", machine), "Machine Name of the report")
        for part in self._parts:
            local_id = f"{self._load}/{part.local_id}"
            yield SourceEntity("load", local_id, local_id, {"name": (local_id,)}, {"engine": "Jetstress"})
            yield SourceLink("member_of", ("load", local_id), ("load", self._load), "row of the report")

    def _attributes(self) -> dict[str, str | int | float | bool | None]:
        values, seconds = self._values, (self.times.ended - self.times.measured) / 1e6
        threads = number(values.get("threadcount", "").partition("(")[0])
        each = "per" in folded(values.get("threadcount", "").partition("(")[2])
        databases = len({part.name for part in self._parts if not part.log})
        files = self._first_number("databasefilescount", "databasefiles")
        profile = LoadProfile(
            engine="Jetstress",
            engine_version=values.get("jetstressversion"),
            threads=None if threads is None else round(threads) * (max(databases, 1) if each else 1),
            files=None if files is None else round(files),
            working_set_bytes=self._first_number("initialdatabasesizebytes", "initialdatabasesize"),
            seconds=seconds if self.times.told and self._parts else None,
        )
        beside = {
            "passed": self._passed,
            "achieved_ops_per_second": self._figure(*_ACHIEVED),
            "target_ops_per_second": self._figure(*_TARGET),
            "description": " ".join(values.get("testdescription", "").split()) or None,
        }
        told = {**profile.attributes, **{name: value for name, value in beside.items() if value is not None}}
        del told["rate_limited"]  # The report does not say whether the test was tuned to stay below a rate.
        return told

    @property
    def _passed(self) -> bool | None:
        return {"pass": True, "fail": False}.get(folded(self._values.get("overalltestresult", ""))[:4])

    def _figure(self, *labels: str) -> float | None:
        text = next((self._values[label] for label in labels if label in self._values), "")
        mark, _ = decimal_mark([text, *(cell for row in self._document.rows for cell in row.cells.values())])
        return number(text, mark)

    def _first_number(self, *labels: str) -> float | None:
        return next((number(self._values[label]) for label in labels if label in self._values), None)

    def _warnings(self) -> Iterator[Item]:
        seen = self.times.begun
        if self._passed is False:
            yield warning(seen, "test-failed", "Jetstress says that the test has failed; its log says why")
        for database, pages in self._checksums():
            yield warning(seen, "bad-pages", f"{database}: {pages}: the storage returned what was not written")
        for date, text in self._document.phases.troubles:
            yield warning(self._at(date) or seen, "told-by-jetstress", text)
        if self.clock != "elapsed" and not self._order_is_certain:
            text = f"the date {self._dates()[0]} may be read in two ways: it is taken for month/day/year"
            yield warning(seen, "date-order-assumed", text)
        if not self._mark_is_certain:
            yield warning(seen, "decimal-comma-assumed", "its figures have commas only: taken for decimal commas")
        if not self._parts and not self._checksummed:
            yield warning(seen, "no-figures", "the report has no figures of database instances")
        elif self._parts and not self.times.told:
            text = "how long it ran is not told: its figures, which are means, are laid over one minute"
            yield warning(seen, "no-duration", text)
        achieved = self._figure(*_ACHIEVED)
        summed = sum(part.ops for part in self._parts if not part.log)
        if achieved and summed and abs(summed - achieved) > _AGREES * achieved:
            text = f"its databases have {summed:.1f} I/Os a second together, achieved are {achieved:.1f}"
            yield warning(seen, "sum-disagrees", text)

    @property
    def _checksummed(self) -> bool:
        return any("badpages" in row.cells for row in self._document.rows)

    def _checksums(self) -> list[tuple[str, str]]:
        """Databases with pages that a checksum found to be wrong."""
        found = []
        for row in self._document.rows:
            kinds = {"badpages": "bad", "correctablepages": "correctable", "wrongpagenumberpages": "misplaced"}
            counts = {kind: number(row.cells.get(column, "")) for column, kind in kinds.items()}
            said = [f"{count:.0f} {kind} pages" for kind, count in counts.items() if count]
            if said and "sum" not in folded(row.name):
                found.append((row.name, ", ".join(said)))
        return found

    def _samples(self) -> Iterator[Item]:
        times = self.times
        step = LoadStep(
            name=self._type(),
            loads=tuple(f"{self._load}/{part.local_id}" for part in self._parts),
            offered=None,
            summary=True,
        )
        yield step.event("step-begin", times.begun)
        yield step.event("ramp-end", times.measured)
        yield self._rows(times.measured, 0.0)
        yield self._rows(times.ended, (times.ended - times.measured) / 1e6)
        yield step.event("step-end", times.ended)

    def _rows(self, seen: int, seconds: float) -> Rows:
        """The counters of all parts, so many seconds after they began."""
        rows = [_counters(part, seconds) for part in self._parts]
        return Rows(
            LOAD,
            [f"{self._load}/{part.local_id}" for part in self._parts],
            [seen] * len(rows),
            {column.metric: [row[column.metric] for row in rows] for column in LOAD.columns},
        )

    def _type(self) -> str:
        for text in (*self._document.headings, self._name):
            if (match := _TYPE.search(text.replace("_", " "))) is not None:
                return match[1]
        return "Jetstress"

    def _dates(self) -> list[str]:
        phases, values = self._document.phases, self._values
        texts = (values.get("teststarttime"), phases.begun, phases.first)
        return [text for text in texts if text]

    def _at(self, text: str | None) -> int | None:
        return moment(text, self._order) if text else None

    def _first(self, *texts: str | None) -> int | None:
        return next((at for text in texts if (at := self._at(text)) is not None), None)

    def _times(self) -> Times:
        values, phases = self._values, self._document.phases
        begun = self._first(*self._dates())
        if begun is None:
            begun = moment_in_name(self._name)
        measured = self._first(values.get("collectionstarttime"), phases.measured)
        ended = self._first(values.get("collectionendtime"), phases.ended, values.get("testendtime"), phases.last)
        clock: ResultClock = "elapsed" if begun is None else "local"
        begun = begun or 0
        measured = max(begun, measured or begun)
        elapsed = max(
            (number(row.cells.get("elapsedseconds", "")) or 0.0 for row in self._document.rows), default=0.0
        )
        if ended is None and elapsed:
            return Times(clock, begun, begun, begun + round(min(elapsed, _LONGEST_SECONDS) * 1e6), told=True)
        if clock == "elapsed" or ended is None or ended <= measured:
            return Times(clock, begun, begun, begun + _UNTOLD_US, told=False)
        return Times(clock, begun, measured, ended, told=True)


def _counters(part: Part, seconds: float) -> dict[str, int | float | None]:
    totals = Totals()
    for direction in DIRECTIONS:
        flow = part.flows[direction]
        ops = flow.ops * seconds
        totals.add(direction, ops, ops * (flow.bytes or 0.0), flow.latency)
    untold = {f"bytes_{d}_total" for d in DIRECTIONS if part.flows[d].ops and part.flows[d].bytes is None}
    values = totals.values.items()
    return {n: None if n in untold or (v is not None and v >= _LARGEST_COUNTER) else v for n, v in values}

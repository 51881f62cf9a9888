"""Reads the log of a test, a file or the console output of JetstressCmd.exe. It contains times, but no figures."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sanpath.plugin import (
    CollectorError,
    Failure,
    Item,
    Lines,
    LoadStep,
    ResultReader,
    SourceEntity,
    text_of,
    warning,
)
from sanpath_collectors.jetstress.dates import parse_time_us
from sanpath_collectors.jetstress.document import Document
from sanpath_collectors.jetstress.phases import LINE

_TYPICAL_MESSAGE = re.compile(
    r"-- .*(?:jetstress|database read latency thresholds|starting transaction dispatch|preparing for testing"
    r"|\(average: [\d.,]+ (?:msec|seconds)/read)",
    re.IGNORECASE,
)


class LogReader(ResultReader):
    """Reads begin and end of a test from its log, so that counters of the host can be assigned to it."""

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._lines, self._document = Lines(), Document()

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:  # noqa: ARG003 - any name will do
        """Recognise it by its first line and by messages that only Jetstress writes."""
        text = text_of(head)[0].lstrip("\ufeff\r\n ")
        return "<" not in text[:1] and LINE.match(text) is not None and _TYPICAL_MESSAGE.search(text) is not None

    def feed(self, added: bytes) -> Iterable[Item]:
        """Collect the lines. All items come from `finish`."""
        for line in self._lines.feed(added):
            self._document.add_text(line)
        return ()

    def finish(self) -> Iterable[Item]:
        """Yield the load and its step. Raises CollectorError(UNREADABLE) when there is no line with a date."""
        self._document.add_text(self._lines.last_line())
        phases, (order, is_certain) = self._document.phases, self._document.order.decide()
        first_us = parse_time_us(phases.first, order)
        if first_us is None:
            raise CollectorError(Failure.UNREADABLE, "has no line of a log of Jetstress with a date")
        self.clock = "local"
        yield SourceEntity("load", self.load, self.load, {"name": (self.load,)}, {"engine": "Jetstress"})
        if not is_certain:
            text = f"the date {phases.first} may be read in two ways: it is taken for month/day/year"
            yield warning(first_us, "date-order-assumed", text)
        for date, text in phases.errors:
            yield warning(parse_time_us(date, order) or first_us, "told-by-jetstress", text)
        limits = (phases.begin, phases.measurement_begin, phases.end)
        begin_us, measurement_us, end_us = (parse_time_us(text, order) for text in limits)
        if begin_us is None or end_us is None:
            text = "the log does not contain both begin and end of the load: import the .html report of the test"
            yield warning(first_us, "no-limits", text)
        if begin_us is not None:
            step = LoadStep(name="Jetstress", loads=(self.load,), offered=None)
            yield step.event("step-begin", begin_us)
            yield step.event("ramp-end", max(begin_us, measurement_us or begin_us))
            if end_us is not None:
                yield step.event("step-end", max(begin_us, end_us))

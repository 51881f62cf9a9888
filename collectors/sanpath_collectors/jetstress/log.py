"""The log of a test, from the console of JetstressCmd.exe or a file: only its times, no figures."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sanpath.plugin import (
    CollectorError,
    Decoder,
    Failure,
    Item,
    LoadStep,
    ResultReader,
    SourceEntity,
    text_of,
    warning,
)
from sanpath_collectors.jetstress.dates import moment
from sanpath_collectors.jetstress.document import Document
from sanpath_collectors.jetstress.phases import LINE

_OWN = re.compile(
    r"-- .*(?:jetstress|database read latency thresholds|starting transaction dispatch|preparing for testing"
    r"|\(average: [\d.,]+ (?:msec|seconds)/read)",
    re.IGNORECASE,
)
_LONGEST_LINE = 1 << 20


class LogReader(ResultReader):
    """Reads one log: the limits of the test, so that counters of the host may be laid beside it."""

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._decoder, self._document = Decoder(), Document()
        self._rest = ""

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:  # noqa: ARG003 - any name will do
        """By its first line and what only Jetstress logs."""
        text = text_of(head)[0].lstrip("\ufeff\r\n ")
        return "<" not in text[:1] and LINE.match(text) is not None and _OWN.search(text) is not None

    def feed(self, added: bytes) -> Iterable[Item]:
        """Collects."""
        self._add(self._decoder.feed(added))
        return ()

    def finish(self) -> Iterable[Item]:
        """Raises CollectorError: it has no line of a log."""
        self._add(self._decoder.feed(b"", last=True) + "\n")
        phases, (order, certain) = self._document.phases, self._document.order.decide()
        first = moment(phases.first, order)
        if first is None:
            raise CollectorError(Failure.UNREADABLE, "has no line of a log of Jetstress with a date")
        self.clock = "local"
        yield SourceEntity("load", self.load, self.load, {"name": (self.load,)}, {"engine": "Jetstress"})
        if not certain:
            text = f"the date {phases.first} may be read in two ways: it is taken for month/day/year"
            yield warning(first, "date-order-assumed", text)
        for date, text in phases.troubles:
            yield warning(moment(date, order) or first, "told-by-jetstress", text)
        begun, measured, ended = (moment(text, order) for text in (phases.begun, phases.measured, phases.ended))
        if begun is None or ended is None:
            text = "the log does not tell when the load began and ended: import the .html report of the test"
            yield warning(first, "no-limits", text)
        if begun is not None:
            step = LoadStep(name="Jetstress", loads=(self.load,), offered=None)
            yield step.event("step-begin", begun)
            yield step.event("ramp-end", max(begun, measured or begun))
            if ended is not None:
                yield step.event("step-end", max(begun, ended))

    def _add(self, text: str) -> None:
        *lines, self._rest = re.split(r"\r?\n", self._rest + text)
        for line in lines:
            self._document.text(line)
        if len(self._rest) > _LONGEST_LINE:
            self._rest = ""

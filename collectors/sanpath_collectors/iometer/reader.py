"""Reads a file of Iometer: results, updates of a running test, or a configuration."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Protocol

from sanpath.errors import CollectorError, Failure
from sanpath.plugin import Item, Lines, ResultClock, ResultReader, text_of, warning
from sanpath_collectors.iometer.numbers import local_us
from sanpath_collectors.iometer.parse import Oddity, Record, ResultText, Test, Update, UpdatesEnded
from sanpath_collectors.iometer.planned import ConfigurationFile
from sanpath_collectors.iometer.results import Tests
from sanpath_collectors.iometer.updates import Updates

_RESULTS = re.compile(
    r"^(?:'Test Type[,;]Test Description|(?:TimeStamp[,;])?'Target Type[,;]Target Name[,;]Access Specification Name)",
    re.MULTILINE,
)
_SECTIONS = re.compile(r"^'(?:TEST SETUP|RESULTS DISPLAY|ACCESS SPECIFICATIONS|MANAGER LIST) =", re.MULTILINE)

_MOST_EARLY = 100


class _Document(Protocol):
    """What a file of Iometer may be, taken in line by line."""

    @property
    def time_us(self) -> int:
        """The latest time it has told of."""
        ...

    def line(self, line: str) -> Iterable[Item]:
        """What this line completes."""
        ...

    def end(self, cut_line: str) -> Iterable[Item]:
        """The file has ended; its last line had no end. Raises CollectorError: it held nothing."""
        ...


class IometerReader(ResultReader):
    """Results and updates (.csv) or a configuration (.icf): the first line tells which."""

    clock: ResultClock = "local"

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._lines = Lines()
        self._document: _Document | None = None

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:  # noqa: ARG003 - the base class' signature
        """By the labels of its lines, which no other program writes."""
        text = text_of(head)[0].replace("\r\n", "\n")
        return _RESULTS.search(text) is not None or (
            text.startswith("Version ") and _SECTIONS.search(text) is not None
        )

    def feed(self, added: bytes) -> Iterable[Item]:
        """Items of what is complete now: a test, or an update."""
        for line in self._lines.feed(added):
            yield from self._kind(line).line(line)

    def finish(self) -> Iterable[Item]:
        """What has not ended. Raises CollectorError(UNREADABLE): there was nothing to read."""
        cut_line = self._lines.last_line()
        document = self._kind(cut_line)
        yield from document.end(cut_line)
        if self._lines.guessed:
            text = "the text is in the code page of a machine, read as cp1252: names may be off"
            yield warning(document.time_us, "code-page", text)

    def _kind(self, line: str) -> _Document:
        if self._document is None:
            if line.startswith("Version "):
                self.clock = "none"
                self._document = ConfigurationFile(self.load)
            elif line.strip():
                self._document = _Csv(self.load)
        return self._document or _Csv(self.load)


class _Csv:
    """Results, or updates: they share their frame."""

    def __init__(self, load: str) -> None:
        self._text = ResultText()
        self._tests = Tests(load)
        self._updates = Updates(load)
        self._early: list[Oddity] = []

    @property
    def time_us(self) -> int:
        return self._text.time_us

    def line(self, line: str) -> Iterator[Item]:
        for record in self._text.line(line):
            yield from self._items(record)

    def end(self, cut_line: str) -> Iterator[Item]:
        # Of a line that is cut only the time stamp of a test can be trusted.
        if local_us(cut_line) is not None:
            yield from self.line(cut_line)
        for record in self._text.end():
            yield from self._items(record)
        if not (self._tests.count or self._updates.count):
            raise CollectorError(
                Failure.UNREADABLE, "no test of Iometer has ended in it : let the test end, or copy the whole file"
            )

    def _items(self, record: Record) -> Iterator[Item]:
        match record:
            case Test():
                yield from self._tests.items(record)
            case Update():
                yield from self._updates.items(record)
            case UpdatesEnded():
                yield from self._updates.end()
            case Oddity() if len(self._early) < _MOST_EARLY:
                self._early.append(record)
        # What is odd before the first time stamp waits for it.
        if self.time_us:
            yield from (warning(self.time_us, oddity.code, oddity.text) for oddity in self._early)
            self._early.clear()

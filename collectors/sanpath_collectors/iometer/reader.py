"""Reads a file of Iometer: results, updates of a running test, or a configuration."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Protocol

from sanpath.errors import CollectorError, Failure
from sanpath.plugin import Item, Lines, ResultClock, ResultReader, text_of, warning
from sanpath_collectors.iometer.configured_loads import ConfigurationFile
from sanpath_collectors.iometer.numbers import local_us
from sanpath_collectors.iometer.parse import Record, Remark, ResultText, Test, Update, UpdatesEnded
from sanpath_collectors.iometer.results import Tests
from sanpath_collectors.iometer.updates import Updates

_RESULTS = re.compile(
    r"^(?:'Test Type[,;]Test Description|(?:TimeStamp[,;])?'Target Type[,;]Target Name[,;]Access Specification Name)",
    re.MULTILINE,
)
_SECTIONS = re.compile(r"^'(?:TEST SETUP|RESULTS DISPLAY|ACCESS SPECIFICATIONS|MANAGER LIST) =", re.MULTILINE)

_MAX_REMARKS = 100


class _Document(Protocol):
    """A kind of Iometer file, parsed line by line."""

    @property
    def time_us(self) -> int:
        """The latest time in the file so far."""
        ...

    def read_line(self, line: str) -> Iterable[Item]:
        """Yields what this line completes."""
        ...

    def end(self, last_line: str) -> Iterable[Item]:
        """Yields the remaining items. `last_line`: has no line end. Raises CollectorError: nothing to read."""
        ...


class IometerReader(ResultReader):
    """Reads results and updates (.csv) or a configuration (.icf), according to the first line."""

    clock: ResultClock = "local"

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._lines = Lines()
        self._document: _Document | None = None

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:  # noqa: ARG003 - the base class' signature
        """Whether a file is one of Iometer, by the labels of its lines, which no other program writes."""
        text = text_of(head)[0].replace("\r\n", "\n")
        return _RESULTS.search(text) is not None or (
            text.startswith("Version ") and _SECTIONS.search(text) is not None
        )

    def feed(self, added: bytes) -> Iterable[Item]:
        """Yields the items of tests or updates that are complete now."""
        for line in self._lines.feed(added):
            yield from self._document_of(line).read_line(line)

    def finish(self) -> Iterable[Item]:
        """Yields the remaining items. Raises CollectorError(UNREADABLE) when there was nothing to read."""
        last_line = self._lines.last_line()
        document = self._document_of(last_line)
        yield from document.end(last_line)
        if self._lines.guessed:
            text = "the text is in the code page of a machine, read as cp1252: names may be off"
            yield warning(document.time_us, "code-page", text)

    def _document_of(self, line: str) -> _Document:
        if self._document is None:
            if line.startswith("Version "):
                self.clock = "none"
                self._document = ConfigurationFile(self.load)
            elif line.strip():
                self._document = _Csv(self.load)
        return self._document or _Csv(self.load)


class _Csv:
    """Results or updates, which have the same structure."""

    def __init__(self, load: str) -> None:
        self._text = ResultText()
        self._tests = Tests(load)
        self._updates = Updates(load)
        self._pending_remarks: list[Remark] = []

    @property
    def time_us(self) -> int:
        return self._text.time_us

    def read_line(self, line: str) -> Iterator[Item]:
        for record in self._text.read_line(line):
            yield from self._items(record)

    def end(self, last_line: str) -> Iterator[Item]:
        # In a truncated last line only the time stamp of a test is reliable.
        if local_us(last_line) is not None:
            yield from self.read_line(last_line)
        for record in self._text.end():
            yield from self._items(record)
        if not (self._tests.count or self._updates.count):
            raise CollectorError(
                Failure.UNREADABLE,
                "it contains no complete test of Iometer: let the test end, or copy the whole file",
            )

    def _items(self, record: Record) -> Iterator[Item]:
        match record:
            case Test():
                yield from self._tests.items(record)
            case Update():
                yield from self._updates.items(record)
            case UpdatesEnded():
                yield from self._updates.end()
            case Remark() if len(self._pending_remarks) < _MAX_REMARKS:
                self._pending_remarks.append(record)
        # Remarks before the first time stamp are yielded with that time.
        if self.time_us:
            yield from (warning(self.time_us, remark.code, remark.text) for remark in self._pending_remarks)
            self._pending_remarks.clear()

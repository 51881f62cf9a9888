"""Reads a file of Iometer: results, updates of a running test, or a configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sanpath.errors import CollectorError, Failure
from sanpath.plugin import FollowedFile, Item, LineDocument, LineDocumentReader, ResultClock, text_of, warning
from sanpath_collectors.iometer.configured_loads import ConfigurationFile
from sanpath_collectors.iometer.numbers import parse_local_us
from sanpath_collectors.iometer.parse import Record, Remark, ResultText, Test, Update, UpdatesEnded
from sanpath_collectors.iometer.results import Tests
from sanpath_collectors.iometer.updates import Updates

_RESULTS = re.compile(
    r"^(?:'Test Type[,;]Test Description|(?:TimeStamp[,;])?'Target Type[,;]Target Name[,;]Access Specification Name)",
    re.MULTILINE,
)
_SECTIONS = re.compile(r"^'(?:TEST SETUP|RESULTS DISPLAY|ACCESS SPECIFICATIONS|MANAGER LIST) =", re.MULTILINE)

_MAX_REMARKS = 100
"""Largest number of remarks that are kept until the first time stamp."""


class IometerReader(LineDocumentReader):
    """Reads results and updates (.csv) or a configuration (.icf), depending on the first line."""

    clock: ResultClock = "local"

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:  # noqa: ARG003 - the base class' signature
        """Whether a file is from Iometer. It is recognised by labels of lines that no other program writes."""
        text = text_of(head)[0].replace("\r\n", "\n")
        return _RESULTS.search(text) is not None or (
            text.startswith("Version ") and _SECTIONS.search(text) is not None
        )

    def document_for(self, line: str) -> LineDocument:
        """Return the document to which this line belongs."""
        if self.document is None:
            if line.startswith("Version "):
                self.clock = "none"
                self.document = ConfigurationFile(self.load)
            elif line.strip():
                self.document = _Csv(self.load)
        return self.document or _Csv(self.load)


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
        # The last line may be truncated: only the time stamp of a test is used.
        if parse_local_us(last_line) is not None:
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
        # Remarks before the first time stamp get its time.
        if self.time_us:
            yield from (warning(self.time_us, remark.code, remark.text) for remark in self._pending_remarks)
            self._pending_remarks.clear()


class UpdatesReader(IometerReader):
    """Recognises only the file of updates, because the results contain a test only after its end."""

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """Whether a file contains updates. It is recognised by its name, or after the first test by its header
        line."""
        return super().recognises(head, name) and (name.startswith("inst") or b"\nTimeStamp," in head)


class IometerUpdates(FollowedFile):
    """Follows the updates of a running test, which Iometer 1.1.0 writes to `inst<name of the results>` if "Record
    last update results" is set on the page Results Display."""

    reader = UpdatesReader

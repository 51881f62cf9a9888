"""Reads any file of Jetstress: a report, a configuration or a log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sanpath.plugin import CollectorError, Failure, Item, ResultFile, ResultReader
from sanpath_collectors.jetstress.configuration import ConfigurationReader
from sanpath_collectors.jetstress.log import LogReader
from sanpath_collectors.jetstress.report import HtmlReport, Report, XmlReport

_HEAD_BYTES = 1 << 16
"""What `recognises` gets of a file."""
_KINDS: tuple[type[ResultReader], ...] = (ConfigurationReader, HtmlReport, XmlReport, LogReader)


class JetstressReader(ResultReader):
    """Selects the reader of a file from the beginning of its content."""

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._name = ""
        self._head = b""
        self._reader: ResultReader | None = None

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """Recognise a report, a configuration or a log."""
        return any(kind.recognises(head, name) for kind in _KINDS)

    def read(self, file: ResultFile) -> Iterator[Item]:
        """Read the complete file. Its name can contain the begin of the test."""
        self._name = file.name
        yield from super().read(file)

    def feed(self, added: bytes) -> Iterable[Item]:
        """Collect the beginning until it is long enough to select a reader."""
        if self._reader is None:
            self._head += added
            if len(self._head) < _HEAD_BYTES:
                return
            added = self._head
        yield from self._selected().feed(added)

    def finish(self) -> Iterable[Item]:
        """Yield the items. Raises CollectorError(UNREADABLE) when the file is none of these kinds, or is empty."""
        if self._reader is None:
            yield from self._selected().feed(self._head)
        reader = self._selected()
        for item in reader.finish():
            self.clock = reader.clock
            yield item

    def _selected(self) -> ResultReader:
        if self._reader is None:
            kind = next((kind for kind in _KINDS if kind.recognises(self._head[:_HEAD_BYTES], self._name)), None)
            if kind is None:
                raise CollectorError(
                    Failure.UNREADABLE,
                    "no file of Jetstress that sanpath reads: import the report (.html or .xml), JetstressConfig.xml "
                    "or the log of a test",
                )
            self._reader = kind(self.load)
            if isinstance(self._reader, Report):
                self._reader.file_name = self._name
        return self._reader

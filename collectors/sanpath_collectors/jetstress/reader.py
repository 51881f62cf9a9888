"""A file of Jetstress, whichever of them it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sanpath.plugin import CollectorError, Failure, Item, ResultFile, ResultReader
from sanpath_collectors.jetstress.configuration import ConfigurationReader
from sanpath_collectors.jetstress.log import LogReader
from sanpath_collectors.jetstress.report import HtmlReport, Report, XmlReport

_HEAD = 1 << 16
_KINDS: tuple[type[ResultReader], ...] = (ConfigurationReader, HtmlReport, XmlReport, LogReader)


class JetstressReader(ResultReader):
    """Hands a file to the reader of what its beginning shows it to be."""

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._name = ""
        self._head = b""
        self._found: ResultReader | None = None

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """A report, a configuration or a log."""
        return any(kind.recognises(head, name) for kind in _KINDS)

    def read(self, file: ResultFile) -> Iterator[Item]:
        """The whole file; its name tells when the test began."""
        self._name = file.name
        yield from super().read(file)

    def feed(self, added: bytes) -> Iterable[Item]:
        """Keeps the beginning until it is long enough to tell."""
        if self._found is None:
            self._head += added
            if len(self._head) < _HEAD:
                return
            added = self._head
        yield from self._chosen().feed(added)

    def finish(self) -> Iterable[Item]:
        """Raises CollectorError: it is none of them, or an empty one."""
        if self._found is None:
            yield from self._chosen().feed(self._head)
        found = self._chosen()
        for item in found.finish():
            self.clock = found.clock
            yield item

    def _chosen(self) -> ResultReader:
        if self._found is None:
            kind = next((kind for kind in _KINDS if kind.recognises(self._head[:_HEAD], self._name)), None)
            if kind is None:
                raise CollectorError(
                    Failure.UNREADABLE,
                    "no file of Jetstress that sanpath reads: import the report (.html or .xml), JetstressConfig.xml "
                    "or the log of a test",
                )
            self._found = kind(self.load)
            if isinstance(self._found, Report):
                self._found.file_name = self._name
        return self._found

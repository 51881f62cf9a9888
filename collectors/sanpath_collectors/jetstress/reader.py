"""Reads any file of Jetstress: a report, a configuration or a log."""

from __future__ import annotations

from collections.abc import Iterator

from sanpath.plugin import Item, ResultFile, ResultReader, SelectingReader
from sanpath_collectors.jetstress.configuration import ConfigurationReader
from sanpath_collectors.jetstress.log import LogReader
from sanpath_collectors.jetstress.report import HtmlReport, Report, XmlReport


class JetstressReader(SelectingReader):
    """Selects the reader of a file from the beginning of its content."""

    readers = (ConfigurationReader, HtmlReport, XmlReport, LogReader)
    nothing_read = (
        "no file of Jetstress that sanpath reads: import the report (.html or .xml), JetstressConfig.xml "
        "or the log of a test"
    )
    _name = ""

    def read(self, file: ResultFile) -> Iterator[Item]:
        """Read the complete file. Its name may contain the begin of the test."""
        self._name = file.name
        yield from super().read(file)

    def new_reader(self, head: bytes) -> ResultReader:
        """Return a reader for a file, and pass it the file's name."""
        reader = super().new_reader(head)
        if isinstance(reader, Report):
            reader.file_name = self._name
        return reader

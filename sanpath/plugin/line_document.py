"""Result files of several kinds that are distinguished by their first lines, and read line by line."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Protocol

from sanpath.plugin.collector import Item
from sanpath.plugin.result_reader import ResultReader, warning
from sanpath.plugin.text import Lines


class LineDocument(Protocol):
    """One kind of file of a load generator."""

    @property
    def time_us(self) -> int:
        """The latest time in the file so far, on the reader's clock."""
        ...

    def read_line(self, line: str) -> Iterable[Item]:
        """Yield the items completed by this line."""
        ...

    def end(self, last_line: str) -> Iterable[Item]:
        """Yield the remaining items. `last_line`: without a line end. Raises CollectorError: nothing to read."""
        ...


class LineDocumentReader(ResultReader):
    """Reads files of several kinds. A subclass chooses the document by the first lines and sets its clock."""

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self.document: LineDocument | None = None
        self._lines = Lines()

    @abstractmethod
    def document_for(self, line: str) -> LineDocument:
        """Return the document for this line, and keep it as `document` once the kind is known."""

    def feed(self, added: bytes) -> Iterator[Item]:
        """Yield the items of the complete lines."""
        for line in self._lines.feed(added):
            yield from self.document_for(line).read_line(line)

    def finish(self) -> Iterator[Item]:
        """Yield the remaining items. Raises CollectorError(UNREADABLE) if there was nothing to read."""
        last_line = self._lines.last_line()
        document = self.document_for(last_line)
        yield from document.end(last_line)
        if self._lines.guessed:
            text = "the text is in the code page of a machine, read as cp1252: names may be off"
            yield warning(document.time_us, "code-page", text)

"""A report as HTML → a document: headings, rows of tables, and text in between."""

from __future__ import annotations

from html.parser import HTMLParser

from sanpath.plugin import CollectorError, Decoder, Failure
from sanpath_collectors.jetstress.document import Document

_HEADINGS = frozenset(("title", "legend", "caption", "h1", "h2", "h3", "h4", "h5", "h6"))
_CELLS = frozenset(("td", "th"))
_BREAKS = frozenset(("br", "p", "div", "li"))
_ROW_ENDS = frozenset(("tr", "thead", "tbody", "table", "fieldset", "body", "html"))
_LONGEST_CELL = 1 << 20
_LONGEST_TAG = 16 << 10
"""Of a tag with its attributes, each of which takes fifty times its length while it is read; a report has none."""
_LARGEST = 64 << 20


class HtmlForm:
    """Reads one HTML report, part by part."""

    def __init__(self) -> None:
        self.document = Document()
        self._decoder, self._tags = Decoder(), _Tags(self.document)
        self._bytes = 0

    def feed(self, added: bytes) -> None:
        """Raises CollectorError: it is larger than any report."""
        self._bytes += len(added)
        if self._bytes > _LARGEST:
            raise CollectorError(
                Failure.UNREADABLE, "is larger than any report of Jetstress: 64 MiB are read at most"
            )
        text = self._decoder.feed(added)
        for at in range(0, len(text), _LONGEST_TAG):
            self._tags.feed(text[at : at + _LONGEST_TAG])
            self._tags.forget_unfinished(_LONGEST_TAG)

    def finish(self) -> None:
        """The file has ended, maybe inside a tag."""
        self._tags.feed(self._decoder.feed(b"", last=True))
        self._tags.forget_unfinished()
        self._tags.close()
        self._tags.end_of_row()

    @property
    def cut(self) -> bool:
        """Whether it ends before its end tag."""
        return self._tags.begun and not self._tags.ended


class _Tags(HTMLParser):
    def __init__(self, document: Document) -> None:
        super().__init__(convert_charrefs=True)
        self._document = document
        self._row: list[str] = []
        self._text: list[str] | None = None
        self._size = 0
        self._heading = False
        self._loose: list[str] = []
        self.begun = self.ended = False

    def forget_unfinished(self, longest: int = 0) -> None:
        """Drop a tag or comment that has not ended and is longer than this: for each "<" in it the parser would look
        for an end once more, at the end of the file or whenever something is added."""
        if self.rawdata.startswith("<") and len(self.rawdata) > longest:
            self.rawdata = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - the base class'
        """A cell, a heading, a row or a new line begins; what was left open ends."""
        self.begun |= tag == "html"
        if tag in _CELLS or tag in _HEADINGS:
            self._end_of_text()
            self._text, self._size, self._heading = [], 0, tag in _HEADINGS
        elif tag in _ROW_ENDS:
            self.end_of_row()
        elif tag in _BREAKS:
            self.handle_data("\n")

    def handle_endtag(self, tag: str) -> None:
        """A cell, a heading or a row ends."""
        self.ended |= tag == "html"
        if tag in _CELLS or tag in _HEADINGS:
            self._end_of_text()
        elif tag in _ROW_ENDS:
            self.end_of_row()
        elif tag in _BREAKS:
            self.handle_data("\n")

    def handle_data(self, data: str) -> None:
        """Text comes in pieces."""
        held = self._loose if self._text is None else self._text
        if self._size <= _LONGEST_CELL:
            held.append(data)
            self._size += len(data)

    def end_of_row(self) -> None:
        """What was collected is whole."""
        self._end_of_text()
        row, self._row = self._row, []
        if row:
            self._document.cells(row)

    def _end_of_text(self) -> None:
        loose, self._loose = "".join(self._loose), []
        self._document.text(loose)
        if self._text is not None:
            text, self._text = "".join(self._text), None
            if self._heading:
                self._document.heading(" ".join(text.split()))
            else:
                self._row.append(text.strip())
        self._size = 0

"""Converts a report in HTML to a document: headings, rows of tables, and the text between them."""

from __future__ import annotations

from html.parser import HTMLParser

from sanpath.plugin import Decoder
from sanpath_collectors.jetstress.document import Document

_HEADINGS = frozenset(("title", "legend", "caption", "h1", "h2", "h3", "h4", "h5", "h6"))
_CELLS = frozenset(("td", "th"))
_BREAKS = frozenset(("br", "p", "div", "li"))
_ROW_ENDS = frozenset(("tr", "thead", "tbody", "table", "fieldset", "body", "html"))
_MAX_CELL_CHARACTERS = 1 << 20
"""Largest number of characters of a cell. The rest is dropped."""
_MAX_TAG_CHARACTERS = 16 << 10
"""Largest number of characters of a tag. Attributes take fifty times their size in memory; reports have none."""


class HtmlParser:
    """Reads one HTML report in chunks."""

    def __init__(self) -> None:
        self.document = Document()
        self._decoder, self._tags = Decoder(), _Tags(self.document)

    def feed(self, added: bytes) -> None:
        """Add a chunk."""
        text = self._decoder.feed(added)
        for start in range(0, len(text), _MAX_TAG_CHARACTERS):
            self._tags.feed(text[start : start + _MAX_TAG_CHARACTERS])
            self._tags.drop_unfinished_tag(_MAX_TAG_CHARACTERS)

    def finish(self) -> None:
        """End the document. The file may end inside a tag."""
        self._tags.feed(self._decoder.feed(b"", last=True))
        self._tags.drop_unfinished_tag()
        self._tags.close()
        self._tags.end_row()

    @property
    def is_truncated(self) -> bool:
        """Whether the file ends before its end tag."""
        return self._tags.has_begun and not self._tags.has_ended


class _Tags(HTMLParser):
    def __init__(self, document: Document) -> None:
        super().__init__(convert_charrefs=True)
        self._document = document
        self._cells: list[str] = []
        self._text: list[str] | None = None
        self._size = 0
        self._is_heading = False
        self._outside_text: list[str] = []
        self.has_begun = self.has_ended = False

    def drop_unfinished_tag(self, longest: int = 0) -> None:
        """Drop an unfinished tag or comment that is longer than this.

        Otherwise the parser would search for the end of each "<" in it, with every chunk and at the end of the file.
        """
        if self.rawdata.startswith("<") and len(self.rawdata) > longest:
            self.rawdata = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - the base class'
        """Begin a cell, a heading, a row or a line. The open one ends."""
        self.has_begun |= tag == "html"
        if tag in _CELLS or tag in _HEADINGS:
            self._end_text()
            self._text, self._size, self._is_heading = [], 0, tag in _HEADINGS
        else:
            self._end_line(tag)

    def handle_endtag(self, tag: str) -> None:
        """End a cell, a heading or a row."""
        self.has_ended |= tag == "html"
        if tag in _CELLS or tag in _HEADINGS:
            self._end_text()
        else:
            self._end_line(tag)

    def _end_line(self, tag: str) -> None:
        if tag in _ROW_ENDS:
            self.end_row()
        elif tag in _BREAKS:
            self.handle_data("\n")

    def handle_data(self, data: str) -> None:
        """Add a piece of text to the open cell or heading, or to the text outside of them."""
        texts = self._outside_text if self._text is None else self._text
        if self._size <= _MAX_CELL_CHARACTERS:
            texts.append(data)
            self._size += len(data)

    def end_row(self) -> None:
        """Add the collected row to the document."""
        self._end_text()
        cells, self._cells = self._cells, []
        if cells:
            self._document.add_cells(cells)

    def _end_text(self) -> None:
        outside, self._outside_text = "".join(self._outside_text), []
        self._document.add_text(outside)
        if self._text is not None:
            text, self._text = "".join(self._text), None
            if self._is_heading:
                self._document.add_heading(" ".join(text.split()))
            else:
                self._cells.append(text.strip())
        self._size = 0

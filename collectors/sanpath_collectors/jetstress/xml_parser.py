"""Converts an XML report or configuration to a document. DTDs and entities are refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree.ElementTree import ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from sanpath.plugin import CollectorError, Failure
from sanpath_collectors.jetstress.document import Document, Row
from sanpath_collectors.jetstress.parse import fold, parse_measure

_NAMES = ("name", "instance", "instancename", "databaseinstance", "database", "databasename", "logicaldisk")
_MAX_TEXT_CHARACTERS = 1 << 20
_MAX_DEPTH = 200
"""Largest depth of nested elements."""


@dataclass(slots=True)
class _Element:
    """An open element.

    `section`: tags and titles of the surrounding elements and of itself. `values`: (name, text) of its attributes and
    leaf elements. `size`: length of its text. `has_children`: whether it contains elements.
    """

    tag: str
    section: str
    text: list[str] = field(default_factory=list)
    size: int = 0
    values: list[tuple[str, str]] = field(default_factory=list)
    has_children: bool = False


class XmlParser:
    """Reads one XML file in chunks and retains only its document.

    `elements`: folded tag → number of its elements. `is_truncated`: the file ends too early or is damaged.
    """

    def __init__(self) -> None:
        self.document = Document()
        self.elements: dict[str, int] = {}
        self.is_truncated = False
        self._open: list[_Element] = []
        self._parser = DefusedXMLParser(target=self, forbid_dtd=True)

    def feed(self, added: bytes) -> None:
        """Add a chunk. Raises CollectorError(UNREADABLE) when the file has a DTD."""
        if self.is_truncated:
            return
        try:
            self._parser.feed(added)
        except DefusedXmlException as error:
            raise CollectorError(
                Failure.UNREADABLE, "has a DTD or entities, which no file of Jetstress has: they are not read"
            ) from error
        except (ParseError, ValueError, LookupError):
            self.is_truncated = True

    def finish(self) -> None:
        """End the document. The file may end inside an element."""
        if not self.is_truncated:
            try:
                self._parser.close()
            except (ParseError, ValueError, LookupError):
                self.is_truncated = True

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Begin an element. The parser calls this."""
        if self.is_truncated:
            return
        name = fold(tag.rpartition("}")[2])
        self.elements[name] = self.elements.get(name, 0) + 1
        values = [(fold(key.rpartition("}")[2]), value) for key, value in attributes.items()]
        if self._open:
            self._open[-1].has_children = True
        if len(self._open) < _MAX_DEPTH:
            title = next((fold(value) for key, value in values if key in ("name", "title", "heading")), "")
            outer = self._open[-1].section if self._open else ""
            # A section is an element that contains elements. Its tag or title identifies it.
            self._open.append(_Element(name, f"{outer} {name} {title}".strip(), values=values))
        else:
            self.is_truncated = True

    def data(self, text: str) -> None:
        """Add a piece of text to the open element. The parser calls this."""
        if not self.is_truncated and self._open and self._open[-1].size < _MAX_TEXT_CHARACTERS:
            self._open[-1].text.append(text)
            self._open[-1].size += len(text)

    def end(self, tag: str) -> None:  # noqa: ARG002 - the parser passes it
        """End an element. The parser calls this."""
        if self.is_truncated or not self._open:
            return
        element = self._open.pop()
        text = "".join(element.text).strip()
        if not element.has_children:
            for name, value in _leaf_values(element, text):
                if self._open:
                    self._open[-1].values.append((name, value))
            self.document.add_text(text)
        if any(parse_measure(name) or name.endswith("pages") for name, _ in element.values):
            cells = dict(element.values)
            label = next((cells[name] for name in _NAMES if name in cells), "")
            self.document.add_row(Row(element.section, label or element.tag, cells))
        for name, value in element.values:
            self.document.add_value(name, value)

    def close(self) -> None:
        """End the document. The parser calls this."""


def _leaf_values(element: _Element, text: str) -> Iterator[tuple[str, str]]:
    """Yield the value of a leaf element, if it has one.

    `<DatabaseReadsPerSec>38.1</DatabaseReadsPerSec>`, or `<Value Name="DatabaseReadsPerSec">38.1</Value>`.
    """
    if text:
        attributes = dict(element.values)
        names = (fold(attributes[key]) for key in ("name", "label", "counter") if key in attributes)
        yield next(names, element.tag), text

"""XML of Jetstress: a report → a document, a configuration → its values. No DTD, no entities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree.ElementTree import ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from sanpath.plugin import CollectorError, Failure
from sanpath_collectors.jetstress.document import Document, Row
from sanpath_collectors.jetstress.parse import folded, measure

_NAMES = ("name", "instance", "instancename", "databaseinstance", "database", "databasename", "logicaldisk")
_LARGEST = 64 << 20
_LONGEST_TEXT = 1 << 20
_DEEPEST = 200


@dataclass(slots=True)
class _Element:
    """An element that has begun. `values`: what its attributes and the elements without elements in it say."""

    tag: str
    section: str
    text: list[str] = field(default_factory=list)
    size: int = 0
    values: list[tuple[str, str]] = field(default_factory=list)
    inner: bool = False


class XmlForm:
    """Reads one XML file, part by part, and keeps no more of it than the document. `cut`: it ends too early."""

    def __init__(self) -> None:
        self.document = Document()
        self.elements: dict[str, int] = {}
        self.cut = False
        self._open: list[_Element] = []
        self._bytes = 0
        self._parser = DefusedXMLParser(target=self, forbid_dtd=True)

    def feed(self, added: bytes) -> None:
        """Raises CollectorError: it is larger than any report, or has a DTD."""
        self._bytes += len(added)
        if self._bytes > _LARGEST:
            raise CollectorError(
                Failure.UNREADABLE, "is larger than any report of Jetstress: 64 MiB are read at most"
            )
        if self.cut:
            return
        try:
            self._parser.feed(added)
        except DefusedXmlException as error:
            raise CollectorError(
                Failure.UNREADABLE, "has a DTD or entities, which no file of Jetstress has: they are not read"
            ) from error
        except (ParseError, ValueError, LookupError):
            self.cut = True

    def finish(self) -> None:
        """The file has ended, maybe inside an element."""
        if not self.cut:
            try:
                self._parser.close()
            except (ParseError, ValueError, LookupError):
                self.cut = True

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """An element begins (target of the parser)."""
        if self.cut:
            return
        name = folded(tag.rpartition("}")[2])
        self.elements[name] = self.elements.get(name, 0) + 1
        values = [(folded(key.rpartition("}")[2]), value) for key, value in attributes.items()]
        if self._open:
            self._open[-1].inner = True
        if len(self._open) < _DEEPEST:
            titled = next((folded(value) for key, value in values if key in ("name", "title", "heading")), "")
            outer = self._open[-1].section if self._open else ""
            # A section is an element that contains elements; its own tag or title says which it is.
            self._open.append(_Element(name, f"{outer} {name} {titled}".strip(), values=values))
        else:
            self.cut = True

    def data(self, text: str) -> None:
        """Text comes in pieces (target of the parser)."""
        if not self.cut and self._open and self._open[-1].size < _LONGEST_TEXT:
            self._open[-1].text.append(text)
            self._open[-1].size += len(text)

    def end(self, tag: str) -> None:  # noqa: ARG002 - target of the parser
        """An element ends (target of the parser)."""
        if self.cut or not self._open:
            return
        element = self._open.pop()
        text = "".join(element.text).strip()
        if not element.inner:
            for name, value in self._told(element, text):
                if self._open:
                    self._open[-1].values.append((name, value))
            self.document.text(text)
        if any(measure(name) or name.endswith("pages") for name, _ in element.values):
            known = dict(element.values)
            label = next((known[name] for name in _NAMES if name in known), "")
            self.document.row(Row(element.section, label or element.tag, known))
        for name, value in element.values:
            self.document.value(name, value)

    def close(self) -> None:
        """The document has ended (target of the parser)."""

    def _told(self, element: _Element, text: str) -> Iterator[tuple[str, str]]:
        """`<DatabaseReadsPerSec>38.1</...>`, or `<Value Name="DatabaseReadsPerSec">38.1</Value>`."""
        if text:
            own = dict(element.values)
            yield next((folded(own[name]) for name in ("name", "label", "counter") if name in own), element.tag), text

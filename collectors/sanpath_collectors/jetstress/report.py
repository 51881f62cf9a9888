"""Reads the report of a test in HTML or XML. All items come at its end."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Generic, TypeVar

from sanpath.plugin import CollectorError, Failure, Item, ResultReader, text_of, warning
from sanpath_collectors.jetstress.html_parser import HtmlParser
from sanpath_collectors.jetstress.outcome import Outcome
from sanpath_collectors.jetstress.xml_parser import XmlParser

ParserT = TypeVar("ParserT", HtmlParser, XmlParser)
_MAX_BYTES = 64 << 20
"""Largest size of a file."""
_HTML = re.compile(r"<(?:html|fieldset|table)\b", re.IGNORECASE)
_XML = re.compile(r"\s*<(?:\?xml|[\w:]+[\s>])")
_CONTENT = re.compile(
    r"Overall\s?Test\s?Result|Transactional\s?I/?O\s?Performance|Checksum\s?Statistics|Disk\s?Subsystem\s?Performance"
    r"|Achieved\s?(?:Transactional\s?)?I/?O\s?Per\s?Second",
    re.IGNORECASE,
)


def is_report(text: str) -> bool:
    """Whether a text contains the name Jetstress and a heading that only its reports have."""
    return "jetstress" in text.lower() and _CONTENT.search(text) is not None


class DocumentReader(ResultReader, Generic[ParserT]):
    """Reads one file with a parser of `parser_class`. All items come from `finish`."""

    parser_class: type[ParserT]

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._parser: ParserT = self.parser_class()
        self._total_bytes = 0

    def feed(self, added: bytes) -> Iterable[Item]:
        """Collect the file. Raises CollectorError(UNREADABLE) when it is larger than any report."""
        self._total_bytes += len(added)
        if self._total_bytes > _MAX_BYTES:
            raise CollectorError(
                Failure.UNREADABLE, "is larger than any report of Jetstress: 64 MiB are read at most"
            )
        self._parser.feed(added)
        return ()


class Report(DocumentReader[ParserT]):
    """Reads one report. `file_name`: it may contain the begin of the test; "" if unknown."""

    file_name = ""

    def finish(self) -> Iterable[Item]:
        """Yield the items. Raises CollectorError(UNREADABLE) when the report has no result."""
        self._parser.finish()
        outcome = Outcome(self.load, self._parser.document, self.file_name)
        if not outcome.has_result:
            problem = "is cut or damaged" if self._parser.is_truncated else "has no result of Jetstress"
            hint = "import the .html report, which is in the same folder as the .blg of the test"
            raise CollectorError(Failure.UNREADABLE, f"{problem}: {hint}")
        self.clock = outcome.clock
        yield from outcome.items()
        if self._parser.is_truncated:
            yield warning(
                outcome.times.begin_us, "cut", "it ends too early, or is damaged: what could be read is used"
            )


class HtmlReport(Report[HtmlParser]):
    """Reads one HTML report."""

    parser_class = HtmlParser

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:  # noqa: ARG003 - any name will do
        """Recognise it by its markup and its headings."""
        text = text_of(head)[0]
        return _HTML.search(text) is not None and is_report(text)


class XmlReport(Report[XmlParser]):
    """Reads one XML report: the content of the HTML report in elements."""

    parser_class = XmlParser

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:  # noqa: ARG003 - any name will do
        """Recognise it by its markup and its headings."""
        text = text_of(head)[0]
        return _XML.match(text) is not None and _HTML.search(text) is None and is_report(text)

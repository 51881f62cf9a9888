"""Parses a file into timespans, in either format. A file may contain several results."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sanpath_collectors.diskspd.outcome import SpanOutcome
from sanpath_collectors.diskspd.parse import TextParser
from sanpath_collectors.diskspd.parse_xml import XmlParser

_BEGIN, _END = "<Results>", "</Results>"
_TEXT = re.compile(
    r"^[^\S\n]*+(?:Results for (?:timespan|job) \d+:|timespan:[^\S\n]++\d++[^\S\n]*+$"
    r"|thread \|[^\S\n]++bytes[^\S\n]++\|[^\S\n]++I/Os[^\S\n]++\|)",
    re.MULTILINE,
)
_XML = re.compile(r"<Results>\s*<(?:System>\s*<(?:ComputerName|Tool)|Profile>\s*<(?:Progress|ResultFormat|Verbose))")


def is_result(head: str) -> bool:
    """Whether the beginning of a file is that of a DiskSpd result."""
    return bool(_XML.search(head) or _TEXT.search(head))


class ResultParser:
    """Passes text to the parser of its format. Everything between <Results> and </Results> is XML.

    `remarks`: (code, text) of warnings about the file.
    """

    def __init__(self) -> None:
        self.remarks: list[tuple[str, str]] = []
        self._text = TextParser()
        self._xml: XmlParser | None = None
        self._buffer = ""

    def feed(self, added: str) -> Iterator[SpanOutcome]:
        """Yields the timespans that are complete now."""
        text = self._buffer + added
        while (index := text.find(_BEGIN if self._xml is None else _END)) >= 0:
            if self._xml is None:
                yield from self._parse(self._text, text[:index], last=True)
                self._text, self._xml, text = TextParser(), XmlParser(), text[index:]
            else:
                yield from self._parse(self._xml, text[: index + len(_END)], last=True)
                self._xml, text = None, text[index + len(_END) :]
        complete = max(0, len(text) - len(_END) + 1)
        self._buffer = text[complete:]
        yield from self._parse(self._xml or self._text, text[:complete])

    def finish(self) -> Iterator[SpanOutcome]:
        """Yields the remaining timespans."""
        buffer, self._buffer = self._buffer, ""
        yield from self._parse(self._xml or self._text, buffer, last=True)

    def _parse(self, form: TextParser | XmlParser, text: str, last: bool = False) -> Iterator[SpanOutcome]:
        for part in (form.feed(text), form.finish() if last else ()):
            for span in part:
                self.remarks += form.remarks
                form.remarks.clear()
                yield span
        self.remarks += form.remarks
        form.remarks.clear()

"""The bytes of a file → timespans, in whatever encoding and form they are; several results may follow each other."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sanpath_collectors.diskspd.outcome import SpanOutcome
from sanpath_collectors.diskspd.parse import TextForm
from sanpath_collectors.diskspd.parse_xml import XmlForm

_HEAD = 1 << 16
_BEGIN, _END = "<Results>", "</Results>"
_TEXT = re.compile(r"^[^\S\n]*+(?:Results for timespan \d+:|timespan:[^\S\n]++\d++[^\S\n]*+$)", re.MULTILINE)
_XML = re.compile(r"<Results>\s*<(?:System>\s*<(?:ComputerName|Tool)|Profile>\s*<(?:Progress|ResultFormat|Verbose))")


def recognised(head: str) -> bool:
    """Whether a beginning of a file is that of a result of DiskSpd."""
    return bool(_XML.search(head) or _TEXT.search(head))


class Forms:
    """Gives the text to the reader of its form: what lies between <Results> and </Results> is XML.

    `notes`: code and text of what a person should know of it.
    """

    def __init__(self) -> None:
        self.notes: list[tuple[str, str]] = []
        self._text = TextForm()
        self._xml: XmlForm | None = None
        self._held = ""

    def feed(self, added: str) -> Iterator[SpanOutcome]:
        """The timespans that are complete now."""
        text = self._held + added
        while (at := text.find(_BEGIN if self._xml is None else _END)) >= 0:
            if self._xml is None:
                yield from self._noted(self._text, text[:at], last=True)
                self._text, self._xml, text = TextForm(), XmlForm(), text[at:]
            else:
                yield from self._noted(self._xml, text[: at + len(_END)], last=True)
                self._xml, text = None, text[at + len(_END) :]
        keep = max(0, len(text) - len(_END) + 1)
        self._held = text[keep:]
        yield from self._noted(self._xml or self._text, text[:keep])

    def finish(self) -> Iterator[SpanOutcome]:
        """What is left."""
        held, self._held = self._held, ""
        yield from self._noted(self._xml or self._text, held, last=True)

    def _noted(self, form: TextForm | XmlForm, text: str, last: bool = False) -> Iterator[SpanOutcome]:
        for part in (form.feed(text), form.finish() if last else ()):
            for span in part:
                self.notes += form.notes
                form.notes.clear()
                yield span
        self.notes += form.notes
        form.notes.clear()

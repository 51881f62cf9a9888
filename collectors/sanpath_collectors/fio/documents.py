"""Splits fio's growing output into JSON documents and the text between them. Pure.

With `--status-interval` fio writes complete JSON documents one after the other, without a separator and not as an
array, with lines of text before and between them:

    fio: connected to NBD server
    {
      "fio version" : "fio-3.33",
      "timestamp_ms" : 1795150709122,
      "jobs" : [ { "jobname" : "t1", "groupid" : 0, ... } ]
    }
    {
      ...
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from typing import Any

from sanpath.plugin import read_json

MAX_DOCUMENT_CHARACTERS = 64 << 20
"""Longer documents are not read. fio writes about 6,000 characters for a job, and 60,000 with json+."""
_LAST_LINE = re.compile(r"\n\}")
"""A compiled pattern, because searching for it takes half as long as searching for a string."""
_FIRST_KEY = re.compile(r'\{\s{0,64}"fio version"')
"""The beginning of a document of fio anywhere on a line."""
_MAYBE_FIRST_KEY = re.compile(r'\{\s{0,64}(?:"[a-z ]{0,11})?\Z')
_NO_NUMBER = re.compile(r"(:\s{0,8})-?(?:nan|inf)\b")
_MAX_FIRST_LINE = 4096
"""Characters at the end of the output that are searched for the begin of a document in the middle of a line."""


class Documents:
    """Splits a growing output into JSON documents and the text between them. Chunks may end anywhere.

    A document begins with `{` and ends with `}`, each at the begin of a line, because fio indents everything inside.
    If other programs rewrote it, it may be a single line. A document whose first key is the version of fio may also
    be indented as a whole, or follow other text on its line, such as a value in another document. Its last line is
    then indented less than its first key.

    `list_keys`: a document of fio has a list under at least one of these keys; other documents are returned as text.
    """

    def __init__(self, encoding: str = "utf-8", list_keys: Sequence[str] = ("jobs",)) -> None:
        self._buffer = ""
        self._searched = 0
        self._unfinished: int | None = None
        self._line_end_due = False
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._list_keys = tuple(list_keys)

    def feed(self, added: bytes) -> tuple[list[dict[str, Any]], str]:
        """Returns the documents that are complete now, and the text outside of documents."""
        parts = list(self.parts(added))
        documents = [part for part in parts if not isinstance(part, str)]
        return documents, "".join(part for part in parts if isinstance(part, str))

    def parts(self, added: bytes) -> Iterator[dict[str, Any] | str]:
        """Yields documents and text in the order they were written; text comes in complete lines."""
        return self._split(self._decoder.decode(added))

    def last_parts(self) -> Iterator[dict[str, Any] | str]:
        """Yields what the end of the output completes: its last line may have no line end."""
        return self._split(self._decoder.decode(b"", final=True) + "\n")

    def remaining(self) -> str:
        """Returns what remains at the end: a truncated document, or a line without an end."""
        remaining, self._buffer, self._searched, self._unfinished = self._buffer, "", 0, None
        return remaining

    def _split(self, added: str) -> Iterator[dict[str, Any] | str]:
        output = self._buffer + added
        if self._line_end_due and output:
            output, self._line_end_due = output.removeprefix("\n"), False
        position, searched, self._searched = 0, self._searched, 0
        # The indentation of a document that began in an earlier chunk. The output now begins with it.
        unfinished, self._unfinished = self._unfinished, None
        while (begin := _find_begin(output, position) if unfinished is None else (0, unfinished)) is not None:
            (start, indentation), unfinished = begin, None
            if start > position:
                yield output[position:start]
                position, searched = start, 0
            end = _find_end(output, start, max(start + 1, searched), indentation)
            if end is None:
                self._searched, self._unfinished = len(output) - start, indentation
                break
            body, position, searched = output[start:end], end, 0
            document = self._parse_document(body)
            yield body if document is None else document
            self._line_end_due = position == len(output)
            position += output.startswith("\n", position)
        else:
            text_end = output.rfind("\n") + 1
            if maybe := _MAYBE_FIRST_KEY.search(output, max(position, len(output) - _MAX_FIRST_LINE)):
                text_end = min(text_end, output.rfind("\n", 0, maybe.start()) + 1)
            if text_end > position:
                yield output[position:text_end]
                position = text_end
        self._buffer = output[position:]
        if len(self._buffer) > MAX_DOCUMENT_CHARACTERS:
            yield self.remaining()

    def _parse_document(self, body: str) -> dict[str, Any] | None:
        try:
            parsed = read_json(body)
        except ValueError:
            # C prints the mean of no values as nan, which is not valid JSON.
            if (numbers := _NO_NUMBER.sub(r"\1null", body)) != body:
                return self._parse_document(numbers)
            # A line of text before the document may begin with a brace as well.
            later = body.rfind("\n{")
            return self._parse_document(body[later + 1 :]) if later > 0 else None
        is_status = isinstance(parsed, dict) and any(isinstance(parsed.get(key), list) for key in self._list_keys)
        return parsed if is_status else None


def _find_begin(text: str, position: int) -> tuple[int, int] | None:
    """(position where the next document begins, largest indentation of its last line). None: there is none.

    `position`: where the search begins, at the start of a line.
    """
    first = position if text.startswith("{", position) else text.find("\n{", position) + 1 or len(text)
    if (match := _FIRST_KEY.search(text, position, first)) is not None:
        line_start = max(position, text.rfind("\n", position, match.start()) + 1)
        is_first_on_line = not text[line_start : match.start()].strip(" \t")
        key_indentation = len(match[0].rpartition('"fio')[0].rpartition("\n")[2])
        return (line_start if is_first_on_line else match.start()), max(0, key_indentation - 1)
    return (first, 0) if first < len(text) else None


def _find_end(text: str, start: int, position: int, indentation: int) -> int | None:
    """The end of the document that begins at `start`. None: it is incomplete. `position`: already searched up to
    here."""
    brace = text.index("{", start)
    line_end = text.find("\n", start)
    if line_end > start and text[brace + 1 : line_end].strip() and text[start:line_end].rstrip().endswith("}"):
        return line_end
    last_line = re.compile(rf"\n[ \t]{{0,{indentation}}}\}}") if indentation else _LAST_LINE
    found = last_line.search(text, max(start, position - 2 - indentation))
    return found.end() if found is not None else None

"""Decoding text of programs on any machine: UTF-8, UTF-16 with a byte-order mark, or the machine's code page."""

from __future__ import annotations

import codecs
import re

_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_ESCAPED = re.compile("[\udc80-\udcff]")
# Bytes that are not UTF-8 are decoded as cp1252, the most common code page of Windows programs.
_CP1252_TABLE = {0xDC00 + byte: bytes([byte]).decode("cp1252", "replace") for byte in range(0x80, 0x100)}
MAX_LINE_LENGTH = 1 << 20
"""In characters. No report has a longer line. Longer lines are left out, so that no file fills the memory."""


def text_of(head: bytes) -> tuple[str, str]:
    """Decode the first bytes of a file. Returns the text and the encoding of the file.

    Windows programs write UTF-8, UTF-16 with a byte-order mark (PowerShell 5.1 redirection) or the code page of the
    machine, which is assumed to be cp1252.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if head.startswith(mark):
            whole = head[: len(head) - len(head) % 2] if encoding == "utf-16" else head
            return whole.decode(encoding, "replace"), encoding
    for cut in range(4):  # The end of the first bytes may be inside a character.
        try:
            return head[: len(head) - cut].decode("utf-8"), "utf-8"
        except UnicodeDecodeError:
            continue
    return head.decode("cp1252", "replace"), "cp1252"


class Decoder:
    """Decodes bytes in chunks of any size. `guessed`: some bytes were not UTF-8, and were decoded as cp1252."""

    def __init__(self) -> None:
        self.guessed = False
        self._head = b""
        self._decoder: codecs.IncrementalDecoder | None = None

    def feed(self, added: bytes, last: bool = False) -> str:
        """Return the characters that are now complete. `last`: no bytes follow."""
        if self._decoder is None:
            self._head += added
            if not last and any(mark.startswith(self._head) and mark != self._head for mark, _ in _BYTE_ORDER_MARKS):
                return ""
            encoding = next((name for mark, name in _BYTE_ORDER_MARKS if self._head.startswith(mark)), "utf-8")
            errors = "replace" if encoding == "utf-16" else "surrogateescape"
            self._decoder = codecs.getincrementaldecoder(encoding)(errors)
            added, self._head = self._head, b""
        text = self._decoder.decode(added, last)
        if not text.isascii() and _ESCAPED.search(text):
            self.guessed = True
            text = text.translate(_CP1252_TABLE)
        return text


class LineSplitter:
    """Splits text in chunks of any size into lines without their ends (LF or CRLF). Lines of more than
    MAX_LINE_LENGTH are left out.

    A byte-order mark at the start of a line is removed: appending with `>>` writes one before every run.
    """

    def __init__(self) -> None:
        self._unfinished = ""
        self._skipping = False

    def feed(self, added: str) -> list[str]:
        """Return the lines that are now complete."""
        *complete, self._unfinished = (self._unfinished + added).split("\n")
        lines = []
        for line in complete:
            if not self._skipping and len(line) <= MAX_LINE_LENGTH:
                lines.append(_without_mark(line))
            self._skipping = False
        if len(self._unfinished) > MAX_LINE_LENGTH:
            self._unfinished, self._skipping = "", True
        return lines

    def last_line(self) -> str:
        """Return the last line of a text if it has no line end, otherwise ""."""
        line, self._unfinished = self._unfinished, ""
        return "" if self._skipping else _without_mark(line)


class Lines:
    """Splits bytes in chunks of any size into lines by LineSplitter, decoded by Decoder."""

    def __init__(self) -> None:
        self._decoder, self._splitter = Decoder(), LineSplitter()

    @property
    def guessed(self) -> bool:
        """Whether some bytes were not UTF-8, and were decoded as cp1252."""
        return self._decoder.guessed

    def feed(self, added: bytes) -> list[str]:
        """Return the lines that are now complete."""
        return self._splitter.feed(self._decoder.feed(added))

    def last_line(self) -> str:
        """Return the last line of a file if it has no line end, otherwise ""."""
        self._splitter.feed(self._decoder.feed(b"", last=True))
        return self._splitter.last_line()


def _without_mark(line: str) -> str:
    return line.removesuffix("\r").removeprefix("\ufeff")

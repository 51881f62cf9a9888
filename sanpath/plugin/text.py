"""What programs of any machine wrote, as text: UTF-8, UTF-16 by its mark, or the code page of the machine."""

from __future__ import annotations

import codecs
import re

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_ESCAPED = re.compile("[\udc80-\udcff]")
# What is no UTF-8 is taken for cp1252, the most common code page of Windows programs.
_AS_CP1252 = {0xDC00 + byte: bytes([byte]).decode("cp1252", "replace") for byte in range(0x80, 0x100)}
LONGEST_LINE = 1 << 20
"""No report has a longer line; one that has is left out, so that no file fills the memory."""


def text_of(head: bytes) -> tuple[str, str]:
    """A beginning of a file as text, and the encoding that the whole of it has.

    Windows programs write UTF-8, UTF-16 with a byte-order mark (PowerShell 5.1 redirection) or the code page of the
    machine; cp1252 stands for the latter.
    """
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if head.startswith(mark):
            return head[: len(head) - len(head) % 2 if encoding == "utf-16" else None].decode(
                encoding, "replace"
            ), encoding
    for cut in range(4):  # The beginning may end inside a character.
        try:
            return head[: len(head) - cut].decode("utf-8"), "utf-8"
        except UnicodeDecodeError:
            continue
    return head.decode("cp1252", "replace"), "cp1252"


class Decoder:
    """Bytes that come in parts of any size → text. `guessed`: some of it was no UTF-8, and was taken for cp1252."""

    def __init__(self) -> None:
        self.guessed = False
        self._head = b""
        self._decoder: codecs.IncrementalDecoder | None = None

    def feed(self, added: bytes, last: bool = False) -> str:
        """The characters that are whole now. `last`: nothing follows."""
        if self._decoder is None:
            self._head += added
            if not last and any(mark.startswith(self._head) and mark != self._head for mark, _ in _MARKS):
                return ""
            encoding = next((name for mark, name in _MARKS if self._head.startswith(mark)), "utf-8")
            errors = "replace" if encoding == "utf-16" else "surrogateescape"
            self._decoder = codecs.getincrementaldecoder(encoding)(errors)
            added, self._head = self._head, b""
        text = self._decoder.decode(added, last)
        if not text.isascii() and _ESCAPED.search(text):
            self.guessed = True
            text = text.translate(_AS_CP1252)
        return text


class Lines:
    """Bytes that come in parts of any size → lines without their ends, LF or CRLF, whatever Decoder reads.

    A mark at the begin of a line is left out: appending with `>>` writes one before every run.
    """

    def __init__(self) -> None:
        self._decoder = Decoder()
        self._rest = ""
        self._skipping = False

    @property
    def guessed(self) -> bool:
        """Whether some of it was no UTF-8, and was taken for cp1252."""
        return self._decoder.guessed

    def feed(self, added: bytes) -> list[str]:
        """The lines that are complete now."""
        return self._split(self._decoder.feed(added))

    def rest(self) -> str:
        """The last line, when the file ends without a line end; "" when it does not."""
        left, self._rest = self._rest + self._decoder.feed(b"", last=True), ""
        return "" if self._skipping else _plain(left)

    def _split(self, text: str) -> list[str]:
        *whole, self._rest = (self._rest + text).split("\n")
        lines = []
        for line in whole:
            if not self._skipping and len(line) <= LONGEST_LINE:
                lines.append(_plain(line))
            self._skipping = False
        if len(self._rest) > LONGEST_LINE:
            self._rest, self._skipping = "", True
        return lines


def _plain(line: str) -> str:
    return line.removesuffix("\r").removeprefix("\ufeff")

"""Lines of a text that a Windows program wrote, out of bytes that come in parts of any size."""

from __future__ import annotations

import codecs

LONGEST = 1 << 16
"""Bytes of a line that are kept; what is longer is no text."""


class Lines:
    """Cuts bytes into lines, LF or CRLF, whatever the size of the parts.

    UTF-16 is known by its byte-order mark (PowerShell 5.1 redirection). Else a line is UTF-8 or, where it cannot be
    that, cp1252 for the code page of the machine; `guessed` tells that this happened.
    """

    def __init__(self) -> None:
        self.guessed = False
        self._mark: bytes | None = b""
        self._utf16: codecs.IncrementalDecoder | None = None
        self._rest = b""

    def feed(self, added: bytes) -> list[str]:
        """The lines that are complete now, without their ends."""
        if self._mark is not None:
            self._mark += added
            if len(self._mark) < len(codecs.BOM_UTF16):
                return []
            added, self._mark = self._mark, None
            if added.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                self._utf16 = codecs.getincrementaldecoder("utf-16")("replace")
        if self._utf16 is not None:
            added = self._utf16.decode(added).encode("utf-8", "replace")
        *lines, rest = (self._rest + added).split(b"\n")
        self._rest = rest[:LONGEST]
        return [self._text(line) for line in lines]

    def rest(self) -> str:
        """The last line, when the file ends without a line end; empty when it does not."""
        left, self._rest, self._mark = self._rest or self._mark or b"", b"", None
        return self._text(left)

    def _text(self, line: bytes) -> str:
        line = line[:LONGEST].removesuffix(b"\r")
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            self.guessed = True
            text = line.decode("cp1252", "replace")
        # Appending with `>>` may write a mark before every run.
        return text.removeprefix("\ufeff")

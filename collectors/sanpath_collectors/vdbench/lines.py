"""Cuts a report into lines, whatever encoding the JVM that wrote it took for its own."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

_LONGEST = 1 << 20
"""A line beyond this is none of vdbench's; it is dropped, so that no file fills the memory."""


def _as_cp1252(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error("vdbench-cp1252", _as_cp1252)


class Lines:
    """Lines without their ends. A JVM writes the encoding of its machine: what is no UTF-8 is taken for cp1252."""

    def __init__(self) -> None:
        self._rest = b""
        self._skipping = False

    def feed(self, added: bytes) -> Iterator[str]:
        """The lines that are complete now."""
        *whole, rest = (self._rest + added).split(b"\n")
        self._rest = rest
        for line in whole:
            if not self._skipping and len(line) <= _LONGEST:
                yield line.decode("utf-8", "vdbench-cp1252").removesuffix("\r")
            self._skipping = False
        if len(rest) > _LONGEST:
            self._rest, self._skipping = b"", True

    def rest(self) -> str:
        """The last line, where it has no end: it may have been cut."""
        rest, self._rest = self._rest, b""
        return "" if self._skipping else rest.decode("utf-8", "vdbench-cp1252")

"""What is put around the lines of a text: marks of quotation, names of hosts, times of logs, colours; and line ends
of the old Mac OS (CR), as spreadsheets there still write them.

> Linux 5.14.0 (db1)           a mail that quotes them
db1: Linux 5.14.0 (db1)        pdsh
14:30:05 DEBUG| [stdout] Linux 5.14.0 (db1)
2026-05-22T14:30:05.731Z Linux 5.14.0 (db1)        kubectl logs --timestamps
[pod/test-7xk2p/fio] Linux 5.14.0 (db1)            kubectl logs --prefix
ESC[32;22msdaESC[0m  0.00      iostat, to a terminal
"""

from __future__ import annotations

import io
import re
from collections import Counter
from typing import IO, Any

_CHUNK_BYTES = 1 << 20
_QUOTES = re.compile(rb"^(?:>[ \t]?)+", re.MULTILINE)
_QUOTED = 0.5
"""Share of the lines that begin with ">" from which a text is an answer to a mail, which quotes them."""
_ALL_LINES = 0.95
"""Share of the lines that have the same in front of them: there may be some of the program that has put it there."""
_FEWEST_LINES = 5
_HOST = re.compile(rb"(?!fio: )([\w.-]{1,255}):(?: |$)")
_TIME = re.compile(
    rb"\[?(?:\d{4}-\d\d-\d\d[ T]|\w{3} [ \d]\d )?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?", re.ASCII
)
_TIME_OF_LOG = re.compile(rb"\[.*\]|.{10}T.*(?:Z|[+-]\d\d:?\d\d)", re.ASCII | re.DOTALL)
"""A time in brackets, or with its date and zone (RFC 3339), is none of a report, whatever follows."""
_LABEL = re.compile(rb"(\[[^\]\s]{1,255}\]|[\w.-]{1,255} *\|)(?: |$)")
_UP_TO_SIGN = re.compile(rb".*[|\]:>]", re.DOTALL)
"""A log ends what it says of a line with a sign. Columns of a report that begins with times have none."""
_COLOUR = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")
"""A control sequence of a terminal (ECMA-48, CSI)."""


class Decoration:
    """What is in front of the lines of a text, by its beginning. `text`: for people; "": nothing that matters."""

    def __init__(self, head: bytes) -> None:
        head = head if b"\0" not in head else b""  # Archives, and text in UTF-16.
        self._ends_in_cr = b"\r" in head[:-1] and b"\n" not in head  # Of CRLF, the last byte may be the half.
        head = self.with_line_ends(head)
        self.text = ""
        self._colour = _COLOUR if _COLOUR.search(head) else None
        lines = [line for line in self._without_colour(head).splitlines() if line.strip()]
        self._front = _QUOTES if sum(line.startswith(b">") for line in lines) > _QUOTED * len(lines) else None
        if self._front is None and len(lines) >= _FEWEST_LINES:
            # The last line may be cut.
            self._front = self._log(lines[:-1]) or self._host(lines[:-1]) or self._label(lines[:-1])

    @property
    def is_none(self) -> bool:
        """Whether there is nothing to remove."""
        return self._front is None and self._colour is None and not self._ends_in_cr

    def with_line_ends(self, text: bytes) -> bytes:
        """Return a part of the text with lines that end as those of all other systems do."""
        return text.replace(b"\r", b"\n") if self._ends_in_cr else text

    def removed(self, text: bytes) -> bytes:
        """Return whole lines without it."""
        text = self._without_colour(self.with_line_ends(text))
        return text if self._front is None else self._front.sub(b"", text)

    def opened(self, file: IO[bytes]) -> IO[bytes]:
        """Return a file without it."""
        return file if self.is_none else io.BufferedReader(_Plain(file, self))

    def _without_colour(self, text: bytes) -> bytes:
        return text if self._colour is None else self._colour.sub(b"", text)

    def _host(self, lines: list[bytes]) -> re.Pattern[bytes] | None:
        found = _HOST.match(lines[0])
        if found is None or _hosts(lines) != [found[1]]:
            return None
        return self._in_front(b"", found[0])

    def _label(self, lines: list[bytes]) -> re.Pattern[bytes] | None:
        labels = Counter(found[1] for line in lines if (found := _LABEL.match(line)) is not None)
        return next((self._in_front(b"", label) for label, n in labels.items() if _are_most(n, lines)), None)

    def _log(self, lines: list[bytes]) -> re.Pattern[bytes] | None:
        times = [(line, found) for line in lines if (found := _TIME.match(line)) is not None]
        rests = [line[found.end() :] for line, found in times]
        if not _are_most(len(rests), lines):
            return None
        first, last = min(rests), max(rests)
        same = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
        said = _UP_TO_SIGN.match(first[:same])
        if said is not None:
            return self._in_front(_TIME.pattern, said[0])
        are_of_log = all(_TIME_OF_LOG.fullmatch(found[0]) for _, found in times)
        are_apart = all(rest[:1] in (b"", b" ") for rest in rests)
        return self._in_front(_TIME.pattern, b"") if are_of_log and are_apart else None

    def _in_front(self, pattern: bytes, said: bytes) -> re.Pattern[bytes]:
        self.text = said.decode("utf-8", "replace").strip()
        return re.compile(b"^" + pattern + re.escape(said.rstrip()) + b" ?", re.MULTILINE | re.ASCII)


class _Plain(io.RawIOBase):
    """A file without its decoration. A line longer than a chunk is passed on in parts."""

    def __init__(self, file: IO[bytes], decoration: Decoration) -> None:
        self._file, self._decoration = file, decoration
        self._plain = self._rest = b""

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer and return the number of bytes; 0 at the end."""
        while not self._plain:
            chunk = self._decoration.with_line_ends(self._file.read(_CHUNK_BYTES))
            text = self._rest + chunk
            if not text:
                return 0
            whole = (text.rfind(b"\n") + 1 if chunk else 0) or len(text)
            self._plain, self._rest = self._decoration.removed(text[:whole]), text[whole:]
        view = memoryview(buffer)
        part, self._plain = self._plain[: len(view)], self._plain[len(view) :]
        view[: len(part)] = part
        return len(part)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def hosts_in_front(head: bytes) -> list[str]:
    """Return the names of the hosts of which most lines of a text are, where there are several; by its beginning."""
    names = _hosts([line for line in head.splitlines() if line.strip()][:-1])
    return [name.decode("utf-8", "replace") for name in names] if len(names) > 1 else []


def _hosts(lines: list[bytes]) -> list[bytes]:
    """Return the names in front of nearly all lines, each of which is in front of several."""
    counts = Counter(found[1] for line in lines if (found := _HOST.match(line)) is not None)
    names = [name for name, count in counts.items() if count >= _FEWEST_LINES - 1]
    return names if names and _are_most(sum(counts[name] for name in names), lines) else []


def _are_most(count: int, lines: list[bytes]) -> bool:
    return count >= _ALL_LINES * len(lines)
